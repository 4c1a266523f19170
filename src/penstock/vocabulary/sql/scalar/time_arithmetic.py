"""`+ - * /` with dates, times and intervals."""

from __future__ import annotations

from typing import Any

from penstock.errors import FunctionError
from penstock.vocabulary.sql.logical_types import Kind, LogicalType
from penstock.vocabulary.sql.scalar.calendar_values import DAY_MS, add_months
from penstock.vocabulary.sql.scalar.code import CodeWriter
from penstock.vocabulary.sql.scalar.kinds import (
    BIGINT,
    INTERVAL_MILLIS,
    INTERVALS,
    NUMBERS,
    TIME_POINTS,
    units_per_milli,
)
from penstock.vocabulary.sql.scalar.numbers import MODULUS, truncated_divide, wrapped
from penstock.vocabulary.sql.scalar.parameters import implicit_cast
from penstock.vocabulary.sql.typed_expressions import Call, TypedExpression

__all__ = ["infer_time_arithmetic", "is_time", "write_time_arithmetic"]

Arguments = tuple[TypedExpression, ...]


def is_time(type_: LogicalType) -> bool:
    """Whether a type is of dates, times or intervals."""
    return type_.kind in TIME_POINTS or type_.kind in INTERVALS


def infer_time_arithmetic(operator: str, arguments: Arguments) -> tuple[Arguments, LogicalType]:
    """Arguments and type of an operation of which one side is a time or interval."""
    left, right = arguments
    nullable = left.type.nullable or right.type.nullable or Kind.NULL in (left.type.kind, right.type.kind)
    if operator == "+" and left.type.kind in INTERVALS and right.type.kind in TIME_POINTS:
        left, right = right, left
    kinds = left.type.kind, right.type.kind
    if operator in "+-" and kinds[1] in INTERVALS and (kinds[0] in TIME_POINTS or kinds[0] is kinds[1]):
        return (left, right), left.type.as_plain_time().with_nullable(nullable)
    if operator == "-" and kinds[0] in TIME_POINTS and kinds[1] in TIME_POINTS:
        return (left, right), INTERVAL_MILLIS.with_nullable(nullable)
    if operator == "*" and kinds[0] in NUMBERS and kinds[1] in INTERVALS:
        left, right, kinds = right, left, (kinds[1], kinds[0])
    if operator in "*/" and kinds[0] in INTERVALS and kinds[1] in NUMBERS:
        return (left, implicit_cast(right, BIGINT)), left.type.with_nullable(nullable)
    raise FunctionError(f"{operator} cannot be applied to {arguments[0].type} and {arguments[1].type}")


def write_time_arithmetic(writer: CodeWriter, call: Call) -> str:
    """Source of such an operation."""
    left, right = [each.type for each in call.arguments]
    if left.kind in TIME_POINTS and right.kind in TIME_POINTS:
        factors = [f" * {DAY_MS}" if each.kind is Kind.DATE else _to_millis(each) for each in (left, right)]
        return writer.strict(call.arguments, lambda texts: f"({texts[0]}{factors[0]} - {texts[1]}{factors[1]})")
    if left.kind in TIME_POINTS:
        return _write_shift(writer, call, left, right)
    if call.function in "*/":
        scaled = writer.name_of(_multiplied if call.function == "*" else truncated_divide)
        return writer.strict(call.arguments, lambda texts: f"{scaled}({texts[0]}, {texts[1]})")
    return writer.strict(call.arguments, lambda texts: f"({texts[0]} {call.function} {texts[1]})")


def _to_millis(type_: LogicalType) -> str:
    units = 1 if type_.kind is Kind.TIME else units_per_milli(type_)
    return "" if units == 1 else f" // {units}"


def _multiplied(interval: int, factor: Any) -> int:
    return wrapped(interval * factor, MODULUS[Kind.BIGINT])


def _write_shift(writer: CodeWriter, call: Call, left: LogicalType, right: LogicalType) -> str:
    sign = call.function
    if right.kind is Kind.INTERVAL_MILLIS:
        if left.kind is Kind.DATE:
            return writer.strict(
                call.arguments, lambda texts: f"(({texts[0]} * {DAY_MS} {sign} {texts[1]}) // {DAY_MS})"
            )
        if left.kind is Kind.TIME:
            return writer.strict(call.arguments, lambda texts: f"(({texts[0]} {sign} {texts[1]}) % {DAY_MS})")
        units = units_per_milli(left)
        factor = "" if units == 1 else f" * {units}"
        return writer.strict(call.arguments, lambda texts: f"({texts[0]} {sign} {texts[1]}{factor})")
    if left.kind is Kind.DATE:
        shift = writer.name_of(add_months)
        return writer.strict(call.arguments, lambda texts: f"{shift}({texts[0]}, {'-' * (sign == '-')}{texts[1]})")
    if left.kind is Kind.TIME:
        return writer.strict(call.arguments, lambda texts: texts[0])
    shift = writer.name_of(_shift_months)
    per_day = DAY_MS * units_per_milli(left)
    return writer.strict(
        call.arguments, lambda texts: f"{shift}({texts[0]}, {'-' * (sign == '-')}{texts[1]}, {per_day})"
    )


def _shift_months(value: int, months: int, per_day: int) -> int:
    days, rest = divmod(value, per_day)
    return add_months(days, months) * per_day + rest
