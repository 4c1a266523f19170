"""OVER: against plain Python in event time, at once in processing time, and changing results in other orders."""

from __future__ import annotations

from random import Random
from typing import Any

import pytest

from penstock.runtime.operators.table import OverAggregateOperator, OverOrder, RowKey
from penstock.testing import HarnessSnapshot
from penstock.testing.harness import KeyedHarness
from penstock.vocabulary.sql.ordering import SortField
from tests.unit.runtime.table.changelogs import (
    INT,
    STRING,
    TIMESTAMP,
    call,
    in_blocks,
    materialized,
    random_changes,
    shown,
)

TYPES = (STRING, INT, TIMESTAMP)
CALLS = (call("COUNT", types=TYPES), call("SUM", 1, types=TYPES), call("MAX", 1, types=TYPES))


def operator(order: OverOrder = OverOrder.ROWTIME, calls: Any = CALLS, **settings: Any) -> OverAggregateOperator:
    time_field = 2 if order is OverOrder.ROWTIME else None
    return OverAggregateOperator(aggregates=calls, input_types=TYPES, order=order, time_field=time_field, **settings)


def expected(rows: list[Any], is_rows: bool, preceding: int | None) -> list[Any]:
    found = []
    for key in "ab":
        ordered = sorted((row for row in rows if row[1] == key), key=lambda row: row[3])
        for at, row in enumerate(ordered):
            if is_rows:
                first = 0 if preceding is None else max(at - preceding, 0)
                frame = ordered[first : at + 1]
            else:
                frame = [
                    other
                    for other in ordered
                    if other[3] <= row[3] and (preceding is None or other[3] >= row[3] - preceding)
                ]
            values = [each[2] for each in frame]
            found.append((*row, len(values), sum(values), max(values)))
    return sorted(found)


@pytest.mark.parametrize("is_rows", [True, False], ids=["rows", "range"])
@pytest.mark.parametrize("preceding", [None, 0, 3], ids=["unbounded", "0", "3"])
def test_event_time(seed: int, is_rows: bool, preceding: int | None) -> None:
    random = Random(seed)
    rows = [(0, random.choice("ab"), random.randint(-5, 5), at + random.randint(0, 3)) for at in range(60)]
    results: list[Any] = []
    snapshot: HarnessSnapshot | None = None
    seen = 0
    for blocks in in_blocks(random, in_blocks(random, rows)):
        harness = KeyedHarness(operator(is_rows=is_rows, preceding=preceding), key=RowKey(0))
        if snapshot is not None:
            harness.restore(snapshot)
        with harness:
            for block in blocks:
                harness.process_elements([(row, None) for row in block])
                seen += len(block)
                harness.process_watermark(seen - 1)
            snapshot = harness.snapshot()
            if seen == len(rows):
                harness.end_input()
                if not is_rows and preceding is not None:
                    assert harness.num_keyed_state_entries() == 0
            results += harness.output_values()
    assert sorted(results) == expected(rows, is_rows, preceding)


def test_late_rows_are_dropped() -> None:
    with KeyedHarness(operator(), key=RowKey(0)) as harness:
        harness.process_watermark(10)
        harness.process_element((0, "a", 1, 10))
        harness.end_input()
        assert harness.output_values() == [] and harness.late_records_dropped() == 1


def test_processing_time() -> None:
    with KeyedHarness(operator(OverOrder.PROCTIME, is_rows=True, preceding=1), key=RowKey(0)) as harness:
        for value in (1, 5, 2):
            harness.process_element((0, "a", value, 0))
        assert [row[4:] for row in harness.output_values()] == [(1, 1, 1), (2, 6, 5), (2, 7, 5)]
    with KeyedHarness(operator(OverOrder.PROCTIME, preceding=10), key=RowKey(0)) as harness:
        harness.process_element((0, "a", 1, 0))
        harness.process_element((0, "a", 5, 0))
        assert harness.output_values() == []
        harness.set_processing_time(5)
        harness.process_element((0, "a", 2, 0))
        harness.set_processing_time(11)
        harness.process_element((0, "a", 3, 0))
        harness.set_processing_time(100)
        assert [row[4:] for row in harness.output_values()] == [(2, 6, 5), (2, 6, 5), (3, 8, 5), (2, 5, 3)]
        assert harness.num_keyed_state_entries() == 0


def test_lag() -> None:
    calls = (call("LAG", 1, types=TYPES),)
    with KeyedHarness(operator(calls=calls, is_rows=True), key=RowKey(0)) as harness:
        for at, value in enumerate((7, 8, 9)):
            harness.process_element((0, "a", value, at))
        harness.end_input()
        assert [row[4] for row in harness.output_values()] == [None, 7, 8]


BY_VALUE = (SortField(1),)


def test_rows_before_others_change_their_results() -> None:
    calls = (call("SUM", 1, types=TYPES), call("RANK", types=TYPES))
    made = operator(OverOrder.FIELDS, calls=calls, sort_fields=BY_VALUE)
    with KeyedHarness(made, key=RowKey(0)) as harness:
        for row in [(0, "a", 5, 0), (0, "a", 2, 0), (1, "a", 2, 0), (2, "a", 5, 1)]:
            harness.process_element(row)
        assert shown(harness.output_values()) == [
            "+I[a, 5, 0, 5, 1]",
            "+I[a, 2, 0, 2, 1]",
            "-U[a, 5, 0, 5, 1]",
            "+U[a, 5, 0, 7, 2]",
            "-D[a, 2, 0, 2, 1]",
            "-U[a, 5, 0, 7, 2]",
            "+U[a, 5, 0, 5, 1]",
            "+U[a, 5, 1, 10, 1]",
            "-U[a, 5, 0, 5, 1]",
            "+U[a, 5, 0, 10, 1]",
        ]


@pytest.mark.parametrize("is_rows", [True, False], ids=["rows", "range"])
def test_other_orders_come_to_what_a_batch_gives(seed: int, is_rows: bool) -> None:
    random, numbers = Random(seed), iter(range(1_000))
    rows = random_changes(random, lambda any: (any.choice("ab"), any.randint(0, 5), next(numbers)), 80)
    by = (SortField(1, descending=True), SortField(2)) if is_rows else (SortField(1, descending=True),)
    with KeyedHarness(operator(OverOrder.FIELDS, sort_fields=by, is_rows=is_rows), key=RowKey(0)) as harness:
        for block in in_blocks(random, rows):
            harness.process_elements([(row, None) for row in block])
            harness.snapshot()
        left = list(materialized(rows).elements())
        found = []
        for row in left:
            same = [other for other in left if other[0] == row[0]]
            if is_rows:
                frame = [o[1] for o in same if (-o[1], o[2]) <= (-row[1], row[2])]
            else:
                frame = [o[1] for o in same if o[1] >= row[1]]
            found.append((*row, len(frame), sum(frame), max(frame)))
        assert sorted(materialized(harness.output_values()).elements()) == sorted(found)
