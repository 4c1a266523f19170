"""Rows between tasks that stay, packed: all that a task has for another at one time is one row of Spark's.

Every row costs Spark and Arrow some tenths of a millisecond, whatever its size. A row may pass through levels it is not
for, and barriers are aligned by the tasks that rows come from, so what is packed begins with its last sender (`hop`).

Behind each content comes a *filler*, for two reasons. The sending end of Spark's shuffle holds back what is small: a
filler is large enough to take the content along at once. The receiving end hands rows to Python two at a time, when a
third has come. So a receiver gets one filler before anything else; from then on a filler and the content behind it
travel together, and the next filler lets go of both.
"""

from __future__ import annotations

import struct
from collections.abc import Iterator

import pyarrow as pa

from penstock.engine.spark.continuous.pipelined import SENT_AT_ONCE_BYTES
from penstock.runtime.rows import ExchangeRow

SCHEMA = "target int, content binary"
_ARROW = pa.schema([("target", pa.int32()), ("content", pa.binary())])
_HOP = struct.Struct("<i")
_ROW = struct.Struct("<iiiqqiQ")
"""Target, vertex, input, src, seq, kind, and how long the payload is that follows."""
_NOBODY = _HOP.pack(-1)
"""Where a content has its sender, a filler has this."""
_FILLER = _NOBODY * (SENT_AT_ONCE_BYTES // _HOP.size + 1)


def first_fillers(targets: int) -> pa.RecordBatch:
    """What one of the tasks of a floor sends to each of those that take from it, before anything else is sent."""
    return _batch([*range(targets)], [_FILLER] * targets)


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
    return _batch([*parts, *parts], [*map(b"".join, parts.values()), *[_FILLER] * len(parts)])


def contents_of(batch: pa.RecordBatch) -> list[bytes]:
    """What a record batch carries, without fillers."""
    return [content for content in batch.column(1).to_pylist() if not content.startswith(_NOBODY)]


def sender_of(content: bytes) -> int:
    """The task that has sent what was packed together."""
    return int(_HOP.unpack_from(content)[0])


def rows_of(content: bytes) -> Iterator[ExchangeRow]:
    """The rows that were packed together."""
    at, end = _HOP.size, len(content)
    while at < end:
        target, vertex, place, src, seq, kind, size = _ROW.unpack_from(content, at)
        at += _ROW.size + size
        yield ExchangeRow(target, vertex, place, src, seq, kind, content[at - size : at])


def _batch(targets: list[int], contents: list[bytes]) -> pa.RecordBatch:
    arrays = [pa.array(targets, pa.int32()), pa.array(contents, pa.binary())]
    return pa.RecordBatch.from_arrays(arrays, schema=_ARROW)
