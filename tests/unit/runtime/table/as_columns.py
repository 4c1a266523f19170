"""Rows fed to operators of tables one by one and as columns, cut and restored anywhere."""

from __future__ import annotations

from random import Random
from typing import Any

import pyarrow as pa

from penstock.common.column_block import ColumnBlock
from penstock.runtime import rows as exchange_rows
from penstock.runtime.columns import encode_columns
from penstock.runtime.operators.table import RowKey
from penstock.testing import HarnessSnapshot
from penstock.testing.harness import KeyedHarness
from penstock.vocabulary.sql.logical_types import LogicalType
from penstock.vocabulary.sql.scalar import arrow_type
from tests.unit.runtime.table.changelogs import BIGINT, BOOLEAN, DOUBLE, INT, STRING, TIMESTAMP, in_blocks

TYPES = (STRING, INT, INT, BIGINT, DOUBLE, BOOLEAN, TIMESTAMP)
TIME = 6
KEYS = {"text": (0,), "number": (1,), "both": (0, 1), "none": ()}


def random_rows(random: Random, count: int) -> list[tuple[Any, ...]]:
    """Rows with NULLs in every column but that of time, few keys, and whole numbers that make sums wrap."""

    def some(*choices: Any) -> Any:
        return random.choice([None, *choices])

    return [
        (
            0,
            some("a", "b", "ä"),
            some(-1, 2, 3),
            some(0, 5, -7, 2**31 - 1, -(2**31)),
            some(1, -2, 3, 10**12),
            some(0.5, -0.0, 1.25, -2.0),
            some(True, False),
            at + random.randint(0, 8),
        )
        for at in range(count)
    ]


def block_of(rows: list[tuple[Any, ...]], types: tuple[LogicalType, ...] = TYPES) -> ColumnBlock:
    arrays = [pa.array([row[0] for row in rows], pa.int8())]
    arrays += [pa.array([row[at + 1] for row in rows], arrow_type(each)) for at, each in enumerate(types)]
    return ColumnBlock(pa.RecordBatch.from_arrays(arrays, names=[f"c{at}" for at in range(len(arrays))]), "tuple")


def feed_columns(harness: Any, rows: list[Any], key: RowKey | None = None, types: Any = TYPES, index: int = 0) -> None:
    """Feed rows as columns."""
    payload = encode_columns(block_of(rows, types), None, None if key is None else key.key_fields)
    harness._feed(index, exchange_rows.DATA, payload)


def played(
    random: Random, make: Any, key: RowKey, rows: list[Any], *, as_columns: bool, marks: dict[int, int] | None = None
) -> tuple[list[Any], int]:
    """What an operator puts out for rows cut anywhere, and how many were late; it is restored now and then."""
    results: list[Any] = []
    snapshot: HarnessSnapshot | None = None
    late = seen = 0
    for blocks in in_blocks(random, in_blocks(random, rows)):
        harness = KeyedHarness(make(), key=key)
        if snapshot is not None:
            harness.restore(snapshot)
        with harness:
            for block in blocks:
                if as_columns and random.random() < 0.9:
                    feed_columns(harness, block, key)
                else:
                    harness.process_elements([(row, None) for row in block])
                seen += len(block)
                if marks is not None:
                    harness.process_watermark(marks[seen])
            snapshot = harness.snapshot()
            if seen == len(rows):
                harness.end_input()
                if marks is not None:
                    assert harness.num_keyed_state_entries() == harness.num_event_time_timers() == 0
            results += harness.output_values()
            late += harness.late_records_dropped()
    return results, late


def played_both(random: Random, make: Any, key: RowKey, rows: list[Any]) -> tuple[list[Any], list[Any]]:
    """What an operator puts out for rows, and for the same ones as columns, cut and restored at the same places."""
    cuts = random.random()
    by_rows, by_columns = (played(Random(cuts), make, key, rows, as_columns=each)[0] for each in (False, True))
    return by_rows, by_columns
