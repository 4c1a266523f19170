"""Serdes: how keys and values become bytes in topics, with the bytes that Kafka's own serdes write."""

from __future__ import annotations

import json
import struct
import uuid
from collections.abc import Callable
from functools import partial
from typing import Any

from penstock.errors import StreamsError
from penstock.vocabulary.kstreams.records import Window, Windowed

Serializer = Callable[[Any], bytes | None]
Deserializer = Callable[[bytes | None], Any]


class Serde:
    """A serializer with its deserializer. `None` is never given to either: it is a null in the topic."""

    def __init__(self, serializer: Serializer, deserializer: Deserializer, name: str = "serde") -> None:
        """Make a serde of two functions; `name` is what errors call it."""
        self._serializer = serializer
        self._deserializer = deserializer
        self.name = name

    def serializer(self) -> Serializer:
        """The function from an object to bytes."""
        return self.serialize

    def deserializer(self) -> Deserializer:
        """The function from bytes to an object."""
        return self.deserialize

    def serialize(self, value: Any) -> bytes | None:
        """The bytes of a value; None stays None."""
        if value is None:
            return None
        try:
            return self._serializer(value)
        except Exception as error:
            raise StreamsError(f"Serdes.{self.name} cannot serialize {value!r}: {error}") from error

    def deserialize(self, data: bytes | None) -> Any:
        """The value of bytes; None stays None."""
        if data is None:
            return None
        try:
            return self._deserializer(data)
        except Exception as error:
            raise StreamsError(f"Serdes.{self.name} cannot deserialize {data!r}: {error}") from error

    def __repr__(self) -> str:
        """Its name."""
        return f"Serdes.{self.name}"


def _packed(form: str, name: str) -> Serde:
    return Serde(partial(struct.pack, form), lambda data: struct.unpack(form, data or b"")[0], name)


def _utf8(value: Any) -> bytes:
    if not isinstance(value, str):
        raise TypeError(f"it is a {type(value).__name__}, not a str")
    return value.encode()


def _raw(value: Any) -> bytes:
    if not isinstance(value, bytes | bytearray | memoryview):
        raise TypeError(f"it is a {type(value).__name__}, not bytes")
    return bytes(value)


def _compact_json(value: Any) -> bytes:
    return json.dumps(value, separators=(",", ":"), ensure_ascii=False).encode()


def _nothing(value: Any) -> bytes:
    raise TypeError("the serde of void takes None only")


class Serdes:
    """The serdes of Kafka, by the names of Kafka, and JSON."""

    @staticmethod
    def String() -> Serde:
        """Texts as UTF-8."""
        return Serde(_utf8, lambda data: (data or b"").decode(), "String")

    @staticmethod
    def Long() -> Serde:
        """Ints of 64 bits, big-endian."""
        return _packed(">q", "Long")

    @staticmethod
    def Integer() -> Serde:
        """Ints of 32 bits, big-endian."""
        return _packed(">i", "Integer")

    @staticmethod
    def Short() -> Serde:
        """Ints of 16 bits, big-endian."""
        return _packed(">h", "Short")

    @staticmethod
    def Double() -> Serde:
        """Floats of 64 bits, big-endian."""
        return _packed(">d", "Double")

    @staticmethod
    def Float() -> Serde:
        """Floats of 32 bits, big-endian."""
        return _packed(">f", "Float")

    @staticmethod
    def Boolean() -> Serde:
        """True and False as one byte."""
        return _packed(">?", "Boolean")

    @staticmethod
    def ByteArray() -> Serde:
        """Bytes as they are."""
        return Serde(_raw, lambda data: data, "ByteArray")

    @staticmethod
    def Bytes() -> Serde:
        """Bytes as they are."""
        return Serde(_raw, lambda data: data, "Bytes")

    @staticmethod
    def UUID() -> Serde:
        """`uuid.UUID` as its text."""
        return Serde(lambda value: str(value).encode(), lambda data: uuid.UUID((data or b"").decode()), "UUID")

    @staticmethod
    def Void() -> Serde:
        """Only None."""
        return Serde(_nothing, lambda data: None, "Void")

    @staticmethod
    def JSON() -> Serde:
        """Dicts, lists, texts, numbers as JSON. Kafka has no such serde; most programs write their own."""
        return Serde(_compact_json, lambda data: json.loads(data or b""), "JSON")

    @staticmethod
    def serde_from(serializer: Serializer, deserializer: Deserializer) -> Serde:
        """A serde of two functions, neither of which is called with None."""
        return Serde(serializer, deserializer, "serde_from")


class WindowedSerdes:
    """Serdes of windowed keys, with the bytes that Kafka Streams writes to output topics."""

    @staticmethod
    def time_windowed_serde_from(inner: Serde, window_size: int) -> Serde:
        """Key and start of the window; the end is the start and the size."""

        def serialize(value: Any) -> bytes:
            return (inner.serialize(value.key) or b"") + struct.pack(">q", value.window.start)

        def deserialize(data: bytes | None) -> Windowed:
            found = data or b""
            (start,) = struct.unpack(">q", found[-8:])
            return Windowed(inner.deserialize(found[:-8]), Window(start, start + window_size))

        return Serde(serialize, deserialize, f"time_windowed({inner.name})")

    @staticmethod
    def session_windowed_serde_from(inner: Serde) -> Serde:
        """Key, end and start of the session."""

        def serialize(value: Any) -> bytes:
            window = value.window
            return (inner.serialize(value.key) or b"") + struct.pack(">qq", window.end, window.start)

        def deserialize(data: bytes | None) -> Windowed:
            found = data or b""
            end, start = struct.unpack(">qq", found[-16:])
            return Windowed(inner.deserialize(found[:-16]), Window(start, end))

        return Serde(serialize, deserialize, f"session_windowed({inner.name})")


def key_bytes(key: Any, serde: Serde | None) -> bytes:
    """Bytes that order and partition keys: those of the serde, or of the serde of Kafka that fits the type."""
    if serde is not None:
        return serde.serialize(key) or b""
    if isinstance(key, str):
        return key.encode("utf-8", "surrogatepass")
    if isinstance(key, bytes):
        return key
    if isinstance(key, bool):
        return b"\x01" if key else b"\x00"
    if isinstance(key, int) and -(2**63) <= key < 2**63:
        return struct.pack(">q", key)
    if isinstance(key, Windowed):
        return key_bytes(key.key, None) + struct.pack(">qq", key.window.start, key.window.end)
    return repr(key).encode()
