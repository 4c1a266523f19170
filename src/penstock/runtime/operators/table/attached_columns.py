"""Rows that come with their windows, as those of a window aggregate do: folded by key and window a block at a time."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any, NamedTuple

import numpy as np
import pyarrow as pa

from penstock.runtime.field_columns import FieldNumbers, Keys, accumulators_of, fold, objects_of
from penstock.runtime.operators.table.aggregate_columns import ColumnarCalls, columnar_calls
from penstock.runtime.operators.table.slice_columns import KeyColumns
from penstock.runtime.operators.table.window_clock import WindowClock
from penstock.vocabulary.sql.aggregates.compilation import AggregateCode

if TYPE_CHECKING:
    from penstock.runtime.operators.table.window_aggregate import WindowAggregateOperator

__all__ = ["AttachedColumns", "FoldedWindows"]


class FoldedWindows(NamedTuple):
    """What the rows of a block come to: keys, starts and ends of windows, accumulators; and how many rows were late."""

    places: list[tuple[Any, int, int]]
    accumulators: list[tuple[Any, ...]]
    late: int


class AttachedColumns:
    """Folds blocks of columns whose fields `window` are start and end of a window."""

    def __init__(self, key_fields: tuple[int, ...], keys: KeyColumns, calls: ColumnarCalls, window: tuple[int, int]):
        self._key_fields = key_fields
        self._keys = keys
        self._calls = calls
        self._window = window

    @staticmethod
    def of(operator: WindowAggregateOperator, code: AggregateCode) -> AttachedColumns | None:
        """What folds an operator's columns; None where rows have to be folded one by one."""
        start, end = operator.window_fields or (None, 0)
        calls = columnar_calls(operator.aggregates, operator.input_types)
        key_types = [operator.input_types[at] for at in operator.key_fields]
        is_plain = operator.is_event_time and not operator.needs_retraction and not code.views
        is_zoned = WindowClock(operator.window.zone).zone is not None
        if calls is None or start is None or not is_plain or is_zoned or code.merge is None:
            return None
        # A sum of floats depends on the order in which they are added.
        if pa.float64() in calls.slot_types or not KeyColumns.can_be(key_types):
            return None
        return AttachedColumns(operator.key_fields, KeyColumns(key_types), calls, (start, end))

    def folded(self, batch: pa.RecordBatch, watermark: int) -> FoldedWindows:
        """The rows of a batch that are not late."""
        known = batch.column(self._window[1] + 1).is_valid()
        rows = batch if known.true_count == batch.num_rows else batch.filter(known)  # without a window: to none
        is_late = rows.column(self._window[1] + 1).to_numpy() - 1 <= watermark
        late = int(np.count_nonzero(is_late))
        rows = rows.filter(pa.array(~is_late)) if late else rows
        if not rows.num_rows:
            return FoldedWindows([], [], late)
        made = fold(self._places(rows), self._numbers(rows), self._calls.measures)
        starts, ends, *parts = made.keys.parts
        keys = objects_of(Keys(parts, len(self._key_fields) > 1)) if parts else [0] * len(starts)
        slots = self._calls.wrapped(made.measures)
        places = list(zip(keys, starts.tolist(), ends.tolist(), strict=True))
        return FoldedWindows(places, accumulators_of(slots) if slots else [()] * len(places), late)

    def _places(self, rows: pa.RecordBatch) -> Keys:
        windows = [rows.column(at + 1).to_numpy() for at in self._window]
        columns = [rows.column(at + 1) for at in self._key_fields]
        return Keys([*windows, *(self._keys.of(columns, rows.num_rows).parts if columns else ())], is_tuple=True)

    def _numbers(self, rows: pa.RecordBatch) -> FieldNumbers:
        return self._calls.numbers({at: rows.column(at + 1) for at in self._calls.fields}, rows.num_rows)
