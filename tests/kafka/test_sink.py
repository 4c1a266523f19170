"""The Kafka sink against a real broker: what a reader of committed messages gets, whoever dies when."""

from __future__ import annotations

import os
import signal
import subprocess
import sys
import time
from collections import defaultdict
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any

import pytest

from penstock.common.serialization import SimpleStringSchema
from penstock.connectors.kafka import publisher as kafka_publisher
from penstock.connectors.kafka.publisher import KafkaPublisher
from penstock.connectors.kafka.sink import FAILED_RECORDS
from penstock.connectors.sink import SinkContext
from penstock.connectors.staged_sink import Publication
from penstock.connectors.stages import Stage, StageWriter
from penstock.datastream import StreamExecutionEnvironment
from penstock.datastream.connectors.base import DeliveryGuarantee
from penstock.datastream.connectors.kafka import (
    KafkaPartitioner,
    KafkaProducerRecord,
    KafkaRecordSerializationSchema,
    KafkaSink,
)
from penstock.errors import ConfigurationError, JobFailedError, SinkError
from penstock.kafka_broker import LocalBroker
from penstock.testing import Element, ScriptedSource
from penstock.testing.crashes import InjectedCrash, trace_of
from tests.kafka import sink_job
from tests.kafka.conftest import NewTopic
from tests.kafka.reading import Seen, read_all
from tests.kafka.sink_job import NUMBERS, kafka_sink, start
from tests.spark.conftest import NewEnvironment

EACH_ONCE = [str(number) for number in range(NUMBERS)]


@pytest.fixture(autouse=True)
def new_process() -> Iterator[None]:
    """No test finds the producers of another one."""
    kafka_publisher.forget_producers()
    yield
    kafka_publisher.forget_producers()


def values(seen: list[Seen]) -> list[str]:
    return sorted((message.value.decode() for message in seen if message.value is not None), key=int)


def check(kafka: LocalBroker, topic: str, numbers: int = NUMBERS) -> None:
    """Each number once, and those of a key in their order."""
    seen = read_all(kafka.address, topic)
    assert values(seen) == [str(number) for number in range(numbers)]
    by_key: dict[Any, list[int]] = defaultdict(list)
    for message in seen:
        assert message.value is not None
        by_key[message.key].append(int(message.value))
    assert len(by_key) == 5
    assert all(found == sorted(found) for found in by_key.values())
    assert len({(message.key, message.partition) for message in seen}) == 5


@pytest.mark.parametrize("guarantee", list(DeliveryGuarantee))
def test_everything_arrives_in_the_order_of_its_key(
    kafka: LocalBroker, topic: NewTopic, guarantee: DeliveryGuarantee
) -> None:
    name = topic(partitions=3)
    start(kafka_sink(kafka.address, name, guarantee)).wait()
    check(kafka, name)


# ---- whoever dies when ----


def test_a_death_around_seal_and_publication_changes_nothing(kafka: LocalBroker, topic: NewTopic) -> None:
    calm = topic(partitions=2)
    client = start(kafka_sink(kafka.address, calm))
    client.wait()
    steps = [
        number for number, line in enumerate(trace_of(client.job), 1) if line.split()[1] in ("seal", "publish", "go")
    ]
    assert len(steps) == 9, "three batches"
    for step in steps:
        name = topic(partitions=2)
        struck = start(kafka_sink(kafka.address, name), crash_at=(step,))
        struck.wait()
        assert struck.job.crashes == 1
        check(kafka, name)


POINTS = ["before the marker", "before the commit", "after the commit"]


@pytest.mark.parametrize("point", POINTS)
@pytest.mark.parametrize("inline_bytes", [64 * 1024, 0])
def test_a_death_around_the_transaction_changes_nothing(
    kafka: LocalBroker, topic: NewTopic, monkeypatch: pytest.MonkeyPatch, point: str, inline_bytes: int
) -> None:
    """The dead process neither aborts nor closes anything: its transaction hangs until the next one shuts it out."""
    name = topic(partitions=2)
    dying = Dying(point)
    monkeypatch.setattr(kafka_publisher, "new_producer", dying.new_producer)
    monkeypatch.setattr(kafka_publisher.TransactionalProducer, "give_up", lambda self: None)
    sink = kafka_sink(kafka.address, name)
    sink.inline_bytes = inline_bytes
    start(sink).wait()
    assert dying.deaths >= 2
    check(kafka, name)


