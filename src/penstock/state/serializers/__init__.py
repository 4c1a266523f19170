"""Bytes of typed state: what a state's type is as data, how its values become bytes, and how the type may change.

`penstock.state.keyed` defines the rows and stores the schemas. Bytes of a value are a mark, the number of the schema (a
hash of it) and the value as plain data: no class of the user is named in them, so that classes may be moved, renamed
and changed, and state can be read without them.
"""

from __future__ import annotations

from penstock.state.serializers.descriptions import described
from penstock.state.serializers.evolution import incompatibility, reader_for
from penstock.state.serializers.lossy_values import lossy_value_test
from penstock.state.serializers.plain import arrow_type, plain_reader, plain_reader_of, plain_writer
from penstock.state.serializers.schemas import Schema, layout_of, number_of, schema_of
from penstock.state.serializers.serializer import StateSerializer, serializer_for

__all__ = [
    "Schema",
    "StateSerializer",
    "arrow_type",
    "described",
    "incompatibility",
    "layout_of",
    "lossy_value_test",
    "number_of",
    "plain_reader",
    "plain_reader_of",
    "plain_writer",
    "reader_for",
    "schema_of",
    "serializer_for",
]
