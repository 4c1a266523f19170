"""The rows that travel between levels: few, each a block of many records or one control message.

Who sends a row where is decided in `penstock.runtime.exchange`.
"""

from __future__ import annotations

import pickle
import struct
from array import array
from typing import Any, NamedTuple

import cloudpickle

from penstock.runtime.columns import ColumnBlock, Stamps, decode_columns, holds_columns

DATA = 0
WATERMARK = 1
STATUS = 2
END = 3
REPORT = 4
FAILURE = 5
BARRIER = 6
"""Continuous mode: everything before it in its channel belongs to the version it names."""
MARK = 7
"""Continuous mode: the receiver tells the sender when it has come to it, see `penstock.runtime.continuous.flow`."""

DRIVER = -1
"""Vertex number of rows that are meant for the driver itself (reports and failures)."""

IDLE = b"\x01"
ACTIVE = b"\x00"

_INT64 = struct.Struct("<q")

Timestamps = list[int] | list[int | None] | None
Values = list[Any] | ColumnBlock
AnyTimestamps = Timestamps | Stamps
"""Of a list of values or a block of columns."""


class ExchangeRow(NamedTuple):
    """One row of the exchange. `src` names the sending channel, `seq` its place in that channel's order."""

    target: int
    vertex: int
    input: int
    src: int
    seq: int
    kind: int
    payload: bytes


class Block(NamedTuple):
    """Many records: values, their timestamps (None: none has one) and, on keyed edges, their keys.

    Values, timestamps and keys are lists, or columns all three.
    """

    values: Any
    timestamps: Any
    keys: Any


def channel(vertex: int, edge: int, subtask: int) -> int:
    """The number of the channel of a subtask on one edge out of its vertex; it fits a signed 64-bit integer."""
    return (vertex << 48) | (edge << 32) | subtask


def sender_of(src: int) -> tuple[int, int, int]:
    """Vertex, edge out of it and subtask of a channel number."""
    return src >> 48, (src >> 32) & 0xFFFF, src & 0xFFFFFFFF


def encode_block(values: list[Any], timestamps: Timestamps, keys: list[Any] | None) -> bytes:
    """Bytes of a block. Keys that are parts of the values cost almost nothing: pickle refers to them."""
    try:
        # Integers of 8 bytes are what pickle does worst and array does best.
        packed: Any = None if timestamps is None else array("q", timestamps)
    except (TypeError, OverflowError):  # a record without a timestamp, or one beyond 64 bits
        packed = timestamps
    return dumps((values, packed, keys))


def decode_block(payload: bytes) -> Block:
    """The block that `encode_block` or `encode_columns` made bytes of."""
    if holds_columns(payload):
        return Block(*decode_columns(payload))
    values, packed, keys = pickle.loads(payload)
    return Block(values, packed.tolist() if isinstance(packed, array) else packed, keys)


def decode_values(payload: bytes) -> list[Any]:
    """The records of a block as objects."""
    values = decode_block(payload).values
    return values.values() if isinstance(values, ColumnBlock) else values


def dumps(value: Any) -> bytes:
    """Pickle; values whose class cannot be imported (defined inside a function) are pickled by value."""
    try:
        return pickle.dumps(value, 5)
    except (pickle.PicklingError, AttributeError, TypeError):
        return bytes(cloudpickle.dumps(value, 5))


def can_travel(value: Any) -> bool:
    """Whether a value can be pickled at all."""
    try:
        dumps(value)
    except Exception:
        return False
    return True


def encode_number(number: int) -> bytes:
    """Payload of a row that carries one number: a watermark, or the version of a barrier."""
    return _INT64.pack(number)


def decode_number(payload: bytes) -> int:
    """The number in such a payload."""
    return int(_INT64.unpack(payload)[0])
