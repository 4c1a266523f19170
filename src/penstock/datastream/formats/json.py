"""JSON schemas, under PyFlink's path."""

from __future__ import annotations

from penstock.formats.json_reading import JsonRowDeserializationSchema
from penstock.formats.json_writing import JsonRowSerializationSchema

__all__ = ["JsonRowDeserializationSchema", "JsonRowSerializationSchema"]
