"""Window joins of columns give the pairs of rows, wherever blocks, batches and watermarks fall."""

from __future__ import annotations

from collections import Counter
from random import Random
from typing import Any

import pytest

from penstock.runtime.operators.table import JoinKind, JoinSide, RowKey, TableWindowJoinOperator, window_join_columns
from penstock.runtime.operators.table.window_join_columns import ColumnWindowJoin
from penstock.testing import HarnessSnapshot
from penstock.testing.two_input_harness import KeyedTwoInputHarness
from penstock.vocabulary.sql.scalar import call as scalar_call
from penstock.vocabulary.sql.typed_expressions import FieldRef
from tests.unit.runtime.table.as_columns import KEYS, TIME, TYPES, feed_columns, random_rows
from tests.unit.runtime.table.changelogs import INT, STRING, in_blocks

CONDITIONS = {
    "none": None,
    "kernel": scalar_call("<", [FieldRef(2, INT), FieldRef(9, INT)]),
    "rows": scalar_call("=", [scalar_call("UPPER", [FieldRef(at, STRING)]) for at in (0, 7)]),
}
Step = tuple[int, list[Any], int]


def windowed_rows(random: Random, count: int) -> list[Any]:
    """Rows with the end of a window, some of them without."""
    made = []
    for row in random_rows(random, count):
        end = None if random.random() < 0.02 else row[TIME + 1] // 10 * 10 + 10
        made.append((*row[: TIME + 1], end))
    return made


def steps_of(random: Random, rows: list[Any]) -> list[Step]:
    """Blocks with the input that they go to, and the watermark after them, which leaves some rows too late."""
    made, seen = [], 0
    for block in in_blocks(random, rows):
        seen += len(block)
        made.append((random.randrange(2), block, seen - random.randint(0, 12)))
    return made


def operator(name: str, condition: str, filter_nulls: bool) -> TableWindowJoinOperator:
    side = JoinSide(TYPES, KEYS[name])
    return TableWindowJoinOperator(
        join=JoinKind.INNER,
        left=side,
        right=side,
        left_window_end=TIME,
        right_window_end=TIME,
        condition=CONDITIONS[condition],
        filter_nulls=(filter_nulls,) * len(KEYS[name]),
    )


def joined(random: Random, make: Any, key: RowKey, steps: list[Step], share: float) -> tuple[list[Any], int]:
    """The pairs of rows, a share of whose blocks come as columns, and how many rows were late."""
    results, late, mark = list[Any](), 0, -1
    snapshot: HarnessSnapshot | None = None
    for batch in in_blocks(random, steps):
        harness = KeyedTwoInputHarness(make(), key1=key, key2=key)
        if snapshot is not None:
            harness.restore(snapshot)
        with harness:
            for side, block, watermark in batch:
                if random.random() < share:
                    feed_columns(harness, block, key, index=side)
                else:
                    feed = harness.process_elements2 if side else harness.process_elements1
                    feed([(row, None) for row in block])
                mark = max(mark, watermark)
                harness.process_watermark(mark)
            snapshot = harness.snapshot()
            if batch[-1] is steps[-1]:
                harness.process_watermark(10_000)
                assert harness.num_keyed_state_entries() == harness.num_event_time_timers() == 0
            results += harness.output_values()
            late += harness.late_records_dropped()
    return results, late


@pytest.mark.parametrize("filter_nulls", [True, False], ids=["=", "is not distinct from"])
@pytest.mark.parametrize("condition", CONDITIONS)
@pytest.mark.parametrize("name", KEYS)
def test_a_window_join_of_columns_has_the_pairs_of_rows(
    seed: int, name: str, condition: str, filter_nulls: bool, monkeypatch: pytest.MonkeyPatch
) -> None:
    random = Random(seed)
    monkeypatch.setattr(window_join_columns, "_MOST_PAIRS", 7)
    key = RowKey(*KEYS[name])
    is_shown = False
    while not is_shown:  # rows that meet none of the others, or are all in time, show too little: draw again
        steps, cuts = steps_of(random, windowed_rows(random, 200)), random.random()
        by_rows, by_columns, mixed = (
            joined(Random(cuts), lambda: operator(name, condition, filter_nulls), key, steps, share)
            for share in (0.0, 1.1, 0.6)
        )
        assert by_rows == by_columns  # also in the same order
        assert Counter(mixed[0]) == Counter(by_rows[0]) and mixed[1] == by_rows[1]
        is_shown = bool(by_rows[0] and by_rows[1])


@pytest.fixture
def counts(monkeypatch: pytest.MonkeyPatch) -> list[list[int]]:
    """The sizes of the pieces that are joined as columns, window by window."""
    found: list[list[int]] = []
    join = ColumnWindowJoin.joined

    def counting(self: ColumnWindowJoin, pieces: Any) -> Any:
        found.append([piece.row_count for piece in pieces])
        return join(self, pieces)

    monkeypatch.setattr(ColumnWindowJoin, "joined", counting)
    return found


def test_rows_go_to_the_columns_of_their_window(counts: list[list[int]]) -> None:
    rows = [(0, "a", number % 3, number, 1, 0.5, True, 10) for number in (5, 1, 3, 2)]
    with KeyedTwoInputHarness(operator("number", "none", True), key1=RowKey(1), key2=RowKey(1)) as harness:
        feed_columns(harness, rows, RowKey(1))
        harness.process_elements2([(row, None) for row in rows])
        harness.process_watermark(9)
        keys = [row[2] for row in harness.output_values()]
    assert counts == [[4, 4]]
    assert keys == [2, 2, 2, 2, 1, 0]  # keys in the order in which they came


@pytest.mark.parametrize(("first", "expected"), [(1, [[1, 7, 1]]), (5, [])], ids=["few rows", "few columns"])
def test_the_fewer_ones_of_rows_and_columns_change(first: int, expected: Any, counts: list[list[int]]) -> None:
    rows = [(0, "a", 1, number, 1, 0.5, True, 10) for number in range(8)]
    with KeyedTwoInputHarness(operator("number", "none", True), key1=RowKey(1), key2=RowKey(1)) as harness:
        harness.process_elements1([(row, None) for row in rows[:first]])
        feed_columns(harness, rows[first:], RowKey(1))
        harness.process_element2(rows[0])
        harness.process_watermark(9)
        assert [row[3] for row in harness.output_values()] == list(range(8))
    assert counts == expected
