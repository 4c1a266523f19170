"""Kafka sinks, under PyFlink's names."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

from penstock.common.serialization import SerializationSchema
from penstock.connectors.kafka import records as kafka_records
from penstock.connectors.kafka import sink as kafka_sink
from penstock.connectors.kafka.producing import producer_settings
from penstock.connectors.kafka.records import KafkaPartitioner, KafkaProducerRecord, KafkaTopicSelector
from penstock.connectors.sink import DeliveryGuarantee
from penstock.errors import ConfigurationError

__all__ = [
    "KafkaPartitioner",
    "KafkaProducerRecord",
    "KafkaRecordSerializationSchema",
    "KafkaRecordSerializationSchemaBuilder",
    "KafkaSink",
    "KafkaSinkBuilder",
    "KafkaTopicSelector",
]

_OWN = {
    "transactional.id": "set_transactional_id_prefix()",
    "enable.gapless.guarantee": "nothing: it has no meaning here",
    "delivery.report.only.error": "nothing: Penstock sets it",
}


class KafkaRecordSerializationSchema(kafka_records.KafkaRecordSerializationSchema):
    """Turns records into messages; use `builder()`, or subclass it and override `to_record`."""

    @staticmethod
    def builder() -> KafkaRecordSerializationSchemaBuilder:
        """Return a new builder."""
        return KafkaRecordSerializationSchemaBuilder()


class KafkaRecordSerializationSchemaBuilder:
    """Builds a `KafkaRecordSerializationSchema`; topic and value schema are required."""

    def __init__(self) -> None:
        self._topic: Any = None
        self._value: SerializationSchema | None = None
        self._key: SerializationSchema | None = None
        self._headers: Callable[[Any], Any] | None = None
        self._partitioner: KafkaPartitioner | int | None = None

    def set_topic(self, topic: str) -> KafkaRecordSerializationSchemaBuilder:
        """Write all records to one topic."""
        if not isinstance(topic, str) or not topic:
            raise ConfigurationError(f"set_topic: expected a topic name, got {topic!r}")
        return self._with_topic(topic)

    def set_topic_selector(
        self, topic_selector: KafkaTopicSelector | Callable[[Any], str]
    ) -> KafkaRecordSerializationSchemaBuilder:
        """Choose the topic of each record with a `KafkaTopicSelector` or a function."""
        if not isinstance(topic_selector, KafkaTopicSelector) and not callable(topic_selector):
            raise ConfigurationError(f"set_topic_selector: expected a KafkaTopicSelector, got {topic_selector!r}")
        return self._with_topic(topic_selector)

    def set_key_serialization_schema(
        self, key_serialization_schema: SerializationSchema
    ) -> KafkaRecordSerializationSchemaBuilder:
        """Set how keys are serialized; without it, messages have no key."""
        self._key = _schema("set_key_serialization_schema", key_serialization_schema)
        return self

    def set_value_serialization_schema(
        self, value_serialization_schema: SerializationSchema
    ) -> KafkaRecordSerializationSchemaBuilder:
        """Set how values are serialized."""
        self._value = _schema("set_value_serialization_schema", value_serialization_schema)
        return self

    def set_header_provider(self, header_provider: Callable[[Any], Any]) -> KafkaRecordSerializationSchemaBuilder:
        """Set the headers: a function of the record that returns a dict, or pairs of name and bytes."""
        if not callable(header_provider):
            raise ConfigurationError(f"set_header_provider: expected a function of the record, got {header_provider!r}")
        self._headers = header_provider
        return self

    def set_partitioner(self, partitioner: KafkaPartitioner | int) -> KafkaRecordSerializationSchemaBuilder:
        """Choose the partition with a `KafkaPartitioner` or a number; by default it follows the key, as in Java."""
        is_number = isinstance(partitioner, int) and not isinstance(partitioner, bool) and partitioner >= 0
        if not is_number and not isinstance(partitioner, KafkaPartitioner):
            raise ConfigurationError(f"set_partitioner: expected a KafkaPartitioner or a number, got {partitioner!r}")
        self._partitioner = partitioner
        return self

    def build(self) -> KafkaRecordSerializationSchema:
        """Build it; raises if something is missing."""
        if self._topic is None:
            raise ConfigurationError("KafkaRecordSerializationSchema needs set_topic(...) or set_topic_selector(...)")
        if self._value is None:
            raise ConfigurationError("KafkaRecordSerializationSchema needs set_value_serialization_schema(...)")
        return KafkaRecordSerializationSchema(self._topic, self._value, self._key, self._headers, self._partitioner)

    def _with_topic(self, topic: Any) -> KafkaRecordSerializationSchemaBuilder:
        if self._topic is not None:
            raise ConfigurationError("KafkaRecordSerializationSchema already has a topic or topic selector")
        self._topic = topic
        return self


class KafkaSink(kafka_sink.KafkaSink):
    """Writes records to Kafka; see `penstock.connectors.kafka.sink`."""

    state_identity = "KafkaSink"

    @staticmethod
    def builder() -> KafkaSinkBuilder:
        """Return a new builder."""
        return KafkaSinkBuilder()


class KafkaSinkBuilder:
    """Builds a `KafkaSink`; servers and serializer are required, the default guarantee is `DeliveryGuarantee.NONE`."""

    def __init__(self) -> None:
        self._properties: dict[str, str] = {}
        self._guarantee = DeliveryGuarantee.NONE
        self._prefix: str | None = None
        self._serializer: kafka_records.KafkaRecordSerializationSchema | None = None

    def set_bootstrap_servers(self, bootstrap_servers: str) -> KafkaSinkBuilder:
        """Set the brokers: "host:port", separated by commas."""
        return self.set_property("bootstrap.servers", bootstrap_servers)

    def set_delivery_guarantee(self, delivery_guarantee: DeliveryGuarantee) -> KafkaSinkBuilder:
        """Set the delivery guarantee after a failure."""
        if not isinstance(delivery_guarantee, DeliveryGuarantee):
            raise ConfigurationError(
                f"set_delivery_guarantee: expected a DeliveryGuarantee, got {delivery_guarantee!r}"
            )
        self._guarantee = delivery_guarantee
        return self

    def set_transactional_id_prefix(self, transactional_id_prefix: str) -> KafkaSinkBuilder:
        """Name the transactions of an exactly-once sink; no other job on the cluster may use the same prefix."""
        if not isinstance(transactional_id_prefix, str) or not 0 < len(transactional_id_prefix) <= 128:
            raise ConfigurationError(
                "set_transactional_id_prefix: expected a string of 1 to 128 characters, got "
                f"{transactional_id_prefix!r}"
            )
        self._prefix = transactional_id_prefix
        return self

    def set_record_serializer(
        self, record_serializer: kafka_records.KafkaRecordSerializationSchema
    ) -> KafkaSinkBuilder:
        """Set how records become messages."""
        if not isinstance(record_serializer, kafka_records.KafkaRecordSerializationSchema):
            raise ConfigurationError(
                "set_record_serializer: expected a KafkaRecordSerializationSchema (its builder() takes a topic and a "
                f"SerializationSchema), got {record_serializer!r}"
            )
        self._serializer = record_serializer
        return self

    def set_property(self, key: str, value: str) -> KafkaSinkBuilder:
        """Set a property of the producers, by its name in Java or in librdkafka."""
        if key in _OWN:
            raise ConfigurationError(f"set_property: {key!r} cannot be set; use {_OWN[key]}")
        self._properties[key] = value
        return self

    def build(self) -> KafkaSink:
        """Build it; raises if something is missing."""
        if not self._properties.get("bootstrap.servers"):
            raise ConfigurationError("KafkaSink needs set_bootstrap_servers(...), such as 'localhost:9092'")
        if self._serializer is None:
            raise ConfigurationError("KafkaSink needs set_record_serializer(...)")
        if not self._serializer.is_custom and self._serializer.value_schema is None:
            raise ConfigurationError(
                f"KafkaSink: {type(self._serializer).__name__} has no value schema: build it with "
                "KafkaRecordSerializationSchema.builder(), or override to_record()"
            )
        producer_settings(self._properties, "KafkaSink", transactional=False)
        return KafkaSink(dict(self._properties), self._serializer, self._guarantee, self._prefix)


def _schema(method: str, schema: Any) -> SerializationSchema:
    if not isinstance(schema, SerializationSchema):
        raise ConfigurationError(f"{method}: expected a SerializationSchema, got {schema!r}")
    return schema
