"""PyFlink's module of Kafka connectors; what is in it is written in modules of its own."""

from __future__ import annotations

from penstock.datastream.connectors.kafka_sink import (
    KafkaPartitioner,
    KafkaProducerRecord,
    KafkaRecordSerializationSchema,
    KafkaRecordSerializationSchemaBuilder,
    KafkaSink,
    KafkaSinkBuilder,
    KafkaTopicSelector,
)

__all__ = [
    "KafkaPartitioner",
    "KafkaProducerRecord",
    "KafkaRecordSerializationSchema",
    "KafkaRecordSerializationSchemaBuilder",
    "KafkaSink",
    "KafkaSinkBuilder",
    "KafkaTopicSelector",
]
