"""Avro schemas as declared types.

Users import these names from `penstock.datastream.formats.avro`.
"""

from __future__ import annotations

import json
from typing import Any

import pyarrow as pa

from penstock.common.basic_types import TypeInformation

__all__ = ["AvroSchema", "GenericRecordAvroTypeInfo"]


class AvroSchema:
    """A schema in Avro's JSON."""

    def __init__(self, schema: Any) -> None:
        if not isinstance(schema, (dict, list, str)):
            raise TypeError(f"AvroSchema: expected a schema as parsed JSON, got {type(schema).__name__}")
        self._schema = schema

    @staticmethod
    def parse_string(json_schema: str) -> AvroSchema:
        """Return the schema of a JSON text."""
        try:
            return AvroSchema(json.loads(json_schema))
        except ValueError as error:
            raise ValueError(f"AvroSchema.parse_string: the text is not JSON: {error}") from None

    @staticmethod
    def parse_file(file_path: str) -> AvroSchema:
        """Return the schema in a file."""
        with open(file_path, encoding="utf-8") as stream:
            return AvroSchema.parse_string(stream.read())

    def to_plain(self) -> Any:
        """Return the schema as parsed JSON."""
        return self._schema

    def __str__(self) -> str:
        return json.dumps(self._schema, sort_keys=True, separators=(",", ":"))

    def __eq__(self, other: object) -> bool:
        return isinstance(other, AvroSchema) and str(self) == str(other)

    def __hash__(self) -> int:
        return hash(str(self))


class GenericRecordAvroTypeInfo(TypeInformation[Any]):
    """Values as an Avro schema describes them: records are dicts."""

    def __init__(self, schema: AvroSchema) -> None:
        if not isinstance(schema, AvroSchema):
            raise TypeError(f"expected an AvroSchema, got {type(schema).__name__}")
        self.schema = schema

    def __repr__(self) -> str:
        plain = self.schema.to_plain()
        return f"AVRO({plain.get('name', plain['type']) if isinstance(plain, dict) else plain})"

    def arrow_type(self) -> pa.DataType:
        """Return the Arrow type: the encoded value."""
        return pa.binary()

    def coerce(self, value: Any) -> Any:
        """Return the value as it is; Avro checks it when it is encoded."""
        return value

    def canonical_text(self) -> str:
        """Return the text of the schema, the same for equal schemas."""
        return str(self.schema)

    def _identity(self) -> Any:
        return self.schema
