"""Projection and filter."""

from __future__ import annotations

import contextlib
from typing import Any

from penstock.runtime.columns import ColumnBlock, Stamps
from penstock.runtime.operators.table.expressions import block_function, guarded_column_function, guarded_refusal
from penstock.runtime.operators.table.operator import TableOperator
from penstock.runtime.rows import Timestamps
from penstock.vocabulary.sql.typed_expressions import TypedExpression


class CalcOperator(TableOperator):
    """Keeps the rows for which `condition` is true, and makes `projections` of them; None: all rows, as they are."""

    kind = "calc"
    forgets_watermark = True
    state_identity = "CalcOperator"

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
        self._calc_columns = guarded_column_function(self, self.condition, self.projections, self.zone)

    def refusal(self) -> str | None:
        """Refuse expressions that have to see rows."""
        return guarded_refusal(self.condition, self.projections, self.zone, self.column_names)

    def process_block(self, values: list[Any], timestamps: Timestamps, keys: list[Any] | None) -> None:
        """Work on a block; where it fails, find the row."""
        try:
            made = self._calc(values)
        except Exception as error:
            raise self.failure(error, "evaluating expressions", self._failing(values)) from None
        self.output.emit(made, None)

    def process_columns(self, block: ColumnBlock, timestamps: Stamps | None, keys: Any) -> None:
        """Work on columns where all expressions can, and on rows where a value is one that columns do not know."""
        made = None
        if self._calc_columns is not None:
            # Rows give the value or the error that belongs to it.
            with contextlib.suppress(Exception):
                made = self._calc_columns(block)
        if made is None:
            super().process_columns(block, timestamps, keys)
        else:
            self.output.emit(made, None)

    def _failing(self, values: list[Any]) -> Any:
        for row in values:
            try:
                self._calc([row])
            except Exception:
                return row
        return None
