"""Plain data of a schema as bytes and back.

    81 number payload       a value; the number is that of its schema
    82 number               None, where a value may be None (an entry of a map)

Both marks are apart from those of other rows: 80 of a pickle, 00 of a map entry whose key follows, 20 to 5f of a stamp
(`penstock.state.ttl`). Numbers are fixed-width and big-endian, text is UTF-8, everything else is MessagePack: arrays
for tuples and lists, maps (a whole map is two arrays, its keys and its values), and numbers of more than 64 bits as in
`penstock.common.plain_data`. The schema tells lists from tuples; what is unpacked has tuples only.
"""

from __future__ import annotations

import struct
from collections.abc import Callable
from typing import Any, NamedTuple

from penstock.common.plain_data import pack_untagged, unpack_untagged
from penstock.state.serializers.schemas import Schema, number_of

PICKLED, TYPED, NULL = b"\x80", b"\x81", b"\x82"
HEAD_BYTES = 5

_STRUCTS = {"BYTE": "b", "SHORT": "h", "INT": "i", "LONG": "q", "FLOAT": "f", "DOUBLE": "d"}
_RAW = frozenset({"BYTES", "AVRO"})
_TEXT = frozenset({"STRING", "CHAR"})
_TRUE, _FALSE = b"\x01", b"\x00"


class Encoding(NamedTuple):
    """How plain data of one schema become bytes (`pack`, with the mark in front) and plain data again (`unpack`).

    `pack` of numbers and text takes the value itself, raising what Python raises where it is of another type. `unpack`
    takes bytes of this schema only. `takes_none` tells whether None can be packed like any value; `null` stands for it
    otherwise.
    """

    head: bytes
    null: bytes
    pack: Callable[[Any], bytes]
    unpack: Callable[[bytes], Any]
    takes_none: bool


def encoding_of(schema: Schema) -> Encoding:
    """Return the encoding of a schema."""
    kind, number = schema["type"], number_of(schema)
    head, takes_none = TYPED + number, False
    if kind in _STRUCTS:
        pack, unpack = _number_codec(_STRUCTS[kind], head)
    elif kind in _TEXT:
        pack, unpack = _text_codec(head)
    elif kind in _RAW:
        pack, unpack = head.__add__, _payload
    elif kind == "BOOLEAN":
        pack, unpack = _boolean_codec(head)
    else:
        pack, unpack = _map_codec(head) if kind == "MAP" else _parts_codec(head)
        takes_none = True
    return Encoding(head, NULL + number, pack, unpack, takes_none)


Codec = tuple[Callable[[Any], bytes], Callable[[bytes], Any]]


def _payload(data: bytes) -> bytes:
    return data[HEAD_BYTES:]


def _number_codec(letter: str, head: bytes) -> Codec:
    whole = struct.Struct(f">{HEAD_BYTES}s{letter}")
    pack, unpack_from = whole.pack, struct.Struct(f">{letter}").unpack_from

    def unpack(data: bytes) -> Any:
        return unpack_from(data, HEAD_BYTES)[0]

    return (lambda value: pack(head, value)), unpack


def _text_codec(head: bytes) -> Codec:
    encode, decode = str.encode, bytes.decode

    def pack(text: Any) -> bytes:
        return head + encode(text, "utf-8", "surrogatepass")

    def unpack(data: bytes) -> str:
        return decode(data[HEAD_BYTES:], "utf-8", "surrogatepass")

    return pack, unpack


def _boolean_codec(head: bytes) -> Codec:
    true, false = head + _TRUE, head + _FALSE

    def pack(value: Any) -> bytes:
        return true if value else false

    return pack, lambda data: data[HEAD_BYTES] == 1


def _map_codec(head: bytes) -> Codec:
    """A map as an array of its keys and one of its values: that is read in half the time of a MessagePack map."""
    pack_parts, unpack_parts = pack_untagged, unpack_untagged

    def pack(plain: dict[Any, Any] | None) -> bytes:
        return head + pack_parts(None if plain is None else (list(plain), list(plain.values())))

    def unpack(data: bytes) -> dict[Any, Any] | None:
        found = unpack_parts(data[HEAD_BYTES:])
        return None if found is None else dict(zip(*found, strict=True))

    return pack, unpack


def _parts_codec(head: bytes) -> Codec:
    pack_parts, unpack_parts = pack_untagged, unpack_untagged

    def pack(plain: Any) -> bytes:
        return head + pack_parts(plain)

    return pack, lambda data: unpack_parts(data[HEAD_BYTES:])