class Dying:
    """Producers that die at one point of every second transaction."""

    def __init__(self, point: str) -> None:
        self.point = point
        self.transactions = 0
        self.deaths = 0
        self.left: list[Any] = []
        self._new = kafka_publisher.new_producer

    def new_producer(self, *args: Any, **more: Any) -> DyingProducer:
        return DyingProducer(self, self._new(*args, **more))

    def reach(self, point: str, producer: Any) -> None:
        if point == self.point and self.transactions % 2 == 1 and self.deaths < 3:
            self.deaths += 1
            producer.flush()
            self.left.append(producer)  # kept alive, as nothing closes it in a process that was killed
            kafka_publisher.forget_producers()
            raise InjectedCrash(point)


class DyingProducer:
    def __init__(self, dying: Dying, producer: Any) -> None:
        self._dying = dying
        self._producer = producer

    def __getattr__(self, name: str) -> Any:
        return getattr(self._producer, name)

    def begin_transaction(self) -> None:
        self._dying.transactions += 1
        self._producer.begin_transaction()

    def send_offsets_to_transaction(self, *args: Any) -> None:
        self._dying.reach("before the marker", self._producer)
        self._producer.send_offsets_to_transaction(*args)

    def commit_transaction(self, *args: Any) -> None:
        self._dying.reach("before the commit", self._producer)
        self._producer.commit_transaction(*args)
        self._dying.reach("after the commit", self._producer)


def test_the_transaction_of_a_killed_process_is_ended_by_the_next(
    kafka: LocalBroker, topic: NewTopic, tmp_path: Path
) -> None:
    name = topic(partitions=2)
    command = [sys.executable, sink_job.__file__, kafka.address, name, str(tmp_path / "checkpoint")]
    ended = subprocess.run(command, env=child_environment(), capture_output=True, timeout=120, check=False)
    assert ended.returncode == -signal.SIGKILL, ended.stderr.decode()
    assert len(read_all(kafka.address, name, isolation="read_uncommitted")) > 15, "nothing was left hanging"
    began = time.monotonic()
    start(kafka_sink(kafka.address, name), str(tmp_path / "checkpoint")).wait()
    check(kafka, name)
    assert time.monotonic() - began < 30, "the transaction was left to Kafka, which waits a minute"


def child_environment() -> dict[str, str]:
    root = Path(__file__).parents[2]
    return {**os.environ, "PYTHONPATH": f"{root / 'src'}:{root}"}


# ---- processes that shut each other out ----


@contextmanager
def another_process() -> Iterator[None]:
    """What is done here is done with producers of its own; those of before are there again afterwards."""
    mine = dict(kafka_publisher.producers)
    kafka_publisher.forget_producers()
    yield
    kafka_publisher.forget_producers()
    kafka_publisher.producers.update(mine)


class Owner:
    """Publications of one owner to a topic, as a sink's committer makes them."""

    def __init__(self, kafka: LocalBroker, topic: str, job_id: str = "job") -> None:
        self.topic = topic
        self.job_id = job_id
        settings = kafka_sink(kafka.address, topic).settings("test")
        self.publisher = KafkaPublisher(settings, f"prefix-{topic}")

    def publication(self, version: int, text: str = "") -> Publication:
        writer = StageWriter("", "", 0)
        writer.append((self.topic, [text.encode() or b"%d" % version], None, None, None, None), 1)
        owner = {"job_id": self.job_id, "uid": "sink", "subtask": 0}
        stage = writer.finish(version=version, attempt=f"try-{version}", note=self.topic, **owner)  # type: ignore[arg-type]
        assert isinstance(stage, Stage)
        return Publication(self.job_id, "sink", "inline", version, (stage,))

    def publish(self, version: int) -> None:
        self.publisher.publish(self.publication(version))


