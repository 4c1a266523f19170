"""Kafka sources, under PyFlink's names."""

from __future__ import annotations

import enum
import re
from collections.abc import Iterable, Mapping
from dataclasses import dataclass
from typing import Any, Generic, Literal

from penstock.common.serialization import DeserializationSchema
from penstock.common.type_variables import A, T_co
from penstock.connectors.kafka.client import CLIENT_ID_PREFIX, DISCOVERY_INTERVAL, TIMEOUT, KafkaAccess, partition_name
from penstock.connectors.kafka.decoding import BadRecords, KafkaRecordDeserializationSchema
from penstock.connectors.kafka.enumerator import Subscription
from penstock.connectors.kafka.offsets import OffsetChoice, Reset
from penstock.connectors.kafka.partitions import KafkaPartitions, KafkaReading
from penstock.errors import ConfigurationError
from penstock.vocabulary.output_tag import OutputTag

__all__ = [
    "KafkaOffsetResetStrategy",
    "KafkaOffsetsInitializer",
    "KafkaSource",
    "KafkaSourceBuilder",
    "KafkaTopicPartition",
]

_GROUP_ID = "group.id"
_SERVERS = "bootstrap.servers"


@dataclass(frozen=True)
class KafkaTopicPartition:
    """A partition of a topic."""

    topic: str
    partition: int

    def __post_init__(self) -> None:
        if not isinstance(self.topic, str) or not self.topic:
            raise ConfigurationError(f"KafkaTopicPartition: the topic is a name, got {self.topic!r}")
        if isinstance(self.partition, bool) or not isinstance(self.partition, int) or self.partition < 0:
            raise ConfigurationError(f"KafkaTopicPartition: the partition is a number from 0, got {self.partition!r}")


class KafkaOffsetResetStrategy(enum.Enum):
    """Where to start if there is no valid offset."""

    LATEST = 0
    EARLIEST = 1
    NONE = 2


class KafkaOffsetsInitializer:
    """Where to start or stop reading; use its static methods."""

    def __init__(self, choice: OffsetChoice) -> None:
        """Use the static methods instead."""
        self.choice = choice

    @staticmethod
    def committed_offsets(
        offset_reset_strategy: KafkaOffsetResetStrategy = KafkaOffsetResetStrategy.NONE,
    ) -> KafkaOffsetsInitializer:
        """Return the offsets that the consumer group has committed."""
        return KafkaOffsetsInitializer(OffsetChoice("committed", _reset("committed_offsets", offset_reset_strategy)))

    @staticmethod
    def timestamp(timestamp: int) -> KafkaOffsetsInitializer:
        """Return the first offsets whose records are not older than a time in milliseconds."""
        if isinstance(timestamp, bool) or not isinstance(timestamp, int) or timestamp < 0:
            raise ConfigurationError(f"timestamp: expected milliseconds since 1970, got {timestamp!r}")
        return KafkaOffsetsInitializer(OffsetChoice("timestamp", "latest", timestamp))

    @staticmethod
    def earliest() -> KafkaOffsetsInitializer:
        """Return the earliest offsets."""
        return KafkaOffsetsInitializer(OffsetChoice("earliest"))

    @staticmethod
    def latest() -> KafkaOffsetsInitializer:
        """Return the ends of the partitions when the job first starts."""
        return KafkaOffsetsInitializer(OffsetChoice("latest", "latest"))

    @staticmethod
    def offsets(
        offsets: Mapping[KafkaTopicPartition, int],
        offset_reset_strategy: KafkaOffsetResetStrategy = KafkaOffsetResetStrategy.EARLIEST,
    ) -> KafkaOffsetsInitializer:
        """Return the given offsets; other partitions use the reset strategy."""
        if not isinstance(offsets, Mapping) or not offsets:
            raise ConfigurationError("offsets: expected a dict of KafkaTopicPartition and offset")
        given: dict[str, int] = {}
        for partition, offset in offsets.items():
            if isinstance(offset, bool) or not isinstance(offset, int) or offset < 0:
                raise ConfigurationError(f"offsets: the offset of {partition} is a number from 0, got {offset!r}")
            given[_name("offsets", partition)] = offset
        return KafkaOffsetsInitializer(OffsetChoice("offsets", _reset("offsets", offset_reset_strategy), offsets=given))


