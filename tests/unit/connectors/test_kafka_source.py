"""What a Kafka source does without a broker: settings, who reads which partition, pieces of messages, bad records."""

from __future__ import annotations

import pickle
from typing import Any

import pytest

from penstock.common import Row, Types, WatermarkStrategy
from penstock.common.column_block import ColumnBlock
from penstock.common.serialization import ByteArraySchema, DeserializationSchema, SimpleStringSchema
from penstock.connectors.kafka.client import KafkaAccess, partition_name, topic_and_number
from penstock.connectors.kafka.decoding import BadRecords, Decoder, KafkaRecord, KafkaRecordDeserializationSchema
from penstock.connectors.kafka.library import client_library
from penstock.connectors.kafka.reader import PartitionFeed
from penstock.connectors.source import Counted, SideRecords
from penstock.datastream import OutputTag, StreamExecutionEnvironment
from penstock.datastream.connectors.kafka import (
    KafkaOffsetResetStrategy,
    KafkaOffsetsInitializer,
    KafkaSource,
    KafkaSourceBuilder,
    KafkaTopicPartition,
)
from penstock.datastream.formats.json import JsonRowDeserializationSchema
from penstock.errors import ConfigurationError

EARLIEST = KafkaOffsetsInitializer.earliest()


def builder() -> KafkaSourceBuilder:
    found = KafkaSource.builder().set_bootstrap_servers("nowhere:9092").set_topics("t")
    return found.set_value_only_deserializer(SimpleStringSchema())


# ---- settings ----


@pytest.mark.parametrize(
    ("build", "told"),
    [
        (lambda: KafkaSource.builder().build(), "set_bootstrap_servers"),
        (lambda: KafkaSource.builder().set_bootstrap_servers("x:1").build(), "set_topics"),
        (lambda: KafkaSource.builder().set_bootstrap_servers("x:1").set_topics("t").build(), "deserializer"),
        (lambda: builder().set_topics("u"), "already has topics"),
        (lambda: KafkaSource.builder().set_topics(), "names of topics"),
        (lambda: KafkaSource.builder().set_topics(["t"]), "names of topics"),
        (lambda: KafkaSource.builder().set_topic_pattern("("), "is no"),
        (lambda: KafkaSource.builder().set_partitions([]), "at least one"),
        (lambda: KafkaSource.builder().set_partitions(["t-0"]), "KafkaTopicPartition"),
        (lambda: KafkaTopicPartition("t", -1), "from 0"),
        (lambda: KafkaTopicPartition("", 1), "a name"),
        (lambda: builder().set_starting_offsets("earliest"), "KafkaOffsetsInitializer"),
        (lambda: builder().set_value_only_deserializer(str), "DeserializationSchema"),
        (lambda: builder().set_deserializer(SimpleStringSchema()), "KafkaRecordDeserializationSchema"),
        (lambda: builder().set_bad_records("ignore"), "'skip'"),
        (lambda: builder().set_property("fetch.min.bytes", None), "must be a string"),
        (lambda: builder().set_property("partition.discovery.interval.ms", "often").build(), "whole number"),
        (
            lambda: builder().set_starting_offsets(KafkaOffsetsInitializer.committed_offsets()).build(),
            "needs set_group_id",
        ),
        (lambda: KafkaOffsetsInitializer.timestamp(-1), "since 1970"),
        (lambda: KafkaOffsetsInitializer.offsets({}), "expected a dict"),
        (lambda: KafkaOffsetsInitializer.offsets({KafkaTopicPartition("t", 0): -2}), "from 0"),
        (lambda: KafkaOffsetsInitializer.committed_offsets("latest"), "KafkaOffsetResetStrategy"),
    ],
)
def test_what_cannot_work_is_refused_in_one_sentence(build: Any, told: str) -> None:
    with pytest.raises(ConfigurationError, match=told):
        build()


def test_settings_of_the_client() -> None:
    source = (
        builder()
        .set_group_id("g")
        .set_client_id_prefix("pre")
        .set_properties(
            {
                "fetch.max.wait.ms": "7",
                "isolation.level": "read_committed",
                "auto.offset.reset": "earliest",
                "enable.auto.commit": "true",
                "partition.discovery.interval.ms": "5",
            }
        )
    )
    access = pickle.loads(pickle.dumps(source.build())).reading.access
    assert (access.is_read_committed, access.skips_lost, access.commits_offsets) == (True, True, True)
    settings = access.settings("s", "3")
    assert settings["fetch.wait.max.ms"] == "7" and settings["client.id"] == "pre-3"
    assert settings["group.id"] == "g" and settings["bootstrap.servers"] == "nowhere:9092"
    assert settings["enable.auto.commit"] == "false" and settings["auto.offset.reset"] == "error"
    assert "partition.discovery.interval.ms" not in settings
    plain = KafkaAccess("x:1")
    assert plain.settings("s", "")["isolation.level"] == "read_uncommitted"
    assert (plain.timeout, plain.skips_lost, plain.commits_offsets) == (30.0, False, False)
    assert not KafkaAccess("x:1", "g", {"commit.offsets.on.checkpoint": "false"}).commits_offsets


