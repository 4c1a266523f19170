"""Arrow types of Avro schemas. Values are as fastavro gives them."""

from __future__ import annotations

import json
from functools import lru_cache
from typing import Any

import pyarrow as pa

_BASIC: dict[str, pa.DataType] = {
    "boolean": pa.bool_(),
    "int": pa.int32(),
    "long": pa.int64(),
    "float": pa.float32(),
    "double": pa.float64(),
    "bytes": pa.binary(),
    "string": pa.string(),
    "enum": pa.string(),
    "fixed": pa.binary(),
}
_LOGICAL: dict[str, pa.DataType] = {
    "date": pa.date32(),
    "time-millis": pa.time64("us"),
    "time-micros": pa.time64("us"),
    "timestamp-millis": pa.timestamp("us", tz="UTC"),
    "timestamp-micros": pa.timestamp("us", tz="UTC"),
}


@lru_cache(maxsize=256)
def avro_arrow_type(text: str) -> pa.DataType | None:
    """Return the Arrow type of a schema; None if it has none: unions of several types, types that hold themselves."""
    try:
        return _arrow(json.loads(text))
    except KeyError:
        return None


def _arrow(schema: Any) -> pa.DataType:
    """Raises KeyError for what has no Arrow type, and for a named type used again: its schema is elsewhere."""
    if isinstance(schema, list):
        branches = [each for each in schema if each != "null"]
        if len(branches) != 1:
            raise KeyError("union")
        return _arrow(branches[0])
    if isinstance(schema, str):
        return _BASIC[schema]
    if "logicalType" in schema:
        if schema["logicalType"] == "decimal":
            return pa.decimal128(schema["precision"], schema.get("scale", 0))
        return _LOGICAL[schema["logicalType"]]
    kind = schema["type"]
    if kind == "record":
        return pa.struct([(field["name"], _arrow(field["type"])) for field in schema["fields"]])
    if kind == "array":
        return pa.list_(_arrow(schema["items"]))
    if kind == "map":
        return pa.map_(pa.string(), _arrow(schema["values"]))
    return _arrow(kind)
