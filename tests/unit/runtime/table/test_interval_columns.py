"""Interval joins of columns have the pairs of interval joins of rows, whatever watermarks rows meet."""

from __future__ import annotations

from collections import Counter
from random import Random
from typing import Any

import pytest

from penstock.common.constants import MAX_WATERMARK
from penstock.common.watermark_strategy import Watermark
from penstock.runtime.operators.table import JoinKind, JoinSide, RowKey, TableIntervalJoinOperator
from penstock.testing import HarnessSnapshot
from penstock.testing.two_input_harness import KeyedTwoInputHarness
from penstock.vocabulary.sql.scalar import call as scalar_call
from penstock.vocabulary.sql.typed_expressions import FieldRef
from tests.unit.runtime.table.as_columns import TIME, TYPES, feed_columns, random_rows
from tests.unit.runtime.table.changelogs import INT, STRING, in_blocks, materialized


class JoinOfRows(TableIntervalJoinOperator):
    """The reference: rows one by one, kept by time."""

    @property
    def _keeps_near_rows(self) -> bool:
        return False


class JoinWithoutColumns(TableIntervalJoinOperator):
    """Rows one by one, with the state that columns have."""

    def refusal(self) -> str:
        return "the test wants rows"


def interval_join(kind: type[TableIntervalJoinOperator], condition: str) -> TableIntervalJoinOperator:
    tests = {
        "none": None,
        "kernel": scalar_call("<", [FieldRef(2, INT), FieldRef(9, INT)]),
        "rows": scalar_call("=", [scalar_call("UPPER", [FieldRef(at, STRING)]) for at in (0, 7)]),
    }
    side = JoinSide(TYPES, (1,), is_insert_only=True)
    return kind(
        join=JoinKind.INNER, left=side, right=side, left_time=TIME, right_time=TIME, lower_ms=-4, upper_ms=2,
        condition=tests[condition], filter_nulls=(True,),
    )  # fmt: skip


def joined_near(random: Random, make: Any, steps: list[Any], *, as_columns: bool) -> list[Any]:
    """What a join emits, batch by batch, each in a process of its own; steps are blocks of a side, or watermarks."""
    results: list[Any] = []
    snapshot: HarnessSnapshot | None = None
    for batch in [*in_blocks(random, steps), [MAX_WATERMARK]]:
        harness = KeyedTwoInputHarness(make(), key1=RowKey(1), key2=RowKey(1))
        if snapshot is not None:
            harness.restore(snapshot)
        with harness:
            for step in batch:
                if isinstance(step, int):
                    harness.process_watermark(step)
                elif as_columns and random.random() < 0.8:
                    feed_columns(harness, step[1], RowKey(1), index=step[0])
                else:
                    feed = harness.process_elements2 if step[0] else harness.process_elements1
                    feed([(row, None) for row in step[1]])
            snapshot = harness.snapshot()
            results.append(materialized(harness.output_values()))
            if batch == [MAX_WATERMARK]:
                assert harness.num_keyed_state_entries() == harness.num_event_time_timers() == 0
    return results


@pytest.mark.parametrize("condition", ["none", "kernel", "rows"])
def test_an_interval_join_of_columns_has_the_pairs_of_rows(seed: int, condition: str) -> None:
    random = Random(seed)
    rows = sorted(random_rows(random, 200), key=lambda row: row[TIME + 1] + random.randrange(6))
    steps: list[Any] = []
    watermark = -(10**6)
    for block in in_blocks(random, rows):
        steps.append((random.randrange(2), block))
        if random.random() < 0.6:  # sometimes so far on that rows come late
            watermark = max(watermark, block[-1][TIME + 1] - random.randrange(5))
            steps.append(watermark)
    cuts = random.random()
    by_rows, by_columns, by_either = [
        joined_near(
            Random(cuts),
            lambda kind=kind: interval_join(kind, condition),
            steps,
            as_columns=kind is TableIntervalJoinOperator,
        )
        for kind in (JoinOfRows, TableIntervalJoinOperator, JoinWithoutColumns)
    ]
    assert sum(by_rows, Counter()) == sum(by_columns, Counter()) == sum(by_either, Counter())
    assert sum(by_rows, Counter())


@pytest.mark.parametrize("kind", [JoinOfRows, JoinWithoutColumns, TableIntervalJoinOperator])
def test_no_result_is_late_behind_the_watermark(kind: type[TableIntervalJoinOperator]) -> None:
    """A result has the times of both rows, of which one has waited for the other; Flink holds watermarks back too."""
    with KeyedTwoInputHarness(interval_join(kind, "none"), key1=RowKey(1), key2=RowKey(1)) as harness:
        harness.process_watermark(10)
        assert harness.output_with_watermarks() == [Watermark(10 - 4)]
        harness.process_watermark(MAX_WATERMARK)
        assert harness.output_with_watermarks()[-1] == Watermark(MAX_WATERMARK)
