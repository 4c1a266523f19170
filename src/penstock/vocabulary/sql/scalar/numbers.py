"""Arithmetic of Flink's number types on Python's numbers: wrapping, truncating division, DECIMALs of 38 digits."""

from __future__ import annotations

import ctypes
import decimal
import math
from decimal import Decimal

from penstock.errors import EvaluationError
from penstock.vocabulary.sql.logical_types import Kind, LogicalType

__all__ = [
    "EXACTLY",
    "MODULUS",
    "decimal_divide",
    "decimal_fit",
    "float32",
    "float_divide",
    "float_remainder",
    "java_long",
    "truncated_divide",
    "truncated_remainder",
    "wrap_source",
    "wrapped",
]

EXACTLY = decimal.Context(prec=120, rounding=decimal.ROUND_HALF_UP, Emin=-9999, Emax=9999)
"""Enough digits for any sum or product of two DECIMALs before it is rounded to its type."""

_DIVISION = decimal.Context(prec=38, rounding=decimal.ROUND_HALF_UP, Emin=-9999, Emax=9999)

_UNITS = [Decimal(1).scaleb(-scale) for scale in range(39)]

MODULUS = {Kind.TINYINT: 1 << 8, Kind.SMALLINT: 1 << 16, Kind.INTEGER: 1 << 32, Kind.BIGINT: 1 << 64}


def wrap_source(kind: Kind, source: str) -> str:
    """Source that brings a whole number into the range of a type as Java does, by dropping the high bits."""
    modulus = MODULUS[kind]
    return f"(({source} + {modulus >> 1} & {modulus - 1}) - {modulus >> 1})"


def wrapped(value: int, modulus: int) -> int:
    """The same for a value."""
    return (value + (modulus >> 1) & (modulus - 1)) - (modulus >> 1)


def truncated_divide(left: int, right: int) -> int:
    """Division of whole numbers that rounds towards zero."""
    if right == 0:
        raise EvaluationError("division by zero: guard the division with NULLIF or CASE")
    quotient = abs(left) // abs(right)
    return quotient if (left < 0) is (right < 0) else -quotient


def truncated_remainder(left: int, right: int) -> int:
    """The remainder that has the sign of the left side."""
    if right == 0:
        raise EvaluationError("division by zero: guard the division with NULLIF or CASE")
    remainder = abs(left) % abs(right)
    return -remainder if left < 0 else remainder


def float_divide(left: float, right: float) -> float:
    """Division as IEEE 754 has it: by zero it gives an infinity or not a number."""
    if right != 0:
        return left / right
    if left == 0 or math.isnan(left) or math.isnan(right):
        return math.nan
    return math.copysign(math.inf, left) * math.copysign(1.0, right)


def float_remainder(left: float, right: float) -> float:
    """The remainder that has the sign of the left side; not a number for a right side of zero."""
    if right == 0 or math.isinf(left) or math.isnan(left) or math.isnan(right):
        return math.nan
    return math.fmod(left, right)


def float32(value: float) -> float:
    """The value rounded to single precision."""
    return ctypes.c_float(value).value


def decimal_fit(value: Decimal, type_: LogicalType) -> Decimal | None:
    """The value with the digits of its type, rounded half up; None where it has too many before the point."""
    scale = type_.scale
    before = type_.precision - scale
    if value.adjusted() > before:
        return None
    rounded = value.quantize(_UNITS[scale], context=EXACTLY)
    if not rounded:
        return rounded.copy_abs()  # There is no -0 in SQL.
    return rounded if rounded.adjusted() < before else None


def decimal_divide(left: Decimal, right: Decimal) -> Decimal:
    """The quotient rounded to 38 digits."""
    if not right:
        raise EvaluationError("division by zero: guard the division with NULLIF or CASE")
    return _DIVISION.divide(left, right)


def java_long(value: float, kind: Kind) -> int:
    """A float as a whole number as Java casts it: towards zero, to the nearest end of the range, NaN to 0."""
    if math.isnan(value):
        return 0
    half = MODULUS[kind] >> 1
    if math.isinf(value):
        return half - 1 if value > 0 else -half
    return max(-half, min(half - 1, math.trunc(value)))
