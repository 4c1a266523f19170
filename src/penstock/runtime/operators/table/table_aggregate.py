"""Table aggregates: the rows that a user function makes of the rows of each key."""

from __future__ import annotations

from typing import Any

from penstock.common.typeinfo import Types
from penstock.runtime.layouts import Layout
from penstock.runtime.operators.table.operator import KeyedTableOperator, Row, described_calls, type_texts
from penstock.runtime.operators.table.table_functions import made_rows
from penstock.runtime.rows import Timestamps
from penstock.vocabulary.sql.logical_types import LogicalType
from penstock.vocabulary.sql.row_kinds import DELETE, INSERT
from penstock.vocabulary.sql.typed_expressions import AggregateCall
from penstock.vocabulary.sql.user_functions import UserFunction, argument_maker

__all__ = ["GroupTableAggregateOperator"]


class GroupTableAggregateOperator(KeyedTableOperator):
    """Emits the key's fields with each row of `emit_value`, after -D of those it emitted before.

    `aggregate` is a call whose option is the user function; its input may update if the function has `retract`.
    """

    kind = "group table aggregate"
    state_identity = "GroupTableAggregateOperator"

    def __init__(
        self,
        *,
        key_fields: tuple[int, ...],
        aggregate: AggregateCall,
        input_types: tuple[LogicalType, ...],
        state_ttl_ms: int = 0,
    ) -> None:
        self.key_fields = key_fields
        self.aggregate = aggregate
        self.input_types = input_types
        self.state_ttl_ms = state_ttl_ms

    def layout(self) -> Layout:
        """What the keys are, and whose accumulators are held."""
        keys = type_texts([self.input_types[at] for at in self.key_fields])
        return {"operator": self.kind, "keys": keys, "aggregates": described_calls([self.aggregate])}

    def open(self) -> None:
        """Get the state."""
        user: UserFunction = self.aggregate.options[0]
        self._user = user.function
        self._state = self.value_state(
            "_accumulators", Types.TUPLE([Types.LONG(), Types.LONG(), Types.PICKLED_BYTE_ARRAY()])
        )
        self._make = argument_maker(user, [self.input_types[at] for at in self.aggregate.arguments])
        self._made = made_rows(user, self.aggregate.type)
        self._places = [at + 1 for at in self.aggregate.arguments]
        self._key_places = [at + 1 for at in self.key_fields]

    def process_block(self, values: list[Any], timestamps: Timestamps, keys: list[Any] | None) -> None:
        """Aggregate a block."""
        assert keys is not None
        results: list[Row] = []
        consumed = iter(values)
        try:
            for _, row in zip(self.backend.walk(keys), consumed, strict=False):
                self._add(row, results)
        except Exception as error:
            raise self.record_failure(error, values, consumed) from None
        self.output.emit(results, None)

    def _add(self, row: Row, results: list[Row]) -> None:
        user, held = self._user, self._state.held()
        key = tuple([row[at] for at in self._key_places])
        turn, count, accumulator = (0, 0, None) if held is None else held
        if accumulator is None:
            if row[0] & 1:
                return  # nothing of this key is known that could be taken back
            accumulator = user.create_accumulator()
        else:
            results += [(DELETE, *key, *each) for each in self._made(user.emit_value(accumulator))]
        change = user.retract if row[0] & 1 else user.accumulate
        change(accumulator, *self._make([row[at] for at in self._places]))
        count += -1 if row[0] & 1 else 1
        if count <= 0:
            self._state.hold(None)
            return
        results += [(INSERT, *key, *each) for each in self._made(user.emit_value(accumulator))]
        self._state.hold((turn + 1, count, accumulator))
