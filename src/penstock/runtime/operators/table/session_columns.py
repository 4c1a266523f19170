"""Sessions aggregated in columns: those of a block are found together, and only then join the ones in state."""

from __future__ import annotations

from typing import TYPE_CHECKING

import numpy as np
import pyarrow as pa

from penstock.runtime.field_columns import FieldNumbers, Keys, accumulators_of, encoded, fold, objects_of, packed
from penstock.runtime.operators.table.aggregate_columns import calls_refusal, columnar_calls
from penstock.runtime.operators.table.refusals import keys_refusal
from penstock.runtime.operators.table.sessions import Sessions
from penstock.runtime.operators.table.slice_columns import KeyColumns, zone_refusal
from penstock.vocabulary.sql.refusals import first_refusal

if TYPE_CHECKING:
    from penstock.runtime.operators.table.window_aggregate import WindowAggregateOperator

__all__ = ["SessionColumns"]


class SessionColumns:
    """Reads blocks of columns into the sessions of an operator."""

    def __init__(self, operator: WindowAggregateOperator, sessions: Sessions) -> None:
        self._operator = operator
        self._calls = columnar_calls(operator.aggregates, operator.input_types)
        self._sessions = sessions
        self._gap = operator.window.size_ms
        assert operator.time_field is not None
        self._time_field = operator.time_field
        self._keys = KeyColumns([operator.input_types[at] for at in operator.key_fields])

    @staticmethod
    def refusal(operator: WindowAggregateOperator) -> str | None:
        """Return why rows have to be looked at one by one."""
        types, names = operator.input_types, operator.column_names
        return first_refusal(
            None if operator.time_field is not None else "sessions are by processing time",
            None if operator.key_fields else "sessions have no key",
            zone_refusal(operator.window),
            keys_refusal(types, operator.key_fields, names),
            calls_refusal(operator.aggregates, types, names),
        )

    def add(self, batch: pa.RecordBatch) -> bool:
        """Take rows, unless one has no time or might be late: whether it is depends on the rows before it."""
        times = batch.column(self._time_field + 1)
        if times.null_count or not len(times):
            return False
        when = times.to_numpy()
        if int(when.min()) + self._gap - 1 <= self._operator.watermark:
            return False
        columns = {at: batch.column(at + 1) for at in {*self._operator.key_fields, *self._calls.fields}}
        keys = self._keys.of([columns[at] for at in self._operator.key_fields], len(when))
        codes = packed(encoded(keys))
        order = np.lexsort((when, codes.codes))
        sorted_codes, sorted_times = codes.codes[order], when[order]
        is_first = np.ones(len(order), np.bool_)
        is_first[1:] = (np.diff(sorted_codes) != 0) | (np.diff(sorted_times) > self._gap)
        numbers = {at: each.take(order) for at, each in self._calls.numbers(columns, len(when)).items()}
        firsts = np.flatnonzero(is_first)
        lasts = np.append(firsts[1:], len(order)) - 1
        distinct = objects_of(Keys(codes.parts(sorted_codes[firsts]), keys.is_tuple))
        made = zip(
            distinct,
            sorted_times[firsts].tolist(),
            (sorted_times[lasts] + self._gap).tolist(),
            self._folded(np.cumsum(is_first) - 1, numbers, len(firsts)),
            strict=True,
        )
        self._sessions.add_made(made)
        return True

    def _folded(self, sessions: np.ndarray, numbers: FieldNumbers, count: int) -> list[tuple[object, ...]]:
        """The accumulators of sessions, by their numbers."""
        made = fold(Keys([sessions], False), numbers, self._calls.measures)
        slots = self._calls.wrapped(made.measures)
        if not slots:
            return [()] * count
        places = np.argsort(made.keys.parts[0])
        return accumulators_of([column.take(places) for column in slots])
