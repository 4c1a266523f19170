"""The Kafka source: combines enumerator, reader and group committer."""

from __future__ import annotations

from dataclasses import dataclass, field

from penstock.common.serialization import DeserializationSchema
from penstock.common.type_variables import T_co
from penstock.common.typeinfo import TypeInformation
from penstock.connectors.kafka.client import KafkaAccess, topic_and_number
from penstock.connectors.kafka.decoding import BadRecords, Decoder, KafkaRecordDeserializationSchema, ValueOnly
from penstock.connectors.kafka.enumerator import KafkaEnumerator, Subscription
from penstock.connectors.kafka.group import GroupCommitter
from penstock.connectors.kafka.offsets import EARLIEST, OffsetChoice
from penstock.connectors.kafka.reader import KafkaReader
from penstock.connectors.source import PartitionedSource, PartitionEnumerator, PartitionReader, PositionListener


@dataclass(frozen=True)
class KafkaReading:
    """Everything that says what a Kafka source reads and how; plain data, fit to travel to workers."""

    access: KafkaAccess
    subscription: Subscription
    schema: KafkaRecordDeserializationSchema
    starting: OffsetChoice = EARLIEST
    stopping: OffsetChoice | None = None
    is_bounded: bool = False
    bad: BadRecords = field(default_factory=BadRecords)


class KafkaPartitions(PartitionedSource[T_co]):
    """Reads the partitions of Kafka topics."""

    def __init__(self, reading: KafkaReading) -> None:
        self.reading = reading

    def is_bounded(self) -> bool:
        """Whether it was made to end."""
        return self.reading.is_bounded

    def has_stops(self) -> bool:
        """Whether offsets to stop at were given; an unbounded source can have them too."""
        return self.reading.stopping is not None

    def reads_partitions_apart(self) -> bool:
        """Whether a subtask has to know nothing of the partitions of others: asking for them costs time."""
        return True

    def side_outputs(self) -> frozenset[str]:
        """Where bad records go, if they go anywhere."""
        return frozenset() if self.reading.bad.tag is None else frozenset({self.reading.bad.tag})

    def produced_type(self) -> TypeInformation[T_co] | None:
        """What the deserializer says."""
        return self.reading.schema.get_produced_type()

    def gives_columns(self) -> bool:
        """Return whether a schema of values decodes many of them at once; one of whole records sees each."""
        schema = self.reading.schema
        many = getattr(schema.schema, "deserialize_columns", None) if isinstance(schema, ValueOnly) else None
        return getattr(many, "__func__", None) not in (None, DeserializationSchema.deserialize_columns)

    def validate(self, name: str) -> None:
        """Refuse settings that the client does not take, brokers that do not answer and topics that are not there."""
        enumerator = self._enumerator(name)
        try:
            enumerator.check()
        finally:
            enumerator.close()

    def create_enumerator(self, name: str) -> PartitionEnumerator:
        """Make what finds partitions."""
        return self._enumerator(name)

    def create_reader(self, name: str, subtask: int) -> PartitionReader:
        """Make what reads them."""
        decoder = Decoder(self.reading.schema, self.reading.bad)
        return KafkaReader(self.reading.access, decoder, _who(name), subtask)

    def create_listener(self, name: str) -> PositionListener | None:
        """Make what tells the consumer group, if there is one to be told."""
        return GroupCommitter(self.reading.access, _who(name)) if self.reading.access.commits_offsets else None

    def owner(self, partition: str, parallelism: int) -> int:
        """Return the subtask that Flink would choose: a topic's partitions go round from a place of its own."""
        topic, number = topic_and_number(partition)
        first = ((_java_hash(topic) * 31) & 0x7FFFFFFF) % parallelism
        return (first + number) % parallelism

    def _enumerator(self, name: str) -> KafkaEnumerator:
        reading = self.reading
        return KafkaEnumerator(reading.access, reading.subscription, reading.starting, reading.stopping, _who(name))


def _who(name: str) -> str:
    return f"source {name.removeprefix('Source: ')!r}"


def _java_hash(text: str) -> int:
    """`String.hashCode` of Java, without its sign."""
    units = text.encode("utf-16-be")
    value = 0
    for high, low in zip(units[::2], units[1::2], strict=True):
        value = (value * 31 + (high << 8 | low)) & 0xFFFFFFFF
    return value
