"""The library behind everything Avro."""

from __future__ import annotations

import importlib
from typing import Any

from penstock.errors import ConfigurationError


def fastavro_library() -> Any:
    """The library, which is an extra of Penstock."""
    try:
        import fastavro
    except ImportError:
        raise ConfigurationError("Avro needs its library: pip install 'penstock[avro]'") from None
    return fastavro


def parsed_schema(schema: Any) -> Any:
    """A schema, as parsed JSON, in the form that the library wants; raises ValueError if it is none."""
    library = fastavro_library()
    try:
        return library.parse_schema(schema)
    except library.schema.SchemaParseException as error:
        raise ValueError(str(error)) from None


SHALLOW_BYTES = 4096
"""What cannot be nested too deep for the library: every level of a record within itself takes a byte."""


def message_readers(schema: Any) -> tuple[Any, Any]:
    """What reads a message of a parsed schema: one that is shallow, and one that may be of any depth.

    The library's compiled reader overflows the stack, which ends the process, where Python's raises RecursionError.
    """
    library = fastavro_library()
    quick = library.schemaless_reader
    return quick, importlib.import_module("fastavro._read_py").schemaless_reader if _holds_itself(schema, ()) else quick


def _holds_itself(schema: Any, within: tuple[str, ...]) -> bool:
    if isinstance(schema, str):
        return schema in within
    if isinstance(schema, list):
        return any(_holds_itself(each, within) for each in schema)
    if schema["type"] in ("record", "error"):
        inside = (*within, schema["name"])
        return any(_holds_itself(field["type"], inside) for field in schema["fields"])
    return any(_holds_itself(schema[part], within) for part in ("items", "values") if part in schema)
