"""An Avro schema as columns of a table, and rows of such a table as its records; owns no file."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

from penstock.common.avro_type import AvroSchema
from penstock.connectors.avro_library import parsed_schema
from penstock.errors import ConfigurationError

Convert = Callable[[Any], Any]

_SIMPLE = {
    "boolean": "BOOLEAN",
    "int": "INT",
    "long": "BIGINT",
    "float": "FLOAT",
    "double": "DOUBLE",
    "string": "STRING",
    "bytes": "BINARY",
    "fixed": "BINARY",
    "enum": "STRING",
    "null": "STRING",
}
_LOGICAL = {
    "date": "DATE",
    "timestamp-millis": "TIMESTAMP",
    "timestamp-micros": "TIMESTAMP",
    "local-timestamp-millis": "TIMESTAMP_NTZ",
    "local-timestamp-micros": "TIMESTAMP_NTZ",
}


class AvroRecords:
    """Makes dicts, as the schema has them, of rows that were read by its columns."""

    def __init__(self, schema: AvroSchema) -> None:
        """Take a schema of records."""
        if not isinstance(schema, AvroSchema):
            raise ConfigurationError(f"AvroParquetReaders: expected an AvroSchema, got {schema!r}")
        plain = schema.to_plain()
        if not isinstance(plain, dict) or plain.get("type") != "record":
            raise ConfigurationError("AvroParquetReaders: the schema must be one of records")
        self._schema = plain
        self.ddl = ", ".join(f"`{each['name']}` {_type(each['type'], {})}" for each in self._fields())
        self._convert: list[tuple[str, Convert]] | None = None

    def __call__(self, row: dict[str, Any]) -> dict[str, Any]:
        """Return the record of a row."""
        if self._convert is None:
            self._convert = [(each["name"], _converter(each["type"], {})) for each in self._fields()]
        return {name: convert(row.get(name)) for name, convert in self._convert}

    def _fields(self) -> list[Any]:
        parsed = parsed_schema(self._schema)
        return list(parsed["fields"])

    def __getstate__(self) -> dict[str, Any]:
        return {**self.__dict__, "_convert": None}


def _type(schema: Any, named: dict[str, str]) -> str:
    """The column type of a schema, as Parquet's Avro writers write it."""
    if isinstance(schema, list):
        others = [each for each in schema if each != "null"]
        if len(others) != 1:
            raise ConfigurationError(f"AvroParquetReaders: the union {schema!r} has no column of one type")
        return _type(others[0], named)
    if isinstance(schema, str):
        return named.get(schema) or _SIMPLE[schema]
    logical = schema.get("logicalType")
    if logical == "decimal":
        return f"DECIMAL({schema['precision']}, {schema.get('scale', 0)})"
    if logical in _LOGICAL:
        return _LOGICAL[logical]
    kind = schema["type"]
    if kind == "record":
        inner = ", ".join(f"`{each['name']}`: {_type(each['type'], named)}" for each in schema["fields"])
        named[schema["name"]] = f"STRUCT<{inner}>"
        return named[schema["name"]]
    if kind == "array":
        return f"ARRAY<{_type(schema['items'], named)}>"
    if kind == "map":
        return f"MAP<STRING, {_type(schema['values'], named)}>"
    if kind in ("enum", "fixed"):
        named[schema["name"]] = _SIMPLE[kind]
    return _type(kind, named)


def _as_it_is(value: Any) -> Any:
    return value


def _converter(schema: Any, named: dict[str, Convert]) -> Convert:
    """What makes a value of a schema of one of a column: maps are lists of pairs there."""
    if isinstance(schema, list):
        return _converter(next((each for each in schema if each != "null"), "null"), named)
    if isinstance(schema, str):
        return named.get(schema, _as_it_is)
    kind = schema["type"]
    if kind == "record":
        fields = [(each["name"], _converter(each["type"], named)) for each in schema["fields"]]
        named[schema["name"]] = lambda value: (
            None if value is None else {name: convert(value.get(name)) for name, convert in fields}
        )
        return named[schema["name"]]
    if kind == "array":
        item = _converter(schema["items"], named)
        return lambda value: None if value is None else [item(each) for each in value]
    if kind == "map":
        each_value = _converter(schema["values"], named)
        return lambda value: None if value is None else {key: each_value(each) for key, each in dict(value).items()}
    return _as_it_is
