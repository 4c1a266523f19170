"""PyFlink's module for Avro: gives schemas and types their path."""

from __future__ import annotations

from penstock.common.avro_type import AvroSchema, GenericRecordAvroTypeInfo
from penstock.datastream.formats.avro_reading import AvroRowDeserializationSchema
from penstock.datastream.formats.avro_writing import AvroRowSerializationSchema

__all__ = [
    "AvroRowDeserializationSchema",
    "AvroRowSerializationSchema",
    "AvroSchema",
    "GenericRecordAvroTypeInfo",
]
