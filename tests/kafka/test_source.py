"""KafkaSource against a real broker, in process: offsets, stops, watermarks, discovery, gaps, bad records, restarts."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest
from confluent_kafka import Consumer, TopicPartition

from penstock.common import Configuration, SimpleStringSchema, Types
from penstock.common.serialization import DeserializationSchema
from penstock.common.time import Duration
from penstock.common.watermark_strategy import WatermarkStrategy
from penstock.connectors.kafka import reader as kafka_reader
from penstock.connectors.kafka.client import KafkaAccess, KafkaSourceError, answered
from penstock.connectors.source import PartitionRange
from penstock.datastream import OutputTag, ProcessFunction, StreamExecutionEnvironment
from penstock.datastream.connectors.kafka import (
    KafkaOffsetResetStrategy,
    KafkaOffsetsInitializer,
    KafkaRecord,
    KafkaRecordDeserializationSchema,
    KafkaSource,
    KafkaSourceBuilder,
    KafkaTopicPartition,
)
from penstock.engine.in_process.client import InProcessJobClient
from penstock.errors import ConfigurationError, JobFailedError
from penstock.kafka_broker import LocalBroker
from penstock.testing import CollectSink, ManualClock
from tests.kafka.conftest import NewTopic
from tests.kafka.producing import produce, produce_in_transactions

LATEST = KafkaOffsetsInitializer.latest()
EARLIEST = KafkaOffsetsInitializer.earliest()
NO_WATERMARKS = WatermarkStrategy.no_watermarks()
RESET = KafkaOffsetResetStrategy


def builder(kafka: LocalBroker, *topics: str) -> KafkaSourceBuilder:
    found = KafkaSource.builder().set_bootstrap_servers(kafka.address)
    found = found.set_value_only_deserializer(SimpleStringSchema())
    return found.set_topics(*topics) if topics else found


def start(
    source: KafkaSource,
    sink: CollectSink,
    *,
    parallelism: int = 1,
    strategy: WatermarkStrategy = NO_WATERMARKS,
    process: ProcessFunction | None = None,
    checkpoint: Path | None = None,
    savepoint: str | None = None,
    **options: Any,
) -> InProcessJobClient:
    settings = Configuration()
    if savepoint is not None:
        settings.set_string("execution.state-recovery.path", savepoint)
    environment = StreamExecutionEnvironment.in_process(configuration=settings, **options)
    environment.set_parallelism(parallelism)
    if checkpoint is not None:
        environment.get_checkpoint_config().set_checkpoint_storage_dir(str(checkpoint))
    stream = environment.from_source(source, strategy, "kafka").uid("kafka")
    (stream if process is None else stream.process(process)).add_sink(sink)
    client = environment.execute_async()
    assert isinstance(client, InProcessJobClient)
    return client


def read(source: KafkaSource, **options: Any) -> list[Any]:
    """All that a bounded source gives."""
    sink = CollectSink()
    start(source, sink, **options).wait()
    return sink.results


def committed(kafka: LocalBroker, group: str, topic: str, partition: int = 0) -> int:
    consumer = Consumer({"bootstrap.servers": kafka.address, "group.id": group})
    try:
        wanted = [TopicPartition(topic, partition)]
        access = KafkaAccess(kafka.address)
        (found,) = answered(
            lambda left: consumer.committed(wanted, timeout=left), access, "the test", "see offsets", lambda: consumer
        )
        return int(found.offset)
    finally:
        consumer.close()


# ---- where reading begins and stops ----


def test_all_ways_to_begin(kafka: LocalBroker, topic: NewTopic) -> None:
    name = topic()
    produce(kafka.address, name, [{"value": f"v{n}", "timestamp": 1000 + n} for n in range(6)])
    at_two = {KafkaTopicPartition(name, 0): 2}
    far_off = {KafkaTopicPartition(name, 0): 77}
    expected = {
        "earliest": (EARLIEST, 0),
        "latest": (LATEST, 6),
        "timestamp": (KafkaOffsetsInitializer.timestamp(1004), 4),
        "a time to come": (KafkaOffsetsInitializer.timestamp(10**12), 6),
        "offsets": (KafkaOffsetsInitializer.offsets(at_two), 2),
        "offsets that are not there": (KafkaOffsetsInitializer.offsets(far_off, RESET.LATEST), 6),
        "no commit": (KafkaOffsetsInitializer.committed_offsets(RESET.EARLIEST), 0),
    }
    for what, (starting, first) in expected.items():
        source = builder(kafka, name).set_group_id(f"{name}-{what}").set_starting_offsets(starting)
        source.set_property("commit.offsets.on.checkpoint", "false")
        assert read(source.set_bounded(LATEST).build()) == [f"v{n}" for n in range(first, 6)], what
        assert committed(kafka, f"{name}-{what}", name) < 0


def test_a_missing_commit_without_reset_is_refused(kafka: LocalBroker, topic: NewTopic) -> None:
    name = topic()
    produce(kafka.address, name, ["x"])
    source = builder(kafka, name).set_group_id("nobody").set_bounded(LATEST)
    source.set_starting_offsets(KafkaOffsetsInitializer.committed_offsets())
    with pytest.raises(KafkaSourceError, match=rf"'kafka'.*consumer group has no offset for partition {name}-0"):
        read(source.build())


def test_positions_are_committed_to_the_group_and_can_be_begun_from(kafka: LocalBroker, topic: NewTopic) -> None:
    name = topic(partitions=2)
    produce(kafka.address, name, ["a", "b", "c"])
    produce(kafka.address, name, ["x"], partition=1)
    source = builder(kafka, name).set_group_id(f"{name}-group").set_bounded(LATEST)
    assert sorted(read(source.build())) == ["a", "b", "c", "x"]
    assert [committed(kafka, f"{name}-group", name, partition) for partition in (0, 1)] == [3, 1]
    produce(kafka.address, name, ["y"], partition=1)
    source.set_starting_offsets(KafkaOffsetsInitializer.committed_offsets())
    assert read(source.build()) == ["y"]


def test_stops_other_than_the_end(kafka: LocalBroker, topic: NewTopic) -> None:
    name = topic(partitions=2)
    for partition in (0, 1):
        records = [{"value": f"{partition}-{n}", "timestamp": 1000 + n} for n in range(5)]
        produce(kafka.address, name, records, partition=partition)
    stops = {KafkaTopicPartition(name, 0): 2, KafkaTopicPartition(name, 1): 4}
    two_four = ["0-0", "0-1", "1-0", "1-1", "1-2", "1-3"]
    assert sorted(read(builder(kafka, name).set_bounded(KafkaOffsetsInitializer.offsets(stops)).build())) == two_four
    timed = builder(kafka, name).set_bounded(KafkaOffsetsInitializer.timestamp(1001)).build()
    assert sorted(read(timed, parallelism=3)) == ["0-0", "1-0"]


def test_an_unbounded_source_with_stops_ends_too(kafka: LocalBroker, topic: NewTopic) -> None:
    name = topic()
    produce(kafka.address, name, ["a", "b"])
    source = builder(kafka, name).set_unbounded(LATEST).build()
    assert not source.is_bounded()
    sink = CollectSink()
    client = start(source, sink)
    while client.run_batch():
        pass
    assert sink.results == ["a", "b"]


def test_single_partitions_and_several_topics(kafka: LocalBroker, topic: NewTopic) -> None:
    first, second = topic(partitions=2), topic()
    for partition in (0, 1):
        produce(kafka.address, first, [f"first {partition}"], partition=partition)
    produce(kafka.address, second, ["second"])
    assert sorted(read(builder(kafka, first, second).set_bounded(LATEST).build(), parallelism=2)) == [
        "first 0",
        "first 1",
        "second",
    ]
    chosen = builder(kafka).set_partitions([KafkaTopicPartition(first, 1), KafkaTopicPartition(second, 0)])
    assert sorted(read(chosen.set_bounded(LATEST).build())) == ["first 1", "second"]


def test_what_comes_after_the_first_decision_is_not_part_of_a_bounded_job(
    kafka: LocalBroker, topic: NewTopic, tmp_path: Path
) -> None:
    name = topic()
    produce(kafka.address, name, ["a", "b"])
    source = builder(kafka, name).set_bounded(LATEST).build()
    sink = CollectSink()
    client = start(source, sink, checkpoint=tmp_path)
    client.run_batch()
    produce(kafka.address, name, ["too late"])
    client.cancel()
    start(source, sink, checkpoint=tmp_path).wait()
    assert sink.results == ["a", "b"]


def test_latest_is_decided_once(kafka: LocalBroker, topic: NewTopic, tmp_path: Path) -> None:
    name = topic()
    produce(kafka.address, name, ["before"])
    source = builder(kafka, name).set_starting_offsets(LATEST).build()
    sink = CollectSink()
    client = start(source, sink, checkpoint=tmp_path)
    client.run_batch()
    produce(kafka.address, name, ["a", "b"])
    client.cancel()
    client = start(source, sink, checkpoint=tmp_path)
    client.run_batch()
    assert sink.results == ["a", "b"]
    client.cancel()


# ---- many records, restarts, savepoints ----


def test_random_cuts_and_crashes(kafka: LocalBroker, topic: NewTopic) -> None:
    name = topic(partitions=3)
    for partition in range(3):
        produce(kafka.address, name, [f"{partition}:{n}" for n in range(40)], partition=partition)
    for seed in (1, 2):
        got = read(builder(kafka, name).set_bounded(LATEST).build(), seed=seed, crash_rate=0.02, parallelism=2)
        for partition in range(3):
            mine = [value for value in got if value.startswith(f"{partition}:")]
            assert mine == [f"{partition}:{n}" for n in range(40)]


def test_large_ranges_are_read_in_turns_and_in_the_same_order_again(
    kafka: LocalBroker, topic: NewTopic, monkeypatch: pytest.MonkeyPatch
) -> None:
    name = topic(partitions=2)
    produce(kafka.address, name, [f"a{n}" for n in range(7_000)])
    produce(kafka.address, name, [f"b{n}" + "x" * 3000 for n in range(4_000)], partition=1)
    source = builder(kafka, name).build()
    ranges = [PartitionRange(f"{name}-0", 0, 7_000), PartitionRange(f"{name}-1", 0, 4_000)]
    orders = []
    for waiting in (64_000_000, 100_000):  # the second time, what comes for the other partition is fetched again later
        monkeypatch.setattr(kafka_reader, "_WAITING_BYTES", waiting)
        reader = source.create_reader("kafka", 0)
        items = [(name, item[0]) for name, item in reader.read(ranges) if isinstance(item, tuple)]
        orders.append([(name, len(values)) for name, values in items])
        for number, (letter, count) in enumerate((("a", 7_000), ("b", 4_000))):
            values = [value.rstrip("x") for each, values in items if each == ranges[number].name for value in values]
            assert values == [f"{letter}{n}" for n in range(count)]
        reader.close()
    assert orders[0] == orders[1]
    assert [each for each, _ in orders[0][:4]] == [ranges[0].name, ranges[1].name] * 2
    assert orders[0][1][1] < 2_000, "pieces have a size in bytes too"


def test_a_reader_goes_on_goes_back_and_skips(kafka: LocalBroker, topic: NewTopic) -> None:
    name = topic(partitions=2)
    for partition in (0, 1):
        produce(kafka.address, name, [f"{partition}:{n}" for n in range(3_000)], partition=partition)
    reader = builder(kafka, name).build().create_reader("kafka", 0)
    for first, last in ((0, 10), (10, 2_500), (10, 20), (20, 21), (2_000, 3_000), (5, 6)):
        got = [
            value
            for _, item in reader.read([PartitionRange(f"{name}-{each}", first, last) for each in (0, 1)])
            if isinstance(item, tuple)
            for value in item[0]
        ]
        assert Counter(got) == Counter(f"{each}:{n}" for each in (0, 1) for n in range(first, last))
    reader.close()


@pytest.mark.parametrize("after", [1, 3])
def test_a_savepoint_goes_on_with_another_parallelism(
    kafka: LocalBroker, topic: NewTopic, tmp_path: Path, after: int
) -> None:
    name = topic(partitions=4)
    for partition in range(4):
        produce(kafka.address, name, [f"{partition}:{n}" for n in range(10)], partition=partition)
    source = builder(kafka, name).build()
    first, second = CollectSink(), CollectSink()
    client = start(source, first, parallelism=2)
    client.run_batch()
    client.run_batch()
    path = client.stop_with_savepoint(False, str(tmp_path)).result()
    for partition in range(4):
        produce(kafka.address, name, [f"{partition}:{n}" for n in range(10, 15)], partition=partition)
    client = start(source, second, parallelism=after, savepoint=path)
    client.run_batch()
    client.cancel()
    assert Counter(first.results) == Counter(f"{p}:{n}" for p in range(4) for n in range(10))
    assert Counter(second.results) == Counter(f"{p}:{n}" for p in range(4) for n in range(10, 15))


# ---- event time ----


class Marked(ProcessFunction):
    """Each value with its timestamp and the watermark that it met."""

    def process_element(self, value: str, ctx: Any) -> Iterator[Any]:
        yield value, ctx.timestamp(), ctx.timer_service().current_watermark()


@pytest.mark.parametrize(("is_patient", "met"), [(True, 499), (False, 2999)])
def test_a_slow_partition_holds_the_watermark_and_an_idle_one_does_not(
    kafka: LocalBroker, topic: NewTopic, is_patient: bool, met: int
) -> None:
    name = topic(partitions=2)
    records = [{"value": f"a{n}", "timestamp": 1000 * n} for n in range(1, 5)]
    produce(kafka.address, name, records[:2])
    produce(kafka.address, name, [{"value": "b", "timestamp": 500}], partition=1)
    strategy = WatermarkStrategy.for_monotonous_timestamps()
    if not is_patient:
        strategy = strategy.with_idleness(Duration.of_seconds(5))
    sink, clock = CollectSink(), ManualClock()
    client = start(builder(kafka, name).build(), sink, strategy=strategy, process=Marked(), clock=clock)
    client.run_batch()
    client.run_batch()
    clock.advance(4_000)
    produce(kafka.address, name, records[2:3])
    client.run_batch()
    if not is_patient:
        client.run_batch()
        assert clock() == 5_000, "nothing but time makes this batch"
    produce(kafka.address, name, records[3:])
    client.run_batch()
    assert sink.results[-1] == ("a4", 4000, met)
    client.cancel()


# ---- discovery ----


def test_new_topics_and_partitions_are_found_while_running(kafka: LocalBroker, topic: NewTopic) -> None:
    first = topic(name="found")
    prefix = first[:-4]
    produce(kafka.address, first, ["a"])
    source = builder(kafka).set_topic_pattern(f"{prefix}.*").set_starting_offsets(LATEST)
    source.set_property("partition.discovery.interval.ms", "60000")
    sink, clock = CollectSink(), ManualClock()
    client = start(source.build(), sink, parallelism=2, clock=clock)
    client.run_batch()
    second = f"{prefix}-more"
    kafka.create_topic(second, 1)
    produce(kafka.address, second, ["b", "c"])
    while len(sink.results) < 2:
        client.run_batch()
    assert clock() >= 60_000
    assert sink.results == ["b", "c"], "new ones are read from their beginning"
    client.cancel()


def test_a_pattern_may_match_nothing_yet_but_a_topic_must_be_there(kafka: LocalBroker) -> None:
    assert read(builder(kafka).set_topic_pattern("nothing-of-that-kind").set_bounded(LATEST).build()) == []
    with pytest.raises(KafkaSourceError, match=r"'kafka' cannot start.*has no 'nothing-of-that-kind'"):
        read(builder(kafka, "nothing-of-that-kind").set_bounded(LATEST).build())
    chosen = builder(kafka).set_partitions([KafkaTopicPartition("nothing-of-that-kind", 3)]).set_bounded(LATEST)
    with pytest.raises(KafkaSourceError, match="nothing-of-that-kind-3"):
        read(chosen.build())


# ---- gaps and lost records ----


def test_transactions_leave_gaps(kafka: LocalBroker, topic: NewTopic) -> None:
    name = topic()
    produce_in_transactions(kafka.address, name, [(["a", "b"], True), (["no"], False), (["c"], True), (["no"], False)])
    source = builder(kafka, name).set_bounded(LATEST)
    assert read(source.build()) == ["a", "b", "no", "c", "no"]
    source.set_property("isolation.level", "read_committed")
    assert read(source.build()) == ["a", "b", "c"]
    assert read(source.build(), seed=3) == ["a", "b", "c"], "batches may end inside a gap"


def test_removed_records_are_not_skipped_silently(kafka: LocalBroker, topic: NewTopic, tmp_path: Path) -> None:
    from confluent_kafka.admin import AdminClient

    name = topic()
    produce(kafka.address, name, [f"v{n}" for n in range(10)])
    source = builder(kafka, name)
    reader = source.build().create_reader("kafka", 0)
    sink = CollectSink()
    client = start(source.build(), sink, checkpoint=tmp_path)
    client.run_batch()
    client.cancel()
    admin = AdminClient({"bootstrap.servers": kafka.address})
    for future in admin.delete_records([TopicPartition(name, 0, 4)]).values():
        future.result(30)
    with pytest.raises(KafkaSourceError, match=rf"records 0\.\.3 of partition {name}-0 are gone"):
        start(source.build(), sink, checkpoint=tmp_path).run_batch()
    with pytest.raises(KafkaSourceError, match="are gone"):
        list(reader.read([PartitionRange(f"{name}-0", 0, 10)]))
    reader.close()
    source.set_property("auto.offset.reset", "earliest")
    client = start(source.build(), sink, checkpoint=tmp_path)
    client.run_batch()
    assert sink.results == [f"v{n}" for n in range(4, 10)]
    client.cancel()


# ---- records and deserializers ----


class Whole(KafkaRecordDeserializationSchema):
    def deserialize(self, record: KafkaRecord) -> Any:
        if record.value is None:
            return None
        if record.key == b"several":
            return [record.value, record.offset]
        return (record.topic, record.partition, record.offset, record.timestamp, record.timestamp_type, record.key,
                record.value, record.headers)  # fmt: skip


def test_everything_of_a_record(kafka: LocalBroker, topic: NewTopic) -> None:
    name = topic()
    records: list[Any] = [
        {"key": b"k", "value": b"v", "timestamp": 7, "headers": [("h", b"1"), ("h", None)]},
        {"key": b"several", "value": b"x"},
        {"key": b"gone", "value": None},
    ]
    produce(kafka.address, name, records)
    source = KafkaSource.builder().set_bootstrap_servers(kafka.address).set_topics(name).set_deserializer(Whole())
    headers = (("h", b"1"), ("h", None))
    assert read(source.set_bounded(LATEST).build()) == [
        (name, 0, 0, 7, "CreateTime", b"k", b"v", headers),
        b"x",
        1,
    ]


class Numbers(DeserializationSchema):
    """Leaves out what is negative, and fails on what is no number."""

    def deserialize(self, message: bytes) -> int | None:
        number = int(message)
        return None if number < 0 else number

    def get_produced_type(self) -> Any:
        return Types.INT()


def test_bad_records(kafka: LocalBroker, topic: NewTopic) -> None:
    name = topic()
    produce(kafka.address, name, ["1", "-2", "three" + "!" * 500, {"value": None}, "4"])
    source = builder(kafka, name).set_value_only_deserializer(Numbers()).set_bounded(LATEST)
    with pytest.raises(JobFailedError, match=rf"record at offset 2 of partition {name}-0, value b'three!+") as failed:
        read(source.build())
    assert "'Source: kafka'" in str(failed.value) and "!" * 200 not in str(failed.value)
    assert read(source.set_bad_records("skip").build()) == [1, 4]

    tag = OutputTag("bad")
    environment = StreamExecutionEnvironment.in_process()
    good, bad = CollectSink(), CollectSink()
    stream = environment.from_source(source.set_bad_records(tag).build(), NO_WATERMARKS, "kafka")
    stream.add_sink(good)
    stream.get_side_output(tag).add_sink(bad)
    environment.execute()
    assert good.results == [1, 4]
    ((error, record),) = bad.results
    assert error.startswith("ValueError: invalid literal") and (record.offset, record.value[:5]) == (2, b"three")


# ---- what cannot work is told at the start ----


def test_a_broker_that_does_not_answer_is_told_in_time() -> None:
    source = KafkaSource.builder().set_bootstrap_servers("127.0.0.1:1").set_topics("t")
    source.set_value_only_deserializer(SimpleStringSchema()).set_bounded(LATEST)
    source.set_property("default.api.timeout.ms", "400")
    with pytest.raises(KafkaSourceError, match=r"'kafka' cannot find its topics: .* 127\.0\.0\.1:1.*within 0\.4 s"):
        read(source.build())


def test_a_property_that_the_client_does_not_know_is_named(kafka: LocalBroker, topic: NewTopic) -> None:
    with pytest.raises(ConfigurationError, match=r"'kafka'.*fetch\.max\.bites"):
        read(builder(kafka, topic()).set_property("fetch.max.bites", "1").set_bounded(LATEST).build())


def test_a_broker_that_is_killed_and_comes_back(own_kafka: LocalBroker) -> None:
    own_kafka.start()
    own_kafka.create_topic("t", 2)
    produce(own_kafka.address, "t", ["a"])
    source = builder(own_kafka, "t").set_property("default.api.timeout.ms", "20000")
    sink = CollectSink()
    client = start(source.build(), sink)
    client.run_batch()
    client.run_batch()
    own_kafka.kill()
    own_kafka.start()
    produce(own_kafka.address, "t", ["b"])
    produce(own_kafka.address, "t", ["c"], partition=1)
    while len(sink.results) < 3:
        client.run_batch()
    assert sink.results[0] == "a" and sorted(sink.results) == ["a", "b", "c"]
    client.cancel()
