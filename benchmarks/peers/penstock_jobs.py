"""The jobs in Penstock, as a user would write them."""

from __future__ import annotations

import json
import sys
from collections.abc import Callable, Iterable
from typing import Any

import numpy as np

from benchmarks.peers import penstock_cep, penstock_kstreams, penstock_sql, reporting
from benchmarks.peers.cep_patterns import pattern_of
from benchmarks.peers.drawn import PERIOD, TWIN_SHIFT, VALUES, drawn_column, drawn_keys
from benchmarks.windows import Count
from benchmarks.workloads import RunningCount
from penstock.common import Configuration, Time, Types, WatermarkStrategy
from penstock.datastream import (
    DataStream,
    KeyedProcessFunction,
    KeyedStream,
    ProcessJoinFunction,
    RuntimeContext,
    StreamExecutionEnvironment,
    count,
    sum_of,
)
from penstock.datastream.connectors import DiscardingSink
from penstock.datastream.connectors.data_gen import DataGeneratorSource
from penstock.datastream.state import MapStateDescriptor
from penstock.datastream.window import EventTimeSessionWindows, SlidingEventTimeWindows, TumblingEventTimeWindows

ASSIGNERS: dict[str, Callable[[], Any]] = {
    "tumbling": lambda: TumblingEventTimeWindows.of(Time.seconds(reporting.WINDOW_S)),
    "sliding": lambda: SlidingEventTimeWindows.of(Time.seconds(reporting.SLIDING_S), Time.seconds(1)),
    "session": lambda: EventTimeSessionWindows.with_gap(Time.seconds(reporting.SESSION_GAP_S)),
}


class MapAndTimer(KeyedProcessFunction):
    """Counts by the last digit of the time in a map, with a timer for each second of a key."""

    def open(self, runtime_context: RuntimeContext) -> None:
        """Get the state."""
        self.counts = runtime_context.get_map_state(MapStateDescriptor("counts", Types.LONG(), Types.LONG()))

    def process_element(self, value: Any, ctx: KeyedProcessFunction.Context) -> None:
        """Count, and ask to be called at the end of the second."""
        slot = value[1] % 10
        self.counts.put(slot, (self.counts.get(slot) or 0) + 1)
        ctx.timer_service().register_event_time_timer((value[1] // 1000 + 1) * 1000)

    def on_timer(self, timestamp: int, ctx: KeyedProcessFunction.OnTimerContext) -> Iterable[Any]:
        """Tell the sum."""
        yield ctx.get_current_key(), sum(self.counts.values())


class Pairs(ProcessJoinFunction):
    """Key and both times of a pair."""

    def process_element(self, left: Any, right: Any, ctx: ProcessJoinFunction.Context) -> Iterable[Any]:
        """Emit the pair."""
        yield left[0], left[1], right[1]


def numbers(env: StreamExecutionEnvironment, task: reporting.Task, records: int, *, twin: bool = False) -> DataStream:
    """Key and event time of each record."""
    keys, rate = drawn_keys(task.keys, task.zipf), task.rate

    def first(n: int) -> tuple[int, int]:
        return keys[n % PERIOD], n * 1000 // rate

    def second(n: int) -> tuple[int, int]:
        return keys[(n + TWIN_SHIFT) % PERIOD], n * 1000 // rate

    source = DataGeneratorSource(second if twin else first, records)
    strategy = WatermarkStrategy.no_watermarks()
    if task.job not in ("map_filter", "count"):
        strategy = WatermarkStrategy.for_monotonous_timestamps().with_timestamp_assigner(lambda value, _: value[1])
    return env.from_source(source, strategy, "twins" if twin else "numbers")


def fields(env: StreamExecutionEnvironment, task: reporting.Task, records: int) -> DataStream:
    """Key, value and event time as columns."""
    keys, zipf, rate = task.keys, task.zipf, task.rate

    def columns(numbers: np.ndarray) -> dict[str, np.ndarray]:
        drawn = drawn_column(keys, zipf)[numbers % PERIOD]
        return {"k": drawn, "v": numbers % VALUES, "t": numbers * 1000 // rate}

    source = DataGeneratorSource.of_columns(columns, records)
    strategy = WatermarkStrategy.for_monotonous_timestamps().with_timestamp_assigner("t")
    return env.from_source(source, strategy, "numbers")


def keyed(stream: DataStream) -> KeyedStream:
    """By the first field."""
    return stream.key_by(lambda value: value[0])


def build(env: StreamExecutionEnvironment, task: reporting.Task, records: int) -> DataStream:
    """The stream of a job; of a join each side has half of the records."""
    if task.job == "interval_join":
        left, right = (keyed(numbers(env, task, records // 2, twin=twin)) for twin in (False, True))
        return left.interval_join(right).between(Time.seconds(-1), Time.seconds(1)).process(Pairs())
    if task.job == "tumbling_fields":
        windows = fields(env, task, records).key_by("k").window(ASSIGNERS["tumbling"]())
        return windows.aggregate_fields(count(), sum_of("v"))
    looked_for = pattern_of(task.job)
    if looked_for is not None:
        return penstock_cep.build(env, task, records, looked_for)
    stream = numbers(env, task, records)
    if task.job == "map_filter":
        return stream.map(lambda v: (v[0], v[1] + 1)).filter(lambda v: v[1] % 2 == 0)
    if task.job == "count":
        return keyed(stream).process(RunningCount())
    if task.job == "timers":
        return keyed(stream).process(MapAndTimer())
    return keyed(stream).window(ASSIGNERS[task.job]()).aggregate(Count())


def comparable(task: reporting.Task, found: Any) -> list[int]:
    """A result as numbers; times of windows are not compared."""
    if task.job == "tumbling_fields":
        key, _, _, *aggregates = found
        return [key, *aggregates]
    return list(found) if isinstance(found, tuple) else [found]


def run(task: reporting.Task, records: int) -> list[Any] | None:
    """Run a job."""
    configuration = Configuration()
    if task.checkpoint_ms:
        configuration.set_string("execution.checkpointing.interval", f"{task.checkpoint_ms}ms")
    for key, value in task.options.items():
        configuration.set_string(key, str(value))
    env = StreamExecutionEnvironment.get_execution_environment(configuration).set_parallelism(task.parallelism)
    if penstock_sql.is_sql(task.job):
        return penstock_sql.run(env, task, records)
    stream = build(env, task, records)
    if task.collect:
        with stream.execute_and_collect() as results:
            return [comparable(task, found) for found in results]
    stream.sink_to(DiscardingSink())
    env.execute("benchmark")
    return None


def main(words: list[str]) -> None:
    """Run the task that the command line holds; jobs that read Kafka have their topics filled first."""
    task = reporting.Task(**json.loads(words[0]))
    if penstock_kstreams.is_kstreams(task.job):
        penstock_kstreams.serve(task)
    else:
        reporting.serve(run, words)


if __name__ == "__main__":
    main(sys.argv[1:])
