"""Internal values as JSON, as Flink's format 'json' has them."""

from __future__ import annotations

import base64
import datetime
import functools
import json
import math
from collections.abc import Callable, Mapping
from decimal import Context
from typing import Any

from penstock.errors import SqlError
from penstock.table.java_texts import java_text
from penstock.vocabulary.sql.external_values import per_second, to_internal
from penstock.vocabulary.sql.logical_types import Kind, LogicalType

__all__ = ["JsonTexts", "from_json", "to_json"]

Convert = Callable[[Any], Any]
EXACT = Context(prec=76)
"""Decimals have more digits than Python's context keeps unless it is told."""


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


def _timestamp(declared: LogicalType, standard: str) -> Convert:
    unit = per_second(declared.precision)
    between = "T" if standard == "ISO-8601" else " "
    end = "Z" if declared.kind is Kind.TIMESTAMP_LTZ else ""

    @functools.lru_cache(4_096)
    def to_second(seconds: int) -> str:
        moment = datetime.datetime(1970, 1, 1) + datetime.timedelta(seconds=seconds)
        return f"{moment:%Y-%m-%d}{between}{moment:%H:%M:%S}"

    def write(value: int) -> str:
        seconds, rest = divmod(value, unit)
        fraction = f".{rest * (1_000_000_000 // unit):09}".rstrip("0") if rest else ""
        return f"{to_second(seconds)}{fraction}{end}"

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
    Kind.DECIMAL: lambda declared, standard: lambda value: format(value, "f"),
    Kind.TIMESTAMP: _timestamp,
    Kind.TIMESTAMP_LTZ: _timestamp,
    Kind.DATE: _date,
    Kind.TIME: _time,
    Kind.VARBINARY: lambda declared, standard: lambda value: base64.b64encode(value).decode(),
    Kind.BINARY: lambda declared, standard: lambda value: base64.b64encode(value).decode(),
}


class JsonTexts:
    """Makes functions that write values of a type as JSON: numbers with all their digits, as Flink writes them."""

    def __init__(self, options: Mapping[str, str]) -> None:
        """Take the options of the format."""
        self._standard = options.get("timestamp-format.standard", "SQL")
        self._is_plain = options.get("encode.decimal-as-plain-number", "false").lower() == "true"
        self._skips_nulls = options.get("encode.ignore-null-fields", "false").lower() == "true"
        self._null_keys = options.get("map-null-key.mode", "FAIL").upper()
        self._null_key = options.get("map-null-key.literal", "null")

    def of(self, declared: LogicalType) -> Callable[[Any], str]:
        """What writes a value, NULL too."""
        write = self._writer(declared)
        return lambda value: "null" if value is None else write(value)

    def _writer(self, declared: LogicalType) -> Callable[[Any], str]:
        kind = declared.kind
        if kind is Kind.ROW:
            return self._row(declared)
        if kind is Kind.ARRAY:
            element = self.of(declared.parts[0])
            return lambda value: "[" + ",".join([element(each) for each in value]) + "]"
        if kind in (Kind.MAP, Kind.MULTISET):
            return self._map(self.of(declared.parts[1]) if kind is Kind.MAP else str)
        if kind in (Kind.TINYINT, Kind.SMALLINT, Kind.INTEGER, Kind.BIGINT):
            return str
        if kind is Kind.BOOLEAN:
            return lambda value: "true" if value else "false"
        if kind in (Kind.FLOAT, Kind.DOUBLE):
            text = java_text(declared)
            return lambda value: text(value) if math.isfinite(value) else f'"{text(value)}"'
        if kind is Kind.DECIMAL:
            if self._is_plain:
                return lambda value: format(value.normalize(EXACT), "f")
            return lambda value: str(value.normalize(EXACT)) if value else "0"
        convert = _writer(declared, self._standard)
        return lambda value: json.dumps(convert(value), ensure_ascii=False)

    def _row(self, declared: LogicalType) -> Callable[[Any], str]:
        names = [json.dumps(name, ensure_ascii=False) + ":" for name in declared.names]
        fields = [(name, self.of(each)) for name, each in zip(names, declared.parts, strict=True)]
        skips = self._skips_nulls

        def write(value: Any) -> str:
            pairs = zip(fields, value, strict=True)
            parts = [name + field(each) for (name, field), each in pairs if each is not None or not skips]
            return "{" + ",".join(parts) + "}"

        return write

    def _map(self, of: Callable[[Any], str]) -> Callable[[Any], str]:
        def write(value: Any) -> str:
            parts = []
            for key, held in value.items():
                if key is None and self._null_keys == "DROP":
                    continue
                if key is None and self._null_keys == "FAIL":
                    raise SqlError(
                        "A map with the key NULL has no form in JSON: set 'json.map-null-key.mode' to DROP or LITERAL."
                    )
                name = self._null_key if key is None else str(key)
                parts.append(json.dumps(name, ensure_ascii=False) + ":" + of(held))
            return "{" + ",".join(parts) + "}"

        return write
