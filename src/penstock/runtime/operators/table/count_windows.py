"""Aggregates of windows that are so many rows of a key long."""

from __future__ import annotations

from typing import Any

from penstock.common.composite_types import FrozenListTypeInfo
from penstock.common.typeinfo import Types
from penstock.runtime.layouts import Layout
from penstock.runtime.operators.table.aggregate_code import folding_lines, memory_views, valuing_lines
from penstock.runtime.operators.table.operator import KeyedTableOperator, Row, defined, described_calls, type_texts
from penstock.runtime.rows import Timestamps
from penstock.vocabulary.sql.aggregates.compilation import compiled_aggregates
from penstock.vocabulary.sql.logical_types import LogicalType
from penstock.vocabulary.sql.row_kinds import INSERT
from penstock.vocabulary.sql.state_types import row_state_type
from penstock.vocabulary.sql.typed_expressions import AggregateCall

__all__ = ["CountWindowAggregateOperator"]


class CountWindowAggregateOperator(KeyedTableOperator):
    """Emits the key's fields and the results over the last `size` rows, when there are so many, every `slide` rows."""

    kind = "count window aggregate"
    state_identity = "CountWindowAggregateOperator"

    def __init__(
        self,
        *,
        key_fields: tuple[int, ...],
        aggregates: tuple[AggregateCall, ...],
        input_types: tuple[LogicalType, ...],
        size: int,
        slide: int,
    ) -> None:
        self.key_fields = key_fields
        self.aggregates = aggregates
        self.input_types = input_types
        self.size = size
        self.slide = slide

    def layout(self) -> Layout:
        """What rows wait."""
        return {
            "operator": self.kind,
            "types": type_texts(self.input_types),
            "aggregates": described_calls(self.aggregates),
            "size": self.size,
            "slide": self.slide,
        }

    def open(self) -> None:
        """Get the state and make the code."""
        code = compiled_aggregates(self.aggregates, self.input_types, retracts=False)
        self._views = memory_views(code.views, code.scope)
        rows = FrozenListTypeInfo(row_state_type(self.input_types))
        self._state = self.value_state("_rows", Types.TUPLE([Types.LONG(), rows]))
        self._fold = defined(folding_lines(code, retracts=False), "fold", code.scope)
        self._values = defined(valuing_lines(code), "values", code.scope)
        self._key_places = [at + 1 for at in self.key_fields]

    def process_block(self, values: list[Any], timestamps: Timestamps, keys: list[Any] | None) -> None:
        """Count the rows of a block."""
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
        count, rows = self._state.held() or (0, ())
        count, rows = count + 1, (*rows, row[1:])[-self.size :]
        if count >= self.size and (count - self.size) % self.slide == 0:
            results.append((INSERT, *[row[at] for at in self._key_places], *self._result(rows)))
            rows = rows[self.slide :] if self.slide < self.size else ()
        self._state.hold((count, rows))

    def _result(self, rows: tuple[Row, ...]) -> tuple[Any, ...]:
        for view in self._views:
            view.clear()
        accumulator = None
        for fields in rows:
            accumulator = self._fold(accumulator, (INSERT, *fields))
        made: tuple[Any, ...] = self._values(accumulator)
        return made
