"""Projection and filter."""

from __future__ import annotations

from typing import Any

from penstock.runtime.columns import ColumnBlock, Stamps
from penstock.runtime.operators.table.expressions import block_function, column_function
from penstock.runtime.operators.table.operator import TableOperator
from penstock.runtime.rows import Timestamps
from penstock.vocabulary.sql.typed_expressions import TypedExpression


class CalcOperator(TableOperator):
    """Keeps the rows for which `condition` is true, and makes `projections` of them; None: all rows, as they are."""

    kind = "calc"

    def __init__(
        self,
        *,
        condition: TypedExpression | None = None,
        projections: tuple[TypedExpression, ...] | None = None,
        zone: str = "UTC",
    ) -> None:
        self.condition = condition
        self.projections = projections
        self.zone = zone

    def open(self) -> None:
        """Make the code."""
        self._calc = block_function(self, self.condition, self.projections, self.zone)
        self._calc_columns = column_function(self.condition, self.projections)

    def process_block(self, values: list[Any], timestamps: Timestamps, keys: list[Any] | None) -> None:
        """Work on a block; where it fails, find the row."""
        try:
            made = self._calc(values)
        except Exception as error:
            raise self.failure(error, "evaluating expressions", self._failing(values)) from None
        self.output.emit(made, None)

    def process_columns(self, block: ColumnBlock, timestamps: Stamps | None, keys: Any) -> None:
        """Work on columns where all expressions can; what they do cannot fail."""
        if self._calc_columns is None:
            super().process_columns(block, timestamps, keys)
        else:
            self.output.emit(self._calc_columns(block), None)

    def _failing(self, values: list[Any]) -> Any:
        for row in values:
            try:
                self._calc([row])
            except Exception:
                return row
        return None
