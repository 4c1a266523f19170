"""Conditions that a database can see to, as SQL: comparisons in which it means what Flink means."""

from __future__ import annotations

from typing import Any

from penstock.vocabulary.sql.logical_types import Kind
from penstock.vocabulary.sql.typed_expressions import Call, FieldRef, Literal, TypedExpression

__all__ = ["sql_condition"]

WHOLE = (Kind.TINYINT, Kind.SMALLINT, Kind.INTEGER, Kind.BIGINT)
TEXT = (Kind.CHAR, Kind.VARCHAR)
FLIPPED = {"=": "=", "<>": "<>", "<": ">", "<=": ">=", ">": "<", ">=": "<="}
Condition = tuple[str, tuple[Any, ...]]


def sql_condition(expression: TypedExpression, columns: tuple[str, ...]) -> Condition | None:
    """A condition over quoted columns, with its parameters; None: it is better seen to after the lookup.

    The order of texts is a matter of collations, and SQLite keeps decimals and times as texts: those are left out.
    """
    if not isinstance(expression, Call):
        return None
    if expression.function in ("IS NULL", "IS NOT NULL") and isinstance(expression.arguments[0], FieldRef):
        return f"{columns[expression.arguments[0].index]} {expression.function}", ()
    if expression.function not in FLIPPED:
        return None
    (column, value), operator = expression.arguments, expression.function
    if isinstance(column, Literal):
        column, value, operator = value, column, FLIPPED[operator]
    if not isinstance(column, FieldRef) or not isinstance(value, Literal) or value.value is None:
        return None
    kinds = (column.type.kind, value.type.kind)
    is_whole = kinds[0] in WHOLE and kinds[1] in WHOLE
    is_equal_text = kinds[0] is Kind.VARCHAR and kinds[1] in TEXT and operator in ("=", "<>")
    if not is_whole and not is_equal_text:
        return None
    return f"{columns[column.index]} {operator} ?", (value.value,)
