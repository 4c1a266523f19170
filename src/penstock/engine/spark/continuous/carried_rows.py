"""Rows between tasks that stay, packed: all that a task has for another at one time is one row of Spark's.

Every row costs Spark and Arrow some tenths of a millisecond, whatever its size. A row may pass through levels it is not
for, and barriers are aligned by the tasks that rows come from, so what is packed begins with its last sender (`hop`).
"""

from __future__ import annotations

import struct
from collections.abc import Iterator

import pyarrow as pa

from penstock.runtime.rows import ExchangeRow

SCHEMA = "target int, content binary"
_ARROW = pa.schema([("target", pa.int32()), ("content", pa.binary())])
_HOP = struct.Struct("<i")
_ROW = struct.Struct("<iiiqqiQ")
"""Target, vertex, input, src, seq, kind, and how long the payload is that follows."""
_FILLER = b""
"""Content of a row that carries nothing: both ends of Spark's shuffle let go of a row when the next one has come, and
the receiving end has one for each target.
"""


def to_carried(outgoing: list[ExchangeRow], hop: int) -> pa.RecordBatch:
    """One record batch of the rows from a task: a row for each target, and then a filler for each."""
    begin = _HOP.pack(hop)
    parts: dict[int, list[bytes]] = {}
    for target, vertex, place, src, seq, kind, payload in outgoing:
        packed = parts.get(target)
        if packed is None:
            packed = parts[target] = [begin]
        packed.append(_ROW.pack(target, vertex, place, src, seq, kind, len(payload)))
        packed.append(payload)
    targets = [*parts, *parts]
    contents = [*map(b"".join, parts.values()), *[_FILLER] * len(parts)]
    arrays = [pa.array(targets, pa.int32()), pa.array(contents, pa.binary())]
    return pa.RecordBatch.from_arrays(arrays, schema=_ARROW)


def contents_of(batch: pa.RecordBatch) -> list[bytes]:
    """What a record batch carries, without fillers."""
    return [content for content in batch.column(1).to_pylist() if content != _FILLER]


def rows_of(content: bytes) -> Iterator[tuple[int, ExchangeRow]]:
    """The rows that were packed together, with their senders."""
    (hop,), at, end = _HOP.unpack_from(content), _HOP.size, len(content)
    while at < end:
        target, vertex, place, src, seq, kind, size = _ROW.unpack_from(content, at)
        at += _ROW.size + size
        yield hop, ExchangeRow(target, vertex, place, src, seq, kind, content[at - size : at])
