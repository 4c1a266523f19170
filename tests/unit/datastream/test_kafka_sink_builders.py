"""The builders of Kafka sinks refuse what cannot work, in one sentence that names the method."""

from __future__ import annotations

import builtins
import pickle
from collections.abc import Callable
from typing import Any

import pytest

from penstock.common.serialization import SimpleStringSchema
from penstock.connectors.kafka.library import client_library
from penstock.connectors.kafka.producing import producer_settings
from penstock.connectors.sink import SinkContext
from penstock.connectors.staged_sink import StagingWriter
from penstock.datastream.connectors.base import DeliveryGuarantee
from penstock.datastream.connectors.kafka import KafkaRecordSerializationSchema, KafkaSink
from penstock.errors import ConfigurationError


def schema() -> KafkaRecordSerializationSchema:
    builder = KafkaRecordSerializationSchema.builder().set_topic("orders")
    return builder.set_value_serialization_schema(SimpleStringSchema()).build()


def whole(guarantee: DeliveryGuarantee = DeliveryGuarantee.EXACTLY_ONCE) -> KafkaSink:
    builder = KafkaSink.builder().set_bootstrap_servers("localhost:1").set_record_serializer(schema())
    return builder.set_delivery_guarantee(guarantee).set_transactional_id_prefix("mine").build()


def test_a_sink_travels_to_the_workers() -> None:
    sink = pickle.loads(pickle.dumps(whole()))
    assert sink.prefix == "mine"
    assert sink.settings("x")["bootstrap.servers"] == "localhost:1"


def test_only_exactly_once_has_something_to_commit() -> None:
    assert whole().create_committer() is not None
    assert whole(DeliveryGuarantee.AT_LEAST_ONCE).create_committer() is None
    assert whole(DeliveryGuarantee.NONE).create_committer() is None


def test_the_promise_is_none_unless_set() -> None:
    sink = KafkaSink.builder().set_bootstrap_servers("localhost:1").set_record_serializer(schema()).build()
    assert sink.guarantee is DeliveryGuarantee.NONE


def test_order_and_partitions_are_as_java_has_them_unless_set() -> None:
    settings = producer_settings({"bootstrap.servers": "x"}, "sink", transactional=False)
    assert (settings["partitioner"], settings["enable.idempotence"]) == ("murmur2_random", "true")
    changed = producer_settings({"partitioner": "random", "message.timeout.ms": "5"}, "sink", transactional=False)
    assert changed["partitioner"] == "random"
    assert "delivery.timeout.ms" not in changed
    assert "delivery.timeout.ms" not in producer_settings({}, "sink", transactional=True)


class HalfMade(KafkaRecordSerializationSchema):
    """Neither has a schema of values nor makes whole messages."""


SINK = KafkaSink.builder
SCHEMA = KafkaRecordSerializationSchema.builder
REFUSED: dict[str, tuple[Callable[[], Any], str]] = {
    "no servers": (lambda: SINK().set_record_serializer(schema()).build(), "set_bootstrap_servers"),
    "no serializer": (lambda: SINK().set_bootstrap_servers("x:1").build(), "set_record_serializer"),
    "exactly once without a prefix": (
        lambda: (
            SINK()
            .set_bootstrap_servers("x:1")
            .set_record_serializer(schema())
            .set_delivery_guarantee(DeliveryGuarantee.EXACTLY_ONCE)
            .build()
        ),
        "set_transactional_id_prefix",
    ),
    "another serializer": (lambda: SINK().set_record_serializer(SimpleStringSchema()), "builder"),  # type: ignore[arg-type]
    "a half made serializer": (
        lambda: SINK().set_bootstrap_servers("x:1").set_record_serializer(HalfMade()).build(),
        "to_record",
    ),
    "another guarantee": (lambda: SINK().set_delivery_guarantee("exactly-once"), "DeliveryGuarantee"),  # type: ignore[arg-type]
    "an empty prefix": (lambda: SINK().set_transactional_id_prefix(""), "1 to 128"),
    "a property of Penstock's own": (
        lambda: SINK().set_property("transactional.id", "x"),
        "set_transactional_id_prefix",
    ),
    "a property for a JVM": (
        lambda: (
            SINK()
            .set_bootstrap_servers("x:1")
            .set_record_serializer(schema())
            .set_property("partitioner.class", "X")
            .build()
        ),
        "set_partitioner",
    ),
    "no topic": (lambda: SCHEMA().set_value_serialization_schema(SimpleStringSchema()).build(), "set_topic"),
    "two topics": (lambda: SCHEMA().set_topic("a").set_topic_selector(str), "already has a topic"),
    "no value": (lambda: SCHEMA().set_topic("a").build(), "set_value_serialization_schema"),
    "an empty topic": (lambda: SCHEMA().set_topic(""), "set_topic"),
    "a selector that is none": (lambda: SCHEMA().set_topic_selector("a"), "KafkaTopicSelector"),  # type: ignore[arg-type]
    "a key schema that is none": (lambda: SCHEMA().set_key_serialization_schema(str), "SerializationSchema"),  # type: ignore[arg-type]
    "headers that are none": (lambda: SCHEMA().set_header_provider({}), "a function of the record"),  # type: ignore[arg-type]
    "a negative partition": (lambda: SCHEMA().set_partitioner(-1), "set_partitioner"),
}


@pytest.mark.parametrize("what", REFUSED)
def test_what_cannot_work_is_refused(what: str) -> None:
    make, words = REFUSED[what]
    with pytest.raises(ConfigurationError, match=words):
        make()


def test_without_the_client_the_extra_is_named(monkeypatch: pytest.MonkeyPatch) -> None:
    found = builtins.__import__

    def missing(name: str, *args: Any) -> Any:
        if name == "confluent_kafka":
            raise ImportError(name)
        return found(name, *args)

    monkeypatch.setattr(builtins, "__import__", missing)
    with pytest.raises(ConfigurationError, match=r"pip install 'penstock\[kafka\]'"):
        client_library()


def test_an_exactly_once_sink_stages() -> None:
    writer = whole().create_writer(SinkContext("job", "uid", "name", 0, 1, lambda: 0))
    assert isinstance(writer, StagingWriter)
