"""Operators of connected streams: failures by name, keys of both inputs, and what a function may ask for."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from typing import Any

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from penstock.datastream import CoFlatMapFunction, CoMapFunction, CoProcessFunction, KeyedCoProcessFunction
from penstock.datastream.state import ValueStateDescriptor
from penstock.runtime.failure import OperatorFailure
from penstock.runtime.operators import CoFlatMapOperator, CoMapOperator
from penstock.testing import CoProcessHarness, KeyedCoProcessHarness, KeyedTwoInputHarness, TwoInputHarness


class Inverse(CoMapFunction):
    def map1(self, value: int) -> float:
        return 1 / value

    def map2(self, value: int) -> float:
        return -1 / value


class Parts(CoFlatMapFunction):
    """Gives lists, None, and what is none of both."""

    def flat_map1(self, value: Any) -> Any:
        return value

    def flat_map2(self, value: Any) -> Any:
        return value


class Process(CoProcessFunction):
    """As `Parts`; -1 asks for a timer, -2 for the key."""

    def process_element1(self, value: Any, ctx: Any) -> Any:
        return value

    def process_element2(self, value: Any, ctx: Any) -> Any:
        if value == -1:
            ctx.timer_service().register_event_time_timer(1)
        if value == -2:
            ctx.get_current_key()
        return value


class Counting(CoMapFunction):
    """Counts the records of a key, whichever stream they are from; opened and closed."""

    log: list[str] = []  # noqa: RUF012 - the operator has a copy of the function, but not of its class

    def open(self, context: Any) -> None:
        self.log.append(f"open {context.get_task_name()}")
        self.count = context.get_state(ValueStateDescriptor("count"))

    def close(self) -> None:
        self.log.append("close")

    def map1(self, value: Any) -> Any:
        self.count.update((self.count.value() or 0) + 1)
        return value[0], self.count.value()

    def map2(self, value: Any) -> Any:
        return self.map1((value, 0))


class CountingKeys(KeyedCoProcessFunction):
    """Counts records by key and stream, in state and timers."""

    def open(self, context: Any) -> None:
        self.counts = [context.get_state(ValueStateDescriptor(side)) for side in ("left", "right")]

    def process_element1(self, value: Any, ctx: Any) -> None:
        self._count(0, ctx)

    def process_element2(self, value: Any, ctx: Any) -> None:
        self._count(1, ctx)

    def _count(self, side: int, ctx: Any) -> None:
        self.counts[side].update((self.counts[side].value() or 0) + 1)
        ctx.timer_service().register_event_time_timer(100)

    def on_timer(self, timestamp: int, ctx: Any) -> Iterator[Any]:
        yield ctx.get_current_key(), *[count.value() or 0 for count in self.counts]


def failing(feed: Callable[[Any, Any], None], value: Any, harness: TwoInputHarness) -> str:
    with harness, pytest.raises(OperatorFailure) as caught:
        feed(harness, value)
    return str(caught.value.text)


def first(harness: Any, value: Any) -> None:
    harness.process_element1(value)


def second(harness: Any, value: Any) -> None:
    harness.process_element2(value)


@pytest.mark.parametrize("feed", [first, second])
def test_a_failure_names_operator_and_record(feed: Callable[[Any, Any], None]) -> None:
    text = failing(feed, 0, TwoInputHarness(CoMapOperator(Inverse())))
    assert "Inverse" in text and "ZeroDivisionError" in text and "record" in text


@pytest.mark.parametrize(("feed", "number"), [(first, 1), (second, 2)])
def test_what_is_no_iterable_is_refused_by_the_name_of_the_method(
    feed: Callable[[Any, Any], None], number: int
) -> None:
    parts = failing(feed, 5, TwoInputHarness(CoFlatMapOperator(Parts())))
    assert f"flat_map{number} returned a int" in parts
    assert f"process_element{number} returned a int" in failing(feed, 5, CoProcessHarness(Process()))


def test_a_failed_block_leaves_nothing_behind() -> None:
    with TwoInputHarness(CoFlatMapOperator(Parts())) as harness:
        with pytest.raises(OperatorFailure):
            harness.process_elements2([([1], None), (5, None)])
        harness.process_element1([2])
        assert harness.output_values() == [2]


def test_a_map_leaves_out_what_it_returns_none_for_with_its_time() -> None:
    class Odd(CoMapFunction):
        def map1(self, value: Any) -> Any:
            return value if value % 2 else None

        map2 = map1

    with TwoInputHarness(CoMapOperator(Odd())) as harness:
        harness.process_elements1([(1, 10), (2, 20), (3, 30)])
        harness.process_elements2([(4, 40), (5, 50)])
        assert [(each.value, each.timestamp) for each in harness.output()] == [(1, 10), (3, 30), (5, 50)]


def test_streams_that_are_not_keyed_have_no_timers_and_no_key() -> None:
    assert "timers need a keyed stream" in failing(second, -1, CoProcessHarness(Process()))
    assert "there is no current key" in failing(second, -2, CoProcessHarness(Process()))


def test_keyed_state_needs_keys_on_both_sides() -> None:
    with pytest.raises(OperatorFailure, match="not keyed"):
        TwoInputHarness(CoMapOperator(Counting())).open()


def test_a_keyed_function_is_opened_once_and_shares_state() -> None:
    Counting.log.clear()
    operator = CoMapOperator(Counting(), True)
    with KeyedTwoInputHarness(operator, key1=lambda value: value[0], key2=lambda value: value) as harness:
        harness.process_elements1([(("a", 1), 5), (("b", 1), 6)])
        harness.process_elements2([("a", 7), ("a", 8)])
        assert harness.output_values() == [("a", 1), ("b", 1), ("a", 2), ("a", 3)]
        assert [record.timestamp for record in harness.output()] == [5, 6, 7, 8]
        assert harness.state("a", "count") == 3
    assert Counting.log == ["open Counting", "close"]


@settings(max_examples=30)
@given(st.lists(st.tuples(st.integers(0, 1), st.integers(0, 3)), max_size=12), st.lists(st.booleans(), max_size=12))
def test_state_and_timers_of_a_key_are_those_of_both_inputs(
    records: list[tuple[int, int]], restores: list[bool]
) -> None:
    def create() -> KeyedCoProcessHarness:
        return KeyedCoProcessHarness(CountingKeys(), key1=lambda value: value % 4, key2=lambda value: value)

    harness = create().open()
    for index, (side, key) in enumerate(records):
        if side == 0:
            harness.process_element1(key + 4)
        else:
            harness.process_element2(key)
        if index < len(restores) and restores[index]:
            snapshot = harness.snapshot()
            harness.close()
            harness = create()
            harness.restore(snapshot)
            harness.open()
    harness.clear_output()
    harness.process_watermark(100)
    keys = {key for _, key in records}
    assert sorted(harness.output_values()) == sorted(
        (key, records.count((0, key)), records.count((1, key))) for key in keys
    )
    harness.close()
