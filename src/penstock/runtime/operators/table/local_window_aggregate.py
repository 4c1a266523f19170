"""The first of two phases of a window aggregate: what rows come to before they are exchanged."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Any

import numpy as np
import pyarrow as pa

from penstock.runtime.columns import ColumnBlock, Stamps
from penstock.runtime.operators.table.aggregate_columns import as_array, calls_refusal, columnar_calls
from penstock.runtime.operators.table.operator import ROW_FORM, TableOperator
from penstock.runtime.operators.table.refusals import keys_refusal
from penstock.runtime.operators.table.slice_columns import (
    KeyColumns,
    SlicedRows,
    columns_of_rows,
    slices_of,
    slices_refusal,
)
from penstock.runtime.rows import Timestamps
from penstock.vocabulary.sql.logical_types import LogicalType
from penstock.vocabulary.sql.refusals import Names, first_refusal
from penstock.vocabulary.sql.row_kinds import KIND_COLUMN
from penstock.vocabulary.sql.scalar import arrow_type
from penstock.vocabulary.sql.typed_expressions import AggregateCall
from penstock.vocabulary.sql.windows import WindowSpec

__all__ = ["LocalWindowAggregateOperator", "slicing_refusal"]

_MOST_WAITING = 1_000_000


def slicing_refusal(
    keys: Sequence[int],
    calls: Sequence[AggregateCall],
    input_types: Sequence[LogicalType],
    window: WindowSpec,
    names: Names = (),
) -> str | None:
    """Return why windows of inserted rows cannot be aggregated as columns of slices, and so in two phases."""
    return first_refusal(
        keys_refusal(input_types, keys, names), calls_refusal(calls, input_types, names), slices_refusal(window)
    )


class LocalWindowAggregateOperator(TableOperator):
    """Folds rows by key and slice, and emits the key's fields, the number of the slice and the slots of accumulators.

    Rows wait until the watermark passes their slice, or the batch ends; they leave before that watermark does, so that
    the second phase finds late what would have been late without the first.
    """

    kind = "local window aggregate"
    state_identity = "LocalWindowAggregateOperator"

    def __init__(
        self,
        *,
        key_fields: tuple[int, ...],
        aggregates: tuple[AggregateCall, ...],
        input_types: tuple[LogicalType, ...],
        window: WindowSpec,
        time_field: int,
    ) -> None:
        self.key_fields = key_fields
        self.aggregates = aggregates
        self.input_types = input_types
        self.window = window
        self.time_field = time_field

    def refusal(self) -> str | None:
        """Return None in plans: it is there only where windows can be aggregated as columns of slices."""
        return slicing_refusal(self.key_fields, self.aggregates, self.input_types, self.window, self.column_names)

    def makes_columns(self) -> bool:
        """Return that rows become columns."""
        return True

    def open(self) -> None:
        """Find out what to read."""
        assert self.refusal() is None, "not planned for other keys, calls and windows"
        self.counts_row_blocks = False
        calls, slices = columnar_calls(self.aggregates, self.input_types), slices_of(self.window)
        self._reader = SliceReader(self.key_fields, self.time_field, self.input_types, calls, slices)
        self._calls, self._slices = calls, slices
        self._waiting: list[SlicedRows] = []
        self._count = 0

    def begin_batch(self, version: int, attempt: str, state: Any) -> None:
        """Nothing is left of a batch that failed."""
        self._waiting, self._count = [], 0

    def process_block(self, values: list[Any], timestamps: Timestamps, keys: list[Any] | None) -> None:
        """Let rows wait."""
        self._add(self._reader.of_rows(values))

    def process_columns(self, block: ColumnBlock, timestamps: Stamps | None, keys: Any) -> None:
        """Let rows wait, as columns."""
        self._add(self._reader.of_columns(block.batch))

    def _add(self, rows: SlicedRows) -> None:
        if not rows.row_count:
            return
        self._waiting.append(rows)
        self._count += rows.row_count
        if self._count > _MOST_WAITING:
            self._flush()
        elif int(rows.slices.min()) < self._slices.over_at(self.watermark):
            self._flush_over(self.watermark)  # what may be late must not wait until it is

    def on_watermark(self, watermark: int) -> None:
        """Emit the slices that are over."""
        self.watermark = watermark
        self._flush_over(watermark)
        self.output.emit_watermark(watermark)

    def end_batch(self, now_ms: int, end_of_input: bool) -> None:
        """Emit everything: nothing is kept from batch to batch."""
        self._flush()

    def _flush_over(self, watermark: int) -> None:
        over = self._slices.over_at(watermark)
        if not any(int(rows.slices.min()) < over for rows in self._waiting):
            return
        done, waiting = SlicedRows.joined(self._waiting).split(self._joined_slices() < over)
        self._waiting, self._count = [waiting] if waiting.row_count else [], waiting.row_count
        self._emit(done)

    def _joined_slices(self) -> Any:
        return np.concatenate([rows.slices for rows in self._waiting])

    def _flush(self) -> None:
        waiting, self._waiting, self._count = self._waiting, [], 0
        if waiting:
            self._emit(SlicedRows.joined(waiting))

    def _emit(self, rows: SlicedRows) -> None:
        if not rows.row_count:
            return
        made = rows.folded(self._calls.measures, self._calls)
        keys = self._reader.keys.arrays(made.keys)
        slots = [as_array(made.numbers[at]) for at in range(self._calls.slot_count)]
        kinds = pa.array(np.zeros(made.row_count, np.int8))
        arrays = [kinds, *keys, pa.array(made.slices), *slots]
        names = [KIND_COLUMN, *[f"f{at}" for at in range(len(arrays) - 1)]]
        self.output.emit(ColumnBlock(pa.RecordBatch.from_arrays(arrays, names=names), ROW_FORM), None)


class SliceReader:
    """Reads what window aggregates need of rows: their slices, keys, and what they bring to each slot.

    Rows without a field for their time have the one of the clock.
    """

    def __init__(
        self,
        key_fields: Sequence[int],
        time_field: int | None,
        input_types: Sequence[LogicalType],
        calls: Any,
        slices: Any,
        clock: Callable[[], int] | None = None,
    ) -> None:
        self.keys = KeyColumns([input_types[at] for at in key_fields])
        self._key_fields = key_fields
        self._time_field = time_field
        self._calls = calls
        self._slices = slices
        self._clock = clock
        read = {*key_fields, *calls.fields, *([] if time_field is None else [time_field])}
        self._types = {at: arrow_type(input_types[at]) for at in sorted(read)}

    def of_columns(self, batch: pa.RecordBatch) -> SlicedRows:
        """Rows that came as columns, kinds first."""
        return self._read({at: batch.column(at + 1) for at in self._types}, batch.num_rows)

    def of_rows(self, rows: Sequence[tuple[Any, ...]]) -> SlicedRows:
        """Rows that came one by one."""
        return self._read(columns_of_rows(rows, self._types), len(rows))

    def _read(self, columns: dict[int, pa.Array], count: int) -> SlicedRows:
        if self._time_field is None:
            assert self._clock is not None
            slices = np.full(count, self._slices.of(self._clock()), np.int64)
        else:
            times = columns[self._time_field]
            if times.null_count:  # a row without a time is in no window
                timed = pa.array(np.flatnonzero(times.is_valid().to_numpy(zero_copy_only=False)))
                columns = {at: column.take(timed) for at, column in columns.items()}
                times, count = columns[self._time_field], len(timed)
            slices = self._slices.of(times.to_numpy())
        keys = self.keys.of([columns[at] for at in self._key_fields], count)
        return SlicedRows(slices, keys, self._calls.numbers(columns, count))
