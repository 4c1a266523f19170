"""filter and select by expressions: on columns where the block is columns, on objects where it is not."""

from __future__ import annotations

from itertools import compress
from typing import Any

import pyarrow as pa

from penstock.common.types import Row
from penstock.runtime.columns import ColumnBlock, Stamps
from penstock.runtime.expression_columns import constant_refusal, evaluated
from penstock.runtime.expression_objects import compiled, truth
from penstock.runtime.operators.operator import StreamOperator
from penstock.runtime.rows import Timestamps
from penstock.vocabulary.expressions import Expression


class ExpressionFilterOperator(StreamOperator):
    """Records for which a condition is true; null is not."""

    kind = "expression filter"
    state_identity = "ExpressionFilterOperator"

    def __init__(self, condition: Expression) -> None:
        self.condition = condition

    def open(self) -> None:
        """Compile the condition."""
        self._condition = compiled(self.condition)

    def refusal(self) -> str | None:
        """Refuse constants that are no values of columns."""
        return constant_refusal(self.condition)

    def process_block(self, values: list[Any], timestamps: Timestamps, keys: list[Any] | None) -> None:
        """Filter objects."""
        consumed = iter(values)
        condition = self._condition
        try:
            chosen = [truth(condition(value)) for value in consumed]
        except Exception as error:
            raise self.record_failure(error, values, consumed) from None
        kept = list(compress(values, chosen))
        self.output.emit(kept, None if timestamps is None else list(compress(timestamps, chosen)))

    def process_columns(self, block: ColumnBlock, timestamps: Stamps | None, keys: Any) -> None:
        """Filter columns."""
        mask = evaluated(self.condition, block)
        if mask is None or not pa.types.is_boolean(mask.type):
            super().process_columns(block, timestamps, keys)
            return
        mask = mask.fill_null(False) if mask.null_count else mask
        if mask.true_count == len(block):
            self.output.emit(block, timestamps)
        elif mask.true_count:
            chosen = mask.to_numpy(zero_copy_only=False)
            self.output.emit(block.filter(mask), None if timestamps is None else timestamps[chosen])


class SelectOperator(StreamOperator):
    """Records made of the values of some expressions: rows with names, or tuples where there are none."""

    kind = "select"
    state_identity = "SelectOperator"

    def __init__(self, expressions: tuple[Expression, ...], names: tuple[str, ...] | None) -> None:
        self.expressions = expressions
        self.names = names

    def open(self) -> None:
        """Compile the expressions."""
        self._functions = [compiled(expression) for expression in self.expressions]

    def refusal(self) -> str | None:
        """Refuse constants that are no values of columns."""
        return next((reason for each in self.expressions if (reason := constant_refusal(each))), None)

    def process_block(self, values: list[Any], timestamps: Timestamps, keys: list[Any] | None) -> None:
        """Select from objects."""
        consumed = iter(values)
        functions, names = self._functions, self.names
        try:
            fields = [[function(value) for function in functions] for value in consumed]
        except Exception as error:
            raise self.record_failure(error, values, consumed) from None
        made = list(map(tuple, fields)) if names is None else [Row.of_fields(names, each) for each in fields]
        self.output.emit(made, timestamps)

    def process_columns(self, block: ColumnBlock, timestamps: Stamps | None, keys: Any) -> None:
        """Select columns."""
        columns = [evaluated(expression, block) for expression in self.expressions]
        if any(column is None for column in columns):
            super().process_columns(block, timestamps, keys)
            return
        names = self.names or [f"f{place}" for place in range(len(columns))]
        batch = pa.RecordBatch.from_arrays(columns, names=list(names))
        self.output.emit(ColumnBlock(batch, "tuple" if self.names is None else "row"), timestamps)