def test_the_client_library_is_an_extra(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setitem(__import__("sys").modules, "confluent_kafka", None)
    with pytest.raises(ConfigurationError, match=r"penstock\[kafka\]"):
        client_library()


def test_bounded_sources_and_side_outputs() -> None:
    assert not builder().build().is_bounded() and not builder().build().has_stops()
    assert builder().set_bounded(EARLIEST).build().is_bounded()
    stopping = builder().set_unbounded(EARLIEST).build()
    assert stopping.has_stops() and not stopping.is_bounded()
    assert builder().set_bad_records(OutputTag("bad")).build().side_outputs() == {"bad"}
    assert builder().set_bad_records("skip").build().side_outputs() == frozenset()


def test_the_deserializer_says_what_the_stream_is_made_of() -> None:
    environment = StreamExecutionEnvironment.in_process()
    stream = environment.from_source(builder().build(), WatermarkStrategy.no_watermarks(), "s")
    assert stream.get_type() == Types.STRING()


def test_offsets_go_by_partition() -> None:
    strategy = KafkaOffsetResetStrategy.LATEST
    choice = KafkaOffsetsInitializer.offsets({KafkaTopicPartition("a-b", 3): 7}, strategy).choice
    assert (choice.kind, choice.reset, choice.offsets) == ("offsets", "latest", {"a-b-3": 7})
    assert topic_and_number(partition_name("a-b", 3)) == ("a-b", 3)


def test_partitions_of_a_topic_go_round_from_flinks_place() -> None:
    source = builder().build()
    # "t".hashCode() is 116 in Java, "orders".hashCode() is -1008770331: (h * 31 & 0x7FFFFFFF) % parallelism.
    assert [source.owner(f"t-{number}", 5) for number in range(6)] == [1, 2, 3, 4, 0, 1]
    first = ((-1008770331 * 31) & 0x7FFFFFFF) % 7
    assert [source.owner(f"orders-{number}", 7) for number in range(3)] == [(first + n) % 7 for n in range(3)]
    assert {source.owner(f"é-{number}", 3) for number in range(3)} == {0, 1, 2}


# ---- pieces ----


class Message:
    """A message of the client library."""

    def __init__(self, offset: int, value: bytes | None = b"v", timestamp: tuple[int, int] = (1, 5)) -> None:
        self._offset = offset
        self._value = value
        self._timestamp = timestamp

    def __len__(self) -> int:
        return len(self._value or b"")

    def topic(self) -> str:
        return "t"

    def partition(self) -> int:
        return 0

    def offset(self) -> int:
        return self._offset

    def key(self) -> None:
        return None

    def headers(self) -> None:
        return None

    def value(self) -> bytes | None:
        return self._value

    def timestamp(self) -> tuple[int, int]:
        return self._timestamp


def pieces(messages: list[Message], stop: int, portions: int) -> list[list[int]]:
    """How a range is cut when messages arrive in portions of a size."""
    feed = PartitionFeed("t-0")
    feed.restart(0)
    cut: list[list[int]] = []
    arrived = 0
    while feed.at < stop:
        piece = feed.take(stop)
        if piece is None:
            assert arrived < len(messages), "all is there, but it waits"
            feed.add(messages[arrived : arrived + portions])
            arrived += portions
        else:
            cut.append([message.offset() for message in piece])
    assert feed.at == stop
    return cut


@pytest.mark.parametrize("size", [10, 3_000, 1_000_000])
def test_a_range_is_cut_into_the_same_pieces_however_it_arrives(size: int) -> None:
    count = 5_000 if size < 1_000_000 else 50
    messages = [Message(offset, b"x" * size) for offset in range(0, 2 * count, 2)]  # with gaps
    stop = count + 1
    expected = pieces(messages, stop, len(messages))
    assert [offset for piece in expected for offset in piece] == [*range(0, stop, 2)]
    assert all(len(piece) <= 2_000 and len(piece) * size <= 4_000_000 + size for piece in expected)
    for portions in (1, 7, 1_000):
        assert pieces(messages, stop, portions) == expected


def test_a_range_of_gaps_only_is_empty_once_the_end_is_told() -> None:
    feed = PartitionFeed("t-0")
    feed.restart(5)
    assert feed.take(9) is None
    feed.reached = 9
    assert feed.take(9) == [] and feed.at == 9


# ---- from messages to values ----


class Numbers(DeserializationSchema):
    def deserialize(self, message: bytes) -> int | None:
        return int(message) or None

    def get_produced_type(self) -> Any:
        return None


def decoded(schema: Any, bad: BadRecords, *messages: Message) -> list[Any]:
    if isinstance(schema, DeserializationSchema):
        schema = KafkaRecordDeserializationSchema.value_only(schema)
    return list(Decoder(schema, bad).decode(list(messages)))


def test_values_come_with_timestamps_and_bytes_are_counted() -> None:
    got = decoded(ByteArraySchema(), BadRecords(), Message(0, b"ab", (1, 7)), Message(1, b"c", (2, 8)))
    assert got == [Counted("bytes_in", 3), ([b"ab", b"c"], [7, 8])]
    assert decoded(ByteArraySchema(), BadRecords(), Message(0, b"a", (0, -1)))[1] == ([b"a"], [None])
    assert decoded(ByteArraySchema(), BadRecords()) == []


def test_json_stays_the_columns_it_is_parsed_to() -> None:
    schema = JsonRowDeserializationSchema.builder().type_info(Types.ROW_NAMED(["n"], [Types.LONG()])).build()
    messages = [Message(0, b'{"n":1}', (1, 7)), Message(1, b'{"n":2}', (1, 8))]
    _, (block, stamps) = decoded(schema, BadRecords(), *messages)
    assert isinstance(block, ColumnBlock) and block.values() == [Row(n=1), Row(n=2)] and stamps.tolist() == [7, 8]
    assert decoded(schema, BadRecords(), *messages, Message(2, b'{"n":3}', (0, -1)))[1][1] == [7, 8, None]
    assert decoded(schema, BadRecords(False), *messages, Message(2, b"n"))[-1][0] == [Row(n=1), Row(n=2)]


def test_records_without_a_value_and_values_left_out() -> None:
    assert decoded(ByteArraySchema(), BadRecords(), Message(0, None), Message(1))[-1] == ([b"v"], [5])
    assert decoded(Numbers(), BadRecords(), Message(0, b"0"), Message(1, b"3"))[-1] == ([3], [5])
    assert decoded(Numbers(), BadRecords(), Message(0, b"0")) == [Counted("bytes_in", 1)]


def test_what_becomes_of_bad_records() -> None:
    messages = [Message(0, b"1"), Message(1, b"x" * 1000), Message(2, b"2")]
    with pytest.raises(ValueError, match="invalid literal") as failed:
        decoded(Numbers(), BadRecords(), *messages)
    (note,) = failed.value.__notes__
    assert "offset 1 of partition t-0" in note and len(note) < 300
    good, count = ([1, 2], [5, 5]), Counted("bad_records", 1)
    assert decoded(Numbers(), BadRecords(False), *messages)[1:] == [count, good]
    _, _, side, rest = decoded(Numbers(), BadRecords(False, "bad"), *messages)
    assert rest == good and isinstance(side, SideRecords) and side.tag == "bad"
    ((error, record),) = side.values
    assert error.startswith("ValueError: ") and record == KafkaRecord.of(messages[1])
    assert pickle.loads(pickle.dumps(record)) == record


class Several(KafkaRecordDeserializationSchema):
    def deserialize(self, record: KafkaRecord) -> Any:
        if record.offset == 0:
            return (n for n in (1, 2))
        return [3] if record.offset == 1 else None if record.offset == 2 else (4, "t")


def test_a_record_may_give_several_values() -> None:
    got = decoded(Several(), BadRecords(), *(Message(offset) for offset in range(4)))
    assert got == [Counted("bytes_in", 4), ([1, 2, 3, (4, "t")], [5, 5, 5, 5])]


class RaisesLater(KafkaRecordDeserializationSchema):
    def deserialize(self, record: KafkaRecord) -> Any:
        yield record.offset
        raise RuntimeError("in the generator")


def test_a_generator_that_raises_gives_nothing_of_its_record() -> None:
    got = decoded(RaisesLater(), BadRecords(False), Message(0))
    assert got == [Counted("bytes_in", 1), Counted("bad_records", 1)]
