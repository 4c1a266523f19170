"""Records become messages: columns of plain data, and errors that name the record, before anything is sealed."""

from __future__ import annotations

import pickle
from typing import Any

import pytest

from penstock.common.serialization import SerializationSchema, SimpleStringSchema
from penstock.connectors.kafka.records import (
    Block,
    KafkaEncoder,
    KafkaPartitioner,
    KafkaProducerRecord,
    KafkaRecordSerializationSchema,
    KafkaTopicSelector,
    TopicDirectory,
    plain_headers,
    times,
)
from penstock.connectors.sink import RecordError, SinkContext
from penstock.errors import SinkError


class TwoTopics(TopicDirectory):
    """`small` has one partition and `large` three; nothing else is there."""

    def __init__(self) -> None:
        self.asked: list[str] = []

    def partitions(self, topic: str) -> list[int]:
        self.asked.append(topic)
        if topic not in ("small", "large"):
            raise SinkError(f"no topic {topic}")
        return [0] if topic == "small" else [0, 1, 2]


class Lengths(SerializationSchema):
    """The length of a text, as one byte."""

    def serialize(self, value: Any) -> bytes:
        return bytes([len(value)])


def encoder(schema: KafkaRecordSerializationSchema, *, max_bytes: int = 1_000_000) -> KafkaEncoder:
    context = SinkContext("job", "sink", "sink", 1, 4, lambda: 0)
    return KafkaEncoder(schema, context, TwoTopics(), max_bytes)


def encoded(schema: KafkaRecordSerializationSchema, values: list[Any], timestamps: Any = None) -> Block:
    block = encoder(schema).encode(values, timestamps)
    assert pickle.loads(pickle.dumps(block)) == block
    return block


def test_what_is_not_there_costs_nothing() -> None:
    schema = KafkaRecordSerializationSchema("small", SimpleStringSchema())
    assert encoded(schema, ["a", "b"]) == ("small", [b"a", b"b"], None, None, None, None)


def test_all_columns() -> None:
    schema = KafkaRecordSerializationSchema(
        lambda value: "small" if value == "a" else "large",
        SimpleStringSchema(),
        Lengths(),
        lambda value: {"is": value},
        LastPartition(),
    )
    assert encoded(schema, ["a", "bb"], [5, None]) == (
        ["small", "large"],
        [b"a", b"bb"],
        [b"\x01", b"\x02"],
        [5, 0],
        [0, 2],
        [[("is", b"a")], [("is", b"bb")]],
    )


class LastPartition(KafkaPartitioner):
    def open(self, parallel_instance_id: int, parallel_instances: int) -> None:
        self.where = parallel_instance_id, parallel_instances

    def partition(self, record: Any, key: Any, value: Any, target_topic: str, partitions: list[int]) -> int:
        assert self.where == (1, 4)
        return partitions[-1] if record != "nowhere" else 99


def test_a_selector_may_be_a_class() -> None:
    class ToLarge(KafkaTopicSelector):
        def apply(self, data: Any) -> str:
            return "large"

    assert encoded(KafkaRecordSerializationSchema(ToLarge(), SimpleStringSchema()), ["a"])[0] == ["large"]


def test_a_schema_of_ones_own() -> None:
    class Own(KafkaRecordSerializationSchema):
        def to_record(self, value: Any, timestamp: int | None) -> KafkaProducerRecord:
            return KafkaProducerRecord("small", None, value, {"a": b"b"} if value == b"k" else (), None, timestamp)

    assert encoded(Own(), [b"k", b"l"], [7, -1]) == (
        ["small", "small"],
        [None, None],
        [b"k", b"l"],
        [7, 0],
        [-1, -1],
        [[("a", b"b")], []],
    )


def test_times_as_librdkafka_takes_them() -> None:
    assert times(None) is None
    assert times([None, -5, 0, 1, 1_700_000_000_000]) == [0, 0, 1, 1, 1_700_000_000_000]


def test_headers_from_mappings_and_pairs() -> None:
    assert plain_headers({"a": b"1", "b": None}) == [("a", b"1"), ("b", None)]
    assert plain_headers([("a", "x"), ("a", bytearray(b"y"))]) == [("a", b"x"), ("a", b"y")]
    assert plain_headers(None) == []
    with pytest.raises(TypeError, match="pairs of a str and bytes"):
        plain_headers({"a": 1})


class Broken(SerializationSchema):
    def __init__(self, result: Any) -> None:
        self.result = result

    def serialize(self, value: Any) -> Any:
        if value == "bad":
            if isinstance(self.result, Exception):
                raise self.result
            return self.result
        return b"fine"