def test_what_was_published_is_published_once(kafka: LocalBroker, topic: NewTopic) -> None:
    owner = Owner(kafka, topic())
    owner.publish(1)
    owner.publish(1)
    kafka_publisher.forget_producers()
    owner.publish(1)
    owner.publish(2)
    assert values(read_all(kafka.address, owner.topic)) == ["1", "2"]


def test_a_process_that_was_shut_out_goes_on_if_it_may(kafka: LocalBroker, topic: NewTopic) -> None:
    owner = Owner(kafka, topic())
    owner.publish(1)
    with another_process():
        owner.publish(2)
    owner.publish(3)
    assert values(read_all(kafka.address, owner.topic)) == ["1", "2", "3"]


def test_a_process_whose_job_goes_on_elsewhere_publishes_nothing(kafka: LocalBroker, topic: NewTopic) -> None:
    owner = Owner(kafka, topic())
    owner.publish(1)
    with another_process():
        owner.publish(2)
        owner.publish(3)
    with pytest.raises(SinkError, match="started a second time"):
        owner.publish(2)
    assert values(read_all(kafka.address, owner.topic)) == ["1", "2", "3"]


def test_a_new_job_is_not_confused_by_the_markers_of_another(kafka: LocalBroker, topic: NewTopic) -> None:
    owner = Owner(kafka, topic())
    owner.publish(5)
    Owner(kafka, owner.topic, "another job").publish(1)
    assert values(read_all(kafka.address, owner.topic)) == ["1", "5"]


def test_topics_may_change_from_version_to_version(kafka: LocalBroker, topic: NewTopic) -> None:
    first, second = topic(), topic()
    for job_id in ("one producer", "a producer for each"):
        owner = Owner(kafka, first, job_id)
        for version, name in enumerate([first, second, second, first]):
            for _ in range(2):
                owner.topic = name
                owner.publish(version)
                if job_id != "one producer":
                    kafka_publisher.forget_producers()
        owner.topic = second
        owner.publish(2)  # its marker is still there
    assert [values(read_all(kafka.address, name)) for name in (first, second)] == [list("0033"), list("1122")]


def test_a_stage_that_is_damaged_publishes_nothing(kafka: LocalBroker, topic: NewTopic) -> None:
    owner = Owner(kafka, topic())
    whole = owner.publication(1)
    stage = Stage(**{**vars(whole.stages[0]), "inline": whole.stages[0].inline[:-1]})
    with pytest.raises(SinkError, match="truncated"):
        owner.publisher.publish(Publication("job", "sink", "inline", 1, (stage,)))
    assert read_all(kafka.address, owner.topic) == []
    owner.publish(1)
    assert values(read_all(kafka.address, owner.topic)) == ["1"]


# ---- messages ----


def write(kafka: LocalBroker, sink: KafkaSink, records: list[Any], *, timestamps: list[int] | None = None) -> None:
    environment = StreamExecutionEnvironment.in_process()
    if timestamps is None:
        stream = environment.from_collection(records)
    else:
        elements = [Element(record, moment) for record, moment in zip(records, timestamps, strict=True)]
        stream = environment.from_source(ScriptedSource(elements), None, "script")
    stream.sink_to(sink)
    environment.execute()


def sink_with(
    kafka: LocalBroker, serializer: KafkaRecordSerializationSchema, guarantee: DeliveryGuarantee
) -> KafkaSink:
    builder = KafkaSink.builder().set_bootstrap_servers(kafka.address).set_record_serializer(serializer)
    return builder.set_delivery_guarantee(guarantee).set_transactional_id_prefix("messages").build()


GUARANTEES = [DeliveryGuarantee.EXACTLY_ONCE, DeliveryGuarantee.AT_LEAST_ONCE]


@pytest.mark.parametrize("guarantee", GUARANTEES)
def test_key_headers_and_time_are_written(kafka: LocalBroker, topic: NewTopic, guarantee: DeliveryGuarantee) -> None:
    name = topic()
    serializer = (
        KafkaRecordSerializationSchema.builder()
        .set_topic(name)
        .set_key_serialization_schema(SimpleStringSchema())
        .set_value_serialization_schema(SimpleStringSchema())
        .set_header_provider(lambda record: {"made-by": record, "empty": None})
        .build()
    )
    moment = 1_700_000_000_123
    write(kafka, sink_with(kafka, serializer, guarantee), ["a", "b"], timestamps=[moment, moment + 1])
    assert read_all(kafka.address, name) == [
        Seen(0, b"a", b"a", moment, (("made-by", b"a"), ("empty", None))),
        Seen(0, b"b", b"b", moment + 1, (("made-by", b"b"), ("empty", None))),
    ]


