"""Rows as Java writes them (`Row.toString`): what Flink's own tests compare."""

from __future__ import annotations

import datetime
from collections.abc import Callable
from typing import Any

from penstock.formats.java_numbers import double_text, float_text
from penstock.vocabulary.sql.external_values import per_second
from penstock.vocabulary.sql.logical_types import Kind, LogicalType
from penstock.vocabulary.sql.row_kinds import SHORT_NAMES

__all__ = ["java_row_text", "java_text"]


def java_row_text(row_type: LogicalType) -> Callable[[tuple[Any, ...]], str]:
    """What writes `(kind, *fields)` as `+I[1, a]`."""
    texts = [java_text(each) for each in row_type.parts]

    def write(row: tuple[Any, ...]) -> str:
        fields = ", ".join([text(value) for text, value in zip(texts, row[1:], strict=True)])
        return f"{SHORT_NAMES[row[0]]}[{fields}]"

    return write


def java_text(declared: LogicalType) -> Callable[[Any], str]:
    """What writes an internal value of a type as Java's object of it does."""
    make = _WRITERS.get(declared.kind)
    write = str if make is None else make(declared)
    return lambda value: "null" if value is None else write(value)


def _time_text(seconds: int, nanos: int) -> str:
    text = f"{seconds // 3600:02}:{seconds // 60 % 60:02}"
    if seconds % 60 or nanos:
        text += f":{seconds % 60:02}"
    return text + _fraction(nanos)


def _fraction(nanos: int) -> str:
    if not nanos:
        return ""
    if nanos % 1_000_000 == 0:
        return f".{nanos // 1_000_000:03}"
    return f".{nanos // 1000:06}" if nanos % 1000 == 0 else f".{nanos:09}"


def _date_text(days: int) -> str:
    return (datetime.date(1970, 1, 1) + datetime.timedelta(days=days)).isoformat()


def _timestamp(declared: LogicalType) -> Callable[[int], str]:
    unit = per_second(declared.precision)
    is_instant = declared.kind is Kind.TIMESTAMP_LTZ

    def write(value: int) -> str:
        seconds, rest = divmod(value, unit)
        days, of_day = divmod(seconds, 86_400)
        nanos = rest * (1_000_000_000 // unit)
        if not is_instant:
            return f"{_date_text(days)}T{_time_text(of_day, nanos)}"
        clock = f"{of_day // 3600:02}:{of_day // 60 % 60:02}:{of_day % 60:02}"
        return f"{_date_text(days)}T{clock}{_fraction(nanos)}Z"

    return write


def _array(declared: LogicalType) -> Callable[[Any], str]:
    element = java_text(declared.parts[0])
    return lambda value: "[" + ", ".join([element(each) for each in value]) + "]"


def _map(declared: LogicalType) -> Callable[[Any], str]:
    key = java_text(declared.parts[0])
    of = java_text(declared.parts[1]) if len(declared.parts) > 1 else str
    return lambda value: "{" + ", ".join([f"{key(k)}={of(v)}" for k, v in value.items()]) + "}"


def _row(declared: LogicalType) -> Callable[[Any], str]:
    write = java_row_text(declared)
    return lambda value: write((0, *value))


def _duration(millis: int) -> str:
    sign, millis = ("-", -millis) if millis < 0 else ("", millis)
    seconds, rest = divmod(millis, 1000)
    hours, minutes, seconds = seconds // 3600, seconds // 60 % 60, seconds % 60
    text = "".join(f"{sign}{number}{unit}" for number, unit in ((hours, "H"), (minutes, "M")) if number)
    if seconds or rest or not text:
        text += f"{sign if seconds or rest else ''}{seconds}" + (f".{rest:03}".rstrip("0") if rest else "") + "S"
    return "PT" + text


def _period(months: int) -> str:
    sign, months = ("-", -months) if months < 0 else ("", months)
    parts = "".join(f"{sign}{number}{unit}" for number, unit in ((months // 12, "Y"), (months % 12, "M")) if number)
    return "P" + (parts or "0D")


_WRITERS: dict[Kind, Callable[[LogicalType], Callable[[Any], str]]] = {
    Kind.BOOLEAN: lambda declared: lambda value: "true" if value else "false",
    Kind.DOUBLE: lambda declared: double_text,
    Kind.FLOAT: lambda declared: float_text,
    Kind.DECIMAL: lambda declared: lambda value: format(value, "f"),
    Kind.BINARY: lambda declared: lambda value: str([each - 256 if each > 127 else each for each in value]),
    Kind.VARBINARY: lambda declared: lambda value: str([each - 256 if each > 127 else each for each in value]),
    Kind.DATE: lambda declared: _date_text,
    Kind.TIME: lambda declared: lambda value: _time_text(value // 1000, value % 1000 * 1_000_000),
    Kind.TIMESTAMP: _timestamp,
    Kind.TIMESTAMP_LTZ: _timestamp,
    Kind.INTERVAL_MILLIS: lambda declared: _duration,
    Kind.INTERVAL_MONTHS: lambda declared: _period,
    Kind.ARRAY: _array,
    Kind.MAP: _map,
    Kind.MULTISET: _map,
    Kind.ROW: _row,
}
