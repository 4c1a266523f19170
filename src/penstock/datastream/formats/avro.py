"""Avro schemas, types and writers, under PyFlink's path."""

from __future__ import annotations

from typing import TYPE_CHECKING

from penstock.common.avro_type import AvroSchema, GenericRecordAvroTypeInfo
from penstock.datastream.formats.avro_input import AvroInputFormat
from penstock.errors import ConfigurationError
from penstock.formats.avro_format import AvroFormat
from penstock.formats.avro_reading import AvroRowDeserializationSchema
from penstock.formats.avro_writing import AvroRowSerializationSchema
from penstock.pyflink_names import names_from_elsewhere

__all__ = [
    "AvroBulkWriters",
    "AvroInputFormat",
    "AvroRowDeserializationSchema",
    "AvroRowSerializationSchema",
    "AvroSchema",
    "GenericRecordAvroTypeInfo",
]


class AvroBulkWriters:
    """Makes writers of Avro files, for `FileSink.for_bulk_format`."""

    @staticmethod
    def for_generic_record(schema: AvroSchema) -> AvroFormat:
        """Write records (dicts, rows, dataclasses) as the schema has them."""
        if not isinstance(schema, AvroSchema):
            raise ConfigurationError(f"AvroBulkWriters: expected an AvroSchema, got {schema!r}.")
        return AvroFormat(str(schema))


if not TYPE_CHECKING:
    __getattr__ = names_from_elsewhere(__name__)
