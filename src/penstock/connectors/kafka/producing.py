"""Producers of Kafka in this process: how they are made and fed, and what their errors mean."""

from __future__ import annotations

import logging
import time
from typing import Any

from penstock.common.secret_references import resolved_all
from penstock.connectors.kafka.library import ConnectionErrors, client_library
from penstock.connectors.kafka.properties import client_properties, refused_property
from penstock.connectors.kafka.records import ANY_PARTITION, Block, TopicDirectory
from penstock.errors import ConfigurationError, SinkError

# Users who configure logging see what librdkafka says; nobody else is bothered with connections that come back.
kafka_log = logging.getLogger("penstock.kafka")
kafka_log.addHandler(logging.NullHandler())

_DEFAULTS = {
    "partitioner": "murmur2_random",  # keys land where Java's clients put them
    "enable.idempotence": "true",  # the order of a key survives a send that is tried again
    "delivery.timeout.ms": "120000",
    "linger.ms": "1",  # in continuous mode records have waited already, and a batch is flushed at its end
    "queue.buffering.max.kbytes": "65536",
    "queue.buffering.max.messages": "1000000",  # bytes are what counts
    # A transaction right after another one is refused by the broker for some milliseconds: do not wait 100.
    "retry.backoff.ms": "5",
    "retry.backoff.max.ms": "500",
    "reconnect.backoff.ms": "10",
    "reconnect.backoff.max.ms": "1000",
}
_DELIVERY_TIMES = ("delivery.timeout.ms", "message.timeout.ms")
_MAX_MESSAGE_BYTES = 1_000_000  # librdkafka's default
_METADATA_SECONDS = 300.0
_TIMEOUT_SECONDS = 10.0
_FIRST_SECONDS = 1.0
# The settings that clients which do not produce understand too.
_COMMON = (
    "api.version.", "bootstrap.servers", "broker.", "client.", "connections.", "debug", "enable.sasl.", "enable.ssl.",
    "metadata.", "reconnect.", "retry.", "sasl.", "security.", "socket.", "ssl.", "topic.metadata.",
)  # fmt: skip


def producer_settings(properties: dict[str, str], who: str, *, transactional: bool) -> dict[str, str]:
    """Settings of producers, by librdkafka's names."""
    given = client_properties(properties, who)
    defaults = dict(_DEFAULTS)
    if transactional:
        # librdkafka takes the timeout of the transaction unless one is set.
        del defaults["delivery.timeout.ms"]
        defaults["linger.ms"] = "5"
    elif any(name in given for name in _DELIVERY_TIMES):
        del defaults["delivery.timeout.ms"]
    return {**defaults, **given}


def common_settings(settings: dict[str, str]) -> dict[str, Any]:
    """Those that have a meaning for every client."""
    return {name: value for name, value in settings.items() if name.startswith(_COMMON)}


def new_producer(settings: dict[str, str], who: str, errors: ConnectionErrors | None = None, **more: Any) -> Any:
    """A producer; nothing is sent and nothing is asked yet."""
    kafka = client_library()
    given = resolved_all(settings, who)
    try:
        return kafka.Producer({**given, **more, "error_cb": errors or ConnectionErrors()}, logger=kafka_log)
    except kafka.KafkaException as error:
        raise refused_property(error, who) from None
    except TypeError as error:
        raise ConfigurationError(f"{who}: Kafka's client refuses its settings: {error}") from None


def max_message_bytes(settings: dict[str, str]) -> int:
    """The largest message that producers take."""
    return int(settings.get("message.max.bytes", _MAX_MESSAGE_BYTES))


def produce_block(producer: Any, block: Block, on_delivery: Any = None) -> None:
    """Hand the messages of a block to a producer, waiting where its buffer is full."""
    topics, values, keys, times, partitions, headers = block
    produce = producer.produce
    count = len(values)
    each_topic = [topics] * count if isinstance(topics, str) else topics
    each_key = keys or [None] * count
    each_time = times or [0] * count
    some = ANY_PARTITION if partitions is None else partitions
    each_partition = [some] * count if isinstance(some, int) else some
    each_headers = headers or [None] * count  # type: ignore[list-item]
    for topic, value, key, partition, moment, head in zip(
        each_topic, values, each_key, each_partition, each_time, each_headers, strict=True
    ):
        while True:
            try:
                produce(topic, value, key, partition, on_delivery=on_delivery, timestamp=moment, headers=head)
                break
            except BufferError:
                producer.poll(0.01)
    producer.poll(0)


