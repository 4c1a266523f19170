"""KafkaSource and a cluster that changes: topics made again, stops that are still to come, topics of Kafka's own."""

from __future__ import annotations

import threading

import pytest
from confluent_kafka.admin import AdminClient

from penstock.common import SimpleStringSchema
from penstock.connectors.kafka.client import KafkaAccess, KafkaSourceError
from penstock.connectors.kafka.enumerator import KafkaEnumerator, Subscription
from penstock.connectors.kafka.offsets import EARLIEST, OffsetBook, OffsetChoice
from penstock.connectors.source import PartitionRange
from penstock.datastream.connectors.kafka import KafkaSource
from penstock.kafka_broker import LocalBroker
from tests.kafka.conftest import NewTopic
from tests.kafka.producing import produce, produce_in_transactions


def enumerator(access: KafkaAccess, *topics: str, stopping: OffsetChoice | None = None) -> KafkaEnumerator:
    return KafkaEnumerator(access, Subscription(topics), EARLIEST, stopping, "the test")


@pytest.mark.parametrize("isolation", ["read_uncommitted", "read_committed"])
def test_a_topic_that_is_made_again_while_it_is_read_is_noticed(
    kafka: LocalBroker, topic: NewTopic, isolation: str
) -> None:
    name = topic()
    produce(kafka.address, name, ["old"] * 5)
    looks = enumerator(KafkaAccess(kafka.address, None, {"isolation.level": isolation}), name)
    assert looks.ends({f"{name}-0": 0}) == {f"{name}-0": 5}
    made_again(kafka, name)
    produce(kafka.address, name, ["new"] * 3)
    with pytest.raises(KafkaSourceError, match=rf"had read partition {name}-0 up to offset 5, but it ends at 3"):
        for _ in range(100):  # until the client has heard of it
            looks.ends({f"{name}-0": 5})
    looks.close()


def test_a_reader_knows_what_has_arrived_without_asking(kafka: LocalBroker, topic: NewTopic) -> None:
    name = topic(partitions=2)
    produce(kafka.address, name, ["a", "b", "c"])
    produce(kafka.address, name, ["d"], partition=1)
    source = KafkaSource.builder().set_bootstrap_servers(kafka.address).set_topics(name)
    reader = source.set_value_only_deserializer(SimpleStringSchema()).build().create_reader("the test", 0)
    at, read = {f"{name}-0": 1, f"{name}-1": 0}, list[str]()
    ends = {f"{name}-0": 5, f"{name}-1": 1}
    for wave in range(2):
        if wave:
            produce(kafka.address, name, ["e", "f"])
        for _ in range(1_000):
            arrived = reader.arrived(at)
            assert arrived is not None and all(at[each] <= arrived[each] <= ends[each] for each in at)
            ranges = [PartitionRange(each, at[each], arrived[each]) for each in at if at[each] < arrived[each]]
            read += [value for _, item in reader.read(ranges) if isinstance(item, tuple) for value in item[0]]
            at = arrived
            if at == {**ends, f"{name}-0": 5 if wave else 3}:
                break
            threading.Event().wait(0.01)
    assert sorted(read) == ["b", "c", "d", "e", "f"]
    assert reader.arrived({f"{name}-0": 0}) == {f"{name}-0": 0}, "where it is to begin again, nothing has arrived yet"
    reader.close()


def test_a_reader_that_looks_behind_the_end_of_a_topic_that_was_made_again_says_so(
    kafka: LocalBroker, topic: NewTopic
) -> None:
    name = topic()
    produce(kafka.address, name, ["old"] * 5)
    source = KafkaSource.builder().set_bootstrap_servers(kafka.address).set_topics(name)
    reader = source.set_value_only_deserializer(SimpleStringSchema()).build().create_reader("the test", 0)
    with pytest.raises(KafkaSourceError, match=rf"offset 9 of partition {name}-0 is to be read, but it has 0..5"):
        for _ in range(1_000):
            reader.arrived({f"{name}-0": 9})
            threading.Event().wait(0.01)
    reader.close()


def made_again(kafka: LocalBroker, name: str) -> None:
    admin = AdminClient({"bootstrap.servers": kafka.address})
    admin.delete_topics([name])[name].result(30)
    kafka.create_topic(name, 1)


def test_a_stop_may_be_still_to_come(kafka: LocalBroker, topic: NewTopic) -> None:
    name = topic(partitions=2)
    produce(kafka.address, name, ["a", "b"])
    stopping = OffsetChoice("offsets", "latest", offsets={f"{name}-0": 7})
    looks = enumerator(KafkaAccess(kafka.address), name, stopping=stopping)
    assert {each: found.stop for each, found in looks.discover(None, 0).items()} == {f"{name}-0": 7, f"{name}-1": 0}
    assert looks.stops([f"{name}-0"]) == {f"{name}-0": 7}
    looks.close()


def test_a_clock_that_was_set_back_keeps_no_new_topic_out(kafka: LocalBroker, topic: NewTopic) -> None:
    name = topic()
    subscription = Subscription(pattern=rf"{name}.*")
    looks = KafkaEnumerator(KafkaAccess(kafka.address), subscription, EARLIEST, None, "the test")
    known = {each: 0 for each in looks.discover(None, 1_000_000_000)}
    kafka.create_topic(f"{name}-more", 1)
    assert looks.discover(known, 1_000_000_999) == {}, "the interval is not over"
    assert list(looks.discover(known, 5_000)) == [f"{name}-more-0"]
    looks.close()


def test_a_pattern_does_not_match_topics_of_kafka_itself(kafka: LocalBroker, topic: NewTopic) -> None:
    name = topic()
    produce_in_transactions(kafka.address, name, [(["a"], True)])
    assert (
        "__transaction_state" in OffsetBook(KafkaAccess(kafka.address), "x").consumer().list_topics(timeout=30).topics
    )
    looks = KafkaEnumerator(KafkaAccess(kafka.address), Subscription(pattern=".*"), EARLIEST, None, "the test")
    found = looks.check()
    assert f"{name}-0" in found
    assert not [each for each in found if each.startswith("__")]
    looks.close()
