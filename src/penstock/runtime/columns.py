"""Blocks of columns between operators: their keys and timestamps, and the bytes they travel as.

See `penstock.common.column_block` for blocks of columns. Beside a block of columns, timestamps are an int64 array
without gaps, or None, and keys an Arrow array, or None.
"""

from __future__ import annotations

import pickle
import struct
from functools import lru_cache
from typing import Any, NamedTuple

import cloudpickle
import numpy as np
import numpy.typing as npt
import pyarrow as pa

from penstock.common.column_block import ColumnBlock, Form

__all__ = [
    "NO_KEY",
    "ColumnBlock",
    "KeyFields",
    "Stamps",
    "decode_columns",
    "encode_columns",
    "holds_columns",
    "key_array",
    "key_objects",
    "pieces_of",
]

Stamps = npt.NDArray[np.int64]
KeyFields = str | int | tuple[str | int, ...]
"""The field that is the key, or the fields that make a tuple of it; without fields every record has `NO_KEY`."""
NO_KEY = 0

_MAGIC = b"\xc0PSC"  # pickles begin with 0x80
_HEAD = struct.Struct("<4sIQ")  # magic, bytes of the heading, records with timestamps
_ALIGNED = 8

_KEY_KINDS = (
    pa.types.is_integer,
    pa.types.is_string,
    pa.types.is_large_string,
    pa.types.is_boolean,
    pa.types.is_floating,
    pa.types.is_binary,
    pa.types.is_large_binary,
    pa.types.is_decimal,
    pa.types.is_date,
    pa.types.is_null,
)


class _Heading(NamedTuple):
    """What blocks of one sender have in common."""

    schema: pa.Schema
    form: Form
    key_fields: KeyFields | None


def key_array(block: ColumnBlock, fields: KeyFields) -> pa.Array | None:
    """The keys of a block, a struct where they are tuples; None where only the objects can tell."""
    if fields == ():
        return pa.array(np.full(len(block), NO_KEY, np.int64))
    if isinstance(fields, tuple):
        parts = [key_array(block, field) for field in fields]
        if any(part is None for part in parts):
            return None
        return pa.StructArray.from_arrays(parts, names=[str(place) for place in range(len(parts))])
    column = block.column(fields)
    return column if column is not None and _can_be_key(column.type) else None


@lru_cache(maxsize=256)
def _can_be_key(kind: pa.DataType) -> bool:
    if pa.types.is_timestamp(kind) or pa.types.is_time(kind):
        is_whole: bool = kind.unit != "ns"  # Python's times have no nanoseconds
        return is_whole
    return any(is_kind(kind) for is_kind in _KEY_KINDS)


def key_objects(keys: pa.Array) -> list[Any]:
    """The keys as Python values: what the selector gives for the objects."""
    if pa.types.is_struct(keys.type):
        return list(zip(*(part.to_pylist() for part in keys.flatten()), strict=True))
    values: list[Any] = keys.to_pylist()
    return values


def pieces_of(
    block: ColumnBlock, timestamps: Stamps | None, targets: npt.NDArray[Any]
) -> list[tuple[int, ColumnBlock, Stamps | None]]:
    """The part of a block for each target that has one, in the order of the block."""
    # One stable sort and one copy of the columns for all targets; the parts are slices of it.
    order = np.argsort(targets.astype(np.int16, copy=False), kind="stable")  # numbers this short are sorted by radix
    sorted_targets = targets[order]
    starts = np.flatnonzero(np.diff(sorted_targets, prepend=sorted_targets[:1] - 1))
    dealt = block.take(order)
    stamps = None if timestamps is None else timestamps[order]
    stops = [*starts[1:].tolist(), len(block)]
    return [
        (int(sorted_targets[start]), dealt.slice(start, stop), None if stamps is None else stamps[start:stop])
        for start, stop in zip(starts.tolist(), stops, strict=True)
    ]


def encode_columns(block: ColumnBlock, timestamps: Stamps | None, key_fields: KeyFields | None) -> bytes:
    """Bytes of a block of columns; the keys are told by the fields they are."""
    heading = _heading_bytes(block.batch.schema, block.form, key_fields)
    stamps = b"" if timestamps is None else np.ascontiguousarray(timestamps, "<i8").tobytes()
    head = _HEAD.pack(_MAGIC, len(heading), 0 if timestamps is None else len(timestamps))
    return b"".join([head, heading, stamps, block.batch.serialize()])


def holds_columns(payload: bytes) -> bool:
    """Whether bytes of a block are those of columns."""
    return payload[:4] == _MAGIC


def decode_columns(payload: bytes) -> tuple[ColumnBlock, Stamps | None, pa.Array | None]:
    """The block that `encode_columns` made bytes of, its timestamps and its keys."""
    _, length, stamped = _HEAD.unpack_from(payload)
    offset = _HEAD.size + length
    heading = _heading(payload[_HEAD.size : offset])
    timestamps = np.frombuffer(payload, "<i8", stamped, offset) if stamped else None
    batch = pa.ipc.read_record_batch(pa.py_buffer(payload).slice(offset + 8 * stamped), heading.schema)
    block = ColumnBlock(batch, heading.form)
    return block, timestamps, None if heading.key_fields is None else key_array(block, heading.key_fields)


@lru_cache(maxsize=256)
def _heading_bytes(schema: pa.Schema, form: Form, key_fields: KeyFields | None) -> bytes:
    plain = schema.remove_metadata().serialize().to_pybytes()
    # A record class of the user's main program is not to be found by name in another process.
    heading: bytes = cloudpickle.dumps((plain, form, key_fields), 5)
    # What follows is read where it lies, as 64-bit numbers; a pickle has an end of its own.
    return heading + bytes(-(len(heading) + _HEAD.size) % _ALIGNED)


@lru_cache(maxsize=256)
def _heading(heading: bytes) -> _Heading:
    schema, form, key_fields = pickle.loads(heading)
    return _Heading(pa.ipc.read_schema(pa.py_buffer(schema)), form, key_fields)