def error_of(failure: BaseException) -> Any:
    """The error in an exception of the library."""
    return failure.args[0]


def is_hopeless(error: Any) -> bool:
    """Whether trying again cannot help before somebody changes something."""
    codes = client_library().KafkaError
    return error.code() in {
        codes.TOPIC_AUTHORIZATION_FAILED,
        codes.GROUP_AUTHORIZATION_FAILED,
        codes.CLUSTER_AUTHORIZATION_FAILED,
        codes.TRANSACTIONAL_ID_AUTHORIZATION_FAILED,
        codes._AUTHENTICATION,
        codes.SASL_AUTHENTICATION_FAILED,
        codes.INVALID_TRANSACTION_TIMEOUT,
        codes.MSG_SIZE_TOO_LARGE,
        codes.TOPIC_EXCEPTION,
        codes.INVALID_RECORD,
        codes.INVALID_TIMESTAMP,
        codes._UNKNOWN_PARTITION,
        codes._UNKNOWN_TOPIC,
        codes.UNKNOWN_TOPIC_OR_PART,
    }


class KafkaTopics(TopicDirectory):
    """The partitions of topics, as Kafka has them; asked for now and then, because topics grow."""

    def __init__(self, settings: dict[str, str], who: str) -> None:
        self._settings = settings
        self._who = who
        self._known: dict[str, tuple[float, list[int]]] = {}

    def partitions(self, topic: str) -> list[int]:
        """The partitions of a topic, which is made if the broker makes topics; raises `SinkError` if not."""
        now = time.monotonic()
        found = self._known.get(topic)
        if found is None or found[0] < now:
            found = self._known[topic] = now + _METADATA_SECONDS, self._asked(topic)
        return found[1]

    def _asked(self, topic: str) -> list[int]:
        # Asked so rarely that a connection is not kept for it.
        errors = ConnectionErrors()
        client = new_producer(self._settings, self._who, errors)
        return topic_partitions(client, topic, self._who, self._settings["bootstrap.servers"], errors)


def topic_partitions(
    client: Any, topic: str, who: str, servers: str, errors: ConnectionErrors, patience: float = _TIMEOUT_SECONDS
) -> list[int]:
    """Ask a client for the partitions of a topic; a topic in the making is waited for."""
    give_up = time.monotonic() + patience
    while True:
        found = listed_topics(client, who, servers, errors, max(0.1, give_up - time.monotonic()), topic).topics[topic]
        if found.error is None and found.partitions:
            return sorted(found.partitions)
        is_in_the_making = found.error is None or found.error.retriable() or _may_come(found.error)
        if not is_in_the_making or time.monotonic() + 0.1 >= give_up:
            reason = "it has no partitions yet" if found.error is None else found.error.str()
            raise SinkError(
                f"{who} cannot write to topic {topic!r} at {servers}: {reason}. Create the topic, or check its name "
                "and the rights of this user."
            )
        time.sleep(0.1)


def listed_topics(
    client: Any, who: str, servers: str, errors: ConnectionErrors, patience: float, topic: str | None = None
) -> Any:
    """Ask a client for topics, in tries of growing length: in between it tells whether Kafka refuses it."""
    kafka = client_library()
    give_up, limit = time.monotonic() + patience, _FIRST_SECONDS
    while True:
        left = give_up - time.monotonic()
        try:
            return client.list_topics(topic, timeout=max(0.1, min(left, limit)))
        except kafka.KafkaException as failure:
            client.poll(0)
            refusal = errors.refused(who, "ask for topics", servers)
            if refusal is not None:
                raise SinkError(f"{refusal}.") from None
            if left <= limit:
                raise SinkError(
                    f"{who}: Kafka at {servers} gave no answer within {patience:g} s ({error_of(failure).str()}): "
                    "check bootstrap servers, network and security settings."
                ) from None
        limit *= 2


def _may_come(error: Any) -> bool:
    codes = client_library().KafkaError
    return error.code() in {codes.UNKNOWN_TOPIC_OR_PART, codes.LEADER_NOT_AVAILABLE}
