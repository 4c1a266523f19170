"""The regular join: kinds of rows as Flink emits them, and that the changelog comes to what a batch would give."""

from __future__ import annotations

from collections import Counter
from random import Random
from typing import Any

import pytest

from penstock.runtime.operators.table import JoinKind, JoinSide, RegularJoinOperator, RowKey
from penstock.testing import HarnessSnapshot
from penstock.testing.two_input_harness import KeyedTwoInputHarness
from penstock.vocabulary.sql.scalar import call as scalar_call
from penstock.vocabulary.sql.typed_expressions import FieldRef
from tests.unit.runtime.table.changelogs import INT, STRING, in_blocks, materialized, random_changes, shown

LEFT = (STRING, INT)
RIGHT = (STRING, INT)


def operator(join: JoinKind, *, unique: Any = None, condition: bool = False) -> RegularJoinOperator:
    meets = scalar_call("<", [FieldRef(1, INT), FieldRef(3, INT)]) if condition else None
    return RegularJoinOperator(
        join=join,
        left=JoinSide(LEFT, (0,), unique),
        right=JoinSide(RIGHT, (0,), unique),
        condition=meets,
        filter_nulls=(True,),
    )


def harness_of(made: RegularJoinOperator) -> KeyedTwoInputHarness:
    return KeyedTwoInputHarness(made, key1=RowKey(0), key2=RowKey(0))


def played(join: JoinKind, steps: list[tuple[int, Any]], **settings: Any) -> list[str]:
    with harness_of(operator(join, **settings)) as harness:
        for side, row in steps:
            (harness.process_element1 if side == 1 else harness.process_element2)(row)
        return shown(harness.output_values())


STEPS = [(1, (0, "a", 1)), (2, (0, "a", 5)), (2, (1, "a", 5)), (2, (2, "a", 6)), (1, (3, "a", 1))]


def test_an_inner_join_keeps_the_kinds_of_its_input() -> None:
    assert played(JoinKind.INNER, STEPS) == ["+I[a, 1, a, 5]", "-U[a, 1, a, 5]", "+U[a, 1, a, 6]", "-D[a, 1, a, 6]"]


def test_an_outer_join_deletes_and_inserts() -> None:
    assert played(JoinKind.LEFT, STEPS) == [
        "+I[a, 1, null, null]",
        "-D[a, 1, null, null]",
        "+I[a, 1, a, 5]",
        "-U[a, 1, a, 5]",
        "+I[a, 1, null, null]",
        "-D[a, 1, null, null]",
        "+I[a, 1, a, 6]",
        "-D[a, 1, a, 6]",
    ]


def test_semi_and_anti_joins_emit_left_rows() -> None:
    assert played(JoinKind.SEMI, STEPS) == ["+I[a, 1]", "-U[a, 1]", "+U[a, 1]", "-D[a, 1]"]
    assert played(JoinKind.ANTI, STEPS) == ["+I[a, 1]", "-D[a, 1]", "+I[a, 1]", "-D[a, 1]"]


def test_null_equals_nothing() -> None:
    steps = [(1, (0, None, 1)), (2, (0, None, 2)), (1, (3, None, 1))]
    assert played(JoinKind.INNER, steps) == []
    assert played(JoinKind.FULL, steps) == [
        "+I[null, 1, null, null]",
        "+I[null, null, null, 2]",
        "-D[null, 1, null, null]",
    ]


def expected(join: JoinKind, left: list[Any], right: list[Any], condition: bool) -> Counter[Any]:
    lefts, rights = list(materialized(left).elements()), list(materialized(right).elements())

    def pairs(a: Any, b: Any) -> bool:
        return a[0] is not None and a[0] == b[0] and (not condition or a[1] < b[1])

    found: Counter[Any] = Counter()
    for a in lefts:
        partners = [b for b in rights if pairs(a, b)]
        if join in (JoinKind.SEMI, JoinKind.ANTI):
            found[a] += bool(partners) is (join is JoinKind.SEMI)
            continue
        found.update([(*a, *b) for b in partners])
        if not partners and join in (JoinKind.LEFT, JoinKind.FULL):
            found[(*a, None, None)] += 1
    if join in (JoinKind.RIGHT, JoinKind.FULL):
        found.update([(None, None, *b) for b in rights if not any(pairs(a, b) for a in lefts)])
    return +found


def any_row(random: Random) -> Any:
    return random.choice(["a", "b", "c", None]), random.randint(0, 4)


def unique_rows() -> Any:
    """Rows with a second field of their own."""
    numbers = iter(range(10_000))
    return lambda random: (random.choice(["a", "b", "c", None]), next(numbers))


@pytest.mark.parametrize("join", JoinKind, ids=lambda join: join.name)
@pytest.mark.parametrize("condition", [False, True], ids=["keys only", "condition"])
@pytest.mark.parametrize("unique", [None, (1,)], ids=["counted", "by unique key"])
def test_the_changelog_comes_to_what_a_batch_gives(seed: int, join: JoinKind, condition: bool, unique: Any) -> None:
    random = Random(seed)
    make = any_row if unique is None else unique_rows()
    left, right = random_changes(random, make, 60), random_changes(random, make, 60)
    blocks = [(1, block) for block in in_blocks(random, left)]
    for block in in_blocks(random, right):
        blocks.append((2, block))
    ordered = interleaved(random, blocks)
    results: list[Any] = []
    snapshot: HarnessSnapshot | None = None
    for part in in_blocks(random, ordered):
        harness = harness_of(operator(join, unique=unique, condition=condition))
        if snapshot is not None:
            harness.restore(snapshot)
        with harness:
            for side, block in part:
                feed = harness.process_elements1 if side == 1 else harness.process_elements2
                feed([(row, None) for row in block])
            snapshot = harness.snapshot()
            results += harness.output_values()
    assert materialized(results) == expected(join, left, right, condition)


def interleaved(random: Random, blocks: list[Any]) -> list[Any]:
    """The blocks of both sides in any order that keeps that of each side."""
    sides = {1: [each for each in blocks if each[0] == 1], 2: [each for each in blocks if each[0] == 2]}
    found = []
    while sides[1] or sides[2]:
        side = random.choice([number for number in (1, 2) if sides[number]])
        found.append(sides[side].pop(0))
    return found


def test_one_row_for_each_key_is_replaced() -> None:
    made = RegularJoinOperator(
        join=JoinKind.INNER, left=JoinSide(LEFT, (0,), (0,)), right=JoinSide(RIGHT, (0,), (0,)), filter_nulls=(True,)
    )
    with harness_of(made) as harness:
        harness.process_element1((0, "a", 1))
        harness.process_element1((2, "a", 2))
        harness.process_element2((0, "a", 7))
        assert shown(harness.output_values()) == ["+I[a, 2, a, 7]"]
        assert harness.num_keyed_state_entries() == 2
