"""Accumulators of windows that are not sessions, in keyed state by window.

Windows that overlap (HOP, CUMULATE) share *slices*: each row is folded once, into the slice of its time, and the
slices of a window are merged when it is over. Where accumulators cannot be merged, a row is folded into each window.
The place of an accumulator is a namespace of the key's state: start and end of the slice or window.
"""

from __future__ import annotations

from collections.abc import Iterator
from typing import TYPE_CHECKING, Any

import pyarrow as pa

from penstock.runtime.operators.table.aggregate_code import bind_views, indented, merging_lines
from penstock.runtime.operators.table.attached_columns import AttachedColumns
from penstock.runtime.operators.table.operator import Row, defined
from penstock.runtime.operators.table.sessions import LATE_RECORDS
from penstock.runtime.operators.table.window_clock import WindowClock
from penstock.runtime.operators.table.window_columns import WINDOW_ACCUMULATORS
from penstock.state.keyed import VOID_NAMESPACE
from penstock.state.timers import EVENT, PROCESSING, Timer
from penstock.vocabulary.sql.aggregates.compilation import AggregateCode
from penstock.vocabulary.sql.windows import WindowKind

if TYPE_CHECKING:
    from penstock.runtime.operators.table.window_aggregate import WindowAggregateOperator

_MOST_IN_MEMORY = 200_000

Place = tuple[Any, int, int]
"""Key, start and end of a slice or window."""


