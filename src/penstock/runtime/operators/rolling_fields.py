"""Rolling field aggregates of a keyed stream: a row of running values for each record; owns no arithmetic."""

from __future__ import annotations

from typing import Any

from penstock.common.constants import MAX_WATERMARK
from penstock.common.types import Row
from penstock.datastream.field_aggregation import FieldAggregation
from penstock.datastream.state import ValueStateDescriptor
from penstock.runtime.operators.operator import StreamOperator
from penstock.runtime.operators.window.grouping import KeySlots
from penstock.runtime.rows import Timestamps

STATE_NAME = "_field_aggregates"


class RollingFieldsOperator(StreamOperator):
    """Folds each record into the accumulator of its key and emits key and aggregates so far.

    State is read and written once for each key of a block. In batch mode only the final row of each key is emitted,
    when the input has ended, as for a rolling reduce.
    """

    is_keyed = True

    def __init__(self, function: FieldAggregation, names: tuple[str, ...], key_is_spread: bool) -> None:
        """Take the names of the rows' columns: those of the key (several if it is spread), then the aggregates'."""
        self.function = function
        self.names = names
        self.key_is_spread = key_is_spread

    def open(self) -> None:
        """Get the state."""
        assert self.context.backend is not None
        self._state = self.context.backend.get_value_state(ValueStateDescriptor(STATE_NAME, None))

    def process_block(self, values: list[Any], timestamps: Timestamps, keys: list[Any] | None) -> None:
        """Fold a block record by record."""
        assert keys is not None and self.context.backend is not None
        set_key, read, row = self.context.backend.set_key, self._state.value, self._row
        add, empty = self.function.add, self.function.create_accumulator()
        known = KeySlots(keys)
        held: dict[Any, Any] = {}
        results: list[Row] = []
        consumed = iter(values)
        try:
            for value, key, slot in zip(consumed, keys, known.slots, strict=False):
                accumulator = held.get(slot)
                if accumulator is None:
                    set_key(key)
                    accumulator = read() or empty
                accumulator = held[slot] = add(value, accumulator)
                results.append(row(key, accumulator))
        except Exception as error:
            raise self.record_failure(error, values, consumed) from None
        self._write(known.groups(held))
        if not self.context.is_batch_mode:
            self.output.emit(results, timestamps)

    def _write(self, held: Any) -> None:
        assert self.context.backend is not None
        set_key, update = self.context.backend.set_key, self._state.update
        for key, accumulator in held:
            set_key(key)
            update(accumulator)

    def _row(self, key: Any, accumulator: Any) -> Row:
        leading = key if self.key_is_spread else (key,)
        return Row.of_fields(self.names, [*leading, *self.function.get_result(accumulator)])

    def on_watermark(self, watermark: int) -> None:
        """In batch mode: emit what each key has come to before time ends, so that timers downstream still fire."""
        if self.context.is_batch_mode and watermark == MAX_WATERMARK:
            self._emit_finals()
        super().on_watermark(watermark)

    def _emit_finals(self) -> None:
        backend = self.context.backend
        assert backend is not None
        finals: list[Row] = []
        for key in backend.keys(STATE_NAME):
            backend.set_key(key)
            finals.append(self._row(key, self._state.value()))
        self.output.emit(finals, None)
