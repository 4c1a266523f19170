"""Questions to a broker about itself and its topics."""

from __future__ import annotations

import time
from typing import Any

from penstock.errors import BrokerError

_ANSWER_SECONDS = 5.0
_PATIENCE_SECONDS = 30.0


def cluster_id(address: str) -> str | None:
    """The id of the cluster that answers at an address, or None if none does."""
    admin = _admin(address)
    from confluent_kafka import KafkaException

    try:
        found: str | None = admin.list_topics(timeout=_ANSWER_SECONDS).cluster_id
    except KafkaException:
        return None
    return found


def topics(address: str) -> dict[str, int]:
    """The number of partitions of each topic, the broker's own ones apart."""
    admin = _admin(address)
    from confluent_kafka import KafkaException

    try:
        listed = admin.list_topics(timeout=_ANSWER_SECONDS).topics
    except KafkaException as error:
        raise BrokerError(f"no Kafka broker answers at {address}: {error}") from error
    return {name: len(listed[name].partitions) for name in sorted(listed) if not name.startswith("__")}


def create_topic(address: str, name: str, partitions: int, settings: dict[str, str]) -> None:
    """Have a topic with that many partitions, ready for clients; one that exists like that is left as it is."""
    admin = _admin(address)
    from confluent_kafka import KafkaError, KafkaException
    from confluent_kafka.cimpl import NewTopic

    wanted = NewTopic(name, num_partitions=partitions, replication_factor=1, config=settings)
    try:
        admin.create_topics([wanted], operation_timeout=_ANSWER_SECONDS)[name].result(_PATIENCE_SECONDS)
    except KafkaException as error:
        if error.args[0].code() != KafkaError.TOPIC_ALREADY_EXISTS:
            raise BrokerError(f"could not create the topic {name!r} at {address}: {error.args[0].str()}") from error
    _await_partitions(admin, name, partitions)


def _await_partitions(admin: Any, name: str, partitions: int) -> None:
    """Metadata follow a little after the creation; a client that is quicker would hear that there is no such topic."""
    deadline = time.monotonic() + _PATIENCE_SECONDS
    while True:
        found = admin.list_topics(name, timeout=_ANSWER_SECONDS).topics[name].partitions
        if found and all(partition.leader >= 0 for partition in found.values()):
            break
        if time.monotonic() > deadline:
            raise BrokerError(f"the topic {name!r} was created but has no leader after {_PATIENCE_SECONDS:.0f} s")
        time.sleep(0.02)
    if len(found) != partitions:
        raise BrokerError(f"the topic {name!r} exists with {len(found)} partitions, not {partitions}")


def _admin(address: str) -> Any:
    try:
        from confluent_kafka.admin import AdminClient
    except ImportError as error:
        raise BrokerError("talking to a Kafka broker needs confluent-kafka: pip install 'penstock[kafka]'") from error
    # A broker that is not there yet is no news; what matters is told by exceptions.
    quiet: dict[str, Any] = {"log_level": 0, "error_cb": lambda error: None, "reconnect.backoff.max.ms": 200}
    return AdminClient({"bootstrap.servers": address, **quiet})
