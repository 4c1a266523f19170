"""Avro schemas as Arrow types, for formats of columns; owns the translation only."""

from __future__ import annotations

import json
from dataclasses import dataclass
from typing import Any

import pyarrow as pa

from penstock.connectors.avro_library import fastavro_library, parsed_schema
from penstock.errors import ConfigurationError

_SIMPLE = {
    "boolean": pa.bool_(),
    "int": pa.int32(),
    "long": pa.int64(),
    "float": pa.float32(),
    "double": pa.float64(),
    "string": pa.string(),
    "bytes": pa.binary(),
    "null": pa.null(),
}
_LOGICAL = {
    "date": pa.date32(),
    "time-millis": pa.time32("ms"),
    "time-micros": pa.time64("us"),
    "timestamp-millis": pa.timestamp("ms", tz="UTC"),
    "timestamp-micros": pa.timestamp("us", tz="UTC"),
    "local-timestamp-millis": pa.timestamp("ms"),
    "local-timestamp-micros": pa.timestamp("us"),
}


@dataclass(frozen=True)
class AvroColumns:
    """The columns of a record schema; a declared type as formats of columns ask for it."""

    schema: str

    def __post_init__(self) -> None:
        """Refuse what columns cannot hold."""
        fastavro_library()
        try:
            kind = self.arrow_type()
        except (ValueError, KeyError, TypeError) as error:
            raise ConfigurationError(f"Not an Avro schema that columns can hold: {error}") from None
        if not pa.types.is_struct(kind):
            raise ConfigurationError("Columns need an Avro schema of type record.")

    def arrow_type(self) -> pa.DataType:
        """The struct of the record."""
        return _arrow(parsed_schema(json.loads(self.schema)), {})


def _arrow(schema: Any, named: dict[str, pa.DataType | None]) -> pa.DataType:
    if isinstance(schema, list):
        others = [each for each in schema if each != "null"]
        if len(others) != 1:
            raise ValueError(f"a column has one type, and may be null: {schema}")
        return _arrow(others[0], named)
    if isinstance(schema, str):
        if schema in _SIMPLE:
            return _SIMPLE[schema]
        if named[schema] is None:
            raise ValueError(f"the record {schema} holds itself")
        return named[schema]
    logical = schema.get("logicalType")
    if logical in _LOGICAL:
        return _LOGICAL[logical]
    if logical == "decimal":
        return pa.decimal128(schema["precision"], schema.get("scale", 0))
    return _made(schema, named)


def _made(schema: Any, named: dict[str, pa.DataType | None]) -> pa.DataType:
    kind = schema["type"]
    if kind == "record":
        named[schema["name"]] = None
        fields = [
            pa.field(each["name"], _arrow(each["type"], named), _may_be_null(each["type"])) for each in schema["fields"]
        ]
        named[schema["name"]] = pa.struct(fields)
        return named[schema["name"]]
    if kind == "array":
        return pa.list_(_arrow(schema["items"], named))
    if kind == "map":
        return pa.map_(pa.string(), _arrow(schema["values"], named))
    if kind == "enum":
        named[schema["name"]] = pa.string()
        return pa.string()
    if kind == "fixed":
        named[schema["name"]] = pa.binary(schema["size"])
        return named[schema["name"]]
    return _arrow(kind, named)


def _may_be_null(schema: Any) -> bool:
    return schema == "null" or (isinstance(schema, list) and "null" in schema)
