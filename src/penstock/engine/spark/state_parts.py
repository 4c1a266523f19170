"""Part files of new savepoints written by Spark's tasks: rows brought to the task of their key group, in order.

What is in a part is `penstock.state_processor`'s. A refusal travels as a row: raised in a task, it would be tried again
and come back as a Java stack.
"""

from __future__ import annotations

import pickle
from collections.abc import Callable, Iterator
from functools import reduce
from itertools import islice
from typing import Any, NamedTuple

import pyarrow as pa
from pyspark.sql import DataFrame, SparkSession

from penstock.engine.spark.program_imports import ProgramImports
from penstock.errors import JobFailedError, PenstockError
from penstock.keys.groups import subtask_of
from penstock.runtime.failure import OperatorFailure
from penstock.savepoint.writing import PartResult

Batches = Iterator[pa.RecordBatch]
Placed = tuple[int, "ShuffledRow"]

_SCHEMA = pa.schema(
    [
        ("target", pa.int32()),
        ("key_group", pa.int32()),
        ("state", pa.string()),
        ("key", pa.binary()),
        ("namespace", pa.binary()),
        ("suffix", pa.binary()),
        ("value", pa.binary()),
    ]
)
_DDL = "target int, key_group int, state string, key binary, namespace binary, suffix binary, value binary"
_ORDER = ["key_group", "state", "key", "namespace", "suffix"]
_RESULT = pa.schema([("result", pa.binary())])
_NO_GROUP = -1  # of rows that make sure that a task runs, or say why it cannot
_BATCH_ROWS = 5_000


class ShuffledRow(NamedTuple):
    """A row on its way to the part of its key group."""

    key_group: int
    state: str
    key: bytes
    namespace: bytes
    suffix: bytes
    value: bytes


MakeRows = Callable[[Batches], Iterator[ShuffledRow]]
WritePart = Callable[[int, Iterator[ShuffledRow]], PartResult]


def to_shuffle(frame: DataFrame, make_rows: MakeRows, parallelism: int, max_parallelism: int) -> DataFrame:
    """Rows made of a frame, with the part that each goes to."""
    imports = ProgramImports.of_this_process()

    def make(batches: Batches) -> Batches:
        imports.install()
        try:
            rows = make_rows(batches)
            while chunk := list(islice(rows, _BATCH_ROWS)):
                yield _batch([(subtask_of(row.key_group, parallelism, max_parallelism), *row) for row in chunk])
        except (PenstockError, OperatorFailure) as refusal:
            yield _batch([(0, _NO_GROUP, "", b"", b"", b"", pickle.dumps(refusal))])

    return frame.mapInArrow(make, _DDL)


def write_parts(session: SparkSession, frames: list[DataFrame], parallelism: int, write: WritePart) -> list[PartResult]:
    """Write one part for each subtask, of the rows that go to it; all are written or none counts."""
    imports = ProgramImports.of_this_process()

    def run(batches: Batches) -> Batches:
        imports.install()
        rows = _rows(batches)
        target = -1
        try:
            # Refusals and marks come first: they sort before all key groups.
            for target, row in rows:
                if row.key_group != _NO_GROUP:
                    rows = _again((target, row), rows)
                    break
                if row.value:
                    raise pickle.loads(row.value)
            result: Any = write(target, (row for _, row in rows))
        except (PenstockError, OperatorFailure) as refusal:
            result = refusal
        yield pa.RecordBatch.from_arrays([pa.array([pickle.dumps(result)], pa.binary())], schema=_RESULT)

    marks = session.range(0, parallelism, 1, 1).selectExpr(
        "cast(id as int) target",
        f"{_NO_GROUP} key_group",
        "'' state",
        "X'' key",
        "X'' namespace",
        "X'' suffix",
        "X'' value",
    )
    united = reduce(DataFrame.union, frames, marks)
    sorted_rows = united.repartitionById(parallelism, "target").sortWithinPartitions(*_ORDER)
    written = sorted_rows.mapInArrow(run, "result binary").collect()
    return [_checked(pickle.loads(row["result"])) for row in written]


def _checked(result: Any) -> PartResult:
    if isinstance(result, OperatorFailure):
        raise JobFailedError(str(result))
    if isinstance(result, PenstockError):
        raise result
    assert isinstance(result, PartResult)
    return result


def _batch(rows: list[tuple[Any, ...]]) -> pa.RecordBatch:
    columns = zip(*rows, strict=True)
    arrays = [pa.array(column, field.type) for column, field in zip(columns, _SCHEMA, strict=True)]
    return pa.RecordBatch.from_arrays(arrays, schema=_SCHEMA)


def _rows(batches: Batches) -> Iterator[Placed]:
    for batch in batches:
        for target, *cells in zip(*(column.to_pylist() for column in batch.columns), strict=True):
            yield target, ShuffledRow(*cells)


def _again(first: Placed, rows: Iterator[Placed]) -> Iterator[Placed]:
    yield first
    yield from rows
