"""Sliding windows put together from panes when they fire, instead of each keeping its own accumulator.

A pane is a stretch of time that no window's start or end cuts. A key has one value in state: when it is to be looked at
next, and its panes with their accumulators, in the order they came into being, so that a function that minds which
record came first gets them so. A timer of the key, without a window, says when to look; there is always one as long as
there are panes.
"""

from __future__ import annotations

from functools import reduce
from typing import Any

from penstock.common.constants import MAX_WATERMARK, MIN_WATERMARK
from penstock.common.own_copies import own_copies
from penstock.errors import KeyEncodingError
from penstock.runtime.operators.operator import StreamOperator
from penstock.runtime.operators.window.codec import codec_of
from penstock.runtime.operators.window.combining import Combiner, can_merge
from penstock.runtime.operators.window.evaluation import Evaluator, clears_windows
from penstock.runtime.operators.window.grouping import HashableKeys
from penstock.runtime.operators.window.rest import ALL, Rest
from penstock.runtime.operators.window.shapes import event_time_panes, fires_once_at_the_end
from penstock.runtime.operators.window.spec import WindowSpec
from penstock.runtime.rows import Timestamps
from penstock.state.keyed import VOID_NAMESPACE, KeyedStateBackend
from penstock.state.timers import EVENT
from penstock.vocabulary.commutativity import Order
from penstock.vocabulary.state import ValueStateDescriptor
from penstock.vocabulary.window import TimeWindow
from penstock.vocabulary.window.pane_grid import SlidingPaneGrid

STATE_NAME = "_window_panes"

_Held = list[Any]
"""When to look next, and accumulators by start of pane."""


def uses_panes(spec: WindowSpec) -> bool:
    """Whether panes give what windows of their own would.

    Panes are merged in the order of their first records, so a function must mind no more than the first of all. And
    in processing time they would not: what comes in the very millisecond in which a window has fired starts that window
    anew. And a function that frees state of each window must be told of each window's end.
    """
    return (
        spec.combine is not None
        and spec.order is not Order.ALL
        and _overlapping_panes(spec) is not None
        and fires_once_at_the_end(spec)
        and not clears_windows(spec.function)
        and can_merge(spec.combine)
    )


def _overlapping_panes(spec: WindowSpec) -> SlidingPaneGrid | None:
    """The panes of windows that slide in event time, with at least two for each record."""
    grid = event_time_panes(spec)
    return grid if isinstance(grid, SlidingPaneGrid) and grid.size >= 2 * grid.slide else None


def cleanup_time(end: int, lateness: int) -> int:
    """When a window with this last timestamp takes no more records; `MAX_WATERMARK` if never."""
    return min(end + lateness, MAX_WATERMARK)


