"""Kafka's client library, an optional dependency: imported on first use, and what it says of its connections."""

from __future__ import annotations

import logging
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


_log = logging.getLogger("penstock.kafka")


class ConnectionErrors:
    """What a client says of its connections. It goes on trying by itself; only a refusal is worth an early end."""

    def __init__(self) -> None:
        """Start without one."""
        self.refusal: str | None = None

    def __call__(self, error: Any) -> None:
        """Take an error from the client, while it is polled."""
        _log.debug("Kafka client: %s", error)
        codes = client_library().KafkaError
        if error.code() in (codes._AUTHENTICATION, codes.SASL_AUTHENTICATION_FAILED, codes._SSL):
            self.refusal = error.str()

    def refused(self, who: str, what: str, servers: str) -> str | None:
        """Return the sentence for a broker that does not let the client in; None if none has refused."""
        if self.refusal is None:
            return None
        return (
            f"{who} cannot {what}: Kafka at {servers} refuses the connection ({self.refusal}); check security.protocol "
            "and user, password and certificates (sasl.*, ssl.*)"
        )
