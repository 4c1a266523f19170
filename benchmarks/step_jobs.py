"""The jobs whose steps are measured, with keys drawn at random; each ends where its results would leave the job."""

from __future__ import annotations

from collections.abc import Iterable
from typing import Any

from benchmarks.windows import Count
from benchmarks.workloads import Build, RunningCount, discard
from penstock.common import Time, Types, WatermarkStrategy
from penstock.datastream import DataStream, KeyedProcessFunction, RuntimeContext, StreamExecutionEnvironment
from penstock.datastream.connectors.data_gen import DataGeneratorSource
from penstock.datastream.state import MapStateDescriptor, ValueStateDescriptor
from penstock.datastream.window import TumblingEventTimeWindows

RATE = 10_000
"""Records in a second of event time."""


class MapAndTimer(KeyedProcessFunction):
    """Counts by the last digit of the time in a map, with a timer for each second of a key."""

    def open(self, runtime_context: RuntimeContext) -> None:
        """Get the state."""
        self.counts = runtime_context.get_map_state(MapStateDescriptor("counts", Types.LONG(), Types.LONG()))

    def process_element(self, value: Any, ctx: KeyedProcessFunction.Context) -> Iterable[Any] | None:
        """Count, and set the timer of the second."""
        slot = value[1] % 10
        self.counts.put(slot, (self.counts.get(slot) or 0) + 1)
        ctx.timer_service().register_event_time_timer((value[1] // 1000 + 1) * 1000)
        return None

    def on_timer(self, timestamp: int, ctx: KeyedProcessFunction.OnTimerContext) -> Iterable[Any]:
        """Emit the sum."""
        yield ctx.get_current_key(), sum(self.counts.values())


class RunningRecord(KeyedProcessFunction):
    """Counts in a dict, which is state and result."""

    def open(self, runtime_context: RuntimeContext) -> None:
        """Get the state."""
        self.record = runtime_context.get_state(ValueStateDescriptor("record", Types.PICKLED_BYTE_ARRAY()))

    def process_element(self, value: Any, ctx: KeyedProcessFunction.Context) -> Iterable[Any]:
        """Count."""
        record = self.record.value() or {"key": value["key"], "count": 0, "last": 0}
        record["count"] += 1
        record["last"] = value["time"]
        self.record.update(record)
        yield record


def _records(environment: StreamExecutionEnvironment, count: int, keys: int) -> DataStream:
    # A linear congruence and a shift are as good as random here, and cost less than a random number.
    source = DataGeneratorSource(
        lambda n: (((n * 6364136223846793005 + 1442695040888963407) >> 33) % keys, n * 1000 // RATE), count
    )
    strategy = WatermarkStrategy.for_monotonous_timestamps().with_timestamp_assigner(lambda value, _: value[1])
    return environment.from_source(source, strategy, "numbers")


def _map_filter(environment: StreamExecutionEnvironment, count: int) -> None:
    stream = _records(environment, count, 2_000)
    discard(stream.map(lambda value: (value[0], value[1] + 1)).filter(lambda value: value[1] % 2 == 0))


def _count(keys: int) -> Build:
    def build(environment: StreamExecutionEnvironment, count: int) -> None:
        discard(_records(environment, count, keys).key_by(lambda value: value[0]).process(RunningCount()))

    return build


def _dicts(environment: StreamExecutionEnvironment, count: int) -> None:
    stream = _records(environment, count, 2_000).map(lambda value: {"key": value[0], "time": value[1], "size": 1.5})
    discard(stream.filter(lambda value: value["size"] > 1).map(lambda value: value))


def _count_in_dicts(environment: StreamExecutionEnvironment, count: int) -> None:
    stream = _records(environment, count, 2_000).map(lambda value: {"key": value[0], "time": value[1], "size": 1.5})
    discard(stream.key_by(lambda value: value["key"]).process(RunningRecord()))


def _timers(environment: StreamExecutionEnvironment, count: int) -> None:
    discard(_records(environment, count, 2_000).key_by(lambda value: value[0]).process(MapAndTimer()))


def _tumbling(environment: StreamExecutionEnvironment, count: int) -> None:
    keyed = _records(environment, count, 2_000).key_by(lambda value: value[0])
    discard(keyed.window(TumblingEventTimeWindows.of(Time.seconds(10))).aggregate(Count()))


JOBS: dict[str, Build] = {
    "map_filter": _map_filter,
    "count_2k": _count(2_000),
    "count_200k": _count(200_000),
    "dicts": _dicts,
    "count_in_dicts": _count_in_dicts,
    "timers": _timers,
    "tumbling": _tumbling,
}