class WindowPanes:
    """The windows of an operator's keys that are not over yet."""

    def __init__(self, operator: WindowAggregateOperator, code: AggregateCode) -> None:
        window = operator.window
        self._operator = operator
        self._window = window
        self._is_attached = operator.window_fields is not None
        is_event_time = operator.is_event_time if self._is_attached else operator.time_field is not None
        self._domain = EVENT if is_event_time else PROCESSING
        self.clock = WindowClock(window.zone)
        self._state = operator.value_state(WINDOW_ACCUMULATORS, code.state_type())
        self._views = bind_views(operator, code)
        self._late = operator.context.metrics.counter(LATE_RECORDS)
        is_even = window.slide_ms > 0 and window.size_ms % window.slide_ms == 0
        overlaps = window.kind in (WindowKind.HOP, WindowKind.CUMULATE) and not self._is_attached
        self._has_slices = overlaps and is_even and code.merge is not None
        self._row_count = len(code.slots) - 1 if operator.needs_retraction else None
        self._folded: dict[Place, Any] = {}
        self._new: set[Place] = set()  # places that the state does not have
        self._begun: set[tuple[int, int]] = set()  # windows that no key had before this batch
        code.scope.update(
            load=self._load, windows_of=window.windows_of, local=self.clock.to_local, due_at=self.clock.due_at
        )
        self._fold = defined(_Fold(operator, code, self._has_slices).lines(), "fold", code.scope)
        self._results = defined(_results(code), "results", code.scope)
        self._attached = AttachedColumns(operator) if self._is_attached and operator.refusal() is None else None
        if self._attached is not None:
            self._merge = defined(merging_lines(code), "merge", code.scope)

    # ---- rows ----

    def begin_batch(self) -> None:
        """Nothing is left of a batch that failed."""
        self._folded.clear()
        self._new.clear()
        self._begun.clear()

    def add_columns(self, batch: pa.RecordBatch) -> bool:
        """Fold columns into their windows; False where rows have to be folded one by one."""
        if self._attached is None:
            return False
        made, folded = self._attached.folded(batch, self._operator.watermark), self._folded
        for place, accumulator in zip(made.places, made.accumulators, strict=True):
            held = folded.get(place)
            held = self._load(*place) if held is None else held
            folded[place] = accumulator if held is None else self._merge([held, accumulator])
        self._added(made.late)
        return True

    def add(self, rows: list[Row], keys: list[Any]) -> None:
        """Fold rows into their windows."""
        operator, consumed = self._operator, iter(rows)
        watermark = operator.watermark if self._domain == EVENT else -(2**63)
        try:
            late = self._fold(zip(keys, consumed, strict=False), watermark, self._now(), self._folded)
        except Exception as error:
            raise operator.record_failure(error, rows, consumed) from None
        self._added(late)

    def _added(self, late: int) -> None:
        if late:
            self._late.inc(late)
        self._operator.backend.set_namespace(VOID_NAMESPACE)
        if len(self._folded) > _MOST_IN_MEMORY:
            self.write()

    def write(self) -> None:
        """Put the accumulators that have changed into the state; until then they are in memory."""
        backend, hold = self._operator.backend, self._state.hold
        for (key, start, end), accumulator in self._folded.items():
            backend.set_key(key)
            backend.set_namespace(b"%d,%d" % (start, end))
            hold(accumulator)
        backend.set_namespace(VOID_NAMESPACE)
        self.begin_batch()

    def _now(self) -> int:
        return self.clock.to_local(self._operator.context.clock()) if self._domain == PROCESSING else 0

    def _load(self, key: Any, start: int, end: int) -> Any:
        """Go to the place of a window and get its accumulator; a new one needs a timer."""
        backend = self._operator.backend
        backend.set_key(key)
        is_begun = (start, end) in self._begun or self._begins(start, end)
        found = None
        if self._views or not is_begun:
            backend.set_namespace(b"%d,%d" % (start, end))
            found = self._state.held()
        if found is None:
            self._new.add((key, start, end))
            first = self._first_open(end) if self._has_slices and self._domain == EVENT else end
            self._register(self._window_start(start, first), first)
        return found

    def _begins(self, start: int, end: int) -> bool:
        """Whether no key has anything in a window or slice, so that the state need not be asked for each key.

        What is in state has a timer, at the end of the window or of a later one that its slice is part of.
        """
        ends = range(end, end + self._window.size_ms, self._window.slide_ms) if self._has_slices else (end,)
        timers, domain = self._operator.timers, self._domain
        if any(timers.has_any_at(domain, self.clock.due_at(each)) for each in ends):
            return False
        self._begun.add((start, end))
        return True

    def _first_open(self, end: int) -> int:
        watermark = self._operator.watermark
        while self.clock.due_at(end) <= watermark:
            end += self._window.slide_ms
        return end

    def _register(self, start: int, end: int) -> None:
        self._operator.timers.register(self._domain, self.clock.due_at(end), b"%d,%d" % (start, end))

    # ---- windows that are over ----

    def closed(self, due: Iterator[Timer]) -> Iterator[tuple[Any, int, int, Row]]:
        """Key, start, end and results of the windows that are over; they are forgotten."""
        backend = self._operator.backend
        for _, key, namespace in due:
            start, end = map(int, namespace.split(b","))
            backend.set_key(key)
            accumulators = self._of_slices(key, start, end) if self._has_slices else [self._taken(key, start, end)]
            present = [each for each in accumulators if each is not None]
            if self._views:
                backend.set_namespace(namespace)  # where results read them
            results = self._results(present, self._row_count) if present else None
            for view in self._views:
                view.clear()
            backend.set_namespace(VOID_NAMESPACE)
            if results is not None:
                yield key, start, end, results

    def _held(self, place: Place) -> Any:
        """The accumulator of a place of the current key."""
        found = self._folded.get(place)
        if found is None and place not in self._new:
            self._operator.backend.set_namespace(b"%d,%d" % place[1:])
            found = self._state.held()
        return found

    def _taken(self, key: Any, start: int, end: int) -> Any:
        """The same, which is then forgotten."""
        place = (key, start, end)
        found = self._held(place)
        self._folded.pop(place, None)
        if place in self._new:
            self._new.remove(place)
        elif found is not None:
            self._operator.backend.set_namespace(b"%d,%d" % (start, end))
            self._state.hold(None)
        return found

    def _of_slices(self, key: Any, start: int, end: int) -> list[Any]:
        """Accumulators of a window's slices; those that no later window needs are forgotten."""
        slide, is_hop = self._window.slide_ms, self._window.kind is WindowKind.HOP
        found, next_end = [], end + slide
        has_next = is_hop or next_end <= start + self._window.size_ms
        remaining = False
        for at in range(start, end, slide):
            is_last_use = (is_hop and at == start) or not has_next
            held = self._taken(key, at, at + slide) if is_last_use else self._held((key, at, at + slide))
            if held is not None:
                found.append(held)
                remaining = remaining or not is_last_use
        if remaining:
            self._register(start + slide if is_hop else start, next_end)
        return found

    def _window_start(self, start: int, end: int) -> int:
        """The start of the window that ends at `end`, given that of its last slice."""
        if not self._has_slices:
            return start
        size, offset = self._window.size_ms, self._window.offset_ms
        if self._window.kind is WindowKind.HOP:
            return end - size
        return end - 1 - (end - 1 - offset) % size


