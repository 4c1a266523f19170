"""Top-N, deduplication, sorting, limits, normalize and upsert materialize."""

from __future__ import annotations

from collections import defaultdict
from random import Random
from typing import Any

import pytest

from penstock.runtime.operators.table import (
    BoundedSortOperator,
    ChangelogNormalizeOperator,
    DeduplicateOperator,
    LimitOperator,
    RankOperator,
    RankStrategy,
    RowKey,
    TemporalSortOperator,
    UpsertMaterializeOperator,
    WindowDeduplicateOperator,
    WindowRankOperator,
)
from penstock.testing.harness import KeyedHarness
from penstock.vocabulary.sql.ordering import SortField
from tests.unit.runtime.table.changelogs import INT, STRING, TIMESTAMP, in_blocks, materialized, random_changes, shown

TYPES = (STRING, INT, TIMESTAMP)
BY_VALUE = (SortField(1),)
BY_FIRST = RowKey(0)


def played(operator: Any, rows: list[Any], key: Any = BY_FIRST, watermark: int | None = None) -> list[str]:
    with KeyedHarness(operator, key=key) as harness:
        for row in rows:
            harness.process_element(row)
            harness.snapshot()
        if watermark is not None:
            harness.process_watermark(watermark)
        return shown(harness.output_values())


def rank(strategy: RankStrategy = RankStrategy.APPEND, **settings: Any) -> RankOperator:
    return RankOperator(types=TYPES, sort_fields=BY_VALUE, strategy=strategy, **{"end": 2, **settings})


ROWS = [(0, "a", 5, 0), (0, "a", 7, 0), (0, "a", 6, 0), (0, "a", 9, 0)]


def test_a_row_that_comes_in_puts_another_out() -> None:
    assert played(rank(), ROWS) == ["+I[a, 5, 0]", "+I[a, 7, 0]", "-D[a, 7, 0]", "+I[a, 6, 0]"]


def test_with_row_numbers_the_ranks_are_updated() -> None:
    assert played(rank(emits_rank=True, end=3), ROWS[:3]) == [
        "+I[a, 5, 0, 1]",
        "+I[a, 7, 0, 2]",
        "-U[a, 7, 0, 2]",
        "+U[a, 6, 0, 2]",
        "+I[a, 7, 0, 3]",
    ]


def test_the_first_row_alone_is_updated() -> None:
    rows = [(0, "a", 5, 0), (0, "a", 3, 0)]
    assert played(rank(end=1), rows) == ["+I[a, 5, 0]", "-U[a, 5, 0]", "+U[a, 3, 0]"]


def test_updates_by_a_unique_key() -> None:
    rows = [(0, "a", 5, 1), (0, "a", 7, 2), (2, "a", 4, 2)]
    made = rank(RankStrategy.UPDATE, unique_key=(2,))
    assert played(made, rows) == ["+I[a, 5, 1]", "+I[a, 7, 2]", "-U[a, 7, 2]", "+U[a, 4, 2]"]


def test_of_equal_rows_one_is_taken_back() -> None:
    rows = [(0, "a", 5, 0), (0, "a", 5, 0), (3, "a", 5, 0), (3, "a", 5, 0)]
    made = rank(RankStrategy.RETRACT)
    assert played(made, rows) == ["+I[a, 5, 0]", "+I[a, 5, 0]", "-D[a, 5, 0]", "-D[a, 5, 0]"]


@pytest.mark.parametrize("emits_rank", [False, True])
def test_retracting_top_n_comes_to_what_a_batch_gives(seed: int, emits_rank: bool) -> None:
    random, numbers = Random(seed), iter(range(1_000))
    rows = random_changes(random, lambda any: (any.choice("ab"), any.randint(0, 9), next(numbers)), 120)
    by = (SortField(1, descending=True), SortField(2))
    made = RankOperator(
        types=TYPES, sort_fields=by, strategy=RankStrategy.RETRACT, start=2, end=4, emits_rank=emits_rank
    )
    with KeyedHarness(made, key=RowKey(0)) as harness:
        for block in in_blocks(random, rows):
            harness.process_elements([(row, None) for row in block])
            harness.snapshot()
        found = materialized(harness.output_values())
    groups: dict[str, list[Any]] = defaultdict(list)
    for fields in materialized(rows).elements():
        groups[fields[0]].append(fields)
    expected = []
    for members in groups.values():
        ordered = sorted(members, key=lambda each: (-each[1], each[2]))
        expected += [(*each, at) if emits_rank else each for at, each in enumerate(ordered, 1) if 2 <= at <= 4]
    assert sorted(found.elements()) == sorted(expected)


