"""Sessions of event time: the records of a key in a block meet its windows once.

Records are taken in their order, and sessions merge when a record says so, as one by one. What is put off to the end of
the block is what nobody can see before: writing contents, timers and the list of the key's sessions.
"""

from __future__ import annotations

from collections.abc import Iterable
from typing import Any

from penstock.common.constants import MAX_WATERMARK, MIN_WATERMARK
from penstock.runtime.operators.window.contents import Groups
from penstock.runtime.operators.window.grouping import HashableKeys
from penstock.runtime.operators.window.merging import MergingWindows
from penstock.runtime.operators.window.rest import ALL, NOTHING, Rest
from penstock.runtime.operators.window.shapes import fires_once_at_the_end, has_event_time_sessions
from penstock.runtime.rows import Timestamps
from penstock.state.keyed import VOID_NAMESPACE
from penstock.state.timers import EVENT
from penstock.vocabulary.window import TimeWindow


class _Session:
    """A session of the current key: its span, the namespace of its contents, records not yet put there."""

    __slots__ = ("end", "held_in", "pending", "start")

    def __init__(self, start: int, end: int, held_in: bytes) -> None:
        self.start = start
        self.end = end
        self.held_in = held_in
        self.pending: list[Any] = []


class SessionGrouping:
    """Grouping for sessions that fire when they end."""

    def __init__(self, windows: MergingWindows) -> None:
        assigner: Any = windows.spec.assigner
        self._windows = windows
        self._assign = assigner.assign_windows
        self._gap: int | None = assigner.fixed_gap()
        self._to_bytes, self._from_bytes = windows.codec
        self._has_cleanup = windows.spec.allowed_lateness > 0  # else it is when the window ends

    def take(self, values: list[Any], timestamps: Timestamps, keys: list[Any]) -> Rest:
        """Add the records of keys whose records are all ahead of the watermark."""
        try:
            starts, ends = self._spans(values, timestamps)
            known = HashableKeys(keys)
            if min(starts) <= MIN_WATERMARK or max(ends) > MAX_WATERMARK:
                return ALL
        except Exception:  # a user's gap, a timestamp or a key is unusable: one by one it is said of which record
            return ALL
        hashables, watermark = known.hashables, self._windows.operator.watermark
        passed: set[Any] = set()
        if min(ends) - 1 <= watermark:
            passed = {hashable for hashable, end in zip(hashables, ends, strict=True) if end - 1 <= watermark}
        groups: Groups = {}
        for index, hashable in enumerate(hashables):
            group = groups.get(hashable)
            if group is None:
                groups[hashable] = [index]
            else:
                group.append(index)
        for hashable in passed:
            del groups[hashable]
        for key, places in known.groups(groups):
            self._windows.backend.set_key(key)
            self._take_key(places, starts, ends, values)
        if not passed:
            return NOTHING
        return Rest([index for index, hashable in enumerate(hashables) if hashable in passed])

    def _spans(self, values: list[Any], timestamps: Any) -> tuple[list[int], list[int]]:
        """Return start and end of the window that each record begins with."""
        gap = self._gap
        if gap is not None:
            return timestamps, [timestamp + gap for timestamp in timestamps]
        context, assign = self._windows.assigner_context, self._assign
        windows = []
        for value, timestamp in zip(values, timestamps, strict=True):
            (window,) = assign(value, timestamp, context)
            windows.append(window)
        return [window.start for window in windows], [window.end for window in windows]

    def _take_key(self, places: list[int], starts: list[int], ends: list[int], values: list[Any]) -> None:
        """Add the records at these places, which are all of the current key."""
        before = self._windows.load()
        sessions = []
        for name, held_in in before.items():
            window = self._from_bytes(name)
            sessions.append(_Session(window.start, window.end, held_in))
        session = sessions[0] if sessions else self._session_of(starts[places[0]], ends[places[0]], sessions)
        for place in places:
            start, end = starts[place], ends[place]
            if len(sessions) == 1 and session.start <= end and session.end >= start:
                if start < session.start:
                    session.start = start
                if end > session.end:
                    session.end = end
            elif start < session.start or end > session.end:
                session = self._session_of(start, end, sessions)
            session.pending.append(values[place])
        self._put_away(sessions)
        after = {self._name(session): session.held_in for session in sessions}
        self._move_timers(before.keys(), after.keys())
        self._windows.backend.set_namespace(VOID_NAMESPACE)
        self._windows.save(after)

    def _session_of(self, start: int, end: int, sessions: list[_Session]) -> _Session:
        """The session that a record's window becomes part of; those that it joins become one."""
        touched = [session for session in sessions if session.start <= end and session.end >= start]
        if not touched:
            session = _Session(start, end, self._to_bytes(TimeWindow(start, end)))
            sessions.append(session)
            return session
        session = touched[0]
        if len(touched) > 1:
            touched.sort(key=lambda each: each.start)
            session = touched[0]
            self._put_away(touched)
            self._windows.contents.merge(session.held_in, [each.held_in for each in touched[1:]])
            for each in touched[1:]:
                sessions.remove(each)
            session.end = touched[-1].end
        session.start = min(session.start, start)
        session.end = max(session.end, end)
        return session

    def _put_away(self, sessions: Iterable[_Session]) -> None:
        windows = self._windows
        for session in sessions:
            if session.pending:
                windows.backend.set_namespace(session.held_in)
                consumed = iter(session.pending)
                try:
                    windows.contents.fold(consumed)
                except Exception as error:
                    raise windows.operator.record_failure(error, session.pending, consumed) from None
                session.pending = []

    def _name(self, session: _Session) -> bytes:
        return self._to_bytes(TimeWindow(session.start, session.end))

    def _move_timers(self, before: Iterable[bytes], after: Iterable[bytes]) -> None:
        windows, timers = self._windows, self._windows.operator.context.timers
        assert timers is not None
        for name in before - after:  # type: ignore[operator]
            window = self._from_bytes(name)
            timers.delete(EVENT, window.max_timestamp(), name)
            if self._has_cleanup:
                windows.delete_cleanup(window, name)
        for name in after - before:  # type: ignore[operator]
            window = self._from_bytes(name)
            timers.register(EVENT, window.max_timestamp(), name)
            if self._has_cleanup:
                windows.register_cleanup(window, name)


def session_grouping_for(windows: MergingWindows) -> SessionGrouping | None:
    """The grouping of sessions, if the difference cannot be told."""
    is_fit = has_event_time_sessions(windows.spec) and fires_once_at_the_end(windows.spec)
    return SessionGrouping(windows) if is_fit else None
