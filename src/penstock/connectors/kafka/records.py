"""Turns records of a stream into Kafka messages: topic, key, value, headers, partition and time.

Messages of a block stay in columns: most sinks have one topic and neither headers nor a partitioner, and what is not
there costs nothing.
"""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections.abc import Callable, Iterable, Mapping
from dataclasses import dataclass
from operator import index as whole_number
from typing import Any

from penstock.common.serialization import SerializationSchema
from penstock.connectors.sink import RecordError, SinkContext
from penstock.connectors.staged_sink import RecordEncoder
from penstock.errors import SinkError

Headers = list[tuple[str, bytes | None]]
Block = tuple[
    str | list[str],
    list[bytes | None],
    list[bytes | None] | None,
    list[int] | None,
    int | list[int] | None,
    list[Headers] | None,
]
"""Plain data: topics, values, keys, times, partitions, headers. One topic or partition may stand for all; time 0 is
none, partition -1 leaves the choice to the client."""

ANY_PARTITION = -1
_NO_TIME = 0
_MESSAGE_OVERHEAD = 128  # what librdkafka and the protocol add to a message, generously
_BYTES = {bytes, type(None)}


class KafkaTopicSelector(ABC):
    """Chooses the topic of each record."""

    @abstractmethod
    def apply(self, data: Any) -> str:
        """Return the topic of a record."""


class KafkaPartitioner(ABC):
    """Chooses the partition of each record."""

    def open(self, parallel_instance_id: int, parallel_instances: int) -> None:  # noqa: B027 - optional
        """Called once in each subtask: its number, and how many there are."""

    @abstractmethod
    def partition(
        self, record: Any, key: bytes | None, value: bytes | None, target_topic: str, partitions: list[int]
    ) -> int:
        """Return one of the partitions."""


@dataclass(frozen=True)
class KafkaProducerRecord:
    """A message as it goes to Kafka; without a value it marks its key as deleted."""

    topic: str
    value: bytes | None
    key: bytes | None = None
    headers: Mapping[str, bytes | None] | Iterable[tuple[str, bytes | None]] = ()
    partition: int | None = None
    timestamp: int | None = None


class KafkaRecordSerializationSchema(SerializationSchema):
    """How records become messages; made by `builder()` of `penstock.datastream.connectors.kafka`, or derived from.

    A class of your own overrides `to_record`, which then decides about everything.
    """

    def __init__(
        self,
        topic: str | KafkaTopicSelector | Callable[[Any], str] | None = None,
        value_schema: SerializationSchema | None = None,
        key_schema: SerializationSchema | None = None,
        header_provider: Callable[[Any], Any] | None = None,
        partitioner: KafkaPartitioner | int | None = None,
    ) -> None:
        self.topic = topic
        self.value_schema = value_schema
        self.key_schema = key_schema
        self.header_provider = header_provider
        self.partitioner = partitioner

    def serialize(self, value: Any) -> Any:
        """Return the bytes of a record's value."""
        assert self.value_schema is not None, "a schema without value_schema overrides to_record"
        return self.value_schema.serialize(value)

    def to_record(self, value: Any, timestamp: int | None, /) -> KafkaProducerRecord:
        """Make the message of one record; `timestamp` is its event time, if it has one."""
        raise AssertionError("overridden, or not called")

    @property
    def is_custom(self) -> bool:
        """Whether a subclass makes whole messages."""
        return type(self).to_record is not KafkaRecordSerializationSchema.to_record

    @property
    def fixed_topic(self) -> str | None:
        """The topic, if it is the same for all records."""
        return self.topic if isinstance(self.topic, str) and not self.is_custom else None


class TopicDirectory(ABC):
    """Knows the partitions of topics."""

    @abstractmethod
    def partitions(self, topic: str) -> list[int]:
        """Return the partitions of a topic; raises `SinkError` if there is none of that name."""


