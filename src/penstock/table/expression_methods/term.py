"""A term: a part of a query that is not bound yet, and how Flink writes it.

The Table API builds the same tree that the SQL parser builds, so names, types and refusals are those of the binder.
"""

from __future__ import annotations

import datetime
from collections.abc import Sequence
from decimal import Decimal
from typing import TYPE_CHECKING, Any, cast

from sqlglot import exp

from penstock.errors import SqlError
from penstock.table.binder import literals
from penstock.table.sql.nodes import BoundValue
from penstock.vocabulary.sql.external_values import to_internal
from penstock.vocabulary.sql.logical_types import Kind, LogicalType
from penstock.vocabulary.sql.typed_expressions import Literal

if TYPE_CHECKING:
    from penstock.table.expression import Expression

__all__ = ["Term", "call_node", "literal_of", "literal_text", "term_of"]


class Term:
    """What mixins of `Expression` build on: `node` is the tree, `text` what Flink prints for it."""

    def __init__(self, node: exp.Expr, text: str) -> None:
        """Made by functions of `penstock.table.expressions` and by methods."""
        self._node = node
        self._text = text

    def _made(self, node: exp.Expr, text: str) -> Expression:
        """Another expression: every term is one."""
        return cast("Expression", type(self)(node, text))

    def _call(self, printed: str, function: str, *arguments: Any, options: Sequence[Any] = ()) -> Expression:
        """A function of this and other terms; `printed` is its name in texts, `function` that in SQL."""
        parts: list[Term] = [self, *[term_of(each) for each in arguments]]
        shown = [*[each._text for each in parts], *[each for each in options if isinstance(each, str)]]
        text = f"{printed}({', '.join(shown)})"
        node = call_node(function, *[each._node for each in parts], options=options)
        node.set("api_name", printed)  # a user function of this name hides the built-in one
        return self._made(node, text)

    def _optional(self, printed: str, function: str, *arguments: Any) -> Expression:
        """The same without the arguments at the end that are None."""
        given = list(arguments)
        while given and given[-1] is None:
            given.pop()
        return self._call(printed, function, *given)


def call_node(function: str, *arguments: exp.Expr, options: Sequence[Any] = ()) -> exp.Expr:
    """A call in the tree; nodes know their parent, so arguments are copied."""
    node = exp.Anonymous(this=function, expressions=[each.copy() for each in arguments])
    if options:
        node.set("options", tuple(options))
    return node


def term_of(value: Any) -> Term:
    """A term, or a constant as one."""
    from penstock.table.expression import Expression

    if isinstance(value, Term):
        return value
    bound = literal_of(value)
    return Expression(BoundValue(literal=bound), literal_text(bound, value))


def literal_of(value: Any, declared: LogicalType | None = None) -> Literal:
    """A Python value as a typed constant: of a type that is given, or of the one Flink finds for it."""
    if declared is not None:
        return Literal(to_internal(declared)(value), declared)
    if value is None:
        return literals.null_literal()
    if isinstance(value, bool):
        return Literal(value, LogicalType(Kind.BOOLEAN, False))
    if isinstance(value, int):
        return literals.number_literal(str(value))
    if isinstance(value, str):
        return literals.text_literal(value)
    found = _type_of(value)
    return Literal(to_internal(found)(value), found)


def _type_of(value: Any) -> LogicalType:
    if isinstance(value, float):
        return LogicalType(Kind.DOUBLE, False)
    if isinstance(value, Decimal):
        _, digits, exponent = value.as_tuple()
        scale = max(0, -int(exponent))
        return LogicalType(Kind.DECIMAL, False, (max(len(digits) + max(0, int(exponent)), scale, 1), scale))
    if isinstance(value, bytes | bytearray):
        return LogicalType(Kind.BINARY, False, (max(1, len(value)),))
    if isinstance(value, datetime.datetime):
        kind = Kind.TIMESTAMP if value.tzinfo is None else Kind.TIMESTAMP_LTZ
        return LogicalType(kind, False, (6 if value.microsecond else 0,))
    if isinstance(value, datetime.date):
        return LogicalType(Kind.DATE, False)
    if isinstance(value, datetime.time):
        return LogicalType(Kind.TIME, False, (3 if value.microsecond else 0,))
    if isinstance(value, datetime.timedelta):
        return LogicalType(Kind.INTERVAL_MILLIS, False)
    raise SqlError(
        f"{value!r} cannot be a constant of a query; give a column with col(...), a number, a text, a date, or "
        f"lit(value, type)."
    )


def literal_text(literal: Literal, value: Any) -> str:
    """A constant as Flink prints it."""
    if literal.value is None:
        return "null"
    if isinstance(value, bool):
        return str(value).lower()
    if isinstance(value, str):
        escaped = value.replace("'", "''")
        return f"'{escaped}'"
    return str(literal.value if isinstance(value, datetime.timedelta) else value)
