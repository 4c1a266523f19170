"""What PyFlink 2.3 gets wrong and docs/differences.md names: here it is as in Java."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

from penstock.common import Time, Types, WatermarkStrategy
from penstock.common.watermark_strategy import Watermark
from penstock.datastream import DataStream, KeyedProcessFunction, OutputTag, ProcessFunction, StreamExecutionEnvironment
from penstock.datastream.window import ContinuousEventTimeTrigger, EventTimeSessionWindows, TumblingEventTimeWindows
from penstock.testing import Element, ScriptedSource


def scripted(*steps: Any) -> DataStream:
    env = StreamExecutionEnvironment.in_process(1).set_parallelism(1)
    return env.from_source(ScriptedSource([*steps]), WatermarkStrategy.no_watermarks(), "script")


def of_a(stream: DataStream) -> Any:
    return stream.key_by(lambda record: record[0])


def added(first: Any, second: Any) -> Any:
    return (first[0], first[1] + second[1])


def test_sessions_that_an_element_joins_keep_what_both_held() -> None:
    stream = scripted(Element(("a", 1), 0), Element(("a", 2), 10), Element(("a", 4), 5))
    assert list(of_a(stream).window(EventTimeSessionWindows.with_gap(6)).reduce(added).execute_and_collect()) == [
        ("a", 7)
    ]


class Chain(KeyedProcessFunction):
    def process_element(self, value: Any, ctx: KeyedProcessFunction.Context) -> None:
        ctx.timer_service().register_event_time_timer(1)

    def on_timer(self, timestamp: int, ctx: KeyedProcessFunction.OnTimerContext) -> Iterator[Any]:
        yield timestamp, ctx.timer_service().current_watermark()
        if timestamp < 3:
            ctx.timer_service().register_event_time_timer(timestamp + 1)


def test_a_timer_that_is_due_when_it_is_set_in_on_timer_fires_at_once() -> None:
    stream = scripted(Element(("a", 1), 0), Watermark(99), Element(("a", 2), 200))
    assert list(of_a(stream).process(Chain()).execute_and_collect())[:3] == [(1, 99), (2, 99), (3, 99)]


def test_a_continuous_trigger_fires_for_each_interval_that_has_passed() -> None:
    stream = scripted(Element(("a", 1), 0), Watermark(7_000))
    windows = of_a(stream).window(TumblingEventTimeWindows.of(Time.seconds(8)))
    fired = windows.trigger(ContinuousEventTimeTrigger.of(Time.seconds(2))).reduce(added)
    assert list(fired.execute_and_collect()) == [("a", 1)] * 4  # at 2, 4 and 6 s, and at the end


SIDE = OutputTag("side", Types.STRING())


class Both(ProcessFunction):
    def process_element(self, value: Any, ctx: ProcessFunction.Context) -> Iterator[Any]:
        yield value[1]
        yield SIDE, "aside"


def test_a_side_output_that_nobody_reads_goes_nowhere() -> None:
    assert list(scripted(Element(("a", 1), 0)).process(Both(), Types.INT()).execute_and_collect()) == [1]
