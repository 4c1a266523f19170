"""The operators `+ - * / %` and signs, on numbers."""

from __future__ import annotations

from collections.abc import Callable
from decimal import Decimal
from typing import Any

from penstock.errors import FunctionError
from penstock.vocabulary.sql.logical_types import Kind, LogicalType
from penstock.vocabulary.sql.scalar import numbers
from penstock.vocabulary.sql.scalar.code import CodeWriter
from penstock.vocabulary.sql.scalar.common_types import MAX_PRECISION, common_type
from penstock.vocabulary.sql.scalar.kinds import (
    EXACT,
    INTEGERS,
    NUMBERS,
    decimal,
    decimal_form,
)
from penstock.vocabulary.sql.scalar.parameters import implicit_cast
from penstock.vocabulary.sql.scalar.registry import FUNCTIONS, Arguments, any_nullable, define, special
from penstock.vocabulary.sql.scalar.time_arithmetic import infer_time_arithmetic, is_time, write_time_arithmetic
from penstock.vocabulary.sql.typed_expressions import Call, Literal

__all__ = ["decimal_result"]


def decimal_result(operator: str, left: LogicalType, right: LogicalType) -> LogicalType:
    """The type of an operation on two exact numbers of which one is a DECIMAL."""
    (p, s), (q, t) = decimal_form(left), decimal_form(right)
    if operator == "*":
        return _adjusted(p + q + 1, s + t)
    if operator == "/":
        scale = max(6, s + q + 1)
        return _adjusted(p - s + t + scale, scale)
    scale = max(s, t)
    if operator == "%":
        return decimal(min(p - s, q - t) + scale, scale)
    return _adjusted(max(p - s, q - t) + scale + 1, scale)


def _adjusted(precision: int, scale: int) -> LogicalType:
    """Where 38 digits are not enough, digits behind the point go first, down to 6."""
    if precision <= MAX_PRECISION:
        return decimal(precision, scale)
    before = precision - scale
    return decimal(MAX_PRECISION, max(MAX_PRECISION - before, min(scale, 6)))


def _infer(operator: str) -> Callable[[Arguments, tuple[Any, ...]], tuple[Arguments, LogicalType]]:
    def infer(arguments: Arguments, options: tuple[Any, ...]) -> tuple[Arguments, LogicalType]:
        if len(arguments) == 1 and operator in "+-":
            return _infer_sign(arguments, options)
        if len(arguments) != 2:
            raise FunctionError(f"{operator} takes 2 arguments, and {len(arguments)} were given")
        if any(is_time(each.type) for each in arguments):
            return infer_time_arithmetic(operator, arguments)
        left, right = _numbers(operator, arguments)
        return (left, right), _number_result(operator, left.type, right.type).with_nullable(any_nullable((left, right)))

    return infer


def _numbers(operator: str, arguments: Arguments) -> Arguments:
    """Both sides as numbers: NULL takes the other side's type."""
    made = list(arguments)
    for at, other in ((0, 1), (1, 0)):
        if arguments[at].type.kind is Kind.NULL:
            made[at] = Literal(None, arguments[other].type.with_nullable(True))
    if not all(each.type.kind in NUMBERS for each in made):
        raise FunctionError(
            f"{operator} cannot be applied to {arguments[0].type} and {arguments[1].type}: write a CAST to a number"
        )
    return tuple(made)


def _number_result(operator: str, left: LogicalType, right: LogicalType) -> LogicalType:
    if operator == "%":
        if left.kind not in EXACT or right.kind not in EXACT:
            raise FunctionError(f"% cannot be applied to {left} and {right}: both sides must be exact numbers")
        if left.kind in INTEGERS and right.kind in INTEGERS:
            return right
    if Kind.DECIMAL in (left.kind, right.kind) and left.kind in EXACT and right.kind in EXACT:
        return decimal_result(operator, left, right)
    if left.kind in _APPROXIMATE and right.kind in _APPROXIMATE:
        return left  # FLOAT + DOUBLE is FLOAT in Flink, and DOUBLE + FLOAT is DOUBLE.
    return common_type([left, right])


