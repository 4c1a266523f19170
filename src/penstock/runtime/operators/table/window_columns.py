"""Windows aggregated in columns: those of a batch are in memory, and become state at its end."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from typing import TYPE_CHECKING

import numpy as np
import pyarrow as pa

from penstock.runtime.field_columns import accumulators_of, objects_of
from penstock.runtime.operators.table.aggregate_code import merging_lines
from penstock.runtime.operators.table.aggregate_columns import ColumnarCalls
from penstock.runtime.operators.table.local_window_aggregate import SliceReader
from penstock.runtime.operators.table.operator import Row, defined
from penstock.runtime.operators.table.sessions import LATE_RECORDS
from penstock.runtime.operators.table.slice_columns import FAR, KeyColumns, SlicedRows, Slices
from penstock.state.keyed import VOID_NAMESPACE
from penstock.state.timers import EVENT, PROCESSING, Timer
from penstock.vocabulary.sql.aggregates.compilation import AggregateCode
from penstock.vocabulary.sql.row_kinds import KIND_COLUMN

if TYPE_CHECKING:
    from penstock.runtime.operators.table.window_aggregate import WindowAggregateOperator

__all__ = ["WINDOW_ACCUMULATORS", "ColumnWindows"]

WINDOW_ACCUMULATORS = "_window_accumulators"
_MOST_IN_MEMORY = 1_000_000
_MOST_AT_ONCE = 2_000_000
"""Rows of windows that are over, which are aggregated together."""


class ColumnWindows:
    """The windows of an operator's keys that are not over yet: slices as columns, and state.

    State is what `WindowPanes` keeps: accumulators by key and slice, and a timer of each key at the end of the next
    window that has something of it. State of windows that are over joins the columns, so that there is one way to make
    a window.
    `is_partial`: rows are those of a `LocalWindowAggregateOperator`.
    Windows by the clock are over when it is time: one key of each slice in memory has a timer for all of them.
    """

    def __init__(
        self, operator: WindowAggregateOperator, code: AggregateCode, calls: ColumnarCalls, slices: Slices
    ) -> None:
        self._operator = operator
        self._calls = calls
        self._slices = slices
        self._keys = KeyColumns([operator.input_types[at] for at in operator.key_fields])
        self._late = operator.context.metrics.counter(LATE_RECORDS)
        self._state = operator.value_state(WINDOW_ACCUMULATORS, code.state_type())
        self._state.trust()
        self._merge = defined(merging_lines(code), "merge", code.scope)
        self._rows: list[SlicedRows] = []
        self._count = 0
        self._folded = 0
        self.is_by_clock = operator.time_field is None
        self._domain = PROCESSING if self.is_by_clock else EVENT
        self._over = -FAR
        self._awaited: set[int] = set()
        self._reader = None
        if not operator.is_partial:
            self._reader = SliceReader(
                operator.key_fields, operator.time_field, operator.input_types, calls, slices, operator.context.clock
            )

    def begin_batch(self) -> None:
        """Nothing is left of a batch that failed."""
        self._rows, self._count, self._folded = [], 0, 0
        self._over = -FAR
        self._awaited.clear()

    # ---- rows ----

    def add_columns(self, batch: pa.RecordBatch) -> None:
        """Take rows, as columns with kinds first."""
        self._add(self._partials(batch.columns[1:]) if self._reader is None else self._reader.of_columns(batch))

    def add(self, rows: Sequence[Row]) -> None:
        """Take rows."""
        if self._reader is not None:
            self._add(self._reader.of_rows(rows))
        elif rows:
            types = [*self._keys.types, pa.int64(), *self._calls.slot_types]
            fields = list(zip(*rows, strict=True))[1:]
            self._add(self._partials([pa.array(each, kind) for each, kind in zip(fields, types, strict=True)]))

    def _partials(self, columns: Sequence[pa.Array]) -> SlicedRows:
        width = len(self._keys.types)
        slices = columns[width].to_numpy()
        return SlicedRows(
            slices, self._keys.of(columns[:width], len(slices)), self._calls.slots_of(columns[width + 1 :])
        )

    def _add(self, rows: SlicedRows) -> None:
        if not self.is_by_clock:
            is_late = self._slices.last_ends(rows.slices) <= self._slices.over_at(self._operator.watermark)
            if is_late.any():
                late, rows = rows.split(is_late)
                self._late.inc(late.row_count)
        if not rows.row_count:
            return
        if self._reader is not None:  # later on there is only one kind of rows: slots
            rows = rows.folded(self._calls.measures, self._calls)
        self._keep(rows)
        if self.is_by_clock:
            self._await(rows)
        if self._count > max(_MOST_IN_MEMORY, 2 * self._folded):
            self._compact()
            if self._folded > _MOST_IN_MEMORY:
                self.write()

    def _keep(self, rows: SlicedRows) -> None:
        self._rows.append(rows)
        self._count += rows.row_count

    def _compact(self) -> None:
        """One row for each key and slice."""
        if self._rows:
            whole = SlicedRows.joined(self._rows).folded(self._calls.merging, self._calls)
            self._rows, self._count, self._folded = [whole], whole.row_count, whole.row_count

    # ---- windows that are over ----

    def lift(self, due: Iterator[Timer]) -> int:
        """Take what is in state of windows that are over; it is forgotten there. Returns when the first one was."""
        backend, unit, offset = self._operator.backend, self._slices.unit, self._slices.offset
        keys, slices, accumulators = [], [], []
        earliest = FAR
        for time, key, namespace in due:
            earliest = min(earliest, time)
            backend.set_key(key)
            first, last = ((int(each) - offset) // unit for each in namespace.split(b","))
            for at in range(first, last):
                backend.set_namespace(self._place(at))
                held = self._state.held()
                if held is not None:
                    self._state.hold(None)
                    keys.append(key)
                    slices.append(at)
                    accumulators.append(held)
        backend.set_namespace(VOID_NAMESPACE)
        if keys:
            numbers = self._calls.slots_of_accumulators(accumulators)
            self._keep(SlicedRows(np.array(slices, np.int64), self._keys.of_objects(keys), numbers))
        return earliest

    def closed_by_clock(self, due: Iterator[Timer], now_ms: int) -> Iterator[pa.RecordBatch]:
        """The results of windows that are over by now. None ended before the first timer that was due."""
        yield from self.closed(self.lift(due) - 1, now_ms)
        self._over = self._slices.over_at(now_ms)
        self._awaited.clear()
        for rows in self._rows:
            self._await(rows)

    def _await(self, rows: SlicedRows) -> None:
        """Set a timer for each slice, with any key."""
        for at in np.unique(rows.slices).tolist():
            if at not in self._awaited:
                self._awaited.add(at)
                (key,) = objects_of(rows.keys.take(np.flatnonzero(rows.slices == at)[:1]))
                self._operator.backend.set_key(key)
                self._register(self._next_end(at))

    def _next_end(self, at: int) -> int:
        """When the first window of a slice ends that is not over yet; the first of all where the clock went back."""
        over = self._over if self.is_by_clock else self._slices.over_at(self._operator.watermark)
        return at + 1 if self._slices.last_ends(at) <= over else max(at + 1, over + 1)

    def closed(self, before: int, watermark: int) -> Iterator[pa.RecordBatch]:
        """The results of windows that are over at a watermark, and were not at the one before."""
        first, last = self._slices.over_at(before) + 1, self._slices.over_at(watermark)
        if last < first or not any(int(rows.slices.min()) < last for rows in self._rows):
            return
        self._compact()
        (rows,) = self._rows
        in_reach = rows.take(np.flatnonzero(rows.slices < last))
        is_needed = self._slices.last_ends(rows.slices) > last
        self._rows = [rows.take(np.flatnonzero(is_needed))] if is_needed.any() else []
        self._count = self._folded = sum(each.row_count for each in self._rows)
        yield from self._results(in_reach, first, last)

    def _results(self, rows: SlicedRows, first: int, last: int) -> Iterator[pa.RecordBatch]:
        slices = self._slices
        if slices.in_window == 1:
            yield self._batch(rows._replace(slices=rows.slices + 1))
            return
        last_ends = slices.last_ends(rows.slices)  # in order, as the slices are
        step = max(_MOST_AT_ONCE // rows.row_count, 1)
        while True:
            reached = int(np.searchsorted(last_ends, first))
            if reached == rows.row_count:
                return
            first = max(first, int(rows.slices[reached]) + 1)  # there may be long times without rows
            if first > last:
                return
            members = rows.in_windows(slices, first, min(first + step - 1, last))
            if members.row_count:
                yield self._batch(members.folded(self._calls.merging, self._calls))
            first += step

    def _batch(self, rows: SlicedRows) -> pa.RecordBatch:
        slots = [rows.numbers[at] for at in range(self._calls.slot_count)]
        results = self._calls.arrays(self._calls.result_columns(slots))
        ends = self._slices.times(rows.slices)
        starts = self._slices.times(self._slices.first_slices(rows.slices))
        known = {"start": starts, "end": ends}
        properties = [pa.array(known[each] if each in known else ends - 1) for each in self._operator.properties]
        arrays = [pa.array(np.zeros(rows.row_count, np.int8)), *self._keys.arrays(rows.keys), *results, *properties]
        return pa.RecordBatch.from_arrays(arrays, names=[KIND_COLUMN, *[f"f{at}" for at in range(len(arrays) - 1)]])

    # ---- state ----

    def write(self) -> None:
        """Put everything into state, with timers."""
        self._compact()
        rows, backend = self._rows, self._operator.backend
        if not rows:
            return
        next_ends = {at: self._next_end(at) for at in np.unique(rows[0].slices).tolist()}
        self.begin_batch()
        slots = [rows[0].numbers[at] for at in range(self._calls.slot_count)]
        accumulators = accumulators_of(slots) if slots else [()] * rows[0].row_count
        places = zip(objects_of(rows[0].keys), rows[0].slices.tolist(), accumulators, strict=True)
        for key, at, accumulator in places:
            backend.set_key(key)
            backend.set_namespace(self._place(at))
            held = self._state.held()
            self._state.hold(accumulator if held is None else self._merge([held, accumulator]))
            self._register(next_ends[at])
        backend.set_namespace(VOID_NAMESPACE)

    def _place(self, number: int) -> bytes:
        start = self._slices.times(number)
        return b"%d,%d" % (start, start + self._slices.unit)

    def _register(self, end: int) -> None:
        start = self._slices.times(self._slices.first_slices(end))
        end_ms = self._slices.times(end)
        self._operator.timers.register(self._domain, end_ms - 1, b"%d,%d" % (start, end_ms))