class Panes:
    """The sliding windows of an operator, kept as panes."""

    def __init__(
        self,
        operator: StreamOperator,
        backend: KeyedStateBackend,
        spec: WindowSpec,
        combiner: Combiner,
        evaluator: Evaluator,
    ) -> None:
        assigner: Any = spec.assigner
        self._operator = operator
        self._backend = backend
        self._combiner = combiner
        self._evaluator = evaluator
        self._assigner = assigner
        self._to_bytes = codec_of(assigner).to_bytes
        grid = _overlapping_panes(spec)
        assert grid is not None
        self._grid = grid
        self._lateness = spec.allowed_lateness
        self._state = backend.get_value_state(ValueStateDescriptor(STATE_NAME, None))

    # A block

    def take(self, values: list[Any], timestamps: Timestamps, keys: list[Any]) -> Rest:
        """Add records to panes whose windows are all ahead."""
        try:
            panes = self._grid.panes_of(timestamps)  # type: ignore[arg-type]
            known = HashableKeys(keys)
            self._check_span(min(panes), max(panes))
        except (TypeError, ValueError, KeyEncodingError):  # no timestamp or usable key: one by one it is said of which
            return ALL
        watermark = self._operator.watermark
        passed = {pane for pane in set(panes) if self._grid.first_end(pane) <= watermark}
        groups: dict[Any, Any] = {}
        rest: list[int] = []
        # All records of a key go one way, so that its panes come into being in the order of its records.
        concerned = (
            {hashable for hashable, pane in zip(known.hashables, panes, strict=True) if pane in passed}
            if passed
            else ()
        )
        for index, (value, hashable, pane) in enumerate(zip(values, known.hashables, panes, strict=True)):
            if hashable in concerned:
                rest.append(index)
                continue
            group = groups.get(hashable)
            if group is None:
                groups[hashable] = {pane: [value]}
            elif pane in group:
                group[pane].append(value)
            else:
                group[pane] = [value]
        for key, group in known.groups(groups):
            self._backend.set_key(key)
            self._take_key(group)
        return Rest(rest)

    def _check_span(self, earliest: int, latest: int) -> None:
        """Refuse panes with windows that reach beyond 64 bits."""
        size = self._grid.size
        for end in (self._grid.first_end(earliest) + 1, self._grid.last_end(latest) + 1):
            self._to_bytes(TimeWindow(end - size, end))

    def _take_key(self, group: Any) -> None:
        held = self._state.held() or [None, {}]
        for pane, records in group.items():
            self._fold(held, pane, records)
        self._look_at(held, min(map(self._grid.first_end, group)))
        self._state.hold(held)

    def _fold(self, held: _Held, pane: int, records: list[Any]) -> None:
        consumed = iter(records)
        try:
            held[1][pane] = self._combiner.fold(held[1].get(pane), consumed)
        except Exception as error:
            raise self._operator.record_failure(error, records, consumed) from None

    # One record, one timer

    def element(self, value: Any, timestamp: int | None, assigned_by: Any) -> bool:
        """Add a record to its pane; the windows that have passed and still take records fire at once, latest first."""
        if timestamp is None or timestamp <= MIN_WATERMARK:  # the assigner knows what to say
            self._assigner.assign_windows(assigned_by, timestamp, None)
        grid, lateness, watermark = self._grid, self._lateness, self._operator.watermark
        pane = grid.pane_of(timestamp)  # type: ignore[arg-type]
        self._check_span(pane, pane)
        last = grid.last_end(pane)
        if cleanup_time(last, lateness) <= watermark:
            return False
        held = self._state.held() or [None, {}]
        held[1][pane] = self._combiner.fold(held[1].get(pane), iter((value,)))
        for end in range(last, grid.first_end(pane) - 1, -grid.slide):
            if cleanup_time(end, lateness) > watermark >= end:
                self._fire(held[1], end)
        following = grid.next_end(pane, watermark)
        self._look_at(held, cleanup_time(last, lateness) if following is None else following)
        self._state.hold(held)
        return True

    def timer(self, domain: int, timestamp: int, namespace: bytes) -> None:
        """Fire the window that ends, and drop the panes that no window needs any more."""
        held = self._state.held()
        if held is None:
            return
        panes = held[1]
        if self._grid.is_end(timestamp):
            self._fire(panes, timestamp)
        needed_from = self._grid.needed_from(timestamp - self._lateness)
        for pane in [pane for pane in panes if pane < needed_from]:
            del panes[pane]
        if not panes:
            self._state.clear()
            return
        held[0] = None
        self._look_at(held, self._next_look(panes, timestamp))
        self._state.hold(held)

    def _next_look(self, panes: dict[int, Any], timestamp: int) -> int:
        """When the next window that is not empty ends; if none is to come, when the last pane can go."""
        grid = self._grid
        end, start = timestamp + grid.slide, timestamp + grid.slide - grid.size
        if grid.is_end(end) and any(start < pane <= end for pane in panes):
            return end
        ends = [end for end in (grid.next_end(pane, timestamp) for pane in panes) if end is not None]
        return min(ends) if ends else cleanup_time(max(map(grid.last_end, panes)), self._lateness)

    def _look_at(self, held: _Held, time: int) -> None:
        """Have the key looked at then, unless it is before that anyway."""
        if (held[0] is None or time < held[0]) and time != MAX_WATERMARK:
            held[0] = time
            assert self._operator.context.timers is not None
            self._operator.context.timers.register(EVENT, time)

    def _fire(self, panes: dict[int, Any], end: int) -> None:
        start = end + 1 - self._grid.size
        # Copies: the function may change what it merges, and the panes are needed again. A function that returned None
        # left its pane empty, as it would leave a window.
        held = [part for pane, part in panes.items() if start <= pane <= end and part is not None]
        parts = own_copies(held)
        if not parts:
            return
        accumulator = reduce(self._combiner.merge, parts)
        window = TimeWindow(start, end + 1)
        self._backend.set_namespace(self._to_bytes(window))
        self._evaluator.evaluate(window, [self._combiner.result(accumulator)])
        self._backend.set_namespace(VOID_NAMESPACE)
