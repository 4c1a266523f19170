"""Keyed state over several batches, timers of both kinds, watermarks, end to end."""

from __future__ import annotations

import time
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest

from penstock.common import Duration, Types, WatermarkStrategy
from penstock.common.constants import MAX_WATERMARK, MIN_WATERMARK
from penstock.common.watermark_strategy import Watermark, WatermarkGenerator, WatermarkOutput
from penstock.datastream import (
    AggregateFunction,
    DataStream,
    KeyedProcessFunction,
    OutputTag,
    ProcessFunction,
    RuntimeContext,
    RuntimeExecutionMode,
    TimeDomain,
)
from penstock.datastream.connectors.data_gen import DataGeneratorSource, RateLimiterStrategy
from penstock.datastream.state import (
    AggregatingStateDescriptor,
    ListStateDescriptor,
    MapStateDescriptor,
    ReducingStateDescriptor,
    ValueStateDescriptor,
)
from penstock.datastream.window import TumblingEventTimeWindows
from penstock.testing import CollectSink, Cut, Element, ScriptedSource
from tests.spark.collecting import collect_all
from tests.spark.conftest import NewEnvironment
from tests.spark.waiting import wait_until

SMALL_BATCHES = {"penstock.batch.max-records": 5}
LATE = OutputTag("late")


class Average(AggregateFunction):
    def create_accumulator(self) -> tuple[int, int]:
        return 0, 0

    def add(self, value: int, accumulator: tuple[int, int]) -> tuple[int, int]:
        return accumulator[0] + value, accumulator[1] + 1

    def get_result(self, accumulator: tuple[int, int]) -> float:
        return accumulator[0] / accumulator[1]

    def merge(self, acc_a: tuple[int, int], acc_b: tuple[int, int]) -> tuple[int, int]:
        return acc_a[0] + acc_b[0], acc_a[1] + acc_b[1]


class Tally:
    """A state object of the test module."""

    def __init__(self) -> None:
        self.values: list[int] = []


class AllKinds(KeyedProcessFunction):
    """Keeps the same numbers in all five kinds of state."""

    def open(self, runtime_context: RuntimeContext) -> None:
        self.value = runtime_context.get_state(ValueStateDescriptor("value"))
        self.list = runtime_context.get_list_state(ListStateDescriptor("list", Types.INT()))
        self.map = runtime_context.get_map_state(MapStateDescriptor("map", Types.INT(), Types.STRING()))
        self.reduced = runtime_context.get_reducing_state(
            ReducingStateDescriptor("reduced", lambda left, right: left + right, Types.INT())
        )
        self.average = runtime_context.get_aggregating_state(AggregatingStateDescriptor("average", Average()))
        self.last = runtime_context.get_state(ValueStateDescriptor("last"))

    def process_element(self, value: int, ctx: KeyedProcessFunction.Context) -> Iterator[Any]:
        tally = self.value.value() or Tally()
        tally.values.append(value)
        self.value.update(tally)
        self.list.add(value)
        self.map.put(value, str(value))
        self.reduced.add(value)
        self.average.add(value)
        if value % 10 == 0:
            self.last.update(value)
        if value % 10 == 5:
            self.last.clear()
        yield (
            ctx.get_current_key(),
            list(tally.values),
            list(self.list.get()),
            dict(self.map.items()),
            self.reduced.get(),
            self.average.get(),
            self.last.value(),
        )


@pytest.mark.parametrize("backend", ["lmdb", "hashmap", "rocksdb"])
def test_five_kinds_of_state_last_over_batches_and_belong_to_their_key(
    new_environment: NewEnvironment, tmp_path: Path, backend: str
) -> None:
    settings = {"state.backend.type": backend, "state.backend.rocksdb.localdir": tmp_path / "stores"}
    environment = new_environment(2, **SMALL_BATCHES, **settings)
    stream = environment.from_collection(list(range(30))).key_by(lambda value: value % 3).process(AllKinds())
    found: dict[int, list[Any]] = {}
    for result in stream.execute_and_collect():
        found.setdefault(result[0], []).append(result[1:])
    for key in range(3):
        mine = list(range(key, 30, 3))
        assert len(found[key]) == 10
        for count, (tally, listed, mapped, reduced, average, last) in enumerate(found[key], start=1):
            seen = mine[:count]
            assert tally == listed == seen
            assert mapped == {value: str(value) for value in seen}
            assert (reduced, average) == (sum(seen), sum(seen) / count)
            marks = [value if value % 10 == 0 else None for value in seen if value % 5 == 0]
            assert last == (marks[-1] if marks else None)
    assert (tmp_path / "stores" / "penstock").exists() == (backend != "hashmap")
    assert list((tmp_path / "stores").glob("penstock/*")) == [], "local stores go with their job"


