"""Scalar expressions over a row after names and types are known: what the binder makes, and code is generated from.

All values in them are internal ones, see `logical_types`.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator
from dataclasses import dataclass, replace
from typing import Any

from penstock.vocabulary.sql.logical_types import LogicalType

__all__ = ["AggregateCall", "Call", "FieldRef", "Literal", "TypedExpression", "fields_of", "rewritten"]


@dataclass(frozen=True)
class FieldRef:
    """Field number `index` of the input row, counted from 0, the kind of the row apart."""

    index: int
    type: LogicalType


@dataclass(frozen=True)
class Literal:
    """A constant."""

    value: Any
    type: LogicalType


@dataclass(frozen=True)
class Call:
    """A function of other expressions, by its name in Flink's catalog of functions, in capitals.

    Operators and special forms are calls too: `+ - * / %`, `= <> < <= > >=`, `AND OR NOT`, `IS NULL`, `IS NOT NULL`,
    `IS TRUE` and its kin, `CAST` and `TRY_CAST` (to `type`), `CASE` (condition, value, condition, value, ..., else),
    `COALESCE`, `LIKE`, `IN` (the value, then what it may be), `BETWEEN`, `ROW`, `ARRAY`, `MAP`, `ITEM` (`a[i]`),
    `FIELD` (the field of a row whose number is in `options`), `EXTRACT`, `FLOOR`, `CEIL` of time (unit in `options`).
    `options` are words and numbers that are no expressions.
    """

    function: str
    arguments: tuple[TypedExpression, ...]
    type: LogicalType
    options: tuple[Any, ...] = ()


TypedExpression = FieldRef | Literal | Call


@dataclass(frozen=True)
class AggregateCall:
    """An aggregate function of fields of the input row, which a projection below has made of expressions.

    `filter` is the number of a BOOLEAN field that chooses the rows. `order` are fields to order by, with whether
    descending (LISTAGG, ARRAY_AGG). `type` is that of the result.
    """

    function: str
    arguments: tuple[int, ...]
    type: LogicalType
    argument_types: tuple[LogicalType, ...] = ()
    is_distinct: bool = False
    filter: int | None = None
    order: tuple[tuple[int, bool], ...] = ()
    options: tuple[Any, ...] = ()


def fields_of(expression: TypedExpression) -> Iterator[int]:
    """The numbers of the fields that an expression reads."""
    if isinstance(expression, FieldRef):
        yield expression.index
    elif isinstance(expression, Call):
        for argument in expression.arguments:
            yield from fields_of(argument)


def rewritten(
    expression: TypedExpression, change: Callable[[TypedExpression], TypedExpression | None]
) -> TypedExpression:
    """The expression with each part that `change` gives something for replaced, from the outside in."""
    changed = change(expression)
    if changed is not None:
        return changed
    if isinstance(expression, Call):
        return replace(expression, arguments=tuple([rewritten(each, change) for each in expression.arguments]))
    return expression
