"""Imports Kafka's client library, an optional dependency, on first use."""

from __future__ import annotations

from typing import Any

from penstock.errors import ConfigurationError


def client_library() -> Any:
    """Return the library, or say how to get it."""
    try:
        import confluent_kafka
        import confluent_kafka.admin
    except ImportError:
        raise ConfigurationError(
            "KafkaSource and KafkaSink need the client of Kafka: pip install 'penstock[kafka]'"
        ) from None
    return confluent_kafka
