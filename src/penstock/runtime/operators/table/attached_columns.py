"""Rows that come with their windows, as those of a window aggregate do: folded by key and window a block at a time."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any, NamedTuple

import numpy as np
import pyarrow as pa

from penstock.runtime.field_columns import FieldNumbers, Keys, accumulators_of, fold, objects_of
from penstock.runtime.operators.table.aggregate_columns import calls_refusal, columnar_calls
from penstock.runtime.operators.table.refusals import keys_refusal
from penstock.runtime.operators.table.slice_columns import KeyColumns, zone_refusal
from penstock.vocabulary.sql.refusals import first_refusal

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

    def __init__(self, operator: WindowAggregateOperator) -> None:
        start, end = operator.window_fields or (None, 0)
        assert start is not None
        self._key_fields = operator.key_fields
        self._keys = KeyColumns([operator.input_types[at] for at in operator.key_fields])
        self._calls = columnar_calls(operator.aggregates, operator.input_types)
        self._window = (start, end)

    @staticmethod
    def refusal(operator: WindowAggregateOperator) -> str | None:
        """Return why rows have to be folded one by one."""
        types, names = operator.input_types, operator.column_names
        start, _ = operator.window_fields or (None, 0)
        return first_refusal(
            None if operator.is_event_time else "the windows are by processing time",
            None if start is not None else "the windows of the input have no start",
            zone_refusal(operator.window),
            keys_refusal(types, operator.key_fields, names),
            calls_refusal(operator.aggregates, types, names),
            _float_refusal(operator),
        )

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


def _float_refusal(operator: WindowAggregateOperator) -> str | None:
    """Refuse sums of floats, which depend on the order in which they are added."""
    if calls_refusal(operator.aggregates, operator.input_types) is not None:
        return None
    calls = columnar_calls(operator.aggregates, operator.input_types)
    return "a sum of DOUBLE depends on the order of rows" if pa.float64() in calls.slot_types else None
