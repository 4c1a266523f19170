"""Java's Kafka settings become librdkafka's: renamed, left out, or refused with a reason."""

from __future__ import annotations

import logging

import confluent_kafka
import pytest

from penstock.connectors.kafka.properties import client_properties, refused_property
from penstock.errors import ConfigurationError

WHO = "sink 'orders'"


def accepted(properties: dict[str, str]) -> dict[str, str]:
    """Translated, and tried on librdkafka itself (which connects to nothing here)."""
    found = client_properties(properties, WHO)
    confluent_kafka.Producer({**found, "log_level": 0})
    return found


def test_names_that_both_know_pass() -> None:
    same = {"bootstrap.servers": "localhost:1", "acks": "all", "linger.ms": "7", "delivery.timeout.ms": "9000"}
    assert accepted(same) == same


def test_other_names_are_translated() -> None:
    assert accepted({"max.request.size": "2000000", "buffer.memory": "33554432", "send.buffer.bytes": "4096"}) == {
        "message.max.bytes": "2000000",
        "queue.buffering.max.kbytes": "32768",
        "socket.send.buffer.bytes": "4096",
    }


def test_values_may_be_numbers_and_truths() -> None:
    assert client_properties({"linger.ms": 5, "enable.idempotence": True}, WHO) == {  # type: ignore[dict-item]
        "linger.ms": "5",
        "enable.idempotence": "true",
    }


def test_what_only_a_jvm_uses_is_left_out_with_a_warning(caplog: pytest.LogCaptureFixture) -> None:
    with caplog.at_level(logging.WARNING):
        assert client_properties({"key.serializer": "org.apache.X", "max.poll.records": "5"}, WHO) == {}
    assert "'key.serializer'" in caplog.text and WHO in caplog.text


@pytest.mark.parametrize(
    "jaas",
    [
        'org.apache.kafka.common.security.plain.PlainLoginModule required username="ann" password="a;\\"b=c";',
        "org.apache.kafka.common.security.scram.ScramLoginModule required password='a;\"b=c' username='ann';",
    ],
)
def test_credentials_of_a_jaas_line(jaas: str) -> None:
    assert client_properties({"sasl.jaas.config": jaas}, WHO) == {"sasl.username": "ann", "sasl.password": 'a;"b=c'}


def test_pem_stores() -> None:
    given = {
        "ssl.truststore.location": "/x/ca.pem",
        "ssl.truststore.type": "PEM",
        "ssl.truststore.password": "unused",
        "ssl.keystore.location": "/x/me.pem",
        "ssl.keystore.type": "pem",
        "ssl.key.password": "secret",
        "ssl.endpoint.identification.algorithm": "",
    }
    assert client_properties(given, WHO) == {
        "ssl.ca.location": "/x/ca.pem",
        "ssl.certificate.location": "/x/me.pem",
        "ssl.key.location": "/x/me.pem",
        "ssl.key.password": "secret",
        "ssl.endpoint.identification.algorithm": "none",
    }


def test_a_pkcs12_key_store_is_read_by_librdkafka() -> None:
    given = {"ssl.keystore.location": "/x/me.p12", "ssl.keystore.type": "PKCS12", "ssl.keystore.password": "pw"}
    assert client_properties(given, WHO) == {"ssl.keystore.location": "/x/me.p12", "ssl.keystore.password": "pw"}


@pytest.mark.parametrize(
    ("properties", "words"),
    [
        ({"ssl.truststore.location": "/x/ca.jks"}, "PEM"),
        ({"ssl.keystore.location": "/x/me.jks"}, "PKCS12"),
        ({"partitioner.class": "com.acme.P"}, "set_partitioner"),
        ({"sasl.jaas.config": "com.sun.security.auth.module.Krb5LoginModule required;"}, "sasl.kerberos"),
        ({"buffer.memory": "lots"}, "whole number"),
        ({"acks": None}, "must be a string"),
    ],
)
def test_what_cannot_be_translated_is_refused(properties: dict[str, str], words: str) -> None:
    with pytest.raises(ConfigurationError, match=words) as caught:
        client_properties(properties, WHO)
    assert WHO in str(caught.value)


def test_an_unknown_name_is_named() -> None:
    with pytest.raises(confluent_kafka.KafkaException) as caught:
        confluent_kafka.Producer({"no.such.thing": "1"})
    text = str(refused_property(caught.value, WHO))
    assert "no.such.thing" in text and WHO in text