class KafkaSource(KafkaPartitions[T_co]):
    """Reads Kafka topics, with a watermark per partition."""

    @staticmethod
    def builder() -> KafkaSourceBuilder[Any]:
        """Return a new builder."""
        return KafkaSourceBuilder()


class KafkaSourceBuilder(Generic[T_co]):
    """Builds a Kafka source."""

    def __init__(self) -> None:
        self._properties: dict[str, str] = {}
        self._subscription: Subscription | None = None
        self._starting = KafkaOffsetsInitializer.earliest()
        self._stopping: KafkaOffsetsInitializer | None = None
        self._is_bounded = False
        self._schema: KafkaRecordDeserializationSchema | None = None
        self._bad = BadRecords()

    def set_bootstrap_servers(self, bootstrap_servers: str) -> KafkaSourceBuilder[T_co]:
        """Set the brokers: host:port, separated by commas."""
        return self.set_property(_SERVERS, bootstrap_servers)

    def set_group_id(self, group_id: str) -> KafkaSourceBuilder[T_co]:
        """Set the consumer group whose offsets are committed after each checkpoint."""
        return self.set_property(_GROUP_ID, group_id)

    def set_topics(self, *topics: str) -> KafkaSourceBuilder[T_co]:
        """Read these topics."""
        if not topics or not all(isinstance(topic, str) and topic for topic in topics):
            raise ConfigurationError(f"set_topics: expected names of topics, got {topics!r}")
        return self._subscribe("set_topics", Subscription(topics=tuple(dict.fromkeys(topics))))

    def set_topic_pattern(self, topic_pattern: str) -> KafkaSourceBuilder[T_co]:
        """Read all topics whose whole name matches a regular expression, including topics created later."""
        try:
            re.compile(topic_pattern)
        except (re.error, TypeError) as error:
            raise ConfigurationError(
                f"set_topic_pattern: {topic_pattern!r} is not a regular expression: {error}"
            ) from None
        return self._subscribe("set_topic_pattern", Subscription(pattern=topic_pattern))

    def set_partitions(self, partitions: Iterable[KafkaTopicPartition]) -> KafkaSourceBuilder[T_co]:
        """Read single partitions."""
        names = sorted({_name("set_partitions", each) for each in partitions})
        if not names:
            raise ConfigurationError("set_partitions: give at least one KafkaTopicPartition")
        return self._subscribe("set_partitions", Subscription(partitions=tuple(names)))

    def set_starting_offsets(self, starting_offsets_initializer: KafkaOffsetsInitializer) -> KafkaSourceBuilder[T_co]:
        """Set where to start reading (default: earliest). Later starts resume where the job was."""
        self._starting = _initializer("set_starting_offsets", starting_offsets_initializer)
        return self

    def set_unbounded(self, stopping_offsets_initializer: KafkaOffsetsInitializer) -> KafkaSourceBuilder[T_co]:
        """Stop at these offsets, but run the job in streaming mode."""
        self._stopping = _initializer("set_unbounded", stopping_offsets_initializer)
        self._is_bounded = False
        return self

    def set_bounded(self, stopping_offsets_initializer: KafkaOffsetsInitializer) -> KafkaSourceBuilder[T_co]:
        """Stop at these offsets, resolved when the job first starts."""
        self._stopping = _initializer("set_bounded", stopping_offsets_initializer)
        self._is_bounded = True
        return self

    def set_value_only_deserializer(self, deserialization_schema: DeserializationSchema[A]) -> KafkaSourceBuilder[A]:
        """Deserialize the values of records; keys and headers are ignored."""
        if not isinstance(deserialization_schema, DeserializationSchema):
            raise ConfigurationError(
                f"set_value_only_deserializer: expected a DeserializationSchema, got {deserialization_schema!r}"
            )
        return self.set_deserializer(KafkaRecordDeserializationSchema.value_only(deserialization_schema))

    def set_deserializer(self, record_deserializer: KafkaRecordDeserializationSchema[A]) -> KafkaSourceBuilder[A]:
        """Deserialize whole records."""
        if not isinstance(record_deserializer, KafkaRecordDeserializationSchema):
            raise ConfigurationError(
                f"set_deserializer: expected a KafkaRecordDeserializationSchema, got {record_deserializer!r}"
            )
        self._schema = record_deserializer
        return self  # type: ignore[return-value]  # from now on a builder of other sources

    def set_bad_records(self, what: Literal["fail", "skip"] | OutputTag) -> KafkaSourceBuilder[T_co]:
        """Choose what to do if a deserializer raises: "fail", "skip" (counted), or an OutputTag.

        The side output gets pairs of the error text and the `KafkaRecord`.
        """
        if isinstance(what, OutputTag):
            self._bad = BadRecords(False, what.tag_id)
        elif what in ("fail", "skip"):
            self._bad = BadRecords(what == "fail")
        else:
            raise ConfigurationError(f"set_bad_records: expected 'fail', 'skip' or an OutputTag, got {what!r}")
        return self

    def set_client_id_prefix(self, prefix: str) -> KafkaSourceBuilder[T_co]:
        """Set the prefix of the client ids that brokers show in logs and quotas."""
        return self.set_property(CLIENT_ID_PREFIX, prefix)

    def set_property(self, key: str, value: str) -> KafkaSourceBuilder[T_co]:
        """Set a property of Kafka's consumer, by its Java name or librdkafka's."""
        if not isinstance(key, str) or not key:
            raise ConfigurationError(f"set_property: the key must be a string, got {key!r}")
        if not isinstance(value, (str, int, float)):
            raise ConfigurationError(f"set_property: the value of {key!r} must be a string, got {value!r}")
        self._properties[key] = str(value).lower() if isinstance(value, bool) else str(value)
        return self

    def set_properties(self, props: Mapping[str, str]) -> KafkaSourceBuilder[T_co]:
        """Set several properties."""
        for key, value in props.items():
            self.set_property(key, value)
        return self

    def build(self) -> KafkaSource[T_co]:
        """Build the source. Settings are checked here; Kafka itself is asked when the job starts."""
        properties = dict(self._properties)
        servers = properties.pop(_SERVERS, None)
        if not servers:
            raise ConfigurationError("KafkaSource needs set_bootstrap_servers('host:port')")
        if self._subscription is None:
            raise ConfigurationError("KafkaSource needs set_topics(...), set_topic_pattern(...) or set_partitions(...)")
        if self._schema is None:
            raise ConfigurationError("KafkaSource needs set_value_only_deserializer(...) or set_deserializer(...)")
        access = KafkaAccess(servers, properties.pop(_GROUP_ID, None), properties)
        access.number(DISCOVERY_INTERVAL), access.number(TIMEOUT)
        if self._starting.choice.kind == "committed" and access.group_id is None:
            raise ConfigurationError("committed_offsets() needs set_group_id(...)")
        stopping = None if self._stopping is None else self._stopping.choice
        return KafkaSource(
            KafkaReading(
                access, self._subscription, self._schema, self._starting.choice, stopping, self._is_bounded, self._bad
            )
        )

    def _subscribe(self, method: str, subscription: Subscription) -> KafkaSourceBuilder[T_co]:
        if self._subscription is not None:
            raise ConfigurationError(
                f"{method}: the source already has topics; call only one of the three methods, once"
            )
        self._subscription = subscription
        return self


def _name(method: str, partition: Any) -> str:
    if not isinstance(partition, KafkaTopicPartition):
        raise ConfigurationError(f"{method}: expected a KafkaTopicPartition, got {partition!r}")
    return partition_name(partition.topic, partition.partition)


def _initializer(method: str, given: Any) -> KafkaOffsetsInitializer:
    if not isinstance(given, KafkaOffsetsInitializer):
        raise ConfigurationError(f"{method}: expected one of KafkaOffsetsInitializer's methods, got {given!r}")
    return given


def _reset(method: str, given: Any) -> Reset:
    resets: dict[Any, Reset] = {
        KafkaOffsetResetStrategy.EARLIEST: "earliest",
        KafkaOffsetResetStrategy.LATEST: "latest",
        KafkaOffsetResetStrategy.NONE: "none",
    }
    if given not in resets:
        raise ConfigurationError(f"{method}: expected a KafkaOffsetResetStrategy, got {given!r}")
    return resets[given]
