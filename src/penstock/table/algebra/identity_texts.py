"""Expressions, aggregates and orders as text: parts of the identity texts of plan nodes.

Uids of SQL operators are digests of these texts, so nothing here may be worded differently, see
`PlanNode.identity_text`.
"""

from __future__ import annotations

from collections.abc import Sequence

from penstock.vocabulary.sql.logical_types import Kind
from penstock.vocabulary.sql.ordering import SortField
from penstock.vocabulary.sql.typed_expressions import AggregateCall, Call, FieldRef, Literal, TypedExpression
from penstock.vocabulary.sql.user_functions import USER_FUNCTION, UserFunction

__all__ = ["call_text", "expression_text", "field_names", "order_text"]

INFIX = frozenset(["+", "-", "*", "/", "%", "=", "<>", "<", "<=", ">", ">=", "AND", "OR", "||", "LIKE"])
POSTFIX = frozenset(
    ["IS NULL", "IS NOT NULL", "IS TRUE", "IS NOT TRUE", "IS FALSE", "IS NOT FALSE", "IS UNKNOWN", "IS NOT UNKNOWN"]
)


def field_names(indexes: Sequence[int], names: Sequence[str]) -> tuple[str, ...]:
    """The names of some fields."""
    return tuple([names[each] for each in indexes])


def expression_text(expression: TypedExpression, names: Sequence[str]) -> str:
    """An expression over fields of these names, as text."""
    if isinstance(expression, FieldRef):
        return names[expression.index] if expression.index < len(names) else f"${expression.index}"
    if isinstance(expression, Literal):
        return _literal_text(expression)
    return _call_text(expression, [expression_text(each, names) for each in expression.arguments], names)


def _literal_text(literal: Literal) -> str:
    if literal.value is None:
        return f"null:{literal.type.with_nullable(True)}"
    if literal.type.kind in (Kind.CHAR, Kind.VARCHAR):
        escaped = str(literal.value).replace("'", "''")
        return f"'{escaped}'"
    return f"{literal.value}:{literal.type}" if literal.type.kind not in _BARE else str(literal.value)


_BARE = (Kind.INTEGER, Kind.BIGINT, Kind.BOOLEAN, Kind.DOUBLE, Kind.DECIMAL)


def _call_text(call: Call, arguments: list[str], names: Sequence[str]) -> str:
    if call.function in INFIX and len(arguments) > 1:
        return "(" + f" {call.function} ".join(arguments) + ")"
    if call.function in POSTFIX:
        return f"{arguments[0]} {call.function}"
    if call.function in ("CAST", "TRY_CAST"):
        return f"{call.function}({arguments[0]} AS {call.type.with_nullable(True)})"
    if call.function == "FIELD":
        return f"{arguments[0]}.{_nested_name(call)}"
    if call.function == "ITEM":
        return f"{arguments[0]}[{arguments[1]}]"
    if call.options and isinstance(call.options[0], UserFunction):
        return f"{call.options[0]}({', '.join(arguments)})"
    options = [str(each) for each in call.options]
    return f"{call.function}({', '.join(arguments + options)})"


def _nested_name(call: Call) -> str:
    names = call.arguments[0].type.names
    index = call.options[0]
    return names[index] if isinstance(index, int) and index < len(names) else str(index)


def call_text(call: AggregateCall, names: Sequence[str]) -> str:
    """An aggregate over fields of these names, as text."""
    arguments = ", ".join(field_names(call.arguments, names)) or ("*" if call.function == "COUNT" else "")
    distinct = "DISTINCT " if call.is_distinct else ""
    order = [f"{names[index]}{' DESC' if is_descending else ''}" for index, is_descending in call.order]
    ordered = f" ORDER BY {', '.join(order)}" if order else ""
    chosen = "" if call.filter is None else f" FILTER {names[call.filter]}"
    name = call.options[0] if call.function == USER_FUNCTION else call.function
    return f"{name}({distinct}{arguments}{ordered}){chosen}"


def order_text(order: Sequence[SortField], names: Sequence[str]) -> str:
    """An order over fields of these names, as text."""
    return ", ".join(f"{names[each.index]} {'DESC' if each.descending else 'ASC'}" for each in order)
