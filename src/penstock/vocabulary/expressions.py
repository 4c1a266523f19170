"""Expressions over the fields of a record, for `filter` and `select`.

`penstock.runtime.expression_columns` evaluates them on columns, `penstock.runtime.expression_objects` on objects; both
give the same. Null propagates as in SQL: what is computed from None is None, and a filter drops it. Numbers are
Python's: whole numbers have no limit, `/` gives a float, `//` and `%` round down, and dividing by zero is an error.
"""

from __future__ import annotations

import datetime
import decimal
from typing import Any, Literal, NoReturn

from penstock.common.record_fields import Field
from penstock.errors import GraphError

__all__ = ["Column", "Constant", "Expression", "Named", "Operation", "as_expression", "col", "lit", "named_expressions"]

Binary = Literal["+", "-", "*", "/", "//", "%", "==", "!=", "<", "<=", ">", ">=", "&", "|"]
Unary = Literal["~", "neg", "abs", "is_null", "is_not_null"]

_CONSTANTS = (
    bool,
    int,
    float,
    str,
    bytes,
    decimal.Decimal,
    datetime.date,
    datetime.time,
    datetime.timedelta,
    type(None),
)


class Expression:
    """Something computed from one record."""

    __hash__ = None  # type: ignore[assignment]

    def __add__(self, other: Any) -> Operation:
        return _binary("+", self, other)

    def __radd__(self, other: Any) -> Operation:
        return _binary("+", other, self)

    def __sub__(self, other: Any) -> Operation:
        return _binary("-", self, other)

    def __rsub__(self, other: Any) -> Operation:
        return _binary("-", other, self)

    def __mul__(self, other: Any) -> Operation:
        return _binary("*", self, other)

    def __rmul__(self, other: Any) -> Operation:
        return _binary("*", other, self)

    def __truediv__(self, other: Any) -> Operation:
        return _binary("/", self, other)

    def __rtruediv__(self, other: Any) -> Operation:
        return _binary("/", other, self)

    def __floordiv__(self, other: Any) -> Operation:
        return _binary("//", self, other)

    def __rfloordiv__(self, other: Any) -> Operation:
        return _binary("//", other, self)

    def __mod__(self, other: Any) -> Operation:
        return _binary("%", self, other)

    def __rmod__(self, other: Any) -> Operation:
        return _binary("%", other, self)

    def __eq__(self, other: object) -> Operation:  # type: ignore[override]
        return _binary("==", self, other)

    def __ne__(self, other: object) -> Operation:  # type: ignore[override]
        return _binary("!=", self, other)

    def __lt__(self, other: Any) -> Operation:
        return _binary("<", self, other)

    def __le__(self, other: Any) -> Operation:
        return _binary("<=", self, other)

    def __gt__(self, other: Any) -> Operation:
        return _binary(">", self, other)

    def __ge__(self, other: Any) -> Operation:
        return _binary(">=", self, other)

    def __and__(self, other: Any) -> Operation:
        return _binary("&", self, other)

    def __rand__(self, other: Any) -> Operation:
        return _binary("&", other, self)

    def __or__(self, other: Any) -> Operation:
        return _binary("|", self, other)

    def __ror__(self, other: Any) -> Operation:
        return _binary("|", other, self)

    def __invert__(self) -> Operation:
        return Operation("~", (self,))

    def __neg__(self) -> Operation:
        return Operation("neg", (self,))

    def __abs__(self) -> Operation:
        return Operation("abs", (self,))

    def is_null(self) -> Operation:
        """Whether it is None."""
        return Operation("is_null", (self,))

    def is_not_null(self) -> Operation:
        """Whether it is not None."""
        return Operation("is_not_null", (self,))

    def between(self, low: Any, high: Any) -> Operation:
        """Whether it is in the range, both ends included."""
        return _binary("&", self >= low, self <= high)

    def alias(self, name: str) -> Named:
        """Name the result, for `select`."""
        if not isinstance(name, str) or not name:
            raise GraphError(f"alias: expected a name, got {name!r}.")
        return Named(self, name)

    def __bool__(self) -> NoReturn:
        raise GraphError(
            f"The expression {self!r} has no truth value yet: combine conditions with &, | "
            f"and ~ instead of and, or and not, each in parentheses, and write between(low, high) for low <= x <= high."
        )


class Column(Expression):
    """A field of the record."""

    def __init__(self, field: Field) -> None:
        self.field = field

    def __repr__(self) -> str:
        return f"col({self.field!r})"


class Constant(Expression):
    """A value that is the same for all records."""

    def __init__(self, value: Any) -> None:
        self.value = value

    def __repr__(self) -> str:
        return repr(self.value)


class Operation(Expression):
    """An operator and its operands."""

    def __init__(self, operator: Binary | Unary, operands: tuple[Expression, ...]) -> None:
        self.operator = operator
        self.operands = operands

    def __repr__(self) -> str:
        if len(self.operands) == 2:
            return f"({self.operands[0]!r} {self.operator} {self.operands[1]!r})"
        operand = repr(self.operands[0])
        signs = {"~": f"~{operand}", "neg": f"-{operand}", "abs": f"abs({operand})"}
        return signs.get(self.operator, f"{operand}.{self.operator}()")


class Named(Expression):
    """An expression with a name for its result."""

    def __init__(self, expression: Expression, name: str) -> None:
        self.expression = expression
        self.name = name

    def __repr__(self) -> str:
        return f"{self.expression!r}.alias({self.name!r})"


def col(field: Field) -> Column:
    """The field of that name, or at that position from 0."""
    is_position = isinstance(field, int) and not isinstance(field, bool) and field >= 0
    if not is_position and not (isinstance(field, str) and field):
        raise GraphError(f"col: a field is a name or a position from 0, got {field!r}.")
    return Column(field)


def lit(value: Any) -> Constant:
    """A constant: a number, a text, bytes, a date or time, True, False or None."""
    if not isinstance(value, _CONSTANTS):
        raise GraphError(
            f"lit: a constant must be a number, a string, bytes, a date or time, True, False or None, "
            f"got {value!r} of type {type(value).__name__}."
        )
    return Constant(value)


def as_expression(value: Any) -> Expression:
    """An expression as it is, a constant as one."""
    return value if isinstance(value, Expression) else lit(value)


def named_expressions(method: str, given: tuple[Any, ...]) -> tuple[tuple[Expression, ...], tuple[str, ...]]:
    """What `select` is given as expressions and the names of their results; a text is a field."""
    if not given:
        raise GraphError(f"{method}: give at least one field or expression.")
    expressions, names = [], []
    for each in given:
        expression = col(each) if isinstance(each, str) else each
        if not isinstance(expression, Expression):
            raise GraphError(f"{method}: expected field names or expressions such as col('a') + 1, got {each!r}.")
        if isinstance(expression, Named):
            name: Any = expression.name
        else:
            name = expression.field if isinstance(expression, Column) else None
        if not isinstance(name, str):
            raise GraphError(f"{method}: {expression!r} has no name; give it one with .alias('name').")
        expressions.append(_unnamed(expression))
        names.append(name)
    twice = sorted({name for name in names if names.count(name) > 1})
    if twice:
        raise GraphError(f"{method}: {', '.join(map(repr, twice))} is used twice as a name; rename one with .alias.")
    return tuple(expressions), tuple(names)


def _binary(operator: Binary, left: Any, right: Any) -> Operation:
    return Operation(operator, (_unnamed(as_expression(left)), _unnamed(as_expression(right))))


def _unnamed(expression: Expression) -> Expression:
    return expression.expression if isinstance(expression, Named) else expression
