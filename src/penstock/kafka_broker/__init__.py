"""A real Kafka broker on this machine, for trying things, tests and measurements."""

from __future__ import annotations

from penstock.kafka_broker.jars import KAFKA_VERSION, broker_jars, has_broker_jars
from penstock.kafka_broker.local_broker import LocalBroker, default_folder

__all__ = ["KAFKA_VERSION", "LocalBroker", "broker_jars", "default_folder", "has_broker_jars"]
