"""Avro schemas of records as columns: of Arrow where Penstock writes them, of Spark where Spark reads them."""

from __future__ import annotations

import json
from collections.abc import Callable
from dataclasses import dataclass
from typing import Any

import pyarrow as pa

from penstock.common.avro_type import AvroSchema
from penstock.errors import ConfigurationError
from penstock.formats.avro_library import fastavro_library, parsed_schema
from penstock.formats.avro_visitor import AvroVisitor, only_branch

_ARROW = {
    "boolean": pa.bool_(),
    "int": pa.int32(),
    "long": pa.int64(),
    "float": pa.float32(),
    "double": pa.float64(),
    "string": pa.string(),
    "bytes": pa.binary(),
    "null": pa.null(),
    "enum": pa.string(),
}
_LOGICAL_ARROW = {
    "date": pa.date32(),
    "time-millis": pa.time32("ms"),
    "time-micros": pa.time64("us"),
    "timestamp-millis": pa.timestamp("ms", tz="UTC"),
    "timestamp-micros": pa.timestamp("us", tz="UTC"),
    "local-timestamp-millis": pa.timestamp("ms"),
    "local-timestamp-micros": pa.timestamp("us"),
}
_SPARK = {
    "boolean": "BOOLEAN",
    "int": "INT",
    "long": "BIGINT",
    "float": "FLOAT",
    "double": "DOUBLE",
    "string": "STRING",
    "bytes": "BINARY",
    "enum": "STRING",
    "null": "STRING",
}
_LOGICAL_SPARK = {
    "date": "DATE",
    "timestamp-millis": "TIMESTAMP",
    "timestamp-micros": "TIMESTAMP",
    "local-timestamp-millis": "TIMESTAMP_NTZ",
    "local-timestamp-micros": "TIMESTAMP_NTZ",
}

Convert = Callable[[Any], Any]


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
        return _ArrowTypes().visit(parsed_schema(json.loads(self.schema)))


class _ArrowTypes(AvroVisitor[pa.DataType]):
    def branch_of(self, union: list[Any]) -> Any:
        return only_branch(union)

    def of_simple(self, name: str) -> pa.DataType:
        return _ARROW[name]

    def of_logical(self, schema: Any) -> pa.DataType | None:
        if schema["logicalType"] == "decimal":
            return pa.decimal128(schema["precision"], schema.get("scale", 0))
        return _LOGICAL_ARROW.get(schema["logicalType"])

    def of_fixed(self, schema: Any) -> pa.DataType:
        return pa.binary(schema["size"])

    def of_array(self, items: pa.DataType) -> pa.DataType:
        return pa.list_(items)

    def of_map(self, values: pa.DataType) -> pa.DataType:
        return pa.map_(pa.string(), values)

    def of_record(self, schema: Any, fields: list[pa.DataType]) -> pa.DataType:
        parts = zip(schema["fields"], fields, strict=True)
        return pa.struct([pa.field(each["name"], kind, _may_be_null(each["type"])) for each, kind in parts])

    def of_itself(self, name: str) -> pa.DataType:
        raise ValueError(f"the record {name} holds itself")


def _may_be_null(schema: Any) -> bool:
    return schema == "null" or (isinstance(schema, list) and "null" in schema)


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
        names = _SparkTypes()
        try:
            self.ddl = ", ".join(f"`{each['name']}` {names.visit(each['type'])}" for each in self._fields())
        except ValueError as error:
            raise ConfigurationError(f"AvroParquetReaders: {error}") from None
        self._convert: list[tuple[str, Convert]] | None = None

    def __call__(self, row: dict[str, Any]) -> dict[str, Any]:
        """Return the record of a row."""
        if self._convert is None:
            values = _Values()
            self._convert = [(each["name"], values.visit(each["type"])) for each in self._fields()]
        return {name: convert(row.get(name)) for name, convert in self._convert}

    def _fields(self) -> list[Any]:
        parsed = parsed_schema(self._schema)
        return list(parsed["fields"])

    def __getstate__(self) -> dict[str, Any]:
        return {**self.__dict__, "_convert": None}


class _SparkTypes(AvroVisitor[str]):
    """The type of a column, in Spark's words, as Parquet's Avro writers write it."""

    def branch_of(self, union: list[Any]) -> Any:
        return only_branch(union)

    def of_simple(self, name: str) -> str:
        if name not in _SPARK:
            raise ValueError(f"a record holds {name!r}, which is the record itself: that has no column")
        return _SPARK[name]

    def of_logical(self, schema: Any) -> str | None:
        if schema["logicalType"] == "decimal":
            return f"DECIMAL({schema['precision']}, {schema.get('scale', 0)})"
        return _LOGICAL_SPARK.get(schema["logicalType"])

    def of_fixed(self, schema: Any) -> str:
        return "BINARY"

    def of_array(self, items: str) -> str:
        return f"ARRAY<{items}>"

    def of_map(self, values: str) -> str:
        return f"MAP<STRING, {values}>"

    def of_record(self, schema: Any, fields: list[str]) -> str:
        names = (each["name"] for each in schema["fields"])
        return f"STRUCT<{', '.join(f'`{name}`: {kind}' for name, kind in zip(names, fields, strict=True))}>"

    def of_itself(self, name: str) -> str:
        return self.of_simple(name)


class _Values(AvroVisitor[Convert]):
    """What makes a value of a schema of one of a column: maps are lists of pairs there."""

    def branch_of(self, union: list[Any]) -> Any:
        return next((each for each in union if each != "null"), "null")

    def of_simple(self, name: str) -> Convert:
        return _as_it_is

    def of_fixed(self, schema: Any) -> Convert:
        return _as_it_is

    def of_array(self, items: Convert) -> Convert:
        return lambda value: None if value is None else [items(each) for each in value]

    def of_map(self, values: Convert) -> Convert:
        return lambda value: None if value is None else {key: values(each) for key, each in dict(value).items()}

    def of_record(self, schema: Any, fields: list[Convert]) -> Convert:
        parts = [(each["name"], convert) for each, convert in zip(schema["fields"], fields, strict=True)]
        return lambda value: None if value is None else {name: convert(value.get(name)) for name, convert in parts}

    def of_itself(self, name: str) -> Convert:
        return _as_it_is


def _as_it_is(value: Any) -> Any:
    return value
