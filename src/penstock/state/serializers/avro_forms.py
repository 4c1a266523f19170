"""Values of an Avro schema as bytes and back, by fastavro."""

from __future__ import annotations

import io
import json
from collections.abc import Callable
from functools import lru_cache
from types import ModuleType
from typing import Any

from penstock.errors import ConfigurationError
from penstock.state.serializers.basic_forms import Form, MisfitError


def fastavro() -> ModuleType:
    """Return the library, which is an extra."""
    try:
        import fastavro as library
    except ImportError:
        raise ConfigurationError("Avro needs the library fastavro: pip install 'penstock[avro]'") from None
    found: ModuleType = library
    return found


@lru_cache(maxsize=256)
def parsed(text: str) -> Any:
    """Return a schema as fastavro takes it; one that Avro does not know is refused."""
    library = fastavro()
    try:
        return library.parse_schema(json.loads(text))
    except Exception as error:
        raise ConfigurationError(f"the Avro schema {text[:200]} cannot be used: {error}") from None


def avro_form(expected: str, text: str) -> Form:
    """Return the form of a schema: plain data are its bytes."""
    schema, write, read = parsed(text), fastavro().schemaless_writer, fastavro().schemaless_reader
    validate = fastavro().validate

    def to_plain(value: Any) -> bytes | None:
        if value is None:
            return None
        stream = io.BytesIO()
        try:
            write(stream, schema, value, strict_allow_default=True)
            data = stream.getvalue()
            # Writing cuts 1.7 to 1 where an int is wanted. Validation would tell, at three times the price of both.
            if read(io.BytesIO(data), schema, None) != value:
                validate(value, schema)
        except Exception as error:
            raise MisfitError(expected, value, hint=f" ({' '.join(str(error).split())})") from None
        return data

    return Form(to_plain, lambda data: None if data is None else read(io.BytesIO(data), schema, None))


def avro_evolution(written: str, wanted: str) -> Callable[[bytes | None], Any]:
    """Return what reads bytes of one schema as values of another, by Avro's rules."""
    read, old, new = fastavro().schemaless_reader, parsed(written), parsed(wanted)
    return lambda data: None if data is None else read(io.BytesIO(data), old, new)
