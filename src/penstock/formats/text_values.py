"""Texts of files as values of Arrow types, by the rules of Spark: what does not fit is None."""

from __future__ import annotations

import base64
import binascii
import datetime
import decimal
import re
from collections.abc import Callable
from typing import Any

import pyarrow as pa

Convert = Callable[[Any], Any]

WHOLE = re.compile(r"[+-]?[0-9]+", re.ASCII)
_REAL = re.compile(r"[+-]?(?:[0-9]+\.?[0-9]*|\.[0-9]+)(?:[eE][+-]?[0-9]+)?[dDfF]?", re.ASCII)
_DECIMAL = re.compile(r"[+-]?(?:[0-9]+\.?[0-9]*|\.[0-9]+)(?:[eE][+-]?[0-9]+)?", re.ASCII)
_ODD_REALS = {
    "NaN": float("nan"),
    **dict.fromkeys(("Inf", "+Inf", "Infinity", "+Infinity", "INF", "+INF"), float("inf")),
    **dict.fromkeys(("-Inf", "-Infinity", "-INF"), float("-inf")),
}
_DAY = re.compile(r"([0-9]{4})(?:-([0-9]{1,2})(?:-([0-9]{1,2}))?)?(?:[ T].*)?", re.ASCII)
_MOMENT = re.compile(
    r"([0-9]{4})(?:-([0-9]{1,2})(?:-([0-9]{1,2})(?:[ T]"
    r"([0-9]{1,2})(?::([0-9]{1,2})(?::([0-9]{1,2})(?:\.([0-9]*))?)?)?"
    r"\s*(Z|UTC|GMT|[+-][0-9]{1,2}(?::?[0-9]{2})?)?)?)?)?",
    re.ASCII,
)


def text_converter(kind: pa.DataType) -> Convert:
    """What makes a value of a type of a text; None where the text is no such value."""
    for is_kind, make in _CONVERTERS:
        if is_kind(kind):
            return make(kind)
    raise TypeError(f"a text cannot be {kind}")


def whole_converter(kind: pa.DataType) -> Convert:
    """What makes whole numbers of that width of texts."""
    half = 1 << (kind.bit_width - 1)

    def convert(text: str) -> int | None:
        if WHOLE.fullmatch(text) is None:
            return None
        value = int(text)
        return value if -half <= value < half else None

    return convert


def real(text: str) -> float | None:
    """A number as Java reads it, which takes blanks around it and a `d` behind it."""
    odd = _ODD_REALS.get(text)
    if odd is not None:
        return odd
    text = text.strip()
    return float(text.rstrip("dDfF")) if _REAL.fullmatch(text) else _ODD_REALS.get(text)


def decimal_converter(kind: pa.DataType) -> Convert:
    """What makes decimals of texts: rounded to the scale, None beyond the precision."""
    step = decimal.Decimal(1).scaleb(-kind.scale)
    most = decimal.Decimal(10) ** (kind.precision - kind.scale)
    context = decimal.Context(prec=100)

    def convert(text: str) -> decimal.Decimal | None:
        if _DECIMAL.fullmatch(text) is None:
            return None
        try:
            value = decimal.Decimal(text).quantize(step, decimal.ROUND_HALF_UP, context)
        except decimal.InvalidOperation:
            return None
        return value if value.copy_abs() < most else None

    return convert


def boolean(text: str) -> bool | None:
    """True and false, in any case."""
    return {"true": True, "false": False}.get(text.lower())


def day(text: str) -> datetime.date | None:
    """A date; what follows it after a blank or T is not looked at."""
    found = _DAY.fullmatch(text.strip())
    if found is None:
        return None
    try:
        return datetime.date(int(found[1]), int(found[2] or 1), int(found[3] or 1))
    except ValueError:
        return None


def moment(text: str) -> datetime.datetime | None:
    """A point in time, UTC if no zone is named."""
    found = _MOMENT.fullmatch(text.strip())
    return None if found is None else _moment(found)


def moment_without_zone(text: str) -> datetime.datetime | None:
    """A date and time of day; one with a zone is none."""
    found = _MOMENT.fullmatch(text.strip())
    if found is None or found[8] is not None:
        return None
    made = _moment(found)
    return None if made is None else made.replace(tzinfo=None)


def _moment(found: re.Match[str]) -> datetime.datetime | None:
    numbers = [int(found[place] or least) for place, least in ((1, 1), (2, 1), (3, 1), (4, 0), (5, 0), (6, 0))]
    micros = int((found[7] or "0")[:6].ljust(6, "0"))
    try:
        year, month, date, hour, minute, second = numbers
        made = datetime.datetime(year, month, date, hour, minute, second, micros, datetime.UTC)
        return made - _shift(found[8])
    except (ValueError, OverflowError):
        return None


def _shift(zone: str | None) -> datetime.timedelta:
    if zone in (None, "Z", "UTC", "GMT"):
        return datetime.timedelta()
    assert zone is not None
    digits = zone[1:].replace(":", "").rjust(2, "0")
    minutes = int(digits[:2]) * 60 + int(digits[2:] or 0)
    return datetime.timedelta(minutes=-minutes if zone[0] == "-" else minutes)


def octets(text: str) -> bytes | None:
    """Base64, as JSON has bytes."""
    try:
        return base64.b64decode(text, validate=True)
    except (ValueError, binascii.Error):
        return None


_CONVERTERS: list[tuple[Callable[[pa.DataType], bool], Callable[[pa.DataType], Convert]]] = [
    (pa.types.is_string, lambda _: str),
    (pa.types.is_integer, whole_converter),
    (pa.types.is_floating, lambda _: real),
    (pa.types.is_boolean, lambda _: boolean),
    (pa.types.is_decimal, decimal_converter),
    (pa.types.is_date, lambda _: day),
    (lambda kind: bool(pa.types.is_timestamp(kind) and kind.tz is not None), lambda _: moment),
    (pa.types.is_timestamp, lambda _: moment_without_zone),
    (pa.types.is_binary, lambda _: str.encode),
]
