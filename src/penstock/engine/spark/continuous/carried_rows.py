"""Rows between tasks that stay: exchange rows with the number of the task that really sent them.

A row may pass through levels it is not for, and barriers are aligned by the tasks that rows come from, so each row
names its last sender (`hop`).
"""

from __future__ import annotations

from collections.abc import Iterator

import pyarrow as pa

from penstock.engine.spark.rows_arrow import ARROW_SCHEMA, SPARK_SCHEMA
from penstock.runtime import rows
from penstock.runtime.rows import ExchangeRow

SCHEMA = f"{SPARK_SCHEMA}, hop int"
_ARROW = pa.schema([*ARROW_SCHEMA, ("hop", pa.int32())])
_FILLER = -1
"""Kind of a row that carries nothing: Spark sends a row when the next one has come."""


def to_carried(outgoing: list[ExchangeRow], hop: int) -> pa.RecordBatch:
    """One record batch of rows from a task, with a filler behind the rows of each target."""
    targets = dict.fromkeys(row.target for row in outgoing)
    outgoing = outgoing + [ExchangeRow(target, rows.DRIVER, 0, 0, 0, _FILLER, b"") for target in targets]
    columns = [*zip(*outgoing, strict=True), [hop] * len(outgoing)]
    arrays = [pa.array(column, type=field.type) for column, field in zip(columns, _ARROW, strict=True)]
    return pa.RecordBatch.from_arrays(arrays, schema=_ARROW)


def from_carried(batch: pa.RecordBatch) -> Iterator[tuple[int, ExchangeRow]]:
    """The rows of a record batch with their senders."""
    for *values, hop in zip(*(column.to_pylist() for column in batch.columns), strict=True):
        row = ExchangeRow(*values)
        if row.kind != _FILLER:
            yield hop, row
