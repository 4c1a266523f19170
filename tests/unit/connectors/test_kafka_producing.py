"""Which errors of Kafka are waited out, and which are told at once; no broker is asked."""

from __future__ import annotations

import pytest
from confluent_kafka import KafkaError

from penstock.connectors.kafka.producing import is_hopeless


@pytest.mark.parametrize("name", ["INVALID_TIMESTAMP", "INVALID_RECORD", "MSG_SIZE_TOO_LARGE"])
def test_a_message_that_kafka_refuses_is_not_sent_again_and_again(name: str) -> None:
    assert is_hopeless(KafkaError(getattr(KafkaError, name)))


def test_a_broker_that_is_away_is_waited_for() -> None:
    assert not is_hopeless(KafkaError(KafkaError._TRANSPORT))
