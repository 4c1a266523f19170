"""GROUP BY: the changelog row by row, and that it always comes to what a batch would give."""

from __future__ import annotations

from collections import Counter, defaultdict
from decimal import Decimal
from random import Random
from typing import Any

import pytest

from penstock.runtime.operators.table import GroupAggregateOperator, RowKey
from penstock.testing import HarnessSnapshot
from penstock.testing.harness import KeyedHarness
from penstock.vocabulary.sql.logical_types import Kind, LogicalType
from tests.unit.runtime.table.changelogs import (
    BOOLEAN,
    DOUBLE,
    INT,
    STRING,
    call,
    in_blocks,
    materialized,
    random_changes,
    shown,
    upserted,
)

TYPES = (STRING, INT, BOOLEAN, DOUBLE)
BY_FIRST = RowKey(0)


def operator(*calls: Any, retracts: bool = True, keys: tuple[int, ...] = (0,), **settings: Any) -> Any:
    return GroupAggregateOperator(
        key_fields=keys,
        aggregates=calls,
        input_types=TYPES,
        needs_retraction=retracts,
        generate_update_before=settings.pop("generate_update_before", True),
        **settings,
    )


def agg(function: str, *arguments: int, **settings: Any) -> Any:
    return call(function, *arguments, types=TYPES, **settings)


def played(made: Any, rows: list[Any], key: Any = BY_FIRST) -> list[str]:
    with KeyedHarness(made, key=key) as harness:
        for row in rows:
            harness.process_element(row)
        return shown(harness.output_values())


ROWS = [(0, "a", 1, True, 1.0), (0, "a", 4, True, 1.0), (3, "a", 1, True, 1.0), (3, "a", 4, True, 1.0)]


def test_first_row_inserts_changes_update_and_the_last_one_deletes() -> None:
    assert played(operator(agg("COUNT"), agg("SUM", 1)), ROWS) == [
        "+I[a, 1, 1]",
        "-U[a, 1, 1]",
        "+U[a, 2, 5]",
        "-U[a, 2, 5]",
        "+U[a, 1, 4]",
        "-D[a, 1, 4]",
    ]


def test_without_update_before() -> None:
    made = operator(agg("MAX", 1), generate_update_before=False)
    assert played(made, ROWS) == ["+I[a, 1]", "+U[a, 4]", "-D[a, 4]"]


def test_an_unchanged_result_is_not_emitted_and_an_unknown_row_cannot_be_taken_back() -> None:
    rows = [(3, "b", 1, True, 1.0), (0, "a", 4, True, 1.0), (0, "a", 4, True, 1.0)]
    assert played(operator(agg("MAX", 1)), rows) == ["+I[a, 4]"]


def test_distinct_rows_and_a_group_of_all() -> None:
    assert played(operator(), ROWS[:3]) == ["+I[a]"]
    made = operator(agg("COUNT"), keys=())
    assert played(made, [*ROWS[:1], ROWS[2]], RowKey()) == ["+I[1]", "-D[1]"]


def test_whole_numbers_wrap_and_averages_have_no_fraction() -> None:
    rows = [(0, "a", 2**31 - 1, True, 1.0), (0, "a", 2, True, 1.0)]
    assert played(operator(agg("SUM", 1), agg("AVG", 1), retracts=False), rows)[-1] == f"+U[a, {-(2**31) + 1}, {2**30}]"
    rows = [(0, "a", -7, True, 1.0), (0, "a", 0, True, 1.0)]
    assert played(operator(agg("AVG", 1)), rows)[-1] == "+U[a, -3]"


def test_decimals_have_38_digits_and_no_more() -> None:
    decimal = LogicalType(Kind.DECIMAL, parameters=(38, 2))
    calls = [call(name, 1, types=(STRING, decimal)) for name in ("SUM", "AVG")]
    made = GroupAggregateOperator(
        key_fields=(0,),
        aggregates=tuple(calls),
        input_types=(STRING, decimal),
        needs_retraction=False,
        generate_update_before=False,
    )
    rows = [(0, "a", Decimal("1.00")), (0, "a", Decimal("1.01")), (0, "a", Decimal("0.00"))]
    assert played(made, rows)[-1] == "+U[a, 2.01, 0.670000]"
    large = Decimal("9" * 36 + ".99")
    assert played(made, [(0, "a", large), (0, "a", large)])[-1] == "+U[a, null, null]"


def test_filter_and_distinct() -> None:
    calls = (agg("COUNT", 1, is_distinct=True), agg("SUM", 1, is_distinct=True, filter=2), agg("COUNT", filter=2))
    rows = [
        *[(0, "a", 3, True, 1.0), (0, "a", 3, None, 1.0), (0, "a", 5, False, 1.0), (3, "a", 3, True, 1.0)],
        *[(0, "a", None, True, 1.0), (3, "a", 3, None, 1.0)],
    ]
    assert [each for each in played(operator(*calls), rows) if not each.startswith("-U")] == [
        "+I[a, 1, 3, 1]",
        "+U[a, 2, 3, 1]",
        "+U[a, 2, null, 0]",
        "+U[a, 2, null, 1]",
        "+U[a, 1, null, 1]",
    ]


