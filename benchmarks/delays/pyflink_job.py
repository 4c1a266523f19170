"""The jobs in PyFlink, tuned for delay: small bundles, and the buffer timeout that the options of the task name.

Records come from Flink's generator in the JVM, where `DueNumbers` makes each when it is due.
"""

from __future__ import annotations

import os
import subprocess
import sys
import tempfile
from collections.abc import Iterable
from pathlib import Path
from typing import Any

from pyflink.common import Configuration, Duration, SimpleStringSchema, Time, Types, WatermarkStrategy
from pyflink.common.watermark_strategy import TimestampAssigner
from pyflink.datastream import DataStream, StreamExecutionEnvironment
from pyflink.datastream.connectors.base import DeliveryGuarantee, Source
from pyflink.datastream.connectors.kafka import (
    KafkaOffsetsInitializer,
    KafkaRecordSerializationSchema,
    KafkaSink,
    KafkaSource,
)
from pyflink.datastream.functions import KeyedProcessFunction, MapFunction, ProcessWindowFunction
from pyflink.datastream.state import ValueStateDescriptor
from pyflink.datastream.window import TumblingEventTimeWindows
from pyflink.java_gateway import get_gateway

from benchmarks.delays.marks import TIMER_MS, TOPIC_IN, TOPIC_OUT, WINDOW_MS, DelayTask, Marks, let_run, other_key
from benchmarks.peers.flink_cep_jobs import libraries, program
from benchmarks.peers.reporting import end_with_the_parent
from penstock.user_cache import user_cache

GENERATOR = Path(__file__).with_name("DueNumbers.java")
CONNECTOR = "flink-sql-connector-kafka:5.0.0-2.2"
"""The newest that there is for Flink 2.3."""
COPY = "org.apache.maven.plugins:maven-dependency-plugin:3.8.1:copy"
RECORD = Types.TUPLE([Types.LONG(), Types.DOUBLE(), Types.LONG()])


class CountAndPass(KeyedProcessFunction):
    """Counts by key, and hands on when the record was due."""

    def open(self, runtime_context: Any) -> None:
        """Get the state."""
        self.count = runtime_context.get_state(ValueStateDescriptor("count", Types.LONG()))

    def process_element(self, value: Any, ctx: Any) -> Iterable[Any]:
        """Count."""
        count = (self.count.value() or 0) + 1
        self.count.update(count)
        yield value[0], value[1], count


class SetTimer(KeyedProcessFunction):
    """Sets a timer for every record; its result is due when the timer is."""

    def process_element(self, value: Any, ctx: Any) -> None:
        """Set a timer."""
        timers = ctx.timer_service()
        timers.register_processing_time_timer(timers.current_processing_time() + TIMER_MS)

    def on_timer(self, timestamp: int, ctx: Any) -> Iterable[Any]:
        """Tell when it was due."""
        yield ctx.get_current_key(), float(timestamp), 0


class CountWindow(ProcessWindowFunction):
    """Counts what a window has; it was due at the window's end."""

    def process(self, key: int, context: Any, elements: Iterable[Any]) -> Iterable[Any]:
        """Count."""
        yield key, float(context.window().end), len(list(elements))

    def clear(self, context: Any) -> None:
        """Nothing of its own."""


class Noting(MapFunction):
    """Notes the delay of every result."""

    def __init__(self, folder: str) -> None:
        self._folder = folder

    def open(self, runtime_context: Any) -> None:
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


def environment(task: DelayTask) -> StreamExecutionEnvironment:
    """A local environment with the classes of the generator."""
    os.environ["PATH"] = os.path.dirname(sys.executable) + os.pathsep + os.environ["PATH"]
    settings = {
        "python.executable": sys.executable,
        "python.client.executable": sys.executable,
        "pipeline.object-reuse": "true",
        "pipeline.auto-watermark-interval": "10 ms",
        "pipeline.jars": (kafka_jar() if task.job == "kafka" else generator_jar()).as_uri(),
        "taskmanager.memory.managed.size": "512m",
        "taskmanager.numberOfTaskSlots": str(task.parallelism),
        "execution.checkpointing.interval": f"{task.checkpoint_ms} ms",
        "execution.checkpointing.dir": Path(tempfile.mkdtemp()).as_uri(),
        **task.options,
    }
    configuration = Configuration()
    for key, value in settings.items():
        configuration.set_string(key, str(value))
    return StreamExecutionEnvironment.get_execution_environment(configuration).set_parallelism(task.parallelism)


def generator_jar() -> Path:
    """The generator, compiled."""
    folder = Path(tempfile.mkdtemp())
    subprocess.run([program("javac"), "-nowarn", "-d", str(folder), "-cp", libraries(), str(GENERATOR)], check=True)
    jar = folder / "due.jar"
    subprocess.run([program("jar"), "cf", str(jar), "-C", str(folder), "DueNumbers.class"], check=True)
    return jar


