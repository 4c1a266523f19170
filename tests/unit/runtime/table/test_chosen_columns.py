"""The first and last rows of each key: columns give what rows give."""

from __future__ import annotations

from random import Random

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


@pytest.mark.parametrize("emits_rank", [True, False], ids=["with ranks", "without"])
@pytest.mark.parametrize("field", [SortField(3), SortField(TIME, descending=True), SortField(4)], ids=str)
@pytest.mark.parametrize("name", ["text", "both"])
def test_the_first_rows_of_columns_are_those_of_rows(seed: int, name: str, field: SortField, emits_rank: bool) -> None:
    random, fields = Random(seed), KEYS[name]
    sources = random_rows(random, 300)
    rows = [(*row[:4], at * 7_919 % 31 - 9 if row[4] is None else row[4], *row[5:]) for at, row in enumerate(sources)]

    def make() -> RankOperator:
        return RankOperator(
            types=TYPES, sort_fields=(field,), strategy=RankStrategy.APPEND, end=3, emits_rank=emits_rank
        )

    found = []
    for is_columns in (False, True):
        with KeyedHarness(make(), key=RowKey(*fields)) as harness:
            for block in (rows[:200], rows[200:]):  # long enough for rows to be behind others of their block
                if is_columns:
                    feed_columns(harness, block, RowKey(*fields))
                else:
                    harness.process_elements([(row, None) for row in block])
            found.append(harness.output_values())
    assert repr(found[0]) == repr(found[1])
