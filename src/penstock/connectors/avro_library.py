"""The library behind everything Avro; owns the way to it, and how a schema is parsed."""

from __future__ import annotations

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
