"""Serialization schemas: values to bytes and back."""

from __future__ import annotations

import codecs
from abc import ABC, abstractmethod
from typing import Any, Generic

from penstock.common.column_block import ColumnBlock
from penstock.common.type_variables import T_co, T_contra
from penstock.common.typeinfo import TypeInformation, Types
from penstock.common.types import Row, changelog_text

__all__ = [
    "BulkWriterFactory",
    "ByteArraySchema",
    "DeserializationSchema",
    "Encoder",
    "RowFieldExtractorSchema",
    "SerializationSchema",
    "SimpleStringSchema",
]


class SerializationSchema(ABC, Generic[T_contra]):
    """Turns a value into bytes."""

    @abstractmethod
    def serialize(self, value: T_contra) -> bytes:
        """Return the bytes of a value."""


class DeserializationSchema(ABC, Generic[T_co]):
    """Turns bytes into a value."""

    @abstractmethod
    def deserialize(self, message: bytes) -> T_co | None:
        """Return the value of the bytes; None leaves the record out."""

    def deserialize_many(self, messages: list[bytes]) -> list[Any]:
        """Return the values of many messages, in order; override it if that is faster than one by one."""
        return [self.deserialize(message) for message in messages]

    def deserialize_columns(self, messages: list[bytes]) -> ColumnBlock | None:
        """Return the values of many messages as columns, one record for each; None if objects are needed."""
        return None

    @abstractmethod
    def get_produced_type(self) -> TypeInformation[T_co]:
        """Return the type of the values."""


class SimpleStringSchema(SerializationSchema[str], DeserializationSchema[str]):
    """Text in a character set."""

    def __init__(self, charset: str = "UTF-8") -> None:
        self._charset = _known_charset(charset)

    def serialize(self, value: Any) -> bytes:
        """Return the text as bytes."""
        if not isinstance(value, str):
            raise TypeError(f"SimpleStringSchema expected str, got {type(value).__name__}: map to str first")
        return value.encode(self._charset)

    def deserialize(self, message: bytes) -> str:
        """Return the bytes as text."""
        return message.decode(self._charset)

    def deserialize_many(self, messages: list[bytes]) -> list[Any]:
        """Return the texts."""
        charset = self._charset
        return [message.decode(charset) for message in messages]

    def get_produced_type(self) -> TypeInformation[str]:
        """Return `Types.STRING()`."""
        return Types.STRING()


class ByteArraySchema(SerializationSchema[bytes], DeserializationSchema[bytes]):
    """Bytes as they are."""

    def serialize(self, value: Any) -> bytes:
        """Return the bytes."""
        if not isinstance(value, (bytes, bytearray)):
            raise TypeError(f"ByteArraySchema expected bytes, got {type(value).__name__}: map to bytes first")
        return bytes(value)

    def deserialize(self, message: bytes) -> bytes:
        """Return the bytes."""
        return message

    def deserialize_many(self, messages: list[bytes]) -> list[Any]:
        """Return the messages."""
        return messages

    def get_produced_type(self) -> TypeInformation[bytes]:
        """Return the type of bytes."""
        return Types.PRIMITIVE_ARRAY(Types.BYTE())


class RowFieldExtractorSchema(SerializationSchema[Any]):
    """One bytes or text field of a row, as the key or value of a message."""

    def __init__(self, field_index: int) -> None:
        if isinstance(field_index, bool) or not isinstance(field_index, int) or field_index < 0:
            raise ValueError(f"Field index must be non-negative: it is a position from 0, got {field_index!r}")
        self._field_index = field_index

    def serialize(self, value: Any) -> bytes:
        """Return the bytes of the field; None for no row or an empty field."""
        if value is None:
            return b""
        if not isinstance(value, (Row, tuple, list)) or len(value) <= self._field_index:
            raise TypeError(f"expected a Row with a field at position {self._field_index}, got {value!r}")
        field = value[self._field_index]
        if field is None:
            return b""
        if isinstance(field, str):
            return field.encode()
        if not isinstance(field, (bytes, bytearray)):
            raise TypeError(f"field {self._field_index} must be bytes or str, got {type(field).__name__}")
        return bytes(field)

    def __eq__(self, other: object) -> bool:
        return self._field_index == other._field_index if isinstance(other, RowFieldExtractorSchema) else NotImplemented

    def __hash__(self) -> int:
        return hash((RowFieldExtractorSchema, self._field_index))


class Encoder(ABC, Generic[T_contra]):
    """Encodes values for a file, one after another."""

    @abstractmethod
    def encode(self, value: T_contra) -> bytes:
        """Return the bytes to append for a value, with its separator."""

    @staticmethod
    def simple_string_encoder(charset_name: str = "UTF-8") -> Encoder[Any]:
        """Write `str(value)` and a line break; a Row as Flink's Java text, `+I[1, a]`."""
        return _SimpleStringEncoder(charset_name)


class _SimpleStringEncoder(Encoder[Any]):
    def __init__(self, charset_name: str) -> None:
        self._charset_name = _known_charset(charset_name)

    def encode(self, value: Any) -> bytes:
        text = changelog_text(value) if isinstance(value, Row) else value
        return f"{text}\n".encode(self._charset_name)


class BulkWriterFactory(ABC):  # noqa: B024 - a marker that formats subclass
    """Makes writers for formats that write many values at once, such as Parquet."""


def _known_charset(name: str) -> str:
    try:
        return codecs.lookup(name).name
    except LookupError:
        raise ValueError(f"unknown character set {name!r}: use a name Python knows, such as 'UTF-8'") from None
