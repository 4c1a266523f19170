"""Rows as JSON messages: `JsonRowSerializationSchema`."""

from __future__ import annotations

import json
from collections.abc import Callable
from typing import Any

from penstock.common.composite_types import RowTypeInfo
from penstock.common.serialization import SerializationSchema
from penstock.common.typeinfo import TypeInformation
from penstock.errors import ConfigurationError
from penstock.formats.plain_values import plain_converter


class JsonRowSerializationSchema(SerializationSchema):
    """Writes rows of a declared type as JSON objects; also dicts, tuples and dataclasses with its fields."""

    def __init__(self, row_type: RowTypeInfo) -> None:
        """Take the type; programs call `builder`."""
        self._row_type = row_type
        self._ready: Any = None

    class Builder:
        """Collects what a writer of JSON needs to know."""

        def __init__(self) -> None:
            self._type: RowTypeInfo | None = None

        def with_type_info(self, type_info: TypeInformation) -> JsonRowSerializationSchema.Builder:
            """Set the type of the rows, a `Types.ROW_NAMED`."""
            if not isinstance(type_info, RowTypeInfo):
                raise ConfigurationError(f"with_type_info: expected Types.ROW_NAMED(...), got {type_info!r}")
            self._type = type_info
            return self

        def build(self) -> JsonRowSerializationSchema:
            """Make the schema."""
            if self._type is None:
                raise ConfigurationError("JsonRowSerializationSchema needs with_type_info(Types.ROW_NAMED(...))")
            return JsonRowSerializationSchema(self._type)

    @staticmethod
    def builder() -> JsonRowSerializationSchema.Builder:
        """Start without a type."""
        return JsonRowSerializationSchema.Builder()

    def serialize(self, value: Any) -> bytes:
        """Return the object as text in UTF-8."""
        if self._ready is None:
            write = json.JSONEncoder(ensure_ascii=False, separators=(",", ":"), allow_nan=False).encode
            self._ready = plain_converter(self._row_type), write
        convert, write = self._ready
        record = convert(value)
        try:
            return write(record).encode()  # type: ignore[no-any-return]
        except ValueError:
            raise _without_json(record, write) from None

    def __getstate__(self) -> dict[str, Any]:
        return {**self.__dict__, "_ready": None}


def _without_json(record: dict[str, Any], write: Callable[[Any], str]) -> ValueError:
    """What is wrong with a record of which a field, such as NaN or half a character, has no text in JSON."""
    for name, value in record.items():
        try:
            write(value).encode()
        except ValueError as error:
            return ValueError(f"field {name!r}: {value!r} cannot be written as JSON: {error}")
    raise AssertionError("a record failed though each of its fields can be written")
