"""Conversion of values to basic declared types: a value is converted if nothing is lost, and refused otherwise.

PyFlink's coders convert too, but truncate what does not fit (INT of 1.5 is 1). FLOAT and DOUBLE round, as
floating-point numbers do.
"""

from __future__ import annotations

import datetime
import decimal
import numbers
import operator
import struct
from collections.abc import Callable
from typing import Any

from penstock.common.time import Instant

__all__ = ["CONVERTERS", "UnfitError", "to_date", "to_time", "to_timestamp"]


class UnfitError(TypeError):
    """A value does not fit a type; the text, which may be empty, says why or what to do."""


def _to_string(value: Any) -> str:
    if not isinstance(value, str):
        raise UnfitError
    return str.__str__(value)


def _to_char(value: Any) -> str:
    if not isinstance(value, str) or len(value) != 1:
        raise UnfitError
    return str.__str__(value)


def _to_boolean(value: Any) -> bool:
    plain = _without_numpy(value)
    if isinstance(plain, bool):
        return plain
    if isinstance(plain, (int, float)) and plain in (0, 1):
        return bool(plain)
    raise UnfitError


def _to_integer(value: Any) -> int:
    if type(value) is int:
        return value
    if hasattr(value, "__index__"):
        try:
            return int(operator.index(value))
        except TypeError:  # an array of numpy
            raise UnfitError from None
    if not isinstance(value, (numbers.Real, decimal.Decimal)):
        raise UnfitError
    try:
        whole = int(value)  # type: ignore[arg-type]
    except (ValueError, OverflowError):  # not a number, infinite
        raise UnfitError from None
    if whole != value:
        raise UnfitError(": its fraction would be lost, so round it or declare DOUBLE")
    return whole


def _integer_of(bits: int, wider: str) -> Callable[[Any], int]:
    low, high = -(1 << (bits - 1)), (1 << (bits - 1)) - 1

    def to_integer(value: Any) -> int:
        number = _to_integer(value)
        if not low <= number <= high:
            raise UnfitError(f", which {bits} bits cannot hold: declare {wider}")
        return number

    return to_integer


def _to_double(value: Any) -> float:
    plain = _without_numpy(value)
    if not isinstance(plain, (numbers.Real, decimal.Decimal)):
        raise UnfitError
    try:
        return float(plain)
    except (OverflowError, ValueError):
        raise UnfitError(", which 64 bits cannot hold: declare BIG_DEC") from None


_float32 = struct.Struct(">f")  # the native form would make infinity of what is too large


def _to_float(value: Any) -> float:
    try:
        rounded: float = _float32.unpack(_float32.pack(_to_double(value)))[0]
    except OverflowError:
        raise UnfitError(", which 32 bits cannot hold: declare DOUBLE") from None
    return rounded


def _to_decimal(value: Any) -> decimal.Decimal:
    if isinstance(value, decimal.Decimal):
        return value
    plain = _without_numpy(value)
    if isinstance(plain, bool) or not isinstance(plain, (int, float, str)):
        raise UnfitError
    try:
        # The shortest text of a float stands for it; its exact value would be a surprise (0.1 has 55 digits).
        return decimal.Decimal(repr(plain) if isinstance(plain, float) else plain)
    except decimal.InvalidOperation:
        raise UnfitError from None


def _to_instant(value: Any) -> Instant:
    if isinstance(value, datetime.datetime):
        return Instant.of_datetime(value)
    if not isinstance(value, Instant):
        raise UnfitError
    return value


def to_date(value: Any) -> datetime.date:
    """A date; a datetime only where it has no time of day that would be lost."""
    if not isinstance(value, datetime.datetime):
        if not isinstance(value, datetime.date):
            raise UnfitError
        return value
    if value.tzinfo is not None or value.time() != datetime.time():
        raise UnfitError(": its time of day would be lost, so give its date() or declare SQL_TIMESTAMP")
    return value.date()


def to_time(value: Any) -> datetime.time:
    """A time of day."""
    if not isinstance(value, datetime.time):
        raise UnfitError
    return value


def to_timestamp(value: Any) -> datetime.datetime:
    """A datetime; one with a time zone becomes UTC without one, so that all compare."""
    if not isinstance(value, datetime.datetime):
        raise UnfitError
    return value if value.tzinfo is None else value.astimezone(datetime.UTC).replace(tzinfo=None)


def _without_numpy(value: Any) -> Any:
    is_scalar = type(value).__module__ == "numpy" and hasattr(value, "item") and not getattr(value, "shape", ())
    return value.item() if is_scalar else value


CONVERTERS: dict[str, Callable[[Any], Any]] = {
    "STRING": _to_string,
    "CHAR": _to_char,
    "BOOLEAN": _to_boolean,
    "BYTE": _integer_of(8, "SHORT"),
    "SHORT": _integer_of(16, "INT"),
    "INT": _integer_of(32, "LONG"),
    "LONG": _integer_of(64, "BIG_INT"),
    "BIG_INT": _to_integer,
    "FLOAT": _to_float,
    "DOUBLE": _to_double,
    "BIG_DEC": _to_decimal,
    "INSTANT": _to_instant,
}
"""What makes a value of each basic type, by its name; raises UnfitError where it cannot be done without loss."""