class KafkaEncoder(RecordEncoder):
    """Makes blocks of messages in a subtask; what Kafka would never take is refused here, before it is sealed."""

    def __init__(
        self,
        schema: KafkaRecordSerializationSchema,
        context: SinkContext,
        topics: TopicDirectory,
        max_message_bytes: int,
    ) -> None:
        self._schema = schema
        self._topics = topics
        self._max_bytes = max_message_bytes - _MESSAGE_OVERHEAD
        self._seen: set[str] = set()
        topic = schema.topic
        self._select = topic.apply if isinstance(topic, KafkaTopicSelector) else topic
        if isinstance(schema.partitioner, KafkaPartitioner):
            schema.partitioner.open(context.subtask, context.parallelism)

    def encode(self, values: list[Any], timestamps: list[int | None] | None) -> Block:
        """Make the messages of some records."""
        block = self._custom(values, timestamps) if self._schema.is_custom else self._by_parts(values, timestamps)
        self._check_sizes(block, values)
        topics = block[0]
        for topic in [topics] if isinstance(topics, str) else set(topics) - self._seen:
            self._check_topic(topic, block[4])
        return block

    def note(self, block: Any) -> str:
        """One of the topics: the marker will be found there."""
        return block[0] if isinstance(block[0], str) else str(block[0][0])

    def _by_parts(self, values: list[Any], timestamps: list[int | None] | None) -> Block:
        schema = self._schema
        encoded = _bytes_column(schema.serialize, values, "value")
        keys = None if schema.key_schema is None else _bytes_column(schema.key_schema.serialize, values, "key")
        provide = schema.header_provider
        headers = None if provide is None else _column(lambda value: plain_headers(provide(value)), values)
        topics: str | list[str]
        if isinstance(self._select, str):
            topics = self._select
        else:
            assert self._select is not None, "checked by the builder"
            topics = _column(_checked_by(self._select, str, "a topic selector must return a str"), values)
        partitions = self._partitions(values, keys, encoded, topics)
        return topics, encoded, keys, times(timestamps), partitions, headers

    def _partitions(
        self, values: list[Any], keys: list[bytes | None] | None, encoded: list[bytes | None], topics: str | list[str]
    ) -> int | list[int] | None:
        partitioner = self._schema.partitioner
        if not isinstance(partitioner, KafkaPartitioner):
            return partitioner
        found: list[int] = []
        try:
            for index, value in enumerate(values):
                topic = topics if isinstance(topics, str) else topics[index]
                known = self._topics.partitions(topic)
                chosen = partitioner.partition(value, keys[index] if keys else None, encoded[index], topic, known)
                found.append(_existing(chosen, topic, known))
        except SinkError:
            raise
        except Exception as error:
            raise RecordError(values[len(found)]) from error
        return found

    def _custom(self, values: list[Any], timestamps: list[int | None] | None) -> Block:
        moments = timestamps or [None] * len(values)
        made: list[KafkaProducerRecord] = []
        headers: list[Headers] = []
        partitions: list[int] = []
        stamps: list[int | None] = []
        try:
            for value, moment in zip(values, moments, strict=True):
                record = self._schema.to_record(value, moment)
                if not isinstance(record, KafkaProducerRecord) or not isinstance(record.topic, str):
                    raise TypeError(f"to_record must return a KafkaProducerRecord, got {record!r}")
                headers.append(plain_headers(record.headers))
                partitions.append(self._partition_of(record))
                stamps.append(_checked_time(record.timestamp))
                made.append(record)
        except SinkError:
            raise
        except Exception as error:
            raise RecordError(values[len(made)]) from error
        return (
            [record.topic for record in made],
            _checked_bytes([record.value for record in made], values, "value"),
            _checked_bytes([record.key for record in made], values, "key"),
            times(stamps),
            partitions,
            headers if any(headers) else None,
        )

    def _partition_of(self, record: KafkaProducerRecord) -> int:
        if record.partition is None:
            return ANY_PARTITION
        return _existing(record.partition, record.topic, self._topics.partitions(record.topic))

    def _check_sizes(self, block: Block, values: list[Any]) -> None:
        _, encoded, keys, _, _, headers = block
        sizes = [len(value) if value is not None else 0 for value in encoded]
        if keys is not None:
            sizes = [size + len(key or b"") for size, key in zip(sizes, keys, strict=True)]
        if headers is not None:
            more = [sum(len(name) * 4 + len(value or b"") for name, value in each) for each in headers]
            sizes = [size + extra for size, extra in zip(sizes, more, strict=True)]
        if max(sizes) > self._max_bytes:
            index = sizes.index(max(sizes))
            raise RecordError(values[index]) from ValueError(
                f"a message of {sizes[index]} bytes is larger than the Kafka property 'max.request.size' allows "
                f"({self._max_bytes + _MESSAGE_OVERHEAD}): raise it, and max.message.bytes of the topic"
            )

    def _check_topic(self, topic: str, partitions: int | list[int] | None) -> None:
        if topic in self._seen:
            return
        known = self._topics.partitions(topic)
        if isinstance(partitions, int) and known and partitions not in known:
            raise SinkError(f"topic {topic!r} has no partition {partitions}: it has {len(known)}, counted from 0")
        self._seen.add(topic)


