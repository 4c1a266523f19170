"""Joins of a stream: with another stream inside a span of time, with a table, with a global table."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

from penstock.runtime.operators.kstreams.dsl_processor import DslProcessor, TableProcessor
from penstock.vocabulary.kstreams.records import NO_TIMESTAMP, Record
from penstock.vocabulary.kstreams.windows import FOREVER, JoinWindows

LEFT, RIGHT = 1, 0
Joiner = Callable[[Any, Any, Any], Any]
"""From key, left value and right value to the joined value."""


class KeepForJoin(DslProcessor):
    """Forwards a record to the join, then keeps it for records of the other side."""

    def __init__(self, store_name: str) -> None:
        self._store_name = store_name

    def open(self) -> None:
        """Get the store."""
        self._store = self.context.get_state_store(self._store_name)

    def process(self, record: Record) -> None:
        """Forward, then keep."""
        self.emit(record)
        if record.key is not None:
            self._store.put(record.key, record.value, record.timestamp)


class StreamStreamJoin(DslProcessor):
    """One side of a join of two streams: meets its records with those that are kept of the other side.

    In an outer join a record without partner waits until no partner can come any more; both sides look after the
    records that wait, and share the time they have seen.
    """

    def __init__(
        self,
        *,
        side: int,
        other_store: str,
        unjoined_store: str | None,
        memory_name: str,
        windows: JoinWindows,
        joiner: Joiner,
        is_outer: bool,
    ) -> None:
        self._side = side
        self._other_store_name = other_store
        self._unjoined_name = unjoined_store
        self._memory_name = memory_name
        self._windows = windows
        self._joiner = joiner
        self._is_outer = is_outer
        is_left = side == LEFT
        self._before = windows.before_ms if is_left else windows.after_ms
        self._after = windows.after_ms if is_left else windows.before_ms

    def open(self) -> None:
        """Get the stores."""
        self._other = self.context.get_state_store(self._other_store_name)
        self._unjoined = None if self._unjoined_name is None else self.context.get_state_store(self._unjoined_name)
        self._shared = self.context.memory(self._memory_name)

    def _joined(self, key: Any, this: Any, other: Any) -> Any:
        return self._joiner(key, this, other) if self._side == LEFT else self._joiner(key, other, this)

    def process(self, record: Record) -> None:
        """Join a record with what is kept of the other side."""
        key, value, timestamp = record.key, record.value, record.timestamp
        stream_time = self._shared["stream_time"] = max(self._shared.get("stream_time", NO_TIMESTAMP), timestamp)
        if self._is_outer and key is None and value is not None:
            self.emit(record.with_value(self._joined(key, value, None)))
            return
        if key is None or value is None:
            self.context.drop()
            return
        if self._unjoined is not None and timestamp == stream_time:
            self._emit_unjoined(record, stream_time)
        latest = max(0, timestamp + self._after)
        partners = list(self._other.fetch(key, max(0, timestamp - self._before), latest))
        for other_time, other in partners:
            if self._unjoined is not None:
                self._unjoined.remove(other_time, 1 - self._side, key)
            joined = self._joined(key, value, other)
            self.emit(Record(key, joined, max(timestamp, other_time), record.headers))
        if self._is_outer and not partners:
            self._wait(record, latest, stream_time)

    def _wait(self, record: Record, latest: int, stream_time: int) -> None:
        if self._unjoined is None or latest < stream_time:
            self.emit(record.with_value(self._joined(record.key, record.value, None)))
            return
        self._shared["first"] = min(self._shared.get("first", FOREVER), record.timestamp)
        self._unjoined.add(record.timestamp, self._side, record.key, record.value)

    def _emit_unjoined(self, record: Record, stream_time: int) -> None:
        """Emit records that no partner can come for any more, and forget them."""
        assert self._unjoined is not None
        grace = self._windows.grace_ms
        if self._shared.get("first", FOREVER) + self._after + grace >= stream_time:
            return
        self._shared["first"] = FOREVER
        is_open = {LEFT: False, RIGHT: False}
        done: list[tuple[int, int, Any]] = []
        for time, side, key, values in list(self._unjoined.entries()):
            self._shared["first"] = time
            if is_open[LEFT] and is_open[RIGHT]:
                break
            wait = self._windows.after_ms if side == LEFT else self._windows.before_ms
            if time + wait + grace >= stream_time:
                is_open[side] = True
                continue
            for value in values:
                left, right = (value, None) if side == LEFT else (None, value)
                self.emit(Record(key, self._joiner(key, left, right), time, record.headers))
            done.append((time, side, key))
        for entry in done:
            self._unjoined.remove(*entry)


class StreamTableJoin(DslProcessor):
    """Looks up the table's value of the moment for each record of a stream."""

    def __init__(
        self,
        table: TableProcessor,
        joiner: Joiner,
        *,
        is_left: bool,
        key_of: Callable[[Any, Any], Any] | None = None,
    ) -> None:
        self._table = table
        self._joiner = joiner
        self._is_left = is_left
        self._key_of = key_of

    def open(self) -> None:
        """Find the table."""
        self._get = self._table.getter(self.context)

    def process(self, record: Record) -> None:
        """Join a record; one without key or value is dropped, but a left join needs no key."""
        key, value = record.key, record.value
        wanted = key if self._key_of is None else self._key_of(key, value)
        if (wanted is None or value is None) and not (self._is_left and key is None and value is not None):
            self.context.drop()
            return
        held = None if wanted is None else self._get(wanted)
        if held is not None:
            self.emit(Record(key, self._joiner(key, value, held[0]), record.timestamp, record.headers))
        elif self._is_left:
            self.emit(Record(key, self._joiner(key, value, None), record.timestamp, record.headers))
