"""Expressions as plain functions of one record; the authority on what an expression gives.

Columns follow them in `penstock.runtime.expression_columns`.
"""

from __future__ import annotations

import operator
from collections.abc import Callable
from typing import Any

from penstock.common.record_fields import Field, read_field
from penstock.common.types import Row
from penstock.vocabulary.expressions import Column, Constant, Expression, Named, Operation

OfRecord = Callable[[Any], Any]

_FUNCTIONS: dict[str, Callable[[Any, Any], Any]] = {
    "+": operator.add,
    "-": operator.sub,
    "*": operator.mul,
    "/": operator.truediv,
    "//": operator.floordiv,
    "%": operator.mod,
    "==": operator.eq,
    "!=": operator.ne,
    "<": operator.lt,
    "<=": operator.le,
    ">": operator.gt,
    ">=": operator.ge,
}
_OF_ONE: dict[str, Callable[[Any], Any]] = {"neg": operator.neg, "abs": operator.abs}


def compiled(expression: Expression) -> OfRecord:
    """The function of a record that an expression stands for."""
    if isinstance(expression, Named):
        return compiled(expression.expression)
    if isinstance(expression, Column):
        return _field_reader(expression.field)
    if isinstance(expression, Constant):
        value = expression.value
        return lambda record: value
    assert isinstance(expression, Operation)
    return _operation(expression)


def truth(value: Any) -> bool | None:
    """A result that is to be true, false or null."""
    if value is None or value is True or value is False:
        return value
    if type(value).__module__ == "numpy" and type(value).__name__.startswith("bool"):
        return bool(value)
    raise TypeError(f"the condition gave {value!r} of type {type(value).__name__}; it must give True, False or None")


def _operation(expression: Operation) -> OfRecord:
    parts = [compiled(operand) for operand in expression.operands]
    kind = expression.operator
    if kind == "&":
        return _all_of(*parts)
    if kind == "|":
        return _any_of(*parts)
    if len(parts) == 1:
        return _of_one(kind, parts[0])
    constant = expression.operands[1]
    if isinstance(constant, Constant) and constant.value is not None:
        return _with_constant(_FUNCTIONS[kind], parts[0], constant.value)
    return _of_two(_FUNCTIONS[kind], *parts)


def _field_reader(field: Field) -> OfRecord:
    if isinstance(field, int):
        return lambda record: read_field(record, field)

    def read(record: Any) -> Any:
        if type(record) is Row and record._fields is not None:
            try:
                return record._values[record._fields.index(field)]
            except ValueError:
                pass  # told by read_field, as for any other record
        return read_field(record, field)

    return read


def _of_two(function: Callable[[Any, Any], Any], left: OfRecord, right: OfRecord) -> OfRecord:
    def call(record: Any) -> Any:
        first, second = left(record), right(record)
        return None if first is None or second is None else function(first, second)

    return call


def _with_constant(function: Callable[[Any, Any], Any], left: OfRecord, constant: Any) -> OfRecord:
    def call(record: Any) -> Any:
        first = left(record)
        return None if first is None else function(first, constant)

    return call


def _of_one(kind: str, part: OfRecord) -> OfRecord:
    if kind == "is_null":
        return lambda record: part(record) is None
    if kind == "is_not_null":
        return lambda record: part(record) is not None
    function = _negated if kind == "~" else _OF_ONE[kind]

    def call(record: Any) -> Any:
        value = part(record)
        return None if value is None else function(value)

    return call


def _negated(value: Any) -> bool:
    return not truth(value)


def _all_of(left: OfRecord, right: OfRecord) -> OfRecord:
    def call(record: Any) -> bool | None:
        first = truth(left(record))
        if first is False:  # whatever the other is, and without asking it
            return False
        second = truth(right(record))
        return second if first or second is False else None

    return call


def _any_of(left: OfRecord, right: OfRecord) -> OfRecord:
    def call(record: Any) -> bool | None:
        first = truth(left(record))
        if first is True:
            return True
        second = truth(right(record))
        return second if first is False or second is True else None

    return call
