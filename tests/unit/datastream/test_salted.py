"""Salted keys: windows in two steps give what they give in one, and a busy key is spread."""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from typing import Any

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from penstock.common import Types, WatermarkStrategy
from penstock.common.watermark_strategy import Watermark
from penstock.datastream import AggregateFunction, DataStream, ProcessWindowFunction, commutative
from penstock.datastream import StreamExecutionEnvironment as Environment
from penstock.datastream.window import (
    CumulativeEventTimeWindows,
    EventTimeSessionWindows,
    SlidingEventTimeWindows,
    TumblingEventTimeWindows,
)
from penstock.errors import GraphError
from penstock.runtime.operators.salt import SaltOperator
from penstock.testing import Cut, Element, ScriptedSource
from penstock.testing.harness import OperatorHarness


class WithWindow(ProcessWindowFunction[Any, Any, Any, Any]):
    def process(self, key: Any, context: Any, elements: Iterable[Any]) -> Iterator[Any]:
        for element in elements:
            yield key, context.window().start, context.window().end, element


@commutative
class Mean(AggregateFunction):
    def create_accumulator(self) -> tuple[int, int]:
        return 0, 0

    def add(self, value: Any, accumulator: tuple[int, int]) -> tuple[int, int]:
        return accumulator[0] + value[1], accumulator[1] + 1

    def get_result(self, accumulator: tuple[int, int]) -> float:
        return accumulator[0] / accumulator[1]

    def merge(self, acc_a: tuple[int, int], acc_b: tuple[int, int]) -> tuple[int, int]:
        return acc_a[0] + acc_b[0], acc_a[1] + acc_b[1]


@commutative
def added(first: Any, second: Any) -> Any:
    return (first[0], first[1] + second[1])


TEN = TumblingEventTimeWindows.of(10)
ASSIGNERS = [TEN, SlidingEventTimeWindows.of(10, 5), CumulativeEventTimeWindows.of(20, 5)]
STEPS = st.lists(
    st.one_of(
        st.tuples(st.sampled_from("aaab"), st.integers(0, 9), st.integers(0, 45)),
        st.integers(0, 45).map(Watermark),
        st.just(Cut()),
    ),
    max_size=30,
)


def run(steps: list[Any], assigner: Any, function: Any, salts: int | None, seed: int) -> list[Any]:
    env = Environment.in_process(seed).set_parallelism(2)
    script = [Element(step[:2], step[2]) if isinstance(step, tuple) else step for step in steps]
    source = env.from_source(ScriptedSource(script), WatermarkStrategy.no_watermarks(), "script")
    keyed: Any = source.key_by(lambda pair: pair[0])
    windows = (keyed if salts is None else keyed.salted(salts)).window(assigner)
    method = windows.aggregate if isinstance(function, AggregateFunction) else windows.reduce
    return sorted(method(function, WithWindow()).execute_and_collect())


@settings(max_examples=25)
@given(
    steps=STEPS,
    assigner=st.sampled_from(ASSIGNERS),
    function=st.sampled_from([added, Mean()]),
    salts=st.integers(2, 5),
    seed=st.integers(0, 99),
)
def test_the_results_are_those_without(steps: list[Any], assigner: Any, function: Any, salts: int, seed: int) -> None:
    assert run(steps, assigner, function, salts, seed) == run(steps, assigner, function, None, seed)


def pairs() -> DataStream:
    env = Environment.in_process().set_parallelism(2)
    records = [("hot", number, number) for number in range(40)]
    return env.from_collection(records).assign_ascending_timestamps(2)


def test_a_result_has_the_type_and_the_time_of_its_window() -> None:
    typed = pairs().map(lambda record: record[1], Types.INT())
    total = typed.key_by(lambda number: 0).salted(4).window(TEN).reduce(commutative(lambda a, b: a + b))
    assert total.get_type() == Types.INT()
    again = total.window_all(TEN).reduce(lambda a, b: a + b)
    assert sorted(again.execute_and_collect()) == [45, 145, 245, 345]


def test_salts_are_dealt_out_in_turn_and_anew_in_each_batch() -> None:
    with OperatorHarness(SaltOperator(3)) as harness:
        harness.process_elements([(letter, None) for letter in "abcde"])
        harness.snapshot()
        harness.process_element("f")
        assert harness.output_values() == [(0, "a"), (1, "b"), (2, "c"), (0, "d"), (1, "e"), (0, "f")]


@pytest.mark.parametrize(
    ("build", "message"),
    [
        (lambda k: k.salted(1), "salted: expected the number of salts for each key, 2 or more, got 1"),
        (
            lambda k: k.salted(4).window(EventTimeSessionWindows.with_gap(3)),
            "windows of EventTimeSessionWindows cannot",
        ),
        (lambda k: k.salted(4).window(TEN).reduce(lambda a, b: b), r"reduce: salted.*commutative\(\.\.\.\)"),
        (lambda k: k.salted(4).window(TEN).aggregate(added), "aggregate"),
    ],
)
def test_what_cannot_be_put_together_is_refused(build: Any, message: str) -> None:
    with pytest.raises(GraphError, match=message):
        build(pairs().key_by(lambda record: record[0]))