_APPROXIMATE = (Kind.FLOAT, Kind.DOUBLE)


def _write(writer: CodeWriter, call: Call) -> str:
    if len(call.arguments) == 1:
        return _write_negated(writer, call) if call.function == "-" else writer.value(call.arguments[0])
    if any(is_time(each.type) for each in call.arguments):
        return write_time_arithmetic(writer, call)
    kind = call.type.kind
    if kind is Kind.DECIMAL:
        return _write_decimal(writer, call)
    if kind in INTEGERS:
        return writer.strict(call.arguments, lambda texts: _integer_source(writer, call, texts))
    # Both sides are computed with double precision, and the result is rounded.
    sides = [each if each.type.kind in _APPROXIMATE else implicit_cast(each, call.type) for each in call.arguments]
    return writer.strict(sides, lambda texts: _float_source(writer, call, texts))


def _integer_source(writer: CodeWriter, call: Call, texts: list[str]) -> str:
    operator = call.function
    if operator == "/":
        source = f"{writer.name_of(numbers.truncated_divide)}({texts[0]}, {texts[1]})"
    elif operator == "%":
        return f"{writer.name_of(numbers.truncated_remainder)}({texts[0]}, {texts[1]})"
    else:
        source = f"{texts[0]} {operator} {texts[1]}"
    return numbers.wrap_source(call.type.kind, source)


def _float_source(writer: CodeWriter, call: Call, texts: list[str]) -> str:
    operator = call.function
    helper = {"/": numbers.float_divide, "%": numbers.float_remainder}.get(operator)
    if helper is not None:
        source = f"{writer.name_of(helper)}({texts[0]}, {texts[1]})"
    else:
        source = f"({texts[0]} {operator} {texts[1]})"
    return f"{writer.name_of(numbers.float32)}({source})" if call.type.kind is Kind.FLOAT else source


def _write_decimal(writer: CodeWriter, call: Call) -> str:
    called = writer.name_of(_decimal_operation(call.function, call.type))
    return writer.strict(call.arguments, lambda texts: f"{called}({texts[0]}, {texts[1]})")


def _decimal_operation(operator: str, type_: LogicalType) -> Callable[[Any, Any], Decimal | None]:
    """A function of two exact numbers; whole numbers are taken as they are."""
    exactly, fit = numbers.EXACTLY, numbers.decimal_fit
    if operator == "/":
        return lambda left, right: fit(numbers.decimal_divide(Decimal(left), Decimal(right)), type_)
    if operator == "%":
        return lambda left, right: fit(_decimal_remainder(Decimal(left), Decimal(right)), type_)
    operate = {"+": exactly.add, "-": exactly.subtract, "*": exactly.multiply}[operator]
    return lambda left, right: fit(operate(left, right), type_)


def _decimal_remainder(left: Decimal, right: Decimal) -> Decimal:
    if not right:
        return numbers.decimal_divide(left, right)
    return numbers.EXACTLY.remainder(left, right)


def _infer_sign(arguments: Arguments, options: tuple[Any, ...]) -> tuple[Arguments, LogicalType]:
    (argument,) = arguments
    if argument.type.kind not in NUMBERS and not is_time(argument.type):
        raise FunctionError(f"a sign cannot stand before {argument.type}: write a CAST to a number")
    return arguments, argument.type


def _write_negated(writer: CodeWriter, call: Call) -> str:
    kind = call.type.kind
    if kind in INTEGERS:
        return writer.strict(call.arguments, lambda texts: numbers.wrap_source(kind, f"-{texts[0]}"))
    if kind is Kind.DECIMAL:
        minus = writer.name_of(numbers.EXACTLY.minus, "minus")
        return writer.strict(call.arguments, lambda texts: f"{minus}({texts[0]})")
    return writer.strict(call.arguments, lambda texts: f"(-{texts[0]})")


for _operator in "+-*/%":
    special(_operator, _infer(_operator), _write)
define(FUNCTIONS["%"], "MOD")
