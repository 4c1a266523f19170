"""The event-time temporal join: which version a row finds, when it leaves, and what is kept."""

from __future__ import annotations

from collections import Counter
from random import Random
from typing import Any

import pytest

from penstock.runtime.operators.table import JoinKind, JoinSide, RowKey, TemporalJoinOperator
from penstock.testing import HarnessSnapshot
from penstock.testing.two_input_harness import KeyedTwoInputHarness
from penstock.vocabulary.sql.row_kinds import DELETE, INSERT, UPDATE_AFTER, UPDATE_BEFORE
from penstock.vocabulary.sql.scalar import call as scalar_call
from penstock.vocabulary.sql.typed_expressions import FieldRef
from tests.unit.runtime.table.changelogs import INT, STRING, TIMESTAMP, in_blocks, shown

ORDERS = (STRING, INT, TIMESTAMP)  # currency, amount, time
RATES = (STRING, INT, TIMESTAMP)  # currency, rate, time


def operator(join: JoinKind = JoinKind.INNER, *, condition: bool = False, ttl_ms: int = 0) -> TemporalJoinOperator:
    return TemporalJoinOperator(
        join=join,
        left=JoinSide(ORDERS, (0,)),
        right=JoinSide(RATES, (0,)),
        left_time=2,
        right_time=2,
        condition=scalar_call("<", [FieldRef(1, INT), FieldRef(4, INT)]) if condition else None,
        filter_nulls=(True,),
        state_ttl_ms=ttl_ms,
    )


def harness_of(made: TemporalJoinOperator) -> KeyedTwoInputHarness:
    return KeyedTwoInputHarness(made, key1=RowKey(0), key2=RowKey(0))


def order(currency: str | None, amount: int, time: int, kind: int = INSERT) -> Any:
    return (kind, currency, amount, time)


rate = order


def test_a_row_waits_for_both_watermarks_and_finds_the_version_of_its_time() -> None:
    with harness_of(operator()) as harness:
        harness.process_element1(order("euro", 1, 15))
        harness.process_element2(rate("euro", 114, 10))
        harness.process_element2(rate("euro", 120, 20))
        harness.process_watermark1(30)
        assert harness.output_values() == []
        harness.process_watermark2(15)
        assert shown(harness.output_values()) == ["+I[euro, 1, 15, euro, 114, 10]"]


def test_a_version_holds_from_its_time_on() -> None:
    with harness_of(operator(JoinKind.LEFT)) as harness:
        for time in (9, 10, 19, 20, 21):
            harness.process_element1(order("euro", time, time))
        # Out of order, and the second of the same time replaces the first.
        harness.process_element2(rate("euro", 2, 20))
        harness.process_element2(rate("euro", 0, 10))
        harness.process_element2(rate("euro", 1, 10, UPDATE_AFTER))
        harness.process_watermark(100)
        assert [(row[2], row[5]) for row in harness.output_values()] == [(9, None), (10, 1), (19, 1), (20, 2), (21, 2)]


def test_rows_leave_by_time_and_those_of_one_time_as_they_came() -> None:
    with harness_of(operator()) as harness:
        harness.process_element2(rate("euro", 1, 0))
        for amount, time in ((1, 30), (2, 10), (3, 30), (4, 20)):
            harness.process_element1(order("euro", amount, time))
        harness.process_watermark(30)
        assert [row[2] for row in harness.output_values()] == [2, 4, 1, 3]


def test_after_a_delete_there_is_no_version() -> None:
    with harness_of(operator(JoinKind.LEFT)) as harness:
        harness.process_element2(rate("euro", 1, 10))
        harness.process_element2(rate("euro", 1, 20, DELETE))
        harness.process_element2(rate("euro", 3, 30))
        for time in (10, 20, 29, 30):
            harness.process_element1(order("euro", 0, time))
        harness.process_watermark(30)
        assert [row[5] for row in harness.output_values()] == [1, None, None, 3]


def test_versions_that_are_over_are_forgotten_without_left_rows() -> None:
    with harness_of(operator()) as harness:
        for time in range(0, 100, 10):
            harness.process_element2(rate("euro", time, time))
        harness.process_watermark(45)
        assert list(harness.state("euro", "_right_rows")) == [40, 50, 60, 70, 80, 90]
        harness.process_watermark(1000)
        assert harness.num_keyed_state_entries() == 1
        assert harness.num_event_time_timers() == 0
        harness.process_element2(rate("euro", 0, 1010, DELETE))
        harness.process_watermark(1010)
        assert (harness.num_keyed_state_entries(), harness.num_event_time_timers()) == (0, 0)


def test_late_rows_take_part_with_what_is_there() -> None:
    with harness_of(operator(JoinKind.LEFT)) as harness:
        harness.process_element2(rate("euro", 1, 10))
        harness.process_element2(rate("euro", 2, 50))
        harness.process_watermark(100)
        harness.process_element1(order("euro", 0, 20))  # the version of 10 is forgotten
        harness.process_element1(order("euro", 1, 60))
        harness.process_element2(rate("euro", 3, 55))
        assert harness.output_values() == []
        harness.process_watermark(101)
        assert [row[5] for row in harness.output_values()] == [None, 3]


