"""Windows as whole jobs in process; aggregating in front of the exchange changes nothing that can be seen."""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from typing import Any

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from penstock.common import WatermarkStrategy
from penstock.common.watermark_strategy import Watermark
from penstock.datastream import (
    AggregateFunction,
    AllWindowFunction,
    OutputTag,
    ProcessWindowFunction,
    StreamExecutionEnvironment,
    commutative,
)
from penstock.datastream.data_stream import DataStream
from penstock.datastream.window import (
    CumulativeEventTimeWindows,
    SlidingEventTimeWindows,
    TumblingEventTimeWindows,
)
from penstock.errors import JobFailedError
from penstock.testing import CollectSink, Cut, Element, Idle, ScriptedSource

LATE = OutputTag("late")
Results = tuple[list[Any], list[Any]]


class WithWindow(ProcessWindowFunction[Any, Any, Any, Any]):
    def process(self, key: Any, context: Any, elements: Iterable[Any]) -> Iterator[Any]:
        for element in elements:
            yield key, context.window().start, context.window().end, element


class WindowsOfAll(AllWindowFunction[Any, Any, Any]):
    def apply(self, window: Any, inputs: Iterable[Any]) -> Iterator[Any]:
        for element in inputs:
            yield window.start, element


class Values(AggregateFunction):
    """Gathers values in a list that it changes in place; they come out sorted."""

    is_commutative = True

    def create_accumulator(self) -> list[int]:
        return []

    def add(self, value: Any, accumulator: list[int]) -> list[int]:
        accumulator.append(value[1])
        return accumulator

    def get_result(self, accumulator: list[int]) -> tuple[int, ...]:
        return tuple(sorted(accumulator))

    def merge(self, acc_a: list[int], acc_b: list[int]) -> list[int]:
        acc_a.extend(acc_b)
        return acc_a


@commutative
def add_in_place(left: list[Any], right: list[Any]) -> list[Any]:
    left[1] += right[1]
    return left


def in_arrival_order(left: tuple[Any, str], right: tuple[Any, str]) -> tuple[Any, str]:
    return left[0], left[1] + right[1]


def script_of(steps: list[Any], shape: Any) -> list[Any]:
    """A script of (key, value, timestamp) triples, watermarks, cuts and idleness."""
    return [Element(shape(step[:2]), step[2]) if isinstance(step, tuple) else step for step in steps]


def run(scripts: list[list[Any]], assigner: Any, combine: Any, lateness: int, two_phase: bool, seed: int) -> Results:
    """All results and all late elements, sorted."""
    env = StreamExecutionEnvironment.in_process(seed).set_parallelism(2)
    source = env.from_source(ScriptedSource(*scripts), WatermarkStrategy.no_watermarks(), "script")
    windowed = source.key_by(lambda pair: pair[0]).window(assigner).allowed_lateness(lateness)
    windowed.side_output_late_data(LATE).two_phase(two_phase)
    if isinstance(combine, AggregateFunction):
        stream: DataStream = windowed.aggregate(combine, WithWindow())
    else:
        stream = windowed.reduce(combine, WithWindow())
    results, late = CollectSink(), CollectSink()
    stream.add_sink(results)
    stream.get_side_output(LATE).add_sink(late)
    env.execute()
    return sorted(results.results), sorted(late.results)


ASSIGNERS = st.sampled_from(
    [
        TumblingEventTimeWindows.of(10, 3),
        SlidingEventTimeWindows.of(10, 5),
        SlidingEventTimeWindows.of(10, 4, -1),
        CumulativeEventTimeWindows.of(20, 5),
    ]
)
RECORDS = st.tuples(st.sampled_from("abc"), st.integers(0, 9), st.integers(-5, 45))
STEPS = st.lists(
    st.one_of(
        RECORDS,
        RECORDS,
        st.integers(-5, 45).map(Watermark),
        st.just(Cut()),
        st.just(Idle()),
    ),
    max_size=20,
)


@given(
    steps=STEPS,
    assigner=ASSIGNERS,
    lateness=st.sampled_from([0, 3, 12]),
    aggregates=st.booleans(),
    seed=st.integers(0, 99),
)
@settings(max_examples=10)
def test_late_or_not_results_are_those_without(
    steps: list[Any], assigner: Any, lateness: int, aggregates: bool, seed: int
) -> None:
    script = script_of(steps, list)
    combine = Values() if aggregates else add_in_place
    plain = run([script], assigner, combine, lateness, False, seed)
    assert run([script], assigner, combine, lateness, True, seed) == plain


