"""The time that results of windows have, and that windows of event time behind them can use it."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from typing import Any

import pytest

from penstock.common import Time, WatermarkStrategy
from penstock.datastream import DataStream, KeyedStream, ProcessFunction, StreamExecutionEnvironment
from penstock.datastream.window import (
    CountTrigger,
    CountTumblingWindowAssigner,
    EventTimeSessionWindows,
    GlobalWindows,
    TumblingEventTimeWindows,
)

RECORDS = [("a", 1, 1_000), ("a", 2, 2_000), ("a", 3, 3_000), ("a", 4, 4_000), ("a", 5, 5_000)]
TEN = TumblingEventTimeWindows.of(Time.seconds(10))


class Times(ProcessFunction):
    def process_element(self, value: Any, ctx: ProcessFunction.Context) -> Iterator[Any]:
        yield value[1], ctx.timestamp()


def added(first: Any, second: Any) -> Any:
    return (first[0], first[1] + second[1], second[2])


def records() -> DataStream:
    env = StreamExecutionEnvironment.in_process(1).set_parallelism(1)
    strategy = WatermarkStrategy.for_monotonous_timestamps().with_timestamp_assigner(lambda record, _: record[2])
    return env.from_collection(RECORDS).assign_timestamps_and_watermarks(strategy)


def keyed(stream: DataStream) -> KeyedStream:
    return stream.key_by(lambda record: record[0])


# What PyFlink 2.3 gives for the same programs.
WITHOUT_END: dict[str, tuple[Callable[[], DataStream], list[Any]]] = {
    "count": (lambda: keyed(records()).count_window(2).reduce(added), [(3, 2_000), (7, 4_000)]),
    "sliding count": (
        lambda: keyed(records()).count_window(3, 1).reduce(added),
        [(6, 3_000), (9, 4_000), (12, 5_000)],
    ),
    "global": (
        lambda: keyed(records()).window(GlobalWindows.create()).trigger(CountTrigger.of(2)).reduce(added),
        [(3, 2_000), (10, 4_000)],
    ),
    "count of all": (
        lambda: records().window_all(CountTumblingWindowAssigner.of(2)).reduce(added),
        [(3, 2_000), (7, 4_000)],
    ),
}


@pytest.mark.parametrize("kind", WITHOUT_END)
def test_results_of_windows_without_an_end_have_the_time_of_the_element_that_fired(kind: str) -> None:
    build, expected = WITHOUT_END[kind]
    assert list(build().process(Times()).execute_and_collect()) == expected


@pytest.mark.parametrize("kind", WITHOUT_END)
def test_windows_of_event_time_can_follow(kind: str) -> None:
    build, expected = WITHOUT_END[kind]
    results = keyed(build()).window(TEN).reduce(added).process(Times())
    assert list(results.execute_and_collect()) == [(sum(value for value, _ in expected), 9_999)]


def test_elements_without_a_timestamp_make_results_without() -> None:
    env = StreamExecutionEnvironment.in_process(1).set_parallelism(1)
    counted = keyed(env.from_collection(RECORDS)).count_window(2).reduce(added).process(Times())
    assert list(counted.execute_and_collect()) == [(3, None), (7, None)]


@pytest.mark.parametrize(
    ("assigner", "times"), [(TEN, [9_999, 9_999]), (EventTimeSessionWindows.with_gap(3_000), [4_999, 6_999])]
)
def test_early_firings_of_windows_with_an_end_have_its_time(assigner: Any, times: list[int]) -> None:
    early = keyed(records()).window(assigner).trigger(CountTrigger.of(2)).reduce(added).process(Times())
    assert [time for _, time in early.execute_and_collect()] == times
