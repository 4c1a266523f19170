"""User table functions: each row beside the rows that a function makes of it."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

from penstock.common.types import Row as UserRow
from penstock.runtime.operators.table.expressions import block_function
from penstock.runtime.operators.table.operator import Row, TableOperator
from penstock.runtime.rows import Timestamps
from penstock.vocabulary.sql.logical_types import LogicalType
from penstock.vocabulary.sql.typed_expressions import TypedExpression
from penstock.vocabulary.sql.user_functions import UserFunction, argument_maker, result_taker

__all__ = ["TableFunctionOperator", "made_rows"]


def made_rows(function: UserFunction, row_type: LogicalType) -> Callable[[Any], list[tuple[Any, ...]]]:
    """What makes rows of internal values out of what a function returns: a generator, a list, one row or None."""
    take = result_taker(function, row_type, "yielded")

    def made(returned: Any) -> list[tuple[Any, ...]]:
        if returned is None:
            return []
        if isinstance(returned, tuple | UserRow | str | bytes | dict) or not hasattr(returned, "__iter__"):
            returned = [returned]
        return [take(each) for each in returned]

    return made


class TableFunctionOperator(TableOperator):
    """CROSS (or LEFT) JOIN LATERAL TABLE(function(arguments)); `is_left` keeps rows of which it makes none."""

    kind = "table function"
    state_identity = "TableFunctionOperator"

    def __init__(
        self,
        *,
        user_function: UserFunction,
        arguments: tuple[TypedExpression, ...],
        is_left: bool = False,
        zone: str = "UTC",
    ) -> None:
        self.user_function = user_function
        self.arguments = arguments
        self.is_left = is_left
        self.zone = zone

    def open(self) -> None:
        """Make the code."""
        self._arguments = block_function(self, None, self.arguments, self.zone)
        self._make = argument_maker(self.user_function, [each.type for each in self.arguments])
        self._made = made_rows(self.user_function, self.user_function.row_type)
        self._nulls = (None,) * len(self.user_function.row_type.parts)

    def process_block(self, values: list[Any], timestamps: Timestamps, keys: list[Any] | None) -> None:
        """Call the function for the rows of a block."""
        results: list[Row] = []
        consumed = iter(values)
        evaluate, make, made = self.user_function.function.eval, self._make, self._made
        try:
            given = self._arguments(values)
            for row, arguments in zip(consumed, given, strict=True):
                rows = made(evaluate(*make(arguments[1:])))
                results += [(*row, *each) for each in rows] or ([(*row, *self._nulls)] if self.is_left else [])
        except Exception as error:
            raise self.record_failure(error, values, consumed) from None
        self.output.emit(results, None)