def kafka_jar() -> Path:
    """Flink's connector of Kafka, fetched with Maven once."""
    folder = user_cache() / "flink-client-jars"
    place = folder / f"{CONNECTOR.replace(':', '-')}.jar"
    if not place.exists():
        folder.mkdir(parents=True, exist_ok=True)
        wanted = [f"-Dartifact=org.apache.flink:{CONNECTOR}", f"-DoutputDirectory={folder}"]
        subprocess.run(["mvn", "-q", "-B", COPY, *wanted], check=True)
    return place


def due_records(env: StreamExecutionEnvironment, task: DelayTask) -> DataStream:
    """Records (key, moment it is due in ms)."""
    jvm = get_gateway().jvm
    loader = jvm.Thread.currentThread().getContextClassLoader()
    kind = Types.ROW([Types.LONG(), Types.DOUBLE()])
    # py4j finds the classes of jars that were added later only through the class loader.
    constructor = jvm.Class.forName("DueNumbers", True, loader).getConstructors()[0]
    values = get_gateway().new_array(jvm.Object, 2)
    values[0], values[1] = task.rate / task.parallelism, jvm.Long.valueOf(task.keys)
    function = constructor.newInstance(values)
    count = int(task.rate * task.seconds * 4)
    source = jvm.org.apache.flink.connector.datagen.source.DataGeneratorSource(
        function, count, kind.get_java_type_info()
    )
    records = env.from_source(Source(source), WatermarkStrategy.no_watermarks(), "due", kind)
    if task.job != "window":
        return records
    # Not given to the source: there PyFlink leaves out assigners in Python.
    ordered = WatermarkStrategy.for_bounded_out_of_orderness(Duration.of_millis(0))
    return records.assign_timestamps_and_watermarks(ordered.with_timestamp_assigner(DueTime()))


def build(records: DataStream, task: DelayTask) -> DataStream:
    """The results of a job."""
    keyed = records.key_by(lambda v: v[0], Types.LONG())
    if task.job == "window":
        windows = keyed.window(TumblingEventTimeWindows.of(Time.milliseconds(WINDOW_MS)))
        return windows.process(CountWindow(), RECORD)
    if task.job == "timer":
        return keyed.process(SetTimer(), RECORD)
    counts = keyed.process(CountAndPass(), RECORD)
    if task.job == "count":
        return counts
    keys = task.keys
    return counts.key_by(lambda v: other_key(v[0], keys), Types.LONG()).process(CountAndPass(), RECORD)


def from_topic_to_topic(env: StreamExecutionEnvironment, task: DelayTask) -> None:
    """Count by key between two topics; the results are read outside."""
    source = KafkaSource.builder().set_bootstrap_servers(task.servers).set_topics(TOPIC_IN).set_group_id("delays")
    source.set_starting_offsets(KafkaOffsetsInitializer.latest()).set_value_only_deserializer(SimpleStringSchema())
    schema = KafkaRecordSerializationSchema.builder().set_topic(TOPIC_OUT)
    schema.set_value_serialization_schema(SimpleStringSchema())
    sink = KafkaSink.builder().set_bootstrap_servers(task.servers).set_record_serializer(schema.build())
    sink.set_delivery_guarantee(DeliveryGuarantee.AT_LEAST_ONCE).set_property("linger.ms", "0")
    texts = env.from_source(source.build(), WatermarkStrategy.no_watermarks(), "due")
    split = texts.map(lambda text: tuple(text.split(",")), Types.TUPLE([Types.STRING(), Types.STRING()]))
    kind = Types.TUPLE([Types.STRING(), Types.STRING(), Types.LONG()])
    counts = split.key_by(lambda v: v[0], Types.STRING()).process(CountAndPass(), kind)
    counts.map(lambda v: f"{v[0]},{v[1]},{v[2]}", Types.STRING()).sink_to(sink.build())


def from_generator(env: StreamExecutionEnvironment, task: DelayTask) -> None:
    """The other jobs; results are noted behind the last operator."""
    results = build(due_records(env, task), task).map(Noting(task.folder), RECORD)
    sink = get_gateway().jvm.org.apache.flink.streaming.api.functions.sink.v2.DiscardingSink()
    results._j_data_stream.sinkTo(sink)


def main(task: DelayTask) -> None:
    """Run for the time that is asked for."""
    env = environment(task)
    (from_topic_to_topic if task.job == "kafka" else from_generator)(env, task)
    client = env.execute_async("delays")
    let_run(task.folder, task.seconds)
    client.cancel().result()


if __name__ == "__main__":
    end_with_the_parent()
    main(DelayTask.from_words(sys.argv[1:]))
