"""Texts to values, for CAST from a string; what is no value raises EvaluationError."""

from __future__ import annotations

import re
from collections.abc import Callable
from decimal import Decimal, InvalidOperation
from typing import Any, NoReturn

from penstock.errors import EvaluationError
from penstock.vocabulary.sql.logical_types import Kind, LogicalType
from penstock.vocabulary.sql.scalar.calendar_values import Zone, parse_date, parse_time, parse_timestamp
from penstock.vocabulary.sql.scalar.kinds import INTEGERS, units_per_milli, units_per_second
from penstock.vocabulary.sql.scalar.numbers import MODULUS, decimal_fit, float32

__all__ = ["java_double", "parse_function"]

_INTEGER = re.compile(r"([+-]?\d+)(?:\.\d*)?", re.ASCII)
_FLOAT = re.compile(r"[+-]?(\d+\.?\d*|\.\d+)([eE][+-]?\d+)?", re.ASCII)
_TRUE, _FALSE = ("t", "true", "y", "yes", "1"), ("f", "false", "n", "no", "0")


def parse_function(target: LogicalType, zone: Zone) -> Callable[[str], Any]:
    """The function that reads values of a type."""
    kind = target.kind
    if kind in INTEGERS:
        return lambda text: _integer(text, target)
    if kind is Kind.DECIMAL:
        return lambda text: _decimal(text, target)
    if kind is Kind.DOUBLE:
        return lambda text: java_double(text, target)
    if kind is Kind.FLOAT:
        return lambda text: float32(java_double(text, target))
    if kind is Kind.BOOLEAN:
        return _boolean
    if kind in (Kind.BINARY, Kind.VARBINARY):
        return lambda text: text.encode()
    return _time_function(target, zone)


def _integer(text: str, target: LogicalType) -> int:
    found = _INTEGER.fullmatch(text.strip())
    value = _refuse(text, target) if found is None else int(found[1])
    half = MODULUS[target.kind] >> 1
    return value if -half <= value < half else _refuse(text, target)


def _decimal(text: str, target: LogicalType) -> Decimal | None:
    try:
        value = Decimal(text.strip())
    except InvalidOperation:
        _refuse(text, target)
    return decimal_fit(value, target) if value.is_finite() and "_" not in text else _refuse(text, target)


def java_double(text: str, target: LogicalType) -> float:
    """A text as Java reads a double."""
    stripped = text.strip()
    if stripped[-1:] in "dDfF" and _FLOAT.fullmatch(stripped[:-1]):
        stripped = stripped[:-1]
    if _FLOAT.fullmatch(stripped) or stripped.lstrip("+-") in ("NaN", "Infinity"):
        return float(stripped)
    _refuse(text, target)


def _boolean(text: str) -> bool:
    word = text.lower()
    if word in _TRUE or word in _FALSE:
        return word in _TRUE
    raise EvaluationError(
        f"cannot cast the text {text!r} to BOOLEAN: use TRY_CAST for texts that may be something else"
    )


def _time_function(target: LogicalType, zone: Zone) -> Callable[[str], Any]:
    read: Callable[[str], int | None]
    if target.kind is Kind.DATE:
        read = parse_date
    elif target.kind is Kind.TIME:
        read = parse_time
    elif target.kind in (Kind.TIMESTAMP, Kind.TIMESTAMP_LTZ):
        read = _stamp_reader(target, zone)
    else:
        raise EvaluationError(f"a text cannot be cast to {target}")

    def parse(text: str) -> int:
        value = read(text)
        return _refuse(text, target) if value is None else value

    return parse


def _stamp_reader(target: LogicalType, zone: Zone) -> Callable[[str], int | None]:
    per_second, units = units_per_second(target), units_per_milli(target)
    coarse = per_second // 10**target.precision if per_second > 10**target.precision else 1
    local = target.kind is Kind.TIMESTAMP_LTZ and not zone.is_utc

    def read(text: str) -> int | None:
        value = parse_timestamp(text, per_second)
        if value is None:
            return None
        value -= value % coarse
        return zone.moment(value // units) * units + value % units if local else value

    return read


def _refuse(text: str, target: LogicalType) -> NoReturn:
    raise EvaluationError(
        f"cannot cast the text {text!r} to {target}: use TRY_CAST for texts that may be something else"
    )
