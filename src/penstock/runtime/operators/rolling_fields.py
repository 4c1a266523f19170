"""Rolling field aggregates of a keyed stream: a row of running values for each record."""

from __future__ import annotations

from typing import Any

import numpy as np
import pyarrow as pa

from penstock.common.types import Row
from penstock.runtime.columns import ColumnBlock, Stamps
from penstock.runtime.field_columns import (
    FieldNumbers,
    Keys,
    NumberColumn,
    accumulators_of,
    encoded,
    keys_of,
    numbers_of,
    objects_of,
    packed,
    result_arrays,
)
from penstock.runtime.layouts import Layout
from penstock.runtime.operators.rolling import RollingOperator
from penstock.runtime.operators.window.grouping import HashableKeys
from penstock.runtime.operators.window.layout import measures_in
from penstock.runtime.rows import Timestamps
from penstock.runtime.running_columns import Runs, running
from penstock.vocabulary.field_aggregation import FieldAggregation
from penstock.vocabulary.state import ValueStateDescriptor

STATE_NAME = "_field_aggregates"


class RollingFieldsOperator(RollingOperator):
    """Folds each record into the accumulator of its key and emits key and aggregates so far.

    State is read and written once for each key of a block. In batch mode only the final row of each key is emitted,
    when the input has ended, as for a rolling reduce.
    """

    kind = "rolling fields"
    state_identity = "RollingFieldsOperator"
    state_name = STATE_NAME

    def __init__(self, function: FieldAggregation, names: tuple[str, ...], key_is_spread: bool) -> None:
        """Take the names of the rows' columns: those of the key (several if it is spread), then the aggregates'."""
        self.function = function
        self.names = names
        self.key_is_spread = key_is_spread

    def layout(self) -> Layout:
        """What the accumulators hold."""
        return {"operator": "rolling aggregates", "aggregates": measures_in(self.function)}

    def open(self) -> None:
        """Get the state."""
        assert self.context.backend is not None
        self._state = self.context.backend.get_value_state(ValueStateDescriptor(STATE_NAME, None))

    def refusal(self) -> str | None:
        """Return None: declared aggregates are of fields; that a field is no number is found in blocks."""
        return None

    def process_block(self, values: list[Any], timestamps: Timestamps, keys: list[Any] | None) -> None:
        """Fold a block record by record."""
        assert keys is not None and self.context.backend is not None
        set_key, read, row = self.context.backend.set_key, self._state.held, self._row
        add, empty = self.function.add, self.function.create_accumulator()
        known = HashableKeys(keys)
        held: dict[Any, Any] = {}
        results: list[Row] = []
        consumed = iter(values)
        try:
            for value, key, hashable in zip(consumed, keys, known.hashables, strict=False):
                accumulator = held.get(hashable)
                if accumulator is None:
                    set_key(key)
                    accumulator = read() or empty
                accumulator = held[hashable] = add(value, accumulator)
                results.append(row(key, accumulator))
        except Exception as error:
            raise self.record_failure(error, values, consumed) from None
        self._write(known.groups(held))
        if not self.context.is_batch_mode:
            self.output.emit(results, timestamps)

    def process_columns(self, block: ColumnBlock, timestamps: Stamps | None, keys: Any) -> None:
        """Fold a block of columns at once; as objects, where columns do not tell enough."""
        parts = keys_of(keys) if len(block) and not self.context.is_batch_mode else None
        numbers = None if parts is None else numbers_of(block, self.function.measures)
        made = None if parts is None or numbers is None else self._run(parts, numbers)
        if made is None:
            super().process_columns(block, timestamps, keys)
            return
        results = result_arrays(self.function.aggregates, self.function.measures, made)
        leading = keys.flatten() if pa.types.is_struct(keys.type) else [keys]
        self.output.emit(
            ColumnBlock(pa.RecordBatch.from_arrays([*leading, *results], names=list(self.names)), "row"), timestamps
        )

    def _run(self, keys: Keys, numbers: FieldNumbers) -> list[NumberColumn] | None:
        """The measures after each record; the state is brought up to date. None if only objects will do."""
        assert self.context.backend is not None
        codes = packed(encoded(keys))
        runs = Runs.of(codes)
        distinct = objects_of(Keys(codes.parts(np.arange(codes.size)), keys.is_tuple))
        set_key, read, empty = self.context.backend.set_key, self._state.held, self.function.create_accumulator()
        held = []
        for key in distinct:
            set_key(key)
            held.append(read() or empty)
        made = running(runs, numbers, self.function.measures, held)
        if made is None:
            return None
        last = runs.starts + runs.lengths - 1
        self._write(zip(distinct, accumulators_of([column.take(last) for column in made]), strict=True))
        arrival = np.empty_like(runs.order)
        arrival[runs.order] = np.arange(len(arrival))
        return [column.take(arrival) for column in made]

    def _write(self, held: Any) -> None:
        assert self.context.backend is not None
        set_key, hold = self.context.backend.set_key, self._state.hold
        for key, accumulator in held:
            set_key(key)
            hold(accumulator)

    def _row(self, key: Any, accumulator: Any) -> Row:
        leading = key if self.key_is_spread else (key,)
        return Row.of_fields(self.names, [*leading, *self.function.get_result(accumulator)])

    def final(self, key: Any) -> Row:
        """Return the row of what the key has come to."""
        return self._row(key, self._state.value())
