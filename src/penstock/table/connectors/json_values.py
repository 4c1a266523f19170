"""Internal values as JSON, as Flink's format 'json' has them."""

from __future__ import annotations

import base64
import datetime
from collections.abc import Callable
from decimal import Decimal
from typing import Any

from penstock.table.external_values import per_second, to_internal
from penstock.vocabulary.sql.logical_types import Kind, LogicalType

__all__ = ["from_json", "to_json"]

Convert = Callable[[Any], Any]


def from_json(declared: LogicalType) -> Convert:
    """What makes internal values of parsed JSON, numbers with a point being Decimals."""
    convert = _reader(declared)
    return lambda value: None if value is None else convert(value)


def _reader(declared: LogicalType) -> Convert:
    kind = declared.kind
    if kind is Kind.ROW:
        fields = [(name, from_json(each)) for name, each in zip(declared.names, declared.parts, strict=True)]
        return lambda value: tuple([convert(value.get(name)) for name, convert in fields])
    if kind is Kind.ARRAY:
        element = from_json(declared.parts[0])
        return lambda value: tuple([element(each) for each in value])
    if kind in (Kind.MAP, Kind.MULTISET):
        of = from_json(declared.parts[1]) if kind is Kind.MAP else int
        return lambda value: {key: of(held) for key, held in value.items()}
    convert = to_internal(declared)
    if kind in (Kind.VARCHAR, Kind.CHAR):
        return lambda value: value if isinstance(value, str) else _text(value)
    if kind in (Kind.VARBINARY, Kind.BINARY):
        return lambda value: convert(base64.b64decode(value))
    if kind in (Kind.FLOAT, Kind.DOUBLE):
        return lambda value: convert(float(value))
    if kind in (Kind.TINYINT, Kind.SMALLINT, Kind.INTEGER, Kind.BIGINT):
        return lambda value: convert(int(value))
    return convert


def _text(value: Any) -> str:
    import json

    return json.dumps(value, default=str)


def to_json(declared: LogicalType, standard: str = "SQL") -> Convert:
    """What makes plain values for JSON; a row gives a dict."""
    convert = _writer(declared, standard)
    return lambda value: None if value is None else convert(value)


def _writer(declared: LogicalType, standard: str) -> Convert:
    kind = declared.kind
    if kind is Kind.ROW:
        fields = [(n, to_json(each, standard)) for n, each in zip(declared.names, declared.parts, strict=True)]
        return lambda value: {name: convert(each) for (name, convert), each in zip(fields, value, strict=True)}
    if kind is Kind.ARRAY:
        element = to_json(declared.parts[0], standard)
        return lambda value: [element(each) for each in value]
    if kind in (Kind.MAP, Kind.MULTISET):
        of = to_json(declared.parts[1], standard) if kind is Kind.MAP else int
        return lambda value: {str(key): of(held) for key, held in value.items()}
    make = _SCALARS.get(kind)
    return _as_it_is if make is None else make(declared, standard)


def _as_it_is(value: Any) -> Any:
    return value


def _decimal(declared: LogicalType, standard: str) -> Convert:
    return lambda value: int(value) if declared.scale == 0 else _Number(value)


class _Number(float):
    """A decimal that JSON writes with all of its digits."""

    def __new__(cls, value: Decimal) -> _Number:
        made = super().__new__(cls, value)
        made.text = format(value, "f")
        return made

    text: str

    def __repr__(self) -> str:
        return self.text

    def __str__(self) -> str:
        return self.text


def _timestamp(declared: LogicalType, standard: str) -> Convert:
    unit = per_second(declared.precision)
    between = "T" if standard == "ISO-8601" else " "
    end = "Z" if declared.kind is Kind.TIMESTAMP_LTZ else ""

    def write(value: int) -> str:
        seconds, rest = divmod(value, unit)
        moment = datetime.datetime(1970, 1, 1) + datetime.timedelta(seconds=seconds)
        fraction = f".{rest * (1_000_000_000 // unit):09}".rstrip("0") if rest else ""
        return f"{moment:%Y-%m-%d}{between}{moment:%H:%M:%S}{fraction}{end}"

    return write


def _date(declared: LogicalType, standard: str) -> Convert:
    return lambda value: str(datetime.date(1970, 1, 1) + datetime.timedelta(days=value))


def _time(declared: LogicalType, standard: str) -> Convert:
    def write(value: int) -> str:
        seconds, millis = divmod(value, 1000)
        text = f"{seconds // 3600:02}:{seconds // 60 % 60:02}:{seconds % 60:02}"
        return text + (f".{millis:03}".rstrip("0") if millis else "")

    return write


_SCALARS: dict[Kind, Callable[[LogicalType, str], Convert]] = {
    Kind.DECIMAL: _decimal,
    Kind.TIMESTAMP: _timestamp,
    Kind.TIMESTAMP_LTZ: _timestamp,
    Kind.DATE: _date,
    Kind.TIME: _time,
    Kind.VARBINARY: lambda declared, standard: lambda value: base64.b64encode(value).decode(),
    Kind.BINARY: lambda declared, standard: lambda value: base64.b64encode(value).decode(),
}