class Timers(KeyedProcessFunction):
    """Sets a timer for each number in the record, deletes one, and sets another while one fires."""

    def process_element(self, value: Any, ctx: KeyedProcessFunction.Context) -> Iterator[Any]:
        _, at, deleted = value
        for timestamp in at:
            ctx.timer_service().register_event_time_timer(timestamp)
            ctx.timer_service().register_event_time_timer(timestamp)
        for timestamp in deleted:
            ctx.timer_service().delete_event_time_timer(timestamp)
        yield from ()

    def on_timer(self, timestamp: int, ctx: KeyedProcessFunction.OnTimerContext) -> Iterator[Any]:
        assert ctx.time_domain() is TimeDomain.EVENT_TIME
        if timestamp == 30:
            ctx.timer_service().register_event_time_timer(31)
        yield ctx.get_current_key(), timestamp, ctx.timestamp(), ctx.timer_service().current_watermark() >= timestamp


def test_event_time_timers_fire_once_each_in_order_unless_deleted(new_environment: NewEnvironment) -> None:
    environment = new_environment(1)
    records = [("a", [50, 10, 30], []), ("b", [40, 20], []), ("a", [60], [50]), ("a", [MAX_WATERMARK], [])]
    fired = environment.from_collection(records).key_by(lambda record: record[0]).process(Timers())
    assert list(fired.execute_and_collect()) == [
        (key, at, at, True)
        for key, at in [("a", 10), ("b", 20), ("a", 30), ("a", 31), ("b", 40), ("a", 60), ("a", MAX_WATERMARK)]
    ]


class Lateness(ProcessFunction):
    """Says of each record what the watermark was; late ones go aside."""

    def process_element(self, value: tuple[str, int], ctx: ProcessFunction.Context) -> Iterator[Any]:
        watermark = ctx.timer_service().current_watermark()
        timestamp = ctx.timestamp()
        assert timestamp is not None
        if timestamp <= watermark:
            yield LATE, (value, watermark)
        else:
            yield value, watermark


class EverySecond(WatermarkGenerator):
    """Punctuated: a record that says so is a watermark."""

    def on_event(self, event: tuple[str, int], event_timestamp: int, output: WatermarkOutput) -> None:
        if event[0] == "mark":
            output.emit_watermark(event_timestamp)

    def on_periodic_emit(self, output: WatermarkOutput) -> None:
        pass


