"""Changes of a bounded input as the rows that are there in the end."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

from penstock.common.constants import MAX_WATERMARK
from penstock.common.typeinfo import Types
from penstock.runtime.layouts import Layout
from penstock.runtime.operators.table.operator import KeyedTableOperator, Row, type_texts
from penstock.runtime.rows import Timestamps
from penstock.state.timers import EVENT, Timer
from penstock.vocabulary.sql.logical_types import LogicalType
from penstock.vocabulary.sql.row_kinds import INSERT
from penstock.vocabulary.sql.state_types import row_state_type

__all__ = ["FinalRowsOperator"]


class FinalRowsOperator(KeyedTableOperator):
    """Keeps what its input inserts and does not take back, and emits it when the input has ended, keyed by the rows."""

    kind = "final rows"
    state_identity = "FinalRowsOperator"

    def __init__(self, *, types: tuple[LogicalType, ...]) -> None:
        self.types = types

    def layout(self) -> Layout:
        """What rows wait."""
        return {"operator": self.kind, "types": type_texts(self.types)}

    def open(self) -> None:
        """Get the state."""
        self._rows = self.map_state("_rows", row_state_type(self.types), Types.LONG())

    def process_block(self, values: list[Any], timestamps: Timestamps, keys: list[Any] | None) -> None:
        """Count the rows of a block."""
        assert keys is not None
        rows = self._rows
        for _, row in zip(self.backend.walk(keys), values, strict=False):
            fields = row[1:]
            count = (rows.held(fields) or 0) + (-1 if row[0] & 1 else 1)
            rows.hold(fields, count) if count else rows.remove(fields)
            self.timers.register(EVENT, MAX_WATERMARK)

    def fire_due(self, domain: int, due: Iterator[Timer]) -> None:
        """Emit the rows."""
        results: list[Row] = []
        for _, key, _ in due:
            self.backend.set_key(key)
            results += [(INSERT, *fields) for fields, count in self._rows.held_items() for _ in range(count)]
            self._rows.clear()
        self.output.emit(results, None)
