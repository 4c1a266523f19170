"""Ingestion time, and the forms of event time that books teach."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

import pytest

from penstock.common import (
    AssignerWithPeriodicWatermarks,
    AssignerWithPunctuatedWatermarks,
    Watermark,
    WatermarkStrategy,
)
from penstock.datastream import DataStream, ProcessFunction, StreamExecutionEnvironment
from penstock.datastream.window import TumblingEventTimeWindows
from penstock.errors import GraphError
from penstock.runtime.operators.watermark import WatermarkOperator
from penstock.testing import Clock, Cut, ScriptedSource
from penstock.testing.harness import OperatorHarness

EVENTS = [("a", 10), ("a", 30), ("b", 20), ("a", 55)]


class Times(ProcessFunction):
    """The timestamp of each element, and the watermark at which it came."""

    def process_element(self, value: Any, ctx: ProcessFunction.Context) -> Iterator[Any]:
        yield ctx.timestamp(), ctx.timer_service().current_watermark()


class Periodic(AssignerWithPeriodicWatermarks):
    highest = -(2**63)

    def extract_timestamp(self, value: Any, record_timestamp: int) -> int:
        self.highest = max(self.highest, value[1])
        return int(value[1])

    def get_current_watermark(self) -> Watermark:
        return Watermark(self.highest - 11)


class Punctuated(AssignerWithPunctuatedWatermarks):
    def extract_timestamp(self, value: Any, record_timestamp: int) -> int:
        return int(value[1])

    def check_and_get_next_watermark(self, last_element: Any, extracted_timestamp: int) -> Watermark | None:
        return Watermark(extracted_timestamp) if last_element[0] == "b" else None


def cut(*events: Any) -> DataStream:
    """Each in a batch of its own, so that watermarks are between them."""
    env = StreamExecutionEnvironment.in_process().set_parallelism(1)
    script = [step for event in events for step in (event, Cut())]
    return env.from_source(ScriptedSource(script), WatermarkStrategy.no_watermarks(), "events")


def test_an_assigner_with_periodic_watermarks() -> None:
    timed = cut(*EVENTS).assign_timestamps_and_watermarks(Periodic()).process(Times())
    assert list(timed.execute_and_collect()) == [(10, -(2**63)), (30, -1), (20, 19), (55, 19)]


def test_an_assigner_with_punctuated_watermarks() -> None:
    timed = cut(*EVENTS).assign_timestamps_and_watermarks(Punctuated()).process(Times())
    assert list(timed.execute_and_collect()) == [(10, -(2**63)), (30, -(2**63)), (20, -(2**63)), (55, 20)]


@pytest.mark.parametrize("extractor", [lambda event: event[1], 1])
def test_ascending_timestamps(extractor: Any) -> None:
    timed = cut(EVENTS[0], EVENTS[1], EVENTS[3]).assign_ascending_timestamps(extractor).process(Times())
    assert list(timed.execute_and_collect()) == [(10, -(2**63)), (30, 9), (55, 29)]


def test_mistakes_are_refused() -> None:
    stream = cut(*EVENTS)
    with pytest.raises(GraphError, match=r"assign_ascending_timestamps: a field is .* from 0, got 1\.5"):
        stream.assign_ascending_timestamps(1.5)  # type: ignore[arg-type]
    with pytest.raises(GraphError, match="expected a WatermarkStrategy, got <class"):
        stream.assign_timestamps_and_watermarks(Periodic)  # type: ignore[arg-type]


def test_ingestion_time_is_that_of_the_clock_and_never_falls() -> None:
    env = StreamExecutionEnvironment.in_process().set_parallelism(1)
    script = [Clock(1_000), "a", "b", Cut(), Clock(2_500), "c", Cut(), Clock(12_000), "d"]
    source = env.from_source(ScriptedSource(script), WatermarkStrategy.for_ingestion_time(), "events")
    assert list(source.process(Times()).execute_and_collect()) == [
        (1_000, -(2**63)),
        (1_000, -(2**63)),
        (2_500, 999),
        (12_000, 2_499),
    ]


def test_windows_of_ingestion_time() -> None:
    env = StreamExecutionEnvironment.in_process().set_parallelism(1)
    script = [Clock(1_000), "a", "b", Cut(), Clock(2_500), "c", Cut(), Clock(12_000), "d"]
    source = env.from_source(ScriptedSource(script), WatermarkStrategy.no_watermarks(), "events")
    timed = source.assign_timestamps_and_watermarks(WatermarkStrategy.for_ingestion_time())
    joined = timed.window_all(TumblingEventTimeWindows.of(10_000)).reduce(lambda a, b: a + b)
    assert list(joined.execute_and_collect()) == ["abc", "d"]


def test_a_clock_that_goes_back_makes_nothing_late() -> None:
    operator = WatermarkOperator(WatermarkStrategy.for_ingestion_time())
    with OperatorHarness(operator, processing_time=5_000) as harness:
        harness.process_element("a")
        taken = harness.snapshot()
    again = OperatorHarness(operator, processing_time=4_000)
    again.restore(taken)
    with again:
        again.process_element("b")
        assert [each.timestamp for each in again.output()] == [5_000]