class Halved(WatermarkGenerator):
    """Periodic: half of the highest timestamp."""

    def __init__(self) -> None:
        self.highest = 0

    def on_event(self, event: tuple[str, int], event_timestamp: int, output: WatermarkOutput) -> None:
        self.highest = max(self.highest, event_timestamp)

    def on_periodic_emit(self, output: WatermarkOutput) -> None:
        output.emit_watermark(self.highest // 2)


def test_watermark_strategies_say_what_is_late(new_environment: NewEnvironment) -> None:
    # A watermark after every record, so that what is seen depends on the strategy alone.
    environment = new_environment(1, **{"pipeline.watermark-every-records": 1})
    events = [("e", 100), ("e", 50), ("e", 90), ("mark", 95), ("e", 93), ("e", 200)]

    def timed(strategy: WatermarkStrategy) -> DataStream:
        with_time = strategy.with_timestamp_assigner(lambda event, _: event[1])
        return environment.from_collection(events).assign_timestamps_and_watermarks(with_time).process(Lateness())

    streams = {
        "monotonous": timed(WatermarkStrategy.for_monotonous_timestamps()),
        "bounded": timed(WatermarkStrategy.for_bounded_out_of_orderness(Duration.of_millis(20))),
        "punctuated": timed(WatermarkStrategy.for_generator(EverySecond)),
        "periodic": timed(WatermarkStrategy.for_generator(Halved)),
        "none": timed(WatermarkStrategy.no_watermarks()),
    }
    streams.update({f"{name} late": stream.get_side_output(LATE) for name, stream in list(streams.items())})
    found = collect_all(streams)
    assert [value for value, _ in found["monotonous late"]] == [("e", 50), ("e", 90), ("mark", 95), ("e", 93)]
    assert found["monotonous"] == [(("e", 100), MIN_WATERMARK), (("e", 200), 99)]
    assert found["bounded late"] == [(("e", 50), 79)]
    assert found["punctuated late"] == [(("e", 93), 95)]
    assert [mark for _, mark in found["punctuated"]] == [MIN_WATERMARK] * 4 + [95]
    assert found["periodic late"] == [(("e", 50), 50)]
    assert found["none late"] == [] and len(found["none"]) == len(events)


class Alarm(KeyedProcessFunction):
    """A processing-time timer a moment after each record; also tells whether the event-time timer fired."""

    def process_element(self, value: int, ctx: KeyedProcessFunction.Context) -> Iterator[Any]:
        service = ctx.timer_service()
        service.register_processing_time_timer(service.current_processing_time() + 200)
        yield from ()

    def on_timer(self, timestamp: int, ctx: KeyedProcessFunction.OnTimerContext) -> Iterator[Any]:
        assert ctx.time_domain() is TimeDomain.PROCESSING_TIME
        yield ctx.get_current_key(), ctx.timer_service().current_processing_time() >= timestamp, ctx.timestamp()


def test_processing_time_timers_fire_without_data_and_the_job_drains(new_environment: NewEnvironment) -> None:
    environment = new_environment(1, checkpoint="alarm")
    # One record at once is not to be had from a rate: a trickle of one in two seconds leaves long gaps.
    source = DataGeneratorSource(lambda n: n, None, RateLimiterStrategy.per_second(0.5))
    stream = environment.from_source(source, None, "trickle").key_by(lambda value: 7).process(Alarm()).uid("alarm")
    stream.print("fired")
    client: Any = environment.execute_async()
    wait_until(lambda: client.metrics().get("alarm", {}).get("records_out", 0) >= 1, "a timer has fired")
    records = client.metrics()["alarm"]["records_in"]
    fired = client.metrics()["alarm"]["records_out"]
    assert fired <= records
    client.stop().result()
    assert client.get_job_status().result().name == "FINISHED"


def test_processing_time_timer_set_before_a_cancel_fires_after_the_resume_without_any_record(
    new_environment: NewEnvironment,
) -> None:
    def start() -> Any:
        environment = new_environment(1, checkpoint="alarm", **{"penstock.batch.max-records": 1})
        source = DataGeneratorSource(lambda n: n, None, RateLimiterStrategy.per_second(0.05))
        stream = environment.from_source(source, None, "almost silent").union(environment.from_collection([1]))
        stream.key_by(lambda value: 7).process(LateAlarm()).uid("alarm").print()
        return environment.execute_async()

    first = start()
    wait_until(lambda: first.metrics().get("alarm", {}).get("records_in", 0) >= 1, "the record has arrived")
    first.cancel().result()
    assert first.metrics()["alarm"]["records_out"] == 0
    second = start()
    wait_until(lambda: second.metrics().get("alarm", {}).get("records_out", 0) >= 1, "the timer has fired")
    assert second.metrics()["alarm"]["records_in"] == 0
    second.cancel().result()


class LateAlarm(KeyedProcessFunction):
    def process_element(self, value: int, ctx: KeyedProcessFunction.Context) -> Iterator[Any]:
        service = ctx.timer_service()
        service.register_processing_time_timer(service.current_processing_time() + 5_000)
        yield from ()

    def on_timer(self, timestamp: int, ctx: KeyedProcessFunction.OnTimerContext) -> Iterator[Any]:
        yield ctx.get_current_key()


class WhenPassed(KeyedProcessFunction):
    """Emits a record when the watermark has passed it."""

    def process_element(self, value: int, ctx: KeyedProcessFunction.Context) -> Iterator[Any]:
        timestamp = ctx.timestamp()
        assert timestamp is not None
        ctx.timer_service().register_event_time_timer(timestamp)
        yield from ()

    def on_timer(self, timestamp: int, ctx: KeyedProcessFunction.OnTimerContext) -> Iterator[Any]:
        yield timestamp


def test_idle_source_does_not_hold_up_a_union(new_environment: NewEnvironment) -> None:
    environment = new_environment(1)
    by_number = WatermarkStrategy.for_monotonous_timestamps().with_timestamp_assigner(lambda value, _: value)
    busy = environment.from_source(
        DataGeneratorSource(lambda n: n, None, RateLimiterStrategy.per_second(50)), by_number, "busy"
    )
    silent = environment.from_source(
        DataGeneratorSource(lambda n: n, None, RateLimiterStrategy.per_second(0.001)),
        by_number.with_idleness(Duration.of_millis(300)),
        "silent",
    )
    passed = busy.union(silent).key_by(lambda value: 0).process(WhenPassed()).uid("passed")
    passed.print()
    client: Any = environment.execute_async()
    wait_until(lambda: client.metrics().get("passed", {}).get("records_out", 0) >= 10, "timers fire")
    client.cancel().result()


def test_batch_mode_reduce_emits_only_the_final_result_of_each_key(new_environment: NewEnvironment) -> None:
    environment = new_environment(2, **SMALL_BATCHES)
    environment.set_runtime_mode(RuntimeExecutionMode.BATCH)
    words = [("a", 1), ("b", 1), ("a", 1)] * 5
    stream = environment.from_collection(words).key_by(0).sum(1)
    assert sorted(stream.execute_and_collect()) == [("a", 10), ("b", 5)]


def test_empty_collection_ends_at_once(new_environment: NewEnvironment) -> None:
    environment = new_environment(2)
    started = time.monotonic()
    assert list(environment.from_collection([]).key_by(lambda value: value).map(str).execute_and_collect()) == []
    assert time.monotonic() - started < 60


def test_late_records_of_windows_are_counted_in_the_metrics(new_environment: NewEnvironment) -> None:
    environment = new_environment(1)
    script = [
        Element(("a", 1), 1),
        Watermark(20),
        Element(("a", 2), 2),
        Cut(),
        Element(("a", 3), 3),
        Element(("a", 4), 25),
    ]
    numbers = environment.from_source(ScriptedSource(script), WatermarkStrategy.no_watermarks(), "numbers")
    sums = numbers.key_by(lambda value: value[0]).window(TumblingEventTimeWindows.of(10)).sum(1).uid("windows")
    sink = CollectSink()
    sums.add_sink(sink)
    client: Any = environment.execute_async("late records")
    client.wait()
    assert sink.results == [("a", 1), ("a", 4)]
    assert client.metrics()["windows"]["numLateRecordsDropped"] == 2


class OpenSeconds(KeyedProcessFunction):
    """Gives out how many seconds are kept that the watermark has not passed yet."""

    def open(self, runtime_context: RuntimeContext) -> None:
        self.seconds = runtime_context.get_map_state(MapStateDescriptor("seconds", Types.LONG(), Types.BOOLEAN()))

    def process_element(self, value: int, ctx: KeyedProcessFunction.Context) -> Iterator[int]:
        self.seconds.put(value, True)
        ctx.timer_service().register_event_time_timer(value)
        yield len(list(self.seconds.keys()))

    def on_timer(self, timestamp: int, ctx: KeyedProcessFunction.OnTimerContext) -> Iterator[int]:
        self.seconds.remove(timestamp)
        yield from ()


def test_aligned_sources_keep_together(new_environment: NewEnvironment) -> None:
    """A backfill of two sources, of which one has ten times as much time in a record."""
    strategy = WatermarkStrategy.for_monotonous_timestamps().with_timestamp_assigner(lambda value, _: value)
    strategy = strategy.with_watermark_alignment("backfill", Duration.of_seconds(20))
    environment = new_environment(1, **{"penstock.batch.max-records": 40})
    sources = {step: DataGeneratorSource(lambda n, step=step: n * step, 200) for step in (1_000, 10_000)}
    streams = [environment.from_source(each, strategy, str(step)).uid(str(step)) for step, each in sources.items()]
    sink = CollectSink()
    streams[0].union(streams[1]).key_by(lambda _: 0).process(OpenSeconds()).add_sink(sink)
    client = environment.execute_async("aligned")
    client.wait()
    assert len(sink.results) == 400
    assert max(sink.results) < 80, "without alignment, 180"
    assert client.metrics()["10000"]["paused_splits"] == 0