def dedup(**settings: Any) -> DeduplicateOperator:
    return DeduplicateOperator(types=TYPES, **settings)


TIMED = [(0, "a", 1, 10), (0, "a", 2, 5), (0, "a", 3, 12)]


def test_deduplication() -> None:
    assert played(dedup(keep_last=False), TIMED) == ["+I[a, 1, 10]"]
    assert played(dedup(keep_last=True), TIMED[:2]) == ["+I[a, 1, 10]", "-U[a, 1, 10]", "+U[a, 2, 5]"]
    late = dedup(keep_last=True, time_field=2, generate_update_before=False)
    assert played(late, TIMED) == ["+I[a, 1, 10]", "+U[a, 3, 12]"]
    assert played(dedup(keep_last=False, time_field=2), TIMED, watermark=12) == ["+I[a, 2, 5]"]


def test_rank_and_deduplication_of_windows() -> None:
    types = (STRING, INT, TIMESTAMP, TIMESTAMP)
    rows = [(0, "a", 5, 1, 10), (0, "a", 3, 2, 10), (0, "a", 4, 3, 10), (0, "a", 1, 12, 20)]
    made: Any = WindowRankOperator(types=types, sort_fields=BY_VALUE, window_end=3, end=2, emits_rank=True)
    assert played(made, rows, watermark=9) == ["+I[a, 3, 2, 10, 1]", "+I[a, 4, 3, 10, 2]"]
    made = WindowDeduplicateOperator(types=types, keep_last=True, time_field=2, window_end=3)
    assert played(made, rows, watermark=9) == ["+I[a, 4, 3, 10]"]
    with KeyedHarness(made, key=RowKey(0)) as harness:
        harness.process_watermark(9)
        harness.process_element(rows[0])
        assert harness.late_records_dropped() == 1


def test_sorting_by_time_and_at_the_end() -> None:
    made: Any = TemporalSortOperator(types=TYPES, time_field=2, sort_fields=BY_VALUE)
    rows = [(0, "a", 2, 5), (0, "b", 1, 5), (0, "c", 3, 4), (0, "d", 3, 9)]
    assert played(made, rows, RowKey(), 5) == ["+I[c, 3, 4]", "+I[b, 1, 5]", "+I[a, 2, 5]"]
    made = BoundedSortOperator(types=TYPES, sort_fields=(SortField(0, descending=True),))
    with KeyedHarness(made, key=RowKey()) as harness:
        for row in [*rows, (0, None, 1, 1)]:
            harness.process_element(row)
        harness.end_input()
        assert [row[1] for row in harness.output_values()] == ["d", "c", "b", "a", None]


def test_limit() -> None:
    with KeyedHarness(LimitOperator(start=1, end=3), key=RowKey()) as harness:
        harness.process_elements([(ROWS[0], None), (ROWS[1], None)])
        harness.snapshot()
        harness.process_elements([(ROWS[2], None), (ROWS[3], None)])
        assert harness.output_values() == ROWS[1:3]


def test_normalize() -> None:
    rows = [(2, "a", 1, 0), (2, "a", 1, 0), (2, "a", 2, 0), (3, "a", None, None), (3, "a", None, None)]
    made = ChangelogNormalizeOperator(types=TYPES, generate_update_before=True)
    assert played(made, rows) == ["+I[a, 1, 0]", "-U[a, 1, 0]", "+U[a, 2, 0]", "-D[a, 2, 0]"]


def test_upsert_materialize_brings_back_the_row_before() -> None:
    rows = [(0, "a", 1, 0), (2, "a", 2, 0), (1, "a", 2, 0), (3, "a", 9, 0), (3, "a", 1, 0)]
    made = UpsertMaterializeOperator(types=TYPES)
    assert played(made, rows) == ["+I[a, 1, 0]", "+U[a, 2, 0]", "+U[a, 1, 0]", "-D[a, 1, 0]"]
    keyed = UpsertMaterializeOperator(types=TYPES, upsert_key=(2,))
    assert played(keyed, [(0, "a", 1, 7), (2, "a", 2, 7), (3, "a", 5, 7)]) == [
        "+I[a, 1, 7]",
        "+U[a, 2, 7]",
        "-D[a, 5, 7]",
    ]