def times(timestamps: list[int | None] | None) -> list[int] | None:
    """Times as librdkafka takes them; negative ones are none, as in Flink.

    To librdkafka 0 means now. A record of the very first millisecond of 1970 is better off by one than by decades.
    """
    if timestamps is None:
        return None
    return [_NO_TIME if moment is None or moment < 0 else moment or 1 for moment in timestamps]


def plain_headers(given: Any) -> Headers:
    """Headers of one message, from a mapping or from pairs."""
    pairs = list(given.items()) if isinstance(given, Mapping) else list(given or ())
    checked: Headers = []
    for pair in pairs:
        name, value = pair
        value = value.encode() if isinstance(value, str) else value
        if not isinstance(name, str) or not isinstance(value, (bytes, bytearray, type(None))):
            raise TypeError(f"headers are pairs of a str and bytes, got {pair!r}")
        name.encode()  # a lone surrogate would end the process in the client library
        checked.append((name, None if value is None else bytes(value)))
    return checked


def _existing(chosen: Any, topic: str, known: list[int]) -> int:
    """A partition as a plain number, for 1.0 is among the known ones too, but the client takes none such."""
    number = whole_number(chosen)
    if number not in known:
        raise ValueError(f"partition {chosen!r} was chosen, but topic {topic!r} has partitions {known}")
    return number


def _checked_time(timestamp: Any) -> int | None:
    moment = None if timestamp is None else whole_number(timestamp)
    if moment is not None and moment >= 2**63:
        raise ValueError(f"the timestamp of a message is in milliseconds and below 2**63, got {timestamp!r}")
    return moment


def _column(function: Callable[[Any], Any], values: list[Any]) -> list[Any]:
    made: list[Any] = []
    append = made.append
    try:
        for value in values:
            append(function(value))
    except Exception as error:
        raise RecordError(values[len(made)]) from error
    return made


def _bytes_column(function: Callable[[Any], Any], values: list[Any], what: str) -> list[bytes | None]:
    return _checked_bytes(_column(function, values), values, what)


def _checked_bytes(column: list[Any], values: list[Any], what: str) -> list[bytes | None]:
    if set(map(type, column)) <= _BYTES:
        return column
    for index, item in enumerate(column):
        if not isinstance(item, (bytes, bytearray, type(None))):
            problem = TypeError(f"the schema of a message's {what} must return bytes, got {type(item).__name__}")
            raise RecordError(values[index]) from problem
    return [None if item is None else bytes(item) for item in column]


def _checked_by(function: Callable[[Any], Any], wanted: type, rule: str) -> Callable[[Any], Any]:
    def call(value: Any) -> Any:
        result = function(value)
        if not isinstance(result, wanted):
            raise TypeError(f"{rule}, got {result!r}")
        return result

    return call