@pytest.mark.parametrize("guarantee", GUARANTEES)
def test_a_schema_of_ones_own_decides_about_everything(
    kafka: LocalBroker, topic: NewTopic, guarantee: DeliveryGuarantee
) -> None:
    name = topic(partitions=3)

    class Whole(KafkaRecordSerializationSchema):
        def to_record(self, value: Any, timestamp: int | None) -> KafkaProducerRecord:
            return KafkaProducerRecord(name, None, b"gone", [("why", b"test")], 2, 1_700_000_000_000)

    write(kafka, sink_with(kafka, Whole(), guarantee), ["a"])
    assert read_all(kafka.address, name) == [Seen(2, b"gone", None, 1_700_000_000_000, (("why", b"test"),))]


def murmur2(data: bytes) -> int:
    """The hash of Java's client, written after its description: what decides where a key goes."""
    mask, mixer = 0xFFFFFFFF, 0x5BD1E995
    result = (0x9747B28C ^ len(data)) & mask
    for start_ in range(0, len(data) - 3, 4):
        word = int.from_bytes(data[start_ : start_ + 4], "little") * mixer & mask
        word = (word ^ word >> 24) * mixer & mask
        result = result * mixer & mask ^ word
    tail = data[len(data) & ~3 :]
    if tail:
        result = (result ^ int.from_bytes(tail, "little")) * mixer & mask
    result = (result ^ result >> 13) * mixer & mask
    return result ^ result >> 15


def test_keys_go_where_java_puts_them(kafka: LocalBroker, topic: NewTopic) -> None:
    assert [murmur2(key) for key in (b"21", b"foobar")] == [-973932308 & 0xFFFFFFFF, -790332482 & 0xFFFFFFFF]
    name = topic(partitions=7)
    serializer = (
        KafkaRecordSerializationSchema.builder()
        .set_topic(name)
        .set_key_serialization_schema(SimpleStringSchema())
        .set_value_serialization_schema(SimpleStringSchema())
        .build()
    )
    keys = [f"key-{number}" for number in range(50)]
    write(kafka, sink_with(kafka, serializer, DeliveryGuarantee.EXACTLY_ONCE), keys)
    found = {message.key: message.partition for message in read_all(kafka.address, name)}
    assert found == {key.encode(): (murmur2(key.encode()) & 0x7FFFFFFF) % 7 for key in keys}


class ByLength(KafkaPartitioner):
    def partition(self, record: Any, key: Any, value: Any, target_topic: str, partitions: list[int]) -> int:
        return partitions[len(value) % len(partitions)]


@pytest.mark.parametrize("guarantee", GUARANTEES)
def test_partitioners_choose(kafka: LocalBroker, topic: NewTopic, guarantee: DeliveryGuarantee) -> None:
    name = topic(partitions=3)
    schema = KafkaRecordSerializationSchema.builder().set_topic(name)
    schema.set_value_serialization_schema(SimpleStringSchema())
    write(kafka, sink_with(kafka, schema.set_partitioner(ByLength()).build(), guarantee), ["a", "bb", "ccc"])
    write(kafka, sink_with(kafka, schema.set_partitioner(2).build(), guarantee), ["d"])
    found = sorted((message.value, message.partition) for message in read_all(kafka.address, name))
    assert found == [(b"a", 1), (b"bb", 2), (b"ccc", 0), (b"d", 2)]


def test_a_selector_chooses_topics(kafka: LocalBroker, topic: NewTopic) -> None:
    names = {"even": topic(), "odd": topic()}
    schema = KafkaRecordSerializationSchema.builder().set_value_serialization_schema(SimpleStringSchema())
    schema.set_topic_selector(lambda number: names["odd" if int(number) % 2 else "even"])
    write(kafka, sink_with(kafka, schema.build(), DeliveryGuarantee.EXACTLY_ONCE), ["1", "2", "3"])
    assert {kind: values(read_all(kafka.address, name)) for kind, name in names.items()} == {
        "even": ["2"],
        "odd": ["1", "3"],
    }


