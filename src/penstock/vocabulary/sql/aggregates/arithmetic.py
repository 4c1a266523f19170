"""Arithmetic of sums as Flink does it: whole numbers wrap, single precision is rounded, decimals have 38 digits."""

from __future__ import annotations

from ctypes import c_float
from decimal import ROUND_DOWN, ROUND_HALF_UP, Context, Decimal

from penstock.vocabulary.sql.logical_types import Kind, LogicalType

__all__ = ["BITS", "decimal_average", "decimal_minus", "decimal_plus", "single", "truncated_quotient", "wrapped"]

BITS = {Kind.TINYINT: 8, Kind.SMALLINT: 16, Kind.INTEGER: 32, Kind.BIGINT: 64}
"""The width of whole numbers."""

_WIDE = Context(prec=100, rounding=ROUND_HALF_UP)
_DIGITS = 38


def wrapped(value: int, bits: int) -> int:
    """The value as a whole number of so many bits."""
    half = 1 << (bits - 1)
    return ((value + half) & ((1 << bits) - 1)) - half


def single(value: float) -> float:
    """The nearest number of single precision."""
    return c_float(value).value


def truncated_quotient(value: int, by: int) -> int:
    """The quotient without its fraction, as Java divides."""
    found = abs(value) // abs(by)
    return found if (value < 0) == (by < 0) else -found


def decimal_plus(value: Decimal, other: Decimal) -> Decimal | None:
    """The sum; None if it has more than 38 digits."""
    return _checked(_WIDE.add(value, other))


def decimal_minus(value: Decimal, other: Decimal) -> Decimal | None:
    """The difference; None if it has more than 38 digits."""
    return _checked(_WIDE.subtract(value, other))


def decimal_average(total: Decimal, count: int, scale: int) -> Decimal | None:
    """The quotient, rounded half up to a number of digits behind the point."""
    quotient = _WIDE.divide(total, Decimal(count))
    return _checked(quotient.quantize(Decimal(1).scaleb(-scale), ROUND_HALF_UP, _WIDE))


def as_decimal(value: float, logical: LogicalType) -> Decimal | None:
    """A number of double precision as a decimal of a type."""
    return _checked(Decimal(repr(value)).quantize(Decimal(1).scaleb(-logical.scale), ROUND_HALF_UP, _WIDE))


def zero(logical: LogicalType) -> Decimal:
    """Zero with the digits of a type."""
    return Decimal(0).quantize(Decimal(1).scaleb(-logical.scale), ROUND_DOWN, _WIDE)


def _checked(value: Decimal) -> Decimal | None:
    return value if len(value.as_tuple().digits) <= _DIGITS else None