class _Fold:
    """The text of the loop over rows."""

    def __init__(self, operator: WindowAggregateOperator, code: AggregateCode, has_slices: bool) -> None:
        self._operator = operator
        self._code = code
        self._has_slices = has_slices
        self._window = operator.window

    def lines(self) -> list[str]:
        """The definition of `fold`, which gives the number of late rows."""
        body = indented(self._time(), 2)
        if self._is_spread:
            body += [
                "        is_late = True",
                "        for start, end in windows_of(time):",
                *indented(self._late(), 3),
            ]
            body += ["            is_late = False", *indented(self._into_window(), 3), "        late += is_late"]
        else:
            body += [*indented(self._place(), 2), *indented(self._late(), 2), *indented(self._into_window(), 2)]
        return [
            "def fold(pairs, watermark, now, folded):",
            "    late = 0",
            "    get = folded.get",
            "    for key, row in pairs:",
            *body,
            "    return late",
        ]

    @property
    def _is_spread(self) -> bool:
        overlaps = self._window.kind in (WindowKind.HOP, WindowKind.CUMULATE)
        return overlaps and not self._has_slices and self._operator.window_fields is None

    def _time(self) -> list[str]:
        operator = self._operator
        if operator.window_fields is not None:
            return []
        if operator.time_field is None:
            return ["time = now"]
        local = ["time = local(time)"] if self._is_zoned else []
        return [f"time = row[{operator.time_field + 1}]", "if time is None:", "    continue", *local]

    @property
    def _is_zoned(self) -> bool:
        return WindowClock(self._window.zone).zone is not None

    def _place(self) -> list[str]:
        window, fields = self._window, self._operator.window_fields
        if fields is not None:
            start, end = fields
            first = f"row[{start + 1}]" if start is not None else _start_of_attached(window.kind, window)
            return [f"end = row[{end + 1}]", "if end is None:", "    continue", f"start = {first}"]
        unit = window.slide_ms if self._has_slices else window.size_ms
        return [f"start = time - (time - {window.offset_ms}) % {unit}", f"end = start + {unit}"]

    def _late(self) -> list[str]:
        """Skip what is late: the row, or in the loop over windows the window."""
        window, last = self._window, "end"
        if self._has_slices and window.kind is WindowKind.HOP:
            last = f"end + {window.size_ms - window.slide_ms}"
        elif self._has_slices:
            last = f"time - (time - {window.offset_ms}) % {window.size_ms} + {window.size_ms}"
        last = f"due_at({last})" if self._is_zoned else f"{last} - 1"
        count = [] if self._is_spread else ["    late += 1"]
        return [f"if {last} <= watermark:", *count, "    continue"]

    def _into_window(self) -> list[str]:
        code = self._code
        folded = code.accumulate
        if self._operator.needs_retraction:
            folded = ["if row[0] & 1:", *indented(code.retract, 1), "else:", *indented(code.accumulate, 1)]
        # Views are in state, so the place has to be gone to for every row.
        found = [] if code.views else ["accumulator = get(place)", "if accumulator is None:"]
        load = ["stored = load(key, start, end)", "accumulator = get(place)", "if accumulator is None:"]
        load += ["    accumulator = stored"] if code.views else []
        fetch = load if code.views else [*found, "    accumulator = load(key, start, end)"]
        return [
            "place = (key, start, end)",
            *fetch,
            f"{code.names} = {code.initial} if accumulator is None else accumulator",
            *folded,
            f"folded[place] = {code.names}",
        ]


def _start_of_attached(kind: WindowKind, window: Any) -> str:
    if kind is WindowKind.CUMULATE:
        return f"end - 1 - (end - 1 - {window.offset_ms}) % {window.size_ms}"
    return f"end - {window.size_ms}"


def _results(code: AggregateCode) -> list[str]:
    """The text of what merges accumulators and gives the results, None where no row is left."""
    return [
        "def results(accumulators, row_count_at):",
        f"    {code.names} = accumulators[0]",
        "    for other in accumulators[1:]:",
        f"        {code.others} = other",
        *indented(code.merge or ["pass"], 2),
        "    if row_count_at is not None and row_count <= 0:" if "row_count" in code.names else "    if False:",
        "        return None",
        f"    return ({code.results})",
    ]
