"""Scripted sources: what each marker does, read by hand and in a job."""

from __future__ import annotations

import pickle
from collections.abc import Iterator
from typing import Any

import pytest

from penstock.common import RestartStrategies, WatermarkStrategy
from penstock.common.constants import MIN_WATERMARK
from penstock.common.watermark_strategy import Watermark
from penstock.connectors.source import StatusSignal, WatermarkSignal
from penstock.datastream import KeyedProcessFunction, StreamExecutionEnvironment
from penstock.engine.in_process.client import InProcessJobClient
from penstock.errors import JobFailedError
from penstock.testing import (
    Clock,
    CollectSink,
    Cut,
    Element,
    Fail,
    Idle,
    ManualClock,
    Pause,
    ScriptedFailure,
    ScriptedSource,
)


class Watch(KeyedProcessFunction):
    """Tells of each record its timestamp, the watermark and the clock it met."""

    def process_element(self, value: Any, ctx: Any) -> Iterator[Any]:
        timers = ctx.timer_service()
        yield value, ctx.timestamp(), timers.current_watermark(), timers.current_processing_time()


def watched(*scripts: list[Any], seed: int | None = None, **settings: Any) -> tuple[list[Any], InProcessJobClient]:
    environment = StreamExecutionEnvironment.in_process(seed, **settings)
    environment.set_parallelism(1).set_restart_strategy(RestartStrategies.fixed_delay_restart(3, 0))
    sink = CollectSink()
    source = environment.from_source(ScriptedSource(*scripts), WatermarkStrategy.no_watermarks(), "script")
    source.key_by(lambda value: 0).process(Watch()).add_sink(sink)
    client = environment.execute_async()
    assert isinstance(client, InProcessJobClient)
    client.wait()
    return sink.results, client


def test_values_are_records_with_or_without_a_timestamp() -> None:
    results, _ = watched([Element("a", 7), "b", None, (1, 2)])
    assert [(value, stamp) for value, stamp, *_ in results] == [("a", 7), ("b", None), (None, None), ((1, 2), None)]


def test_a_watermark_is_met_by_the_records_behind_it() -> None:
    results, _ = watched([Element("a", 7), Watermark(9), Element("b", 12)])
    assert [(value, watermark) for value, _, watermark, _ in results] == [("a", MIN_WATERMARK), ("b", 9)]


def test_an_idle_split_holds_nobody_up_until_its_next_record() -> None:
    held = [Element("a", 1), Watermark(1), Cut(), Cut()]
    moving = [Element("b", 5), Watermark(50), Cut(), Element("c", 60), Cut(), Element("d", 61), Watermark(70), Cut()]
    results, _ = watched([*held, Cut(), Element("e", 90)], moving)
    watermarks = {value: watermark for value, _, watermark, _ in results}
    assert watermarks["c"] == 1, "the other split is at 1"
    results, _ = watched([Element("a", 1), Watermark(1), Idle(), Cut(), Cut(), Cut(), Element("e", 90)], moving)
    watermarks = {value: watermark for value, _, watermark, _ in results}
    assert watermarks["c"] == 50, "the other split is idle"


def test_a_cut_ends_the_batch() -> None:
    _, client = watched(["a", Cut(), "b", "c", Cut(), Cut(), "d"])
    assert client.job.batches == 4


@pytest.mark.parametrize("seed", [None, *range(5)])
def test_the_clock_is_set_for_the_batch_that_starts_there(seed: int | None) -> None:
    results, _ = watched(["a", Clock(100), "b", "c", Clock(250), "d"], seed=seed)
    assert {value: now for value, _, _, now in results} == {"a": 0, "b": 100, "c": 100, "d": 250}


def test_a_failure_strikes_as_often_as_it_says() -> None:
    results, client = watched(["a", Cut(), "b", Fail("gone", times=2), "c"])
    assert client.job.restarts == 2
    assert [value for value, *_ in results] == ["a", "b", "c"]


def test_one_failure_too_many_ends_the_job_with_its_message() -> None:
    with pytest.raises(JobFailedError, match="gone for good"):
        watched(["a", Fail("gone for good", times=9)])


def test_a_failure_is_counted_across_copies_of_the_source() -> None:
    source = ScriptedSource([Fail()])
    copy = pickle.loads(pickle.dumps(source))
    with pytest.raises(ScriptedFailure, match="scripted failure"):
        list(source.read(0, 1, 0, 1))
    assert list(copy.read(0, 1, 0, 1)) == []


def test_a_pause_lasts_for_its_time() -> None:
    clock = ManualClock(1_000)
    results, _ = watched(["a", Pause(5_000), "b"], clock=clock)
    times = {value: now for value, _, _, now in results}
    assert times["a"] == 1_000
    assert times["b"] >= 6_000


def test_reading_gives_records_and_signals() -> None:
    source = ScriptedSource([Element("a", 1), Watermark(3), Idle(), Cut(), Clock(5), Pause(1), "b"])
    assert list(source.read(0, 1, 0, 7)) == [(["a"], [1]), WatermarkSignal(3), StatusSignal(True), (["b"], None)]
    assert list(source.read(0, 1, 6, 7)) == [(["b"], None)]


def test_what_is_available_ends_at_markers_and_at_the_limit() -> None:
    source = ScriptedSource(["a", "b", "c", Cut(), "d", Clock(9), "e"])
    stops = [source.available(0, 1, position, 0, 100) for position in (0, 4, 5)]
    assert stops == [4, 5, 7]
    assert source.available(0, 1, 0, 0, 2) == 2


def test_a_source_says_what_it_is() -> None:
    assert ScriptedSource(["a"]).is_single()
    two = ScriptedSource(["a"], ["b", "c"])
    assert not two.is_single()
    assert two.split_count(7) == 2
    assert [two.split_end(split, 2) for split in range(2)] == [1, 2]
    assert two.is_bounded() and not two.has_clock()
    endless = ScriptedSource([Clock(3), "a"], ends=False)
    assert endless.split_end(0, 1) is None
    assert not endless.is_bounded() and endless.has_clock()
    assert [endless.processing_time(0, 1, position) for position in (0, 1, 2)] == [None, 3, 3]
