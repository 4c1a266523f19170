"""Avro messages as rows: `AvroRowDeserializationSchema`."""

from __future__ import annotations

import io
import json
from collections.abc import Callable
from typing import Any

from penstock.common.serialization import DeserializationSchema
from penstock.common.typeinfo import TypeInformation, Types
from penstock.common.types import Row
from penstock.errors import ConfigurationError
from penstock.formats.avro_library import SHALLOW_BYTES, fastavro_library, message_readers, parsed_schema

Convert = Callable[[Any], Any]

_SIMPLE = {
    "string": Types.STRING,
    "int": Types.INT,
    "long": Types.LONG,
    "float": Types.FLOAT,
    "double": Types.DOUBLE,
    "boolean": Types.BOOLEAN,
    "null": Types.STRING,
    "enum": Types.STRING,
}
_LOGICAL = {
    "date": Types.SQL_DATE,
    "time-millis": Types.SQL_TIME,
    "time-micros": Types.SQL_TIME,
    "timestamp-millis": Types.SQL_TIMESTAMP,
    "timestamp-micros": Types.SQL_TIMESTAMP,
    "local-timestamp-millis": Types.SQL_TIMESTAMP,
    "local-timestamp-micros": Types.SQL_TIMESTAMP,
    "decimal": Types.BIG_DEC,
}


class AvroRowDeserializationSchema(DeserializationSchema):
    """Reads Avro records, each encoded by itself, as rows."""

    def __init__(self, record_class: str | None = None, avro_schema_string: str | None = None) -> None:
        """Take the schema as JSON; `record_class` names a Java class, which cannot be used."""
        if record_class is not None or avro_schema_string is None:
            raise ConfigurationError(
                "AvroRowDeserializationSchema needs avro_schema_string='...'; record_class names a Java class"
            )
        fastavro_library()
        try:
            self._schema = json.loads(avro_schema_string)
            self._type: TypeInformation = _type_of(parsed_schema(self._schema), {})
            _shape(parsed_schema(self._schema), {})
        except (ValueError, KeyError, TypeError) as error:
            raise ConfigurationError(f"AvroRowDeserializationSchema: not an Avro schema: {error}") from None
        self._ready: Any = None

    def deserialize(self, message: bytes) -> Any:
        """Return the row of a message."""
        if self._ready is None:
            schema = parsed_schema(self._schema)
            self._ready = schema, _shape(schema, {}), message_readers(schema)
        schema, shape, (read, read_deep) = self._ready
        stream = io.BytesIO(message)
        try:
            value = (read if len(message) <= SHALLOW_BYTES else read_deep)(stream, schema, None)
        except RecursionError:
            raise ValueError(f"the Avro record of {len(message)} bytes is nested too deep") from None
        if stream.tell() != len(message):
            raise ValueError(f"{len(message) - stream.tell()} bytes follow the Avro record")
        return shape(value)

    def get_produced_type(self) -> TypeInformation:
        """Return the type of the schema."""
        return self._type

    def __getstate__(self) -> dict[str, Any]:
        return {**self.__dict__, "_ready": None}


def _shape(schema: Any, named: dict[str, Convert]) -> Convert:
    """What makes rows of the dicts that stand for records; maps stay dicts."""
    if isinstance(schema, list):
        others = [each for each in schema if each != "null"]
        one = _shape(others[0], named) if len(others) == 1 else _as_it_is
        return one if one is _as_it_is else lambda value: None if value is None else one(value)
    if isinstance(schema, str):
        # A record within itself is not known before it is complete.
        return (lambda value: named[schema](value)) if schema in named else _as_it_is
    kind = schema["type"]
    if kind == "record":
        named[schema["name"]] = _as_it_is
        names = tuple(field["name"] for field in schema["fields"])
        parts = [(field["name"], _shape(field["type"], named)) for field in schema["fields"]]
        named[schema["name"]] = lambda value: Row.of_fields(names, [part(value[name]) for name, part in parts])
        return named[schema["name"]]
    if kind in ("array", "map"):
        item = _shape(schema["items" if kind == "array" else "values"], named)
        if item is _as_it_is:
            return _as_it_is
        if kind == "array":
            return lambda value: [item(each) for each in value]
        return lambda value: {key: item(each) for key, each in value.items()}
    return _shape(kind, named) if isinstance(kind, (dict, list)) else _as_it_is


def _as_it_is(value: Any) -> Any:
    return value


def _type_of(schema: Any, named: dict[str, Any]) -> Any:
    """The type of what `deserialize` gives."""
    if isinstance(schema, list):  # "or null"
        others = [each for each in schema if each != "null"]
        return _type_of(others[0], named) if len(others) == 1 else Types.PICKLED_BYTE_ARRAY()
    if isinstance(schema, str):
        return _SIMPLE[schema]() if schema in _SIMPLE else named.get(schema) or _bytes_type(schema)
    if schema.get("logicalType") in _LOGICAL:
        return _LOGICAL[schema["logicalType"]]()
    kind = schema["type"]
    if kind == "record":
        fields = [(field["name"], _type_of(field["type"], named)) for field in schema["fields"]]
        found = Types.ROW_NAMED([name for name, _ in fields], [each for _, each in fields])
        named[schema["name"]] = found
        return found
    if kind == "array":
        return Types.OBJECT_ARRAY(_type_of(schema["items"], named))
    if kind == "map":
        return Types.MAP(Types.STRING(), _type_of(schema["values"], named))
    if isinstance(kind, (dict, list)):
        return _type_of(kind, named)
    return _SIMPLE[kind]() if kind in _SIMPLE else _bytes_type(kind)


def _bytes_type(kind: str) -> Any:
    if kind in ("bytes", "fixed"):
        return Types.PRIMITIVE_ARRAY(Types.BYTE())
    return Types.PICKLED_BYTE_ARRAY()
