"""PyFlink's module for Avro: gives the schemas their path."""

from __future__ import annotations

from penstock.datastream.formats.avro_reading import AvroRowDeserializationSchema

__all__ = ["AvroRowDeserializationSchema"]
