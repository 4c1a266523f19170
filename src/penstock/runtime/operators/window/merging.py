"""Merging windows: which windows of a key have merged, stored in its state.

A window's contents stay in the namespace of the first window it was made from, so that a window that only grows moves
nothing. The state says which: pairs of a window and the window its contents are in, both as bytes, in their order.
"""

from __future__ import annotations

from collections.abc import Iterable
from typing import Any

from penstock.errors import StateError
from penstock.runtime.operators.window.windows import Windows
from penstock.state.keyed import VOID_NAMESPACE
from penstock.vocabulary.state import ValueStateDescriptor
from penstock.vocabulary.window import MergingWindowAssigner

STATE_NAME = "_merging_windows"


class _Merges(MergingWindowAssigner.MergeCallback[Any]):
    """Takes note of what the assigner wants merged."""

    def __init__(self) -> None:
        self.found: list[tuple[list[Any], Any]] = []

    def merge(self, to_be_merged: Iterable[Any], merge_result: Any) -> None:
        self.found.append((list(to_be_merged), merge_result))


class MergingWindows(Windows):
    """The windows of an operator whose assigner merges them."""

    def __init__(self, *arguments: Any) -> None:
        super().__init__(*arguments)
        self._state = self.backend.get_value_state(ValueStateDescriptor(STATE_NAME, None))
        self._known: dict[bytes, bytes] | None = None
        self._held: tuple[tuple[bytes, bytes], ...] = ()

    def load(self) -> dict[bytes, bytes]:
        """The windows of the current key, in time order for time windows; the namespace must be void."""
        self._held = self._state.held() or ()
        return dict(self._held)

    def save(self, known: dict[bytes, bytes]) -> None:
        """Keep the windows of the current key, as changed since `load`; the namespace must be void."""
        held = tuple(sorted(known.items()))
        if held != self._held:
            self._state.hold(held or None)

    def _enter(self, window: Any) -> bytes | None:
        if self._known is None:
            self._known = self.load()
        known = self._known
        actual, namespace = self._merged_in(known, window)
        if self.is_late(actual):
            del known[namespace]
            return None
        self.context.enter(actual, namespace)
        return known[namespace]

    def _find(self, namespace: bytes) -> bytes | None:
        # A trigger may leave timers of windows behind that are merged away or over: nothing is to be done then.
        self._known = self.load()
        return self._known.get(namespace)

    def _leave(self) -> None:
        self.backend.set_namespace(VOID_NAMESPACE)
        if self._known is not None:
            self.save(self._known)
            self._known = None

    def _forget(self, window: Any, namespace: bytes) -> None:
        super()._forget(window, namespace)
        assert self._known is not None
        self._known.pop(namespace, None)

    def _merged_in(self, known: dict[bytes, bytes], window: Any) -> tuple[Any, bytes]:
        """Add a window to those known and merge what has to be; returns the window that it has become."""
        to_bytes, from_bytes = self.codec
        added = to_bytes(window)
        merges = _Merges()
        assigner = self.spec.assigner
        assert isinstance(assigner, MergingWindowAssigner)
        assigner.merge_windows([*map(from_bytes, known), window], merges)
        result = None
        for members, merged in merges.found:
            names = {to_bytes(member) for member in members}
            if added in names:
                result = merged
            # The new window has no contents and no timers, unless it is one that was there before.
            self._merge(known, merged, sorted(name for name in names if name in known))
        if result is not None:
            return result, to_bytes(result)
        known.setdefault(added, added)
        return window, added

    def _merge(self, known: dict[bytes, bytes], result: Any, names: list[bytes]) -> None:
        namespace = self.codec.to_bytes(result)
        if not names:  # only the new window is affected: nothing to bring over
            known[namespace] = namespace
            return
        sources = [known.pop(name) for name in names]
        target = known[namespace] = sources.pop(0)
        if names == [namespace]:
            return
        self._check_time(result)
        context, trigger = self.context, self.spec.trigger
        context.enter(result, namespace)
        context.merged = names
        trigger.on_merge(result, context)
        for name in names:
            window = self.codec.from_bytes(name)
            context.enter(window, name)
            trigger.clear(window, context)
            self.delete_cleanup(window, name)
        if sources:
            self.contents.merge(target, sources)

    def _check_time(self, result: Any) -> None:
        if self.is_event_time and self.is_late(result):
            raise StateError(
                "The end timestamp of an event-time window cannot become earlier than the current watermark by "
                f"merging. Current event time: {self.operator.watermark} window: {result!r}"
            )
        now = self.operator.context.clock()
        if not self.is_event_time and result.max_timestamp() <= now:
            raise StateError(
                "The end timestamp of a processing-time window cannot become earlier than the current processing "
                f"time by merging. Current processing time: {now} window: {result!r}"
            )
