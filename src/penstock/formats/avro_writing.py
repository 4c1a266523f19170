"""Rows as Avro messages: `AvroRowSerializationSchema`."""

from __future__ import annotations

import io
import json
from typing import Any

from penstock.common.serialization import SerializationSchema
from penstock.errors import ConfigurationError
from penstock.formats.avro_library import fastavro_library, parsed_schema
from penstock.formats.avro_values import avro_fitter


class AvroRowSerializationSchema(SerializationSchema):
    """Writes rows as Avro records, each encoded by itself; also dicts, tuples and dataclasses with the fields.

    A value that the schema cannot hold as it is is refused.
    """

    def __init__(self, record_class: str | None = None, avro_schema_string: str | None = None) -> None:
        """Take the schema as JSON; `record_class` names a Java class, which cannot be used."""
        if record_class is not None or avro_schema_string is None:
            raise ConfigurationError(
                "AvroRowSerializationSchema needs avro_schema_string='...'; record_class names a Java class"
            )
        fastavro_library()
        try:
            self._schema = json.loads(avro_schema_string)
            avro_fitter(parsed_schema(self._schema))
        except (ValueError, KeyError, TypeError) as error:
            raise ConfigurationError(f"AvroRowSerializationSchema: not an Avro schema: {error}") from None
        self._ready: Any = None

    def serialize(self, value: Any) -> bytes:
        """Return the record of a row."""
        if self._ready is None:
            schema = parsed_schema(self._schema)
            self._ready = schema, avro_fitter(schema), fastavro_library().schemaless_writer
        schema, fit, write = self._ready
        stream = io.BytesIO()
        write(stream, schema, fit(value))
        return stream.getvalue()

    def __getstate__(self) -> dict[str, Any]:
        return {**self.__dict__, "_ready": None}
