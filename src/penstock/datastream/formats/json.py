"""JSON schemas, under PyFlink's path."""

from __future__ import annotations

from typing import TYPE_CHECKING

from penstock.formats.json_reading import JsonRowDeserializationSchema
from penstock.formats.json_writing import JsonRowSerializationSchema
from penstock.pyflink_names import names_from_elsewhere

__all__ = ["JsonRowDeserializationSchema", "JsonRowSerializationSchema"]

if not TYPE_CHECKING:
    __getattr__ = names_from_elsewhere(__name__)