def test_a_condition_is_asked_of_the_version_of_that_time_only() -> None:
    results = {}
    for join in (JoinKind.INNER, JoinKind.LEFT):
        with harness_of(operator(join, condition=True)) as harness:
            harness.process_element2(rate("euro", 9, 10))
            harness.process_element2(rate("euro", 1, 20))
            harness.process_element1(order("euro", 5, 15))
            harness.process_element1(order("euro", 5, 25))
            harness.process_watermark(30)
            results[join] = [row[5] for row in harness.output_values()]
    assert results == {JoinKind.INNER: [9], JoinKind.LEFT: [9, None]}


def test_null_finds_nothing() -> None:
    with harness_of(operator(JoinKind.LEFT)) as harness:
        harness.process_element2(rate(None, 9, 10))
        harness.process_element1(order(None, 5, 15))
        harness.process_watermark(30)
        assert shown(harness.output_values()) == ["+I[null, 5, 15, null, null, null]"]


def test_left_rows_keep_their_kind() -> None:
    with harness_of(operator()) as harness:
        harness.process_element2(rate("euro", 9, 0))
        for kind, amount in ((INSERT, 1), (UPDATE_BEFORE, 1), (UPDATE_AFTER, 2), (DELETE, 2)):
            harness.process_element1(order("euro", amount, 10, kind))
        harness.process_watermark(10)
        assert [row[:3] for row in harness.output_values()] == [
            (INSERT, "euro", 1),
            (UPDATE_BEFORE, "euro", 1),
            (UPDATE_AFTER, "euro", 2),
            (DELETE, "euro", 2),
        ]


def test_a_key_that_is_idle_for_too_long_is_forgotten() -> None:
    with harness_of(operator(JoinKind.LEFT, ttl_ms=1000)) as harness:
        harness.set_processing_time(0)
        harness.process_element2(rate("euro", 1, 0))
        harness.set_processing_time(1400)
        harness.process_element1(order("euro", 1, 5))
        harness.set_processing_time(2800)
        assert harness.num_keyed_state_entries() > 0
        harness.set_processing_time(2900)
        assert harness.num_keyed_state_entries() == 0
        assert (harness.num_event_time_timers(), harness.num_processing_time_timers()) == (0, 0)


def expected(orders: list[Any], rates: list[Any], join: JoinKind) -> Counter[Any]:
    """The version of each row's time, by going through all of them."""
    found: Counter[Any] = Counter()
    for row in orders:
        versions: dict[int, Any] = {}
        for each in rates:
            if each[1] == row[1] and each[3] <= row[3]:
                versions[each[3]] = each  # of one time the last one counts
        newest = versions[max(versions)] if versions else None
        if newest is not None and newest[0] != DELETE:
            found[row + newest[1:]] += 1
        elif join is JoinKind.LEFT:
            found[(*row, None, None, None)] += 1
    return found


@pytest.mark.parametrize("join", [JoinKind.INNER, JoinKind.LEFT], ids=lambda join: join.name)
def test_whatever_the_order_of_arrival_each_row_finds_its_version(seed: int, join: JoinKind) -> None:
    random = Random(seed)
    orders = [order(random.choice("abc"), number, random.randint(0, 50)) for number in range(80)]
    rates = [
        rate(random.choice("abc"), number, random.randint(0, 50), random.choice([INSERT, UPDATE_AFTER, DELETE]))
        for number in range(40)
    ]
    arrivals = [(1, row) for row in orders] + [(2, row) for row in rates]
    random.shuffle(arrivals)
    arrived = [row for side, row in arrivals if side == 2]
    results: list[Any] = []
    snapshot: HarnessSnapshot | None = None
    for part in in_blocks(random, arrivals):
        harness = harness_of(operator(join))
        if snapshot is not None:
            harness.restore(snapshot)
        with harness:
            for side, row in part:
                (harness.process_element1 if side == 1 else harness.process_element2)(row)
            snapshot = harness.snapshot()
            results += harness.output_values()
    assert results == []
    harness = harness_of(operator(join))
    assert snapshot is not None
    harness.restore(snapshot)
    with harness:
        for watermark in [*sorted(random.sample(range(50), 4)), 50]:
            harness.process_watermark(watermark)
        assert Counter(harness.output_values()) == expected(orders, arrived, join)
        # What is left is the newest version of each key, unless that is a delete.
        newest = {key: [each for each in arrived if each[1] == key] for key in "abc"}
        there = [key for key, rows in newest.items() if rows and expected([order(key, 0, 50)], rows, JoinKind.INNER)]
        assert harness.num_keyed_state_entries() == len(there)
        assert harness.num_event_time_timers() == 0
