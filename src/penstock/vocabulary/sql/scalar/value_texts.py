"""The texts that Flink gives values: of CAST to STRING, of `TableResult.print`, and of rows that leave a job."""

from __future__ import annotations

import math
from collections.abc import Callable
from decimal import Decimal
from typing import Any

import numpy as np

from penstock.vocabulary.sql.logical_types import Kind, LogicalType
from penstock.vocabulary.sql.scalar.calendar_values import Zone, date_text, time_text, timestamp_text
from penstock.vocabulary.sql.scalar.kinds import units_per_milli, units_per_second

__all__ = ["Text", "decimal_text", "double_text", "float_text", "interval_text", "months_text", "text_function"]

Text = Callable[[Any], str]


def double_text(value: float) -> str:
    """A DOUBLE as Java writes it: `1.0`, `1.0E7`, `NaN`."""
    return _java_text(repr(value), value)


def float_text(value: float) -> str:
    """A FLOAT as Java writes it."""
    return _java_text(str(np.float32(value)), value)


def _java_text(text: str, value: float) -> str:
    if math.isnan(value) or math.isinf(value):
        return "NaN" if math.isnan(value) else "Infinity" if value > 0 else "-Infinity"
    if value == 0:
        return "-0.0" if math.copysign(1, value) < 0 else "0.0"
    sign = "-" if value < 0 else ""
    parts = Decimal(text).as_tuple()
    digits = "".join(map(str, parts.digits)).rstrip("0") or "0"
    exponent = len(parts.digits) + int(parts.exponent) - 1
    if 0 <= exponent < 7:
        padded = digits.ljust(exponent + 2, "0")
        return f"{sign}{padded[: exponent + 1]}.{padded[exponent + 1 :]}"
    if -3 <= exponent < 0:
        return f"{sign}0.{'0' * (-exponent - 1)}{digits}"
    return f"{sign}{digits[0]}.{digits[1:] or '0'}E{exponent}"


def decimal_text(value: Decimal) -> str:
    """A DECIMAL without an exponent."""
    return f"{value:f}"


def months_text(months: int) -> str:
    """An interval of months as `+1-02`."""
    sign, size = "-" if months < 0 else "+", abs(months)
    return f"{sign}{size // 12}-{size % 12:02d}"


def interval_text(millis: int) -> str:
    """An interval of milliseconds as `+1 02:03:04.005`."""
    sign, size = "-" if millis < 0 else "+", abs(millis)
    days, rest = divmod(size, 86_400_000)
    return f"{sign}{days} {time_text(rest)}.{rest % 1000:03d}"


def text_function(type_: LogicalType, zone: Zone) -> Text:
    """The function that writes values of a type, NULL apart."""
    kind = type_.kind
    if kind in _SIMPLE:
        return _SIMPLE[kind]
    if kind is Kind.TIME:
        return lambda value: time_text(value, type_.precision)
    if kind in (Kind.TIMESTAMP, Kind.TIMESTAMP_LTZ):
        return _stamp_text(type_, zone)
    parts = [_or_null(text_function(each, zone)) for each in type_.parts]
    if kind is Kind.ARRAY:
        return lambda value: f"[{', '.join([parts[0](each) for each in value])}]"
    if kind is Kind.ROW:
        return lambda value: f"({', '.join([text(each) for text, each in zip(parts, value, strict=True)])})"
    if kind is Kind.MULTISET:
        parts.append(str)
    if kind in (Kind.MAP, Kind.MULTISET):
        return lambda value: "{" + ", ".join([f"{parts[0](k)}={parts[1](v)}" for k, v in value.items()]) + "}"
    return str


def _or_null(text: Text) -> Text:
    return lambda value: "NULL" if value is None else text(value)


def _stamp_text(type_: LogicalType, zone: Zone) -> Text:
    per_second, precision = units_per_second(type_), type_.precision
    if type_.kind is Kind.TIMESTAMP or zone.is_utc:
        return lambda value: timestamp_text(value, per_second, precision)
    units = units_per_milli(type_)
    return lambda value: timestamp_text(value + zone.offset_at(value // units) * units, per_second, precision)


_SIMPLE: dict[Kind, Text] = {
    Kind.BOOLEAN: lambda value: "TRUE" if value else "FALSE",
    Kind.FLOAT: float_text,
    Kind.DOUBLE: double_text,
    Kind.DECIMAL: decimal_text,
    Kind.DATE: date_text,
    Kind.INTERVAL_MONTHS: months_text,
    Kind.INTERVAL_MILLIS: interval_text,
    Kind.BINARY: lambda value: value.decode("utf-8", "replace"),
    Kind.VARBINARY: lambda value: value.decode("utf-8", "replace"),
    Kind.NULL: str,
}
