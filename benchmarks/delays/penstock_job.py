"""The jobs in Penstock, in the mode that the options of the task name."""

from __future__ import annotations

import sys
import time
from collections.abc import Iterable, Iterator
from typing import Any

from benchmarks.delays.marks import (
    TIMER_MS,
    TOPIC_IN,
    TOPIC_OUT,
    WINDOW_MS,
    DelayTask,
    Marks,
    key_of,
    let_run,
    other_key,
)
from benchmarks.peers.reporting import end_with_the_parent
from penstock.common import Configuration, Duration, SimpleStringSchema, Time, WatermarkStrategy
from penstock.common.watermark_strategy import TimestampAssigner
from penstock.connectors.source import Chunk, SplitSource
from penstock.datastream import (
    DataStream,
    KeyedProcessFunction,
    MapFunction,
    ProcessWindowFunction,
    RuntimeContext,
    StreamExecutionEnvironment,
)
from penstock.datastream.connectors import DiscardingSink
from penstock.datastream.connectors.kafka import (
    KafkaOffsetsInitializer,
    KafkaRecordSerializationSchema,
    KafkaSink,
    KafkaSource,
)
from penstock.datastream.state import ValueStateDescriptor
from penstock.datastream.window import TumblingEventTimeWindows


class DueRecords(SplitSource):
    """Records (key, moment it is due in ms) at an even rate by the machine's clock, until the job is cancelled."""

    def __init__(self, rate: int, keys: int) -> None:
        self._rate, self._keys = rate, keys
        self._began_ms = time.time_ns() / 1e6

    def is_bounded(self) -> bool:
        """It goes on."""
        return False

    def split_count(self, parallelism: int) -> int:
        """One for each subtask."""
        return parallelism

    def split_end(self, split: int, split_count: int) -> int | None:
        """None."""
        return None

    def available(self, split: int, split_count: int, position: int, elapsed_ms: int, limit: int) -> int:
        """What is due by now."""
        due = int((time.time_ns() / 1e6 - self._began_ms) * self._rate / 1000) // split_count
        return max(position, min(due, position + limit))

    def read(self, split: int, split_count: int, start: int, stop: int) -> Iterator[Chunk]:
        """Records of a range."""
        numbers = range(start * split_count + split, stop * split_count, split_count)
        began, step, keys = self._began_ms, 1000 / self._rate, self._keys
        yield [(key_of(n, keys), began + n * step) for n in numbers], None


class CountAndPass(KeyedProcessFunction):
    """Counts by key, and hands on when the record was due."""

    def open(self, runtime_context: RuntimeContext) -> None:
        """Get the state."""
        self.count = runtime_context.get_state(ValueStateDescriptor("count"))

    def process_element(self, value: Any, ctx: KeyedProcessFunction.Context) -> Iterable[Any]:
        """Count."""
        count = (self.count.value() or 0) + 1
        self.count.update(count)
        yield value[0], value[1], count


class SetTimer(KeyedProcessFunction):
    """Sets a timer for every record; its result is due when the timer is."""

    def process_element(self, value: Any, ctx: KeyedProcessFunction.Context) -> None:
        """Set a timer."""
        timers = ctx.timer_service()
        timers.register_processing_time_timer(timers.current_processing_time() + TIMER_MS)

    def on_timer(self, timestamp: int, ctx: KeyedProcessFunction.OnTimerContext) -> Iterable[Any]:
        """Tell when it was due."""
        yield ctx.get_current_key(), float(timestamp), 0


class CountWindow(ProcessWindowFunction):
    """Counts what a window has; it was due at the window's end."""

    def process(self, key: int, context: Any, elements: Iterable[Any]) -> Iterable[Any]:
        """Count."""
        yield key, float(context.window().end), len(list(elements))


class Noting(MapFunction):
    """Notes the delay of every result."""

    def __init__(self, folder: str) -> None:
        self._folder = folder

    def open(self, runtime_context: RuntimeContext) -> None:
        """Begin a file."""
        self._marks = Marks(self._folder)

    def map(self, value: Any) -> Any:
        """Note."""
        self._marks.note(value[1])
        return value


class DueTime(TimestampAssigner):
    """Event time is when a record was due."""

    def extract_timestamp(self, value: Any, record_timestamp: int) -> int:
        """Whole milliseconds."""
        return int(value[1])


def build(records: DataStream, task: DelayTask) -> DataStream:
    """The results of a job."""
    if task.job == "window":
        windows = records.key_by(lambda v: v[0]).window(TumblingEventTimeWindows.of(Time.milliseconds(WINDOW_MS)))
        return windows.process(CountWindow())
    if task.job == "timer":
        return records.key_by(lambda v: v[0]).process(SetTimer())
    counts = records.key_by(lambda v: v[0]).process(CountAndPass())
    if task.job == "count":
        return counts
    keys = task.keys
    return counts.key_by(lambda v: other_key(v[0], keys)).process(CountAndPass())


def from_topic_to_topic(env: StreamExecutionEnvironment, task: DelayTask) -> None:
    """Count by key between two topics; the results are read outside."""
    source = KafkaSource.builder().set_bootstrap_servers(task.servers).set_topics(TOPIC_IN)
    source.set_starting_offsets(KafkaOffsetsInitializer.latest()).set_value_only_deserializer(SimpleStringSchema())
    schema = KafkaRecordSerializationSchema.builder().set_topic(TOPIC_OUT)
    schema.set_value_serialization_schema(SimpleStringSchema())
    sink = KafkaSink.builder().set_bootstrap_servers(task.servers).set_record_serializer(schema.build())
    texts = env.from_source(source.build(), WatermarkStrategy.no_watermarks(), "due")
    counts = texts.map(lambda text: text.split(",")).key_by(lambda v: v[0]).process(CountAndPass())
    counts.map(lambda v: f"{v[0]},{v[1]},{v[2]}").sink_to(sink.build())


def from_generator(env: StreamExecutionEnvironment, task: DelayTask) -> None:
    """The other jobs; results are noted behind the last operator."""
    strategy = WatermarkStrategy.no_watermarks()
    if task.job == "window":
        strategy = WatermarkStrategy.for_bounded_out_of_orderness(Duration.of_millis(0)).with_timestamp_assigner(
            DueTime()
        )
    records = env.from_source(DueRecords(task.rate, task.keys), strategy, "due")
    build(records, task).map(Noting(task.folder)).sink_to(DiscardingSink())


def main(task: DelayTask) -> None:
    """Run for the time that is asked for."""
    configuration = Configuration()
    configuration.set_string("execution.checkpointing.interval", f"{task.checkpoint_ms} ms")
    for key, value in task.options.items():
        configuration.set_string(key, str(value))
    env = StreamExecutionEnvironment.get_execution_environment(configuration).set_parallelism(task.parallelism)
    (from_topic_to_topic if task.job == "kafka" else from_generator)(env, task)
    job = env.execute_async("delays")
    let_run(task.folder, task.seconds)
    job.cancel().result()


if __name__ == "__main__":
    end_with_the_parent()
    main(DelayTask.from_words(sys.argv[1:]))
