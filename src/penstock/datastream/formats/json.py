"""PyFlink's module for JSON: gives the schemas their path."""

from __future__ import annotations

from penstock.formats.json_reading import JsonRowDeserializationSchema
from penstock.formats.json_writing import JsonRowSerializationSchema

__all__ = ["JsonRowDeserializationSchema", "JsonRowSerializationSchema"]
