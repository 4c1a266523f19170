"""Operators of the Table API: whatever is cut, restored and taken back, they come to what the rows in the end give."""

from __future__ import annotations

from collections import Counter, defaultdict
from collections.abc import Iterator
from random import Random
from typing import Any

import pytest

from penstock.runtime.operators.table import (
    CountWindowAggregateOperator,
    FinalRowsOperator,
    GroupAggregateOperator,
    GroupTableAggregateOperator,
    RowKey,
)
from penstock.testing import HarnessSnapshot
from penstock.testing.harness import KeyedHarness
from penstock.vocabulary.sql.logical_types import row_of
from penstock.vocabulary.sql.typed_expressions import AggregateCall
from penstock.vocabulary.sql.user_functions import USER_FUNCTION, FunctionKind, UserFunction
from tests.unit.runtime.table.changelogs import (
    BIGINT,
    INT,
    STRING,
    call,
    in_blocks,
    materialized,
    random_changes,
    shown,
)

TYPES = (STRING, INT)


class Numbers:
    """Keeps all numbers, in a list that it changes in place; says how often it was opened and closed."""

    def __init__(self) -> None:
        self.life: list[str] = []

    def open(self, context: Any) -> None:
        self.life.append(f"open {context.get_index_of_this_subtask()}")

    def close(self) -> None:
        self.life.append("close")

    def create_accumulator(self) -> list[int]:
        return []

    def accumulate(self, accumulator: list[int], number: int) -> None:
        assert self.life == ["open 0"]
        accumulator.append(number)

    def retract(self, accumulator: list[int], number: int) -> None:
        accumulator.remove(number)

    def get_value(self, accumulator: list[int]) -> int:
        return sum(accumulator) * 100 + len(accumulator)

    def emit_value(self, accumulator: list[int]) -> Iterator[tuple[int, int]]:
        yield from enumerate(sorted(accumulator, reverse=True)[:2])


def user_call(kind: FunctionKind, result: Any) -> AggregateCall:
    function = UserFunction("numbers", kind, Numbers(), result)
    return AggregateCall(USER_FUNCTION, (1,), result, (INT,), options=(function,))


def a_row(random: Random) -> tuple[Any, ...]:
    return random.choice("abc"), random.randrange(5)


def played(make: Any, blocks: Any, key: RowKey) -> list[Any]:
    """Results of blocks, with a new copy of the operator after each group of them."""
    results: list[Any] = []
    snapshot: HarnessSnapshot | None = None
    for group in blocks:
        harness = KeyedHarness(make(), key=key)
        if snapshot is not None:
            harness.restore(snapshot)
        with harness:
            for block in group:
                harness.process_elements([(row, None) for row in block])
            snapshot = harness.snapshot()
            results += harness.output_values()
    return results


@pytest.mark.parametrize("seed", range(4))
def test_user_aggregates_are_cut_restored_and_retracted(seed: int) -> None:
    random = Random(seed)
    rows = random_changes(random, a_row, 120)

    def make() -> Any:
        return GroupAggregateOperator(
            key_fields=(0,),
            aggregates=(user_call(FunctionKind.AGGREGATE, BIGINT),),
            input_types=TYPES,
            needs_retraction=True,
            generate_update_before=True,
        )

    groups: dict[str, list[int]] = defaultdict(list)
    for (key, number), count in materialized(rows).items():
        groups[key] += [number] * count
    results = played(make, in_blocks(random, in_blocks(random, rows)), RowKey(0))
    assert materialized(results) == Counter({(k, sum(n) * 100 + len(n)): 1 for k, n in groups.items()})


@pytest.mark.parametrize("seed", range(4))
def test_table_aggregates_are_cut_restored_and_retracted(seed: int) -> None:
    random = Random(seed)
    rows = random_changes(random, a_row, 120)
    result = row_of(("place", "number"), (INT, INT))

    def make() -> Any:
        aggregate = user_call(FunctionKind.TABLE_AGGREGATE, result)
        return GroupTableAggregateOperator(key_fields=(0,), aggregate=aggregate, input_types=TYPES)

    groups: dict[str, list[int]] = defaultdict(list)
    for (key, number), count in materialized(rows).items():
        groups[key] += [number] * count
    expected = [(k, at, n) for k, all_ in groups.items() for at, n in enumerate(sorted(all_, reverse=True)[:2])]
    results = played(make, in_blocks(random, in_blocks(random, rows)), RowKey(0))
    assert materialized(results) == Counter(expected)


@pytest.mark.parametrize("seed", range(4))
def test_final_rows_are_those_that_stay(seed: int) -> None:
    random = Random(seed)
    rows = random_changes(random, a_row, 80)
    with KeyedHarness(FinalRowsOperator(types=TYPES), key=RowKey()) as harness:
        for block in in_blocks(random, rows):
            harness.process_elements([(row, None) for row in block])
        assert harness.output_values() == []
        harness.end_input()
        assert Counter(row[1:] for row in harness.output_values()) == materialized(rows)
        assert {row[0] for row in harness.output_values()} == {0}


def test_windows_of_counted_rows_over_a_restore() -> None:
    def make(size: int, slide: int) -> Any:
        return CountWindowAggregateOperator(
            key_fields=(0,), aggregates=(call("SUM", 1, types=TYPES),), input_types=TYPES, size=size, slide=slide
        )

    blocks = [[[(0, "a", 1), (0, "b", 9)]], [[(0, "a", 2)]], [[(0, "a", 4)], [(0, "a", 8)]]]
    assert shown(played(lambda: make(2, 2), blocks, RowKey(0))) == ["+I[a, 3]", "+I[a, 12]"]
    assert shown(played(lambda: make(3, 1), blocks, RowKey(0))) == ["+I[a, 7]", "+I[a, 14]"]
    assert shown(played(lambda: make(1, 2), blocks, RowKey(0))) == ["+I[a, 1]", "+I[b, 9]", "+I[a, 4]"]
