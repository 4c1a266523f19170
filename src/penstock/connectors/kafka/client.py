"""Kafka clients of a source, and their errors."""

from __future__ import annotations

import logging
import time
from collections.abc import Callable, Iterable, Mapping
from dataclasses import dataclass, field
from typing import Any, TypeVar

from penstock.common.secret_references import resolved, resolved_all
from penstock.connectors.kafka.library import ConnectionErrors, client_library
from penstock.connectors.kafka.properties import client_properties, refused_property
from penstock.errors import ConfigurationError, PenstockError

_log = logging.getLogger(__name__)

DISCOVERY_INTERVAL = "partition.discovery.interval.ms"
COMMIT_OFFSETS = "commit.offsets.on.checkpoint"
CLIENT_ID_PREFIX = "client.id.prefix"
TIMEOUT = "default.api.timeout.ms"
_RESET = "auto.offset.reset"
_OWN = frozenset({DISCOVERY_INTERVAL, COMMIT_OFFSETS, CLIENT_ID_PREFIX, TIMEOUT, _RESET, "register.consumer.metrics"})
_DEFAULTS = {DISCOVERY_INTERVAL: "300000", COMMIT_OFFSETS: "true", TIMEOUT: "30000"}
_CONSUMER_DEFAULTS = {
    "log_level": "2",  # connections that are lost and found again are no news; what matters is raised
    "isolation.level": "read_uncommitted",  # Kafka's own default in Java; librdkafka has another
    "queued.max.messages.kbytes": "16384",
    "fetch.queue.backoff.ms": "5",
    "fetch.wait.max.ms": "100",  # a partition that is added waits for the fetch under way
}
_CONSUMER_MUST = {
    "enable.auto.commit": "false",
    "enable.auto.offset.store": "false",
    "enable.partition.eof": "true",
    "auto.offset.reset": "error",
    "allow.auto.create.topics": "false",
    "max.poll.interval.ms": "86400000",  # between batches nobody asks
}
# What a client that is no consumer knows too.
_COMMON = (
    *("bootstrap.servers", "security.", "sasl.", "ssl.", "socket.", "client.", "metadata.", "topic.metadata."),
    *("reconnect.", "retry.", "broker.", "api.version.", "connections.", "enable.sasl.", "enable.ssl.", "debug", "log"),
)
_RETRY_SECONDS = 0.1
_FIRST_SECONDS = 1.0
"""How long the first try waits, each later one twice as long: in between a refusal is noticed."""

T = TypeVar("T")


class KafkaSourceError(PenstockError):
    """A Kafka source cannot read."""


def partition_name(topic: str, partition: int) -> str:
    """Return the name of a partition in positions, metrics and messages.

    >>> partition_name("orders", 3)
    'orders-3'
    """
    return f"{topic}-{partition}"


def topic_and_number(name: str) -> tuple[str, int]:
    """The topic and the number of a partition, from its name.

    >>> topic_and_number("paid-orders-3")
    ('paid-orders', 3)
    """
    topic, _, number = name.rpartition("-")
    return topic, int(number)