# ---- what cannot work is told before anything runs, or before it is sealed ----


def plain(topic: str, partitioner: int | None = None) -> KafkaRecordSerializationSchema:
    schema = KafkaRecordSerializationSchema.builder().set_topic(topic)
    schema.set_value_serialization_schema(SimpleStringSchema())
    return schema.build() if partitioner is None else schema.set_partitioner(partitioner).build()


@pytest.mark.parametrize("guarantee", GUARANTEES)
def test_a_topic_that_cannot_be_is_refused(kafka: LocalBroker, guarantee: DeliveryGuarantee) -> None:
    with pytest.raises(SinkError, match="cannot write to topic 'no such name!'"):
        write(kafka, sink_with(kafka, plain("no such name!"), guarantee), ["a"])


def test_a_partition_that_is_not_there_is_refused(kafka: LocalBroker, topic: NewTopic) -> None:
    with pytest.raises(SinkError, match="has no partition 4"):
        write(kafka, sink_with(kafka, plain(topic(), 4), DeliveryGuarantee.EXACTLY_ONCE), ["a"])


def test_an_unknown_property_is_refused(kafka: LocalBroker, topic: NewTopic) -> None:
    builder = KafkaSink.builder().set_bootstrap_servers(kafka.address).set_record_serializer(plain(topic()))
    with pytest.raises(ConfigurationError, match=r"no\.such\.thing"):
        write(kafka, builder.set_property("no.such.thing", "1").build(), ["a"])


@pytest.mark.parametrize("guarantee", GUARANTEES)
def test_a_message_that_is_too_large_is_named(
    kafka: LocalBroker, topic: NewTopic, guarantee: DeliveryGuarantee
) -> None:
    name = topic()
    with pytest.raises(JobFailedError, match=r"larger than the Kafka property 'max\.request\.size'"):
        write(kafka, sink_with(kafka, plain(name), guarantee), ["x" * 1_000_001])
    assert read_all(kafka.address, name) == []


def test_a_topic_that_takes_less_fails_the_job_with_a_reason(kafka: LocalBroker, topic: NewTopic) -> None:
    name = topic(max_message_bytes="1000")
    for guarantee in GUARANTEES:
        with pytest.raises((JobFailedError, SinkError), match="too large"):
            write(kafka, sink_with(kafka, plain(name), guarantee), ["x" * 5000])


def test_without_a_promise_failures_are_counted(kafka: LocalBroker, topic: NewTopic) -> None:
    name = topic(max_message_bytes="1000")
    context = SinkContext("job", "uid", "sink", 0, 1, lambda: 0)
    writer = sink_with(kafka, plain(name), DeliveryGuarantee.NONE).create_writer(context)
    writer.begin(0, "try", None)
    writer.write(["x" * 5000], None, 0)
    assert writer.prepare_commit(0, end_of_input=True) == []
    writer.write(["fine"], None, 0)
    assert writer.prepare_commit(0, end_of_input=True) == []
    assert context.metrics.values() == {FAILED_RECORDS: 1}
    assert [message.value for message in read_all(kafka.address, name)] == [b"fine"]


# ---- on Spark: small batches are published by the driver, large ones by workers ----


@pytest.mark.slow
def test_on_spark(kafka: LocalBroker, topic: NewTopic, new_environment: NewEnvironment) -> None:
    name = topic(partitions=3)
    environment = new_environment(2, "checkpoint", **{"penstock.batch.max-records": 60_000})
    numbers = environment.from_collection(list(range(60_020)))
    numbers.key_by(lambda number: number % 5).map(str).sink_to(kafka_sink(kafka.address, name)).uid("sink")
    environment.execute("to Kafka")
    check(kafka, name, 60_020)


# ---- size ----


def test_a_hundred_thousand_records(kafka: LocalBroker, topic: NewTopic) -> None:
    name = topic(partitions=2)
    start(kafka_sink(kafka.address, name), numbers=100_000, batch=60_000).wait()
    check(kafka, name, 100_000)