@given(steps=STEPS, seed=st.integers(0, 99))
@settings(max_examples=6)
def test_elements_of_one_sender_are_combined_in_their_order(steps: list[Any], seed: int) -> None:
    script = script_of(steps, lambda pair: (pair[0], str(pair[1])))
    tumbling = TumblingEventTimeWindows.of(10)
    plain = run([script], tumbling, in_arrival_order, 5, False, seed)
    assert run([script], tumbling, in_arrival_order, 5, True, seed) == plain


@given(
    records=st.lists(st.tuples(RECORDS, st.integers(0, 1), st.booleans()), max_size=20),
    assigner=ASSIGNERS,
    seed=st.integers(0, 99),
)
@settings(max_examples=6)
def test_several_senders_meet(records: list[Any], assigner: Any, seed: int) -> None:
    # Which elements are late depends on how the senders' rows mix, so that each sender is in the order of time here.
    scripts: list[list[Any]] = [[], []]
    for (key, value, timestamp), split, is_marked in sorted(records, key=lambda record: record[0][2]):
        scripts[split].append(Element((key, value), timestamp))
        scripts[split] += [Watermark(timestamp - 1)] if is_marked else [Cut()]
    plain = run(scripts, assigner, Values(), 0, False, seed)
    assert plain[1] == []
    assert run(scripts, assigner, Values(), 0, True, seed + 1) == plain


def test_windows_of_a_whole_stream_gather_what_all_senders_have_made() -> None:
    env = StreamExecutionEnvironment.in_process().set_parallelism(3)
    strategy = WatermarkStrategy.for_monotonous_timestamps().with_timestamp_assigner(lambda number, _: number * 1000)
    numbers = env.from_sequence(0, 29).assign_timestamps_and_watermarks(strategy)
    totals = numbers.window_all(TumblingEventTimeWindows.of(10_000)).reduce(lambda a, b: a + b, WindowsOfAll())
    assert sorted(totals.execute_and_collect()) == [(0, 45), (10_000, 145), (20_000, 245)]


@pytest.mark.parametrize("two_phase", [True, False])
def test_elements_without_timestamp_are_refused_alike(two_phase: bool) -> None:
    env = StreamExecutionEnvironment.in_process()
    windowed = env.from_collection([("a", 1)]).key_by(lambda pair: pair[0]).window(TumblingEventTimeWindows.of(10))
    with pytest.raises(JobFailedError, match=r"(?s)Record has no timestamp.*'TumblingEventTimeWindows, Sum'"):
        list(windowed.two_phase(two_phase).sum(1).execute_and_collect())


@pytest.mark.parametrize(
    ("method", "expected"),
    [
        ("sum", [("a", 6, "x"), ("b", 5, "w")]),
        ("min", [("a", 1, "x"), ("b", 5, "w")]),
        ("max", [("a", 3, "x"), ("b", 5, "w")]),
        ("min_by", [("a", 1, "z"), ("b", 5, "w")]),
        ("max_by", [("a", 3, "y"), ("b", 5, "w")]),
    ],
)
@pytest.mark.parametrize("two_phase", [True, False])
def test_aggregations_of_a_field(method: str, expected: list[Any], two_phase: bool) -> None:
    env = StreamExecutionEnvironment.in_process()
    script = [
        Element(("a", 2, "x"), 1),
        Element(("a", 3, "y"), 2),
        Element(("a", 1, "z"), 3),
        Element(("b", 5, "w"), 4),
    ]
    source = env.from_source(ScriptedSource(script), WatermarkStrategy.no_watermarks(), "script")
    windowed = source.key_by(lambda record: record[0]).window(TumblingEventTimeWindows.of(10)).two_phase(two_phase)
    assert sorted(getattr(windowed, method)(1).execute_and_collect()) == expected


def test_a_plain_number_is_its_own_field() -> None:
    env = StreamExecutionEnvironment.in_process()
    source = env.from_source(ScriptedSource([Element(n, n) for n in range(5)]), WatermarkStrategy.no_watermarks(), "n")
    assert list(source.window_all(TumblingEventTimeWindows.of(10)).sum().execute_and_collect()) == [10]