class Half(KafkaRecordSerializationSchema):
    def to_record(self, value: Any, timestamp: int | None) -> Any:
        return KafkaProducerRecord("small", b"") if value != "bad" else "no record"


FINE = Broken(b"fine")
BAD = {
    "a value that raises": KafkaRecordSerializationSchema("small", Broken(ValueError("no"))),
    "a value that is a text": KafkaRecordSerializationSchema("small", Broken("text")),
    "a key that raises": KafkaRecordSerializationSchema("small", FINE, Broken(ValueError("no"))),
    "a key that is a number": KafkaRecordSerializationSchema("small", FINE, Broken(7)),
    "a topic that is none": KafkaRecordSerializationSchema(lambda v: None if v == "bad" else "small", FINE),  # type: ignore[arg-type,return-value]
    "headers that are none": KafkaRecordSerializationSchema("small", FINE, None, lambda v: 5 if v == "bad" else {}),
    "a value that is too large": KafkaRecordSerializationSchema("small", Broken(b"x" * 1_000_000)),
    "a key that is too large": KafkaRecordSerializationSchema("small", FINE, Broken(b"x" * 1_000_000)),
    "headers that are too large": KafkaRecordSerializationSchema(
        "small", FINE, None, lambda v: {"h": b"x" * 1_000_000} if v == "bad" else {}
    ),
    "a record of its own that is none": Half(),
}


@pytest.mark.parametrize("what", BAD)
def test_the_record_that_cannot_be_written_is_named(what: str) -> None:
    with pytest.raises(RecordError) as caught:
        encoded(BAD[what], ["good", "bad", "good"])
    assert caught.value.record == "bad"
    assert isinstance(caught.value.__cause__, (TypeError, ValueError))


def test_a_partition_that_is_not_there_names_the_record() -> None:
    schema = KafkaRecordSerializationSchema("large", SimpleStringSchema(), None, None, LastPartition())
    with pytest.raises(RecordError) as caught:
        encoded(schema, ["a", "nowhere"])
    assert caught.value.record == "nowhere"
    assert "partition 99 was chosen" in str(caught.value.__cause__)


def test_a_fixed_partition_is_checked_with_the_topic() -> None:
    with pytest.raises(SinkError, match="has no partition 3"):
        encoded(KafkaRecordSerializationSchema("large", SimpleStringSchema(), partitioner=3), ["a"])


def test_each_topic_is_looked_up_once() -> None:
    schema = KafkaRecordSerializationSchema(lambda value: value, SimpleStringSchema())
    with pytest.raises(SinkError, match="no topic missing"):
        encoded(schema, ["small", "missing"])
    found = KafkaEncoder(schema, SinkContext("j", "u", "n", 0, 1, lambda: 0), topics := TwoTopics(), 1000)
    for _ in range(3):
        found.encode(["small", "large", "small"], None)
    assert sorted(topics.asked) == ["large", "small"]


def test_the_note_is_one_of_the_topics() -> None:
    one = encoder(KafkaRecordSerializationSchema("small", SimpleStringSchema()))
    assert one.note(one.encode(["a"], None)) == "small"
    many = encoder(KafkaRecordSerializationSchema(lambda value: value, SimpleStringSchema()))
    assert many.note(many.encode(["large", "small"], None)) == "large"


class Fixed(KafkaRecordSerializationSchema):
    """The same message for every record."""

    def __init__(self, **parts: Any) -> None:
        super().__init__()
        self.parts = parts

    def to_record(self, value: Any, timestamp: int | None) -> KafkaProducerRecord:
        return KafkaProducerRecord("large", b"x", **self.parts)


@pytest.mark.parametrize(
    "parts",
    [
        {"partition": 3},
        {"partition": -1},
        {"partition": "1"},
        {"partition": 1.0},
        {"timestamp": 1.5},
        {"timestamp": 2**63},
        {"headers": {"\ud800": b"the client library crashes"}},
    ],
)
def test_what_the_client_would_not_take_is_refused_before_it_is_sealed(parts: dict[str, Any]) -> None:
    with pytest.raises(RecordError):
        encoded(Fixed(**parts), ["a"])


def test_a_partitioner_that_gives_no_whole_number_is_refused() -> None:
    class Halves(KafkaPartitioner):
        def partition(self, *given: Any) -> Any:
            return 1.0

    with pytest.raises(RecordError) as refused:
        encoded(KafkaRecordSerializationSchema("large", SimpleStringSchema(), partitioner=Halves()), ["a"])
    assert isinstance(refused.value.__cause__, TypeError)
