"""The first and last rows of each key: columns give what rows give."""

from __future__ import annotations

from itertools import product
from random import Random
from typing import Any

import pytest

from penstock.runtime.operators.table import DeduplicateOperator, RankOperator, RankStrategy, RowKey
from penstock.testing.harness import KeyedHarness
from penstock.vocabulary.sql.ordering import SortField
from tests.unit.runtime.table.as_columns import KEYS, TIME, TYPES, feed_columns, played_both, random_rows


@pytest.mark.parametrize("with_insert", [True, False], ids=["+I first", "+U first"])
@pytest.mark.parametrize("with_before", [True, False], ids=["with -U", "without -U"])
@pytest.mark.parametrize("name", ["text", "number", "both"])
def test_last_rows_of_columns_are_those_of_rows(seed: int, name: str, with_before: bool, with_insert: bool) -> None:
    random, fields = Random(seed), KEYS[name]

    def make() -> DeduplicateOperator:
        return DeduplicateOperator(
            types=TYPES,
            keep_last=True,
            time_field=TIME,
            generate_update_before=with_before,
            generate_insert=with_insert,
        )

    by_rows, by_columns = played_both(random, make, RowKey(*fields), random_rows(random, 150))
    assert repr(by_rows) == repr(by_columns)
    assert with_before == any(row[0] == 1 for row in by_rows)


_ORDERS = {
    "one": (SortField(3),),
    "time": (SortField(TIME, descending=True),),
    "two": (SortField(2, descending=True), SortField(TIME)),
    "by a double": (SortField(4),),  # row by row
}
_TOPS = {
    "first three": dict(end=3),
    "with ranks": dict(end=3, emits_rank=True),
    "ranks only after": dict(end=4, emits_rank=True, generate_update_before=False),
    "second and third": dict(start=2, end=3),
    "the first": dict(end=1),
    "the first, only after": dict(end=1, generate_update_before=False),
}


def rows_to_rank(random: Random, count: int) -> list[tuple[Any, ...]]:
    """Rows whose order is known but for some, with equal rows among them, and more than a key keeps."""
    rows = []
    for at, row in enumerate(random_rows(random, count)):
        third = at * 7_919 % 31 - 9 if row[3] is None and random.random() < 0.99 else row[3]
        fourth = at * 7_919 % 31 - 9 if row[4] is None else row[4]
        rows.append((*row[:3], third, fourth, *row[5:]))
        if random.random() < 0.2:
            rows.append(random.choice(rows))
    return rows


@pytest.mark.parametrize("top", _TOPS)
@pytest.mark.parametrize("order", _ORDERS)
@pytest.mark.parametrize("name", ["text", "both"])
def test_the_first_rows_of_columns_are_those_of_rows(seed: int, name: str, order: str, top: str) -> None:
    random, key = Random(seed), RowKey(*KEYS[name])

    def make() -> RankOperator:
        settings: Any = _TOPS[top]
        return RankOperator(types=TYPES, sort_fields=_ORDERS[order], strategy=RankStrategy.APPEND, **settings)

    by_rows, by_columns = played_both(random, make, key, rows_to_rank(random, 300))
    assert repr(by_rows) == repr(by_columns)
    assert by_rows


def test_what_is_kept_has_the_same_bytes(seed: int) -> None:
    random = Random(seed)
    rows = rows_to_rank(random, 200)

    def last() -> DeduplicateOperator:
        return DeduplicateOperator(types=TYPES, keep_last=True, time_field=TIME)

    def first() -> RankOperator:
        return RankOperator(types=TYPES, sort_fields=(SortField(TIME),), strategy=RankStrategy.APPEND, end=20)

    for name, make in product(("text", "number", "both"), (last, first)):
        key, stored = RowKey(*KEYS[name]), []
        for is_columns in (False, True):
            with KeyedHarness(make(), key=key) as harness:
                for block in (rows[:90], rows[90:]):
                    if is_columns:
                        feed_columns(harness, block, key)
                    else:
                        harness.process_elements([(row, None) for row in block])
                stored.append(harness.snapshot().rows)
        assert stored[0] == stored[1]
        assert len(stored[0]) > 4


def test_rows_see_what_columns_have_kept_and_columns_what_rows_have(seed: int) -> None:
    random, key = Random(seed), RowKey(0)
    rows = rows_to_rank(random, 120)
    found = []
    for turns in ((False,), (True, False), (False, True)):
        operator = RankOperator(types=TYPES, sort_fields=(SortField(TIME),), strategy=RankStrategy.APPEND, end=5)
        with KeyedHarness(operator, key=key) as harness:
            for at, start in enumerate(range(0, len(rows), 10)):
                if turns[at % len(turns)]:
                    feed_columns(harness, rows[start : start + 10], key)
                else:
                    harness.process_elements([(row, None) for row in rows[start : start + 10]])
            found.append(repr(harness.output_values()))
    assert found[0] == found[1] == found[2]