def test_ordered_aggregates_take_back_the_earliest_of_equal_values() -> None:
    calls = (agg("FIRST_VALUE", 1), agg("LAST_VALUE", 1), agg("ARRAY_AGG", 1), agg("LISTAGG", 0))
    rows = [(0, "a", 1, True, 1.0), (0, "a", 2, True, 1.0), (0, "a", 1, True, 1.0), (3, "a", 1, True, 1.0)]
    assert played(operator(*calls), rows)[-1] == "+U[a, 2, 1, (2, 1), a,a]"


def test_a_mini_batch_emits_once_for_each_key() -> None:
    with KeyedHarness(operator(agg("COUNT"), mini_batch=True), key=RowKey(0)) as harness:
        harness.process_elements([((0, "a", 1, True, 1.0), None), ((0, "b", 1, True, 1.0), None)])
        harness.process_elements([((0, "a", 1, True, 1.0), None), ((3, "b", 1, True, 1.0), None)])
        assert harness.output_values() == []
        harness.snapshot()
        assert shown(harness.output_values()) == ["+I[a, 2]"]


def test_an_unchanged_key_is_not_written(monkeypatch: pytest.MonkeyPatch) -> None:
    with KeyedHarness(operator(agg("MAX", 1), retracts=False), key=RowKey(0)) as harness:
        harness.process_element((0, "a", 4, True, 1.0))
        harness.snapshot()
        state = harness._running().head._state
        held: list[Any] = []
        monkeypatch.setattr(state, "_changed", set())
        harness.process_element((0, "a", 2, True, 1.0))
        held += state._changed
        assert held == []


def expected(rows: list[Any]) -> Counter[Any]:
    """What a batch computation gives."""
    groups: dict[str, list[Any]] = defaultdict(list)
    for (key, number, chosen, size), count in materialized(rows).items():
        groups[key] += [(number, chosen, size)] * count
    found: Counter[Any] = Counter()
    for key, members in groups.items():
        numbers = [number for number, _, _ in members if number is not None]
        distinct = {number for number, chosen, _ in members if chosen and number is not None}
        total = sum(numbers) if numbers else None
        average = None if total is None else int(total / len(numbers))
        found[
            key,
            len(members),
            total,
            average,
            min(numbers, default=None),
            max(numbers, default=None),
            len(set(numbers)),
            sum(distinct) if distinct else None,
            tuple(sorted(Counter(numbers).items())),
        ] += 1
    return found


CALLS = (
    *(agg("COUNT"), agg("SUM", 1), agg("AVG", 1), agg("MIN", 1), agg("MAX", 1)),
    *(agg("COUNT", 1, is_distinct=True), agg("SUM", 1, is_distinct=True, filter=2), agg("COLLECT", 1)),
)


def a_row(random: Random) -> Any:
    number = None if random.random() < 0.1 else random.randint(-3, 5)
    return random.choice("abc"), number, random.choice([True, False, None]), 1.0


@pytest.mark.parametrize("mini_batch", [False, True])
def test_the_changelog_comes_to_what_a_batch_gives_whatever_is_cut_and_restored(seed: int, mini_batch: bool) -> None:
    random = Random(seed)
    rows = random_changes(random, a_row, 200)
    results: list[Any] = []
    snapshot: HarnessSnapshot | None = None
    for blocks in in_blocks(random, in_blocks(random, rows)):
        harness = KeyedHarness(operator(*CALLS, mini_batch=mini_batch), key=RowKey(0))
        if snapshot is not None:
            harness.restore(snapshot)
        with harness:
            for block in blocks:
                harness.process_elements([(row, None) for row in block])
            snapshot = harness.snapshot()
            results += harness.output_values()
    table = [(row[0], *row[1:-1], tuple(sorted(row[-1].items()))) for row in results]
    assert materialized(table) == expected(rows)
    assert {key[0]: row for key, row in upserted(table, (0,)).items()} == {row[0]: row for row in expected(rows)}


def test_rescaled(seed: int) -> None:
    random = Random(seed)
    rows = random_changes(random, a_row, 100)
    with KeyedHarness(operator(*CALLS), key=RowKey(0)) as whole:
        whole.process_elements([(row, None) for row in rows[:50]])
        first, snapshot = whole.output_values(), whole.snapshot()
    results = list(first)
    for subtask, share in enumerate(HarnessSnapshot.rescaled([snapshot], 2)):
        harness = KeyedHarness(operator(*CALLS), key=RowKey(0), parallelism=2, subtask=subtask)
        harness.restore(share)
        with harness:
            harness.process_elements([(row, None) for row in rows[50:] if harness.owns(row[1])])
            results += harness.output_values()
    table = [(row[0], *row[1:-1], tuple(sorted(row[-1].items()))) for row in results]
    assert materialized(table) == expected(rows)


def test_state_expires() -> None:
    with KeyedHarness(operator(agg("COUNT"), state_ttl_ms=100), key=RowKey(0)) as harness:
        harness.process_element(ROWS[0])
        harness.set_processing_time(99)
        harness.process_element(ROWS[0])
        harness.set_processing_time(199)
        harness.process_element(ROWS[0])
        assert shown(harness.output_values()) == ["+I[a, 1]", "-U[a, 1]", "+U[a, 2]", "+I[a, 1]"]
