"""Constants of SQL texts as typed literals: numbers, texts, dates and times, intervals."""

from __future__ import annotations

import re
from datetime import UTC, date, datetime, timedelta
from decimal import Decimal

from penstock.vocabulary.sql.logical_types import Kind, LogicalType
from penstock.vocabulary.sql.typed_expressions import Literal

__all__ = ["binary_literal", "interval_literal", "null_literal", "number_literal", "temporal_literal", "text_literal"]

EPOCH = datetime(1970, 1, 1, tzinfo=UTC)
MONTHS_OF = {"YEAR": 12, "QUARTER": 3, "MONTH": 1}
MILLIS_OF = {"WEEK": 604_800_000, "DAY": 86_400_000, "HOUR": 3_600_000, "MINUTE": 60_000, "SECOND": 1_000}
FINER = ("DAY", "HOUR", "MINUTE", "SECOND")


def number_literal(text: str) -> Literal:
    """A number: INT or BIGINT or DECIMAL as it needs, DOUBLE with an exponent."""
    if "e" in text.lower():
        return Literal(float(text), LogicalType(Kind.DOUBLE, False))
    if "." in text:
        value = Decimal(text)
        scale = -int(value.as_tuple().exponent)
        digits = sum(map(str.isdigit, text))
        return Literal(value, LogicalType(Kind.DECIMAL, False, (digits, scale)))
    number = int(text)
    if -(2**31) <= number < 2**31:
        return Literal(number, LogicalType(Kind.INTEGER, False))
    if -(2**63) <= number < 2**63:
        return Literal(number, LogicalType(Kind.BIGINT, False))
    return Literal(Decimal(number), LogicalType(Kind.DECIMAL, False, (len(text.lstrip("-")), 0)))


def text_literal(text: str) -> Literal:
    """A text, CHAR of its length."""
    return Literal(text, LogicalType(Kind.CHAR, False, (len(text),)))


def binary_literal(digits: str) -> Literal:
    """Bytes given in hexadecimal digits."""
    value = bytes.fromhex(digits)
    return Literal(value, LogicalType(Kind.BINARY, False, (len(value),)))


def null_literal() -> Literal:
    """NULL, of a type that is yet to be known."""
    return Literal(None, LogicalType(Kind.NULL))


def temporal_literal(kind: Kind, text: str) -> Literal:
    """DATE, TIME or TIMESTAMP of a text; the precision is that of its digits. Raises ValueError."""
    if kind is Kind.DATE:
        return Literal((date.fromisoformat(text) - date(1970, 1, 1)).days, LogicalType(Kind.DATE, False))
    if kind is Kind.TIME:
        return _time(text)
    matched = re.fullmatch(r"(\d+-\d+-\d+)(?:[ T](\d+:\d+:\d+)(?:\.(\d{1,9}))?)?", text.strip())
    if matched is None:
        raise ValueError(text)
    day, clock, digits = matched.group(1), matched.group(2) or "00:00:00", matched.group(3) or ""
    moment = datetime.strptime(f"{day} {clock}", "%Y-%m-%d %H:%M:%S").replace(tzinfo=UTC)
    seconds = (moment - EPOCH) // timedelta(seconds=1)
    precision = len(digits)
    unit_digits = 3 if precision <= 3 else 6 if precision <= 6 else 9
    value = seconds * 10**unit_digits + int(digits.ljust(unit_digits, "0") or 0)
    return Literal(value, LogicalType(kind, False, (precision,)))


def _time(text: str) -> Literal:
    matched = re.fullmatch(r"(\d+):(\d+):(\d+)(?:\.(\d{1,9}))?", text.strip())
    if matched is None:
        raise ValueError(text)
    hours, minutes, seconds = (int(each) for each in matched.groups()[:3])
    digits = matched.group(4) or ""
    millis = ((hours * 60 + minutes) * 60 + seconds) * 1000 + int(digits[:3].ljust(3, "0") or 0)
    return Literal(millis, LogicalType(Kind.TIME, False, (min(len(digits), 3),)))


def interval_literal(text: str, first: str, last: str | None) -> Literal:
    """INTERVAL 'text' first TO last, in months or milliseconds. Raises ValueError."""
    first, last = _singular(first), None if last is None else _singular(last)
    sign = -1 if text.strip().startswith("-") else 1
    body = text.strip().lstrip("+-")
    if first in MONTHS_OF:
        return Literal(sign * _months(body, first, last), LogicalType(Kind.INTERVAL_MONTHS, False))
    return Literal(sign * _millis(body, first, last), LogicalType(Kind.INTERVAL_MILLIS, False))


def _singular(unit: str) -> str:
    unit = unit.upper()
    return unit[:-1] if unit.endswith("S") and unit[:-1] in {**MONTHS_OF, **MILLIS_OF} else unit


def _months(body: str, first: str, last: str | None) -> int:
    if last is None or last == first:
        return int(body) * MONTHS_OF[first]
    years, months = body.split("-")
    return int(years) * 12 + int(months)


def _millis(body: str, first: str, last: str | None) -> int:
    if first == "WEEK":
        return int(body) * MILLIS_OF["WEEK"]
    units = FINER[FINER.index(first) : FINER.index(last or first) + 1]
    parts = re.split(r"[ :]", body)
    if len(parts) != len(units):
        raise ValueError(body)
    total = Decimal(0)
    for part, unit in zip(parts, units, strict=True):
        total += Decimal(part) * MILLIS_OF[unit]
    return int(total)
