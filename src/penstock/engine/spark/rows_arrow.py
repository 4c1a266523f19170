"""Exchange rows as Arrow record batches, the form in which Spark carries them."""

from __future__ import annotations

from collections.abc import Iterable, Iterator

import pyarrow as pa

from penstock.runtime.rows import ExchangeRow

SPARK_SCHEMA = "target int, vertex int, input tinyint, src long, seq long, kind tinyint, payload binary"
ARROW_SCHEMA = pa.schema(
    [
        ("target", pa.int32()),
        ("vertex", pa.int32()),
        ("input", pa.int8()),
        ("src", pa.int64()),
        ("seq", pa.int64()),
        ("kind", pa.int8()),
        ("payload", pa.binary()),
    ]
)
_BATCH_BYTES = 4 * 1024 * 1024
_BATCH_ROWS = 5_000


def to_batch(rows: list[ExchangeRow]) -> pa.RecordBatch:
    """One record batch of some rows."""
    columns = zip(*rows, strict=True)
    arrays = [pa.array(column, type=field.type) for column, field in zip(columns, ARROW_SCHEMA, strict=True)]
    return pa.RecordBatch.from_arrays(arrays, schema=ARROW_SCHEMA)


def from_batch(batch: pa.RecordBatch) -> list[ExchangeRow]:
    """The rows of a record batch."""
    return [ExchangeRow(*values) for values in zip(*(column.to_pylist() for column in batch.columns), strict=True)]


def in_batches(rows: Iterable[ExchangeRow]) -> Iterator[pa.RecordBatch]:
    """Record batches of bounded size, as soon as each is full."""
    pending: list[ExchangeRow] = []
    size = 0
    for row in rows:
        pending.append(row)
        size += len(row.payload)
        if size >= _BATCH_BYTES or len(pending) >= _BATCH_ROWS:
            yield to_batch(pending)
            pending, size = [], 0
    if pending:
        yield to_batch(pending)
