"""The jobs in PyFlink's DataStream API, in process or in thread mode. It has no interval join.

Records come from Flink's own generator in the JVM and the output is thrown away there; the rows cross to Python once. A
job without keys gets numbers, and makes its records in Python: that is twice as fast as rows.
"""

from __future__ import annotations

import sys
from collections.abc import Iterable
from typing import Any

from pyflink.common import Row, Time, Types, WatermarkStrategy
from pyflink.datastream import DataStream, StreamExecutionEnvironment
from pyflink.datastream.connectors.number_seq import NumberSequenceSource
from pyflink.datastream.functions import AggregateFunction, KeyedProcessFunction
from pyflink.datastream.state import MapStateDescriptor, ValueStateDescriptor
from pyflink.datastream.window import EventTimeSessionWindows, SlidingEventTimeWindows, TumblingEventTimeWindows
from pyflink.java_gateway import get_gateway
from pyflink.table import StreamTableEnvironment

from benchmarks.peers import reporting
from benchmarks.peers.drawn import PERIOD, drawn_keys
from benchmarks.peers.flink_numbers import environment, numbers

RECORD = Types.ROW([Types.LONG(), Types.LONG()])


class RunningCount(KeyedProcessFunction):
    """Counts the records of each key."""

    def open(self, runtime_context: Any) -> None:
        """Get the state."""
        self.count = runtime_context.get_state(ValueStateDescriptor("count", Types.LONG()))

    def process_element(self, value: Row, ctx: Any) -> Iterable[Row]:
        """Count."""
        count = (self.count.value() or 0) + 1
        self.count.update(count)
        yield Row(value[0], count)


class MapAndTimer(KeyedProcessFunction):
    """Counts by the last digit of the time in a map, with a timer for each second of a key."""

    def open(self, runtime_context: Any) -> None:
        """Get the state."""
        self.counts = runtime_context.get_map_state(MapStateDescriptor("counts", Types.LONG(), Types.LONG()))

    def process_element(self, value: Row, ctx: Any) -> None:
        """Count, and ask to be called at the end of the second."""
        slot = value[1] % 10
        self.counts.put(slot, (self.counts.get(slot) or 0) + 1)
        ctx.timer_service().register_event_time_timer((value[1] // 1000 + 1) * 1000)

    def on_timer(self, timestamp: int, ctx: Any) -> Iterable[Row]:
        """Tell the sum."""
        yield Row(ctx.get_current_key(), sum(self.counts.values()))


class Count(AggregateFunction):
    """Counts."""

    def create_accumulator(self) -> int:
        """Start with none."""
        return 0

    def add(self, value: Row, accumulator: int) -> int:
        """Count one."""
        return accumulator + 1

    def get_result(self, accumulator: int) -> int:
        """Return the count."""
        return accumulator

    def merge(self, a: int, b: int) -> int:
        """Add two counts."""
        return a + b


ASSIGNERS = {
    "tumbling": lambda: TumblingEventTimeWindows.of(Time.seconds(reporting.WINDOW_S)),
    "sliding": lambda: SlidingEventTimeWindows.of(Time.seconds(reporting.SLIDING_S), Time.seconds(1)),
    "session": lambda: EventTimeSessionWindows.with_gap(Time.seconds(reporting.SESSION_GAP_S)),
}


def map_filter(env: StreamExecutionEnvironment, task: reporting.Task, records: int) -> DataStream:
    """Two lambdas, behind the one that makes the records."""
    keys, rate = drawn_keys(task.keys, task.zipf), task.rate

    def record(number: int) -> tuple[int, int]:
        return keys[number % PERIOD], number * 1000 // rate

    source = env.from_source(NumberSequenceSource(0, records - 1), WatermarkStrategy.no_watermarks(), "numbers")
    return source.map(record).map(lambda v: (v[0], v[1] + 1)).filter(lambda v: v[1] % 2 == 0)


def build(stream: DataStream, job: str) -> DataStream:
    """What a job does with its records."""
    keyed = stream.key_by(lambda v: v[0], Types.LONG())
    if job == "count":
        return keyed.process(RunningCount(), RECORD)
    if job == "timers":
        return keyed.process(MapAndTimer(), RECORD)
    windows = keyed.window(ASSIGNERS[job]())
    return windows.aggregate(Count(), accumulator_type=Types.LONG(), output_type=Types.LONG())


def run(task: reporting.Task, records: int) -> list[Any] | None:
    """Run a job."""
    env = environment(task)
    if task.job == "map_filter":
        stream = map_filter(env, task, records)
    else:
        tables = StreamTableEnvironment.create(env)
        table = numbers(tables, env, task, records)
        # A row with its time attribute gives the records of the stream their timestamps: no assigner in Python.
        fields = "k, t" if task.job == "count" else "k, t, ts"
        tables.create_temporary_view("records", table)
        stream = build(tables.to_data_stream(tables.sql_query(f"SELECT {fields} FROM records")), task.job)
    if task.collect:
        with stream.execute_and_collect() as results:
            return [[found[0], found[1]] if isinstance(found, (Row, tuple)) else [found] for found in results]
    sink = get_gateway().jvm.org.apache.flink.streaming.api.functions.sink.v2.DiscardingSink()
    stream._j_data_stream.sinkTo(sink)
    env.execute("benchmark")
    return None


if __name__ == "__main__":
    reporting.serve(run, sys.argv[1:])