@dataclass(frozen=True)
class KafkaAccess:
    """Where a source reads and with which settings, by Kafka's Java names."""

    servers: str
    group_id: str | None = None
    properties: Mapping[str, str] = field(default_factory=dict)
    errors: ConnectionErrors = field(default_factory=ConnectionErrors, compare=False, repr=False)

    def option(self, name: str) -> str:
        """A setting for Penstock itself, not for the client."""
        return resolved(str(self.properties.get(name, _DEFAULTS[name])), f"KafkaSource, property {name!r}")

    def number(self, name: str) -> int:
        """Such a setting that is a whole number."""
        try:
            return int(self.option(name))
        except ValueError:
            raise ConfigurationError(
                f"KafkaSource: the property {name!r} is a whole number, got {self.option(name)!r}"
            ) from None

    @property
    def timeout(self) -> float:
        """How long Kafka may be silent, in seconds."""
        return self.number(TIMEOUT) / 1000

    @property
    def is_read_committed(self) -> bool:
        """Whether records of open and aborted transactions are left out."""
        return self.properties.get("isolation.level") == "read_committed"

    @property
    def skips_lost(self) -> bool:
        """Whether reading may go on behind records that Kafka has removed."""
        return self.properties.get(_RESET) in ("earliest", "latest")

    @property
    def commits_offsets(self) -> bool:
        """Whether the consumer group is told of positions."""
        return self.group_id is not None and self.option(COMMIT_OFFSETS).lower() == "true"

    def settings(self, who: str, role: str) -> dict[str, Any]:
        """Settings of a consumer."""
        given = {name: value for name, value in self.properties.items() if name not in _OWN}
        prefix = self.properties.get(CLIENT_ID_PREFIX)
        named = {} if prefix is None else {"client.id": f"{prefix}-{role}"}
        return {
            **_CONSUMER_DEFAULTS,
            **named,
            **client_properties(given, who),
            **_CONSUMER_MUST,
            "bootstrap.servers": self.servers,
            "group.id": self.group_id or "penstock",
            "error_cb": self.errors,
        }

    def consumer(self, who: str, role: str, **callbacks: Callable[..., None]) -> Any:
        """A consumer, in no group's ranks: partitions are assigned to it by hand."""
        library = client_library()
        try:
            return library.Consumer({**resolved_all(self.settings(who, role), who), **callbacks})
        except library.KafkaException as error:
            raise refused_property(error, who) from None

    def admin(self, who: str, role: str) -> Any:
        """A client that asks for the offsets of many partitions at once."""
        settings = resolved_all(self.settings(who, role), who)
        common = {name: settings[name] for name in settings if name.startswith(_COMMON)}
        return client_library().admin.AdminClient({**common, "error_cb": self.errors})


def error_of(failure: Exception) -> Any:
    """The error in an exception of the library."""
    return failure.args[0]


def is_passing(error: Any) -> bool:
    """Return whether a retry may help: brokers start, move partitions and lose connections."""
    codes = client_library().KafkaError
    return not error.fatal() and (
        error.retriable()
        or error.code()
        in {
            codes._TRANSPORT,
            codes._ALL_BROKERS_DOWN,
            codes._TIMED_OUT,
            codes._WAIT_COORD,
            codes._NOENT,  # partitions without a leader, for now
            codes.FENCED_LEADER_EPOCH,
            codes.UNKNOWN_LEADER_EPOCH,
            codes._RESOLVE,
            codes._UNKNOWN_TOPIC,
            codes._UNKNOWN_PARTITION,
            codes.UNKNOWN_TOPIC_OR_PART,
            codes.LEADER_NOT_AVAILABLE,
            codes.NOT_LEADER_FOR_PARTITION,
            codes.COORDINATOR_LOAD_IN_PROGRESS,
            codes.COORDINATOR_NOT_AVAILABLE,
            codes.NOT_COORDINATOR,
            codes.REQUEST_TIMED_OUT,
            codes.OFFSET_NOT_AVAILABLE,
        }
    )


def answered(ask: Callable[[float], T], access: KafkaAccess, who: str, what: str, client: Callable[[], Any]) -> T:
    """Call `ask` until Kafka answers, refuses the client, or the time is up; `ask` gets a number of seconds."""
    library = client_library()
    give_up = time.monotonic() + access.timeout
    limit = _FIRST_SECONDS
    while True:
        left = give_up - time.monotonic()
        try:
            return ask(max(0.1, min(left, limit)))
        except library.KafkaException as failure:
            error = error_of(failure)
            if not is_passing(error):
                raise KafkaSourceError(f"{who} cannot {what} at {access.servers}: {error.str()}") from None
            client().poll(0)  # the client tells of its connections now
            refusal = access.errors.refused(who, what, access.servers)
            if refusal is not None:
                raise KafkaSourceError(refusal) from None
            if time.monotonic() + _RETRY_SECONDS >= give_up:
                raise KafkaSourceError(
                    f"{who} cannot {what}: Kafka at {access.servers} gave no answer within {access.timeout:g} s "
                    f"({error.str()}); check bootstrap servers, network and security settings"
                ) from None
        limit *= 2
        time.sleep(_RETRY_SECONDS)


def topic_partitions(names: Iterable[str]) -> list[Any]:
    """Partitions as the library wants them."""
    library = client_library()
    return [library.TopicPartition(*topic_and_number(name)) for name in names]
