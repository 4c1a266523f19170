"""What a function takes at one place: a test of the type, and the cast that is made without being written."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass

from penstock.errors import FunctionError
from penstock.vocabulary.sql.logical_types import Kind, LogicalType
from penstock.vocabulary.sql.scalar.kinds import (
    BIGINT,
    BOOLEAN,
    BYTES,
    CHARACTERS,
    DOUBLE,
    INT,
    INTEGERS,
    NUMBERS,
    OCTETS,
    STRING,
    TIME_POINTS,
)
from penstock.vocabulary.sql.typed_expressions import Call, Literal, TypedExpression

__all__ = [
    "ANYTHING",
    "AN_ARRAY",
    "AN_INT",
    "AN_INTEGER",
    "A_BIGINT",
    "A_BOOLEAN",
    "A_DATE_TIME",
    "A_DOUBLE",
    "A_MAP",
    "A_NUMBER",
    "A_STRING",
    "BINARY",
    "STRING_OR_BINARY",
    "Parameter",
    "implicit_cast",
    "of_kinds",
]


@dataclass(frozen=True)
class Parameter:
    """A place of a function: what it takes in words, which types, and what they are cast to (None: nothing)."""

    text: str
    accepts: Callable[[LogicalType], bool]
    target: LogicalType | None = None

    def take(self, argument: TypedExpression, place: str) -> TypedExpression:
        """Return the argument as the function wants it; refuse it where that needs a CAST in the query."""
        if argument.type.kind is Kind.NULL and self.target is not None:
            return implicit_cast(argument, self.target)
        if not self.accepts(argument.type):
            raise FunctionError(f"{place} is {argument.type}, and must be {self.text}: write a CAST")
        return argument if self.target is None else implicit_cast(argument, self.target)


def implicit_cast(expression: TypedExpression, target: LogicalType) -> TypedExpression:
    """Return the expression as another type, keeping whether it may be NULL."""
    source = expression.type
    if source.kind is Kind.NULL:
        return Literal(None, target.with_nullable(True))
    wanted = target.with_nullable(source.nullable)
    if _needs_no_cast(source, wanted):
        return expression
    return Call("CAST", (expression,), wanted)


def _needs_no_cast(source: LogicalType, target: LogicalType) -> bool:
    if source.same_but_for_null(target):
        return True
    for family in (CHARACTERS, OCTETS):
        if source.kind in family and target.kind in family:
            return target.kind in (Kind.VARCHAR, Kind.VARBINARY) and target.precision >= source.precision
    return False


def of_kinds(text: str, *kinds: Kind, target: LogicalType | None = None) -> Parameter:
    """A parameter that takes the given kinds."""
    return Parameter(text, lambda type_: type_.kind in kinds, target)


ANYTHING = Parameter("anything", lambda type_: True)
A_STRING = of_kinds("a string", *CHARACTERS, target=STRING)
BINARY = of_kinds("binary", *OCTETS, target=BYTES)
STRING_OR_BINARY = of_kinds("a string or binary", *CHARACTERS, *OCTETS)
A_NUMBER = of_kinds("a number", *NUMBERS)
AN_INTEGER = of_kinds("a whole number", *INTEGERS)
AN_INT = of_kinds("INT", Kind.TINYINT, Kind.SMALLINT, Kind.INTEGER, target=INT)
A_BIGINT = of_kinds("a whole number", *INTEGERS, target=BIGINT)
A_DOUBLE = of_kinds("a number", *NUMBERS, target=DOUBLE)
A_BOOLEAN = of_kinds("BOOLEAN", Kind.BOOLEAN, target=BOOLEAN)
A_DATE_TIME = of_kinds("a date or time", *TIME_POINTS)
AN_ARRAY = of_kinds("an ARRAY", Kind.ARRAY)
A_MAP = of_kinds("a MAP", Kind.MAP)
