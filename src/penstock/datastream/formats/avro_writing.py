"""Rows as Avro messages: `AvroRowSerializationSchema`; owns the writing side, knows no files and no registry."""

from __future__ import annotations

import io
import json
from typing import Any

from penstock.common.serialization import SerializationSchema
from penstock.connectors.records import RecordShapeError, to_dict
from penstock.datastream.formats.avro_reading import fastavro_library, parsed_schema
from penstock.errors import ConfigurationError


class AvroRowSerializationSchema(SerializationSchema):
    """Writes rows as Avro records, each encoded by itself; also dicts, tuples and dataclasses with the fields."""

    def __init__(self, record_class: str | None = None, avro_schema_string: str | None = None) -> None:
        """Take the schema as JSON; `record_class` names a Java class, which cannot be used."""
        if record_class is not None or avro_schema_string is None:
            raise ConfigurationError(
                "AvroRowSerializationSchema needs avro_schema_string='...'; record_class names a Java class"
            )
        try:
            self._schema = json.loads(avro_schema_string)
            parsed_schema(self._schema)
        except (ValueError, KeyError, TypeError) as error:
            raise ConfigurationError(f"AvroRowSerializationSchema: not an Avro schema: {error}") from None
        self._ready: Any = None

    def serialize(self, value: Any) -> bytes:
        """Return the record of a row."""
        if self._ready is None:
            self._ready = parsed_schema(self._schema), _Records(self._schema), fastavro_library().schemaless_writer
        schema, records, write = self._ready
        stream = io.BytesIO()
        write(stream, schema, records.plain(records.schema, value), strict=True)
        return stream.getvalue()

    def __getstate__(self) -> dict[str, Any]:
        return {**self.__dict__, "_ready": None}


class _Records:
    """Makes dicts of the rows that a schema has records for; the rest fastavro knows by itself."""

    def __init__(self, schema: Any) -> None:
        self.schema = schema
        self._named: dict[str, Any] = {}
        self._find(schema)

    def _find(self, schema: Any) -> None:
        """Learn the records by their names: a schema may name one again, also within itself."""
        for each in schema if isinstance(schema, list) else [schema]:
            if not isinstance(each, dict):
                continue
            if each["type"] == "record":
                self._named[each["name"]] = each
                for field in each["fields"]:
                    self._find(field["type"])
            for part in (each["type"], each.get("items"), each.get("values")):
                self._find(part)

    def plain(self, schema: Any, value: Any) -> Any:
        if value is None:
            return None
        if isinstance(schema, list):
            others = [each for each in schema if each != "null"]
            return self.plain(others[0], value) if len(others) == 1 else value
        if isinstance(schema, str):
            return self.plain(self._named[schema], value) if schema in self._named else value
        if schema["type"] == "record":
            return self._record(schema, value)
        if schema["type"] == "array":
            return [self.plain(schema["items"], item) for item in value]
        if schema["type"] == "map":
            return {key: self.plain(schema["values"], item) for key, item in value.items()}
        return self.plain(schema["type"], value) if isinstance(schema["type"], (dict, list)) else value

    def _record(self, schema: Any, value: Any) -> dict[str, Any]:
        names = [field["name"] for field in schema["fields"]]
        try:
            found = to_dict(value, names)
        except RecordShapeError as error:
            raise ValueError(f"a record {error}") from None
        types = {field["name"]: field["type"] for field in schema["fields"]}
        return {name: self.plain(types.get(name), item) if name in types else item for name, item in found.items()}
