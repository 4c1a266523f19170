"""An error as Flink's Java client takes it: it reads nothing but a serialized `SerializedThrowable` of Flink's.

The format is that of the Java Object Serialization Specification, section 6.4. Fields that are not in a stream are null
when it is read, so only the texts are written.
"""

from __future__ import annotations

import base64
import struct
from typing import Any

_HEAD = b"\xac\xed\x00\x05"
_OBJECT, _CLASS, _END, _NULL, _STRING = b"\x73", b"\x72", b"\x78", b"\x70", b"\x74"
_SERIALIZABLE, _WITH_WRITE_METHOD = b"\x02", b"\x03"
_TEXT_TYPE = "Ljava/lang/String;"
_MOST_BYTES = 60_000

# The numbers that the classes declare for themselves.
_THROWABLE = -3042686055658047285
_EXCEPTION = -3387516993124229948
_SERIALIZED_THROWABLE = 7284183123441947635


def failure_cause(text: str, name: str = "penstock.errors.PenstockError") -> dict[str, Any]:
    """The field `failure-cause`."""
    return {"class": name, "stack-trace": text, "serialized-throwable": serialized(name, text)}


def serialized(name: str, text: str) -> str:
    """The bytes of the exception, in base 64."""
    classes = (
        _class("org.apache.flink.util.SerializedThrowable", _SERIALIZED_THROWABLE, _SERIALIZABLE,
               ["fullStringifiedStackTrace", "originalErrorClassName"])
        + _class("java.lang.Exception", _EXCEPTION, _SERIALIZABLE, [])
        + _class("java.lang.Throwable", _THROWABLE, _WITH_WRITE_METHOD, ["detailMessage"])
        + _NULL
    )  # fmt: skip
    values = _string(text) + _END + _string(text) + _string(name)
    return base64.b64encode(_HEAD + _OBJECT + classes + values).decode()


def _class(name: str, number: int, flags: bytes, fields: list[str]) -> bytes:
    told = b"".join(b"L" + _text(field) + _string(_TEXT_TYPE) for field in fields)
    return _CLASS + _text(name) + struct.pack(">q", number) + flags + struct.pack(">H", len(fields)) + told + _END


def _string(text: str) -> bytes:
    return _STRING + _text(text)


def _text(text: str) -> bytes:
    """Java's own kind of UTF-8, which differs for these characters only."""
    plain = "".join("?" if char == "\0" or ord(char) > 0xFFFF else char for char in text)
    encoded = plain.encode(errors="replace")[:_MOST_BYTES].decode(errors="ignore").encode()
    return struct.pack(">H", len(encoded)) + encoded
