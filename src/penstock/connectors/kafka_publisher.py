"""Publishes stages to Kafka: messages and marker in one transaction.

The marker is an offset with a text, committed in the transaction for a consumer group that nobody is in: it is as
atomic as the messages, it takes no topic of its own, and there is only the last one to be read. `init_transactions`
comes before it is read: that ends what a dead process left open and shuts a live one out. A producer that has not been
shut out since knows the marker it wrote itself.
"""

from __future__ import annotations

import contextlib
import hashlib
import logging
import time
from collections import OrderedDict
from collections.abc import Callable
from dataclasses import dataclass
from typing import Any

from penstock.connectors.kafka_producing import (
    common_settings,
    error_of,
    is_hopeless,
    library,
    new_producer,
    produce_block,
)
from penstock.connectors.kafka_records import a_topic_of
from penstock.connectors.staged_sink import Marker, Publication, Publisher
from penstock.errors import SinkError

_log = logging.getLogger(__name__)

_PATIENCE_SECONDS = 60.0
_FIRST_PAUSE_SECONDS = 0.05
_LAST_PAUSE_SECONDS = 2.0
_TIMES_SHUT_OUT_MAX = 3
_ABORT_SECONDS = 5.0
_DEFAULT_TRANSACTION_MS = 60_000
_OPEN_PRODUCERS_MAX = 64
_COORDINATORS_TOPIC = "__transaction_state"


@dataclass(frozen=True)
class KafkaPublisher(Publisher):
    """Publishes by the settings of a sink; `prefix` keeps the transactions of different jobs apart."""

    settings: dict[str, str]
    prefix: str

    def publish(self, publication: Publication) -> None:
        """Publish; errors that may pass are tried again for a minute."""
        kafka = library()
        who = f"Kafka sink {publication.uid!r}"
        give_up = time.monotonic() + _PATIENCE_SECONDS
        pause, shut_out = _FIRST_PAUSE_SECONDS, 0
        while True:
            try:
                _published(self, publication, who)
                return
            except kafka.KafkaException as failure:
                error = error_of(failure)
            shut_out += error.code() in (kafka.KafkaError._FENCED, kafka.KafkaError.PRODUCER_FENCED)
            if shut_out > _TIMES_SHUT_OUT_MAX:
                raise SinkError(
                    f"{who} was shut out by another process with the transactional id "
                    f"{self.transactional_id(publication)!r}: give each job a transactional id prefix of its own, and "
                    "start it only once"
                )
            if is_hopeless(error) or time.monotonic() + pause > give_up:
                raise SinkError(
                    f"{who} cannot publish version {publication.version} to {self.settings['bootstrap.servers']}: "
                    f"{error.str()} ({error.name()}). It stays staged and is published when the job is started again."
                )
            _log.warning("%s: publishing version %d is tried again: %s", who, publication.version, error.str())
            time.sleep(pause)
            pause = min(pause * 2, _LAST_PAUSE_SECONDS)

    def transactional_id(self, publication: Publication) -> str:
        """Whom Kafka takes the publisher of this part for, whatever process it is in."""
        owner = hashlib.sha256(publication.uid.encode()).hexdigest()[:12]
        return f"{self.prefix}-{owner}-{publication.part}"

    def marker_group(self, publication: Publication) -> str:
        """The group that keeps the marker: of this job only, for another one may use the prefix after it."""
        return f"{self.transactional_id(publication)}-{publication.job_id}"


class TransactionalProducer:
    """A producer that is the only one of its transactional id, as long as no other one is made."""

    def __init__(self, settings: dict[str, str], transactional_id: str, group: str, who: str) -> None:
        kafka = library()
        self._timeout = int(settings.get("transaction.timeout.ms", _DEFAULT_TRANSACTION_MS)) / 1000
        self._producer = new_producer(settings, who, **{"transactional.id": transactional_id})
        # Asking for anything makes a connection; without one, librdkafka looks for its coordinator only twice a second.
        self._producer.list_topics(_COORDINATORS_TOPIC, timeout=self._timeout)
        self._producer.init_transactions(self._timeout)
        self.marker = last_marker(settings, group, self._timeout)
        # Not connected: it only puts the name of the group into the form that the producer wants.
        self._group = kafka.Consumer({"group.id": group}).consumer_group_metadata()

    def publish(self, publication: Publication) -> None:
        """Write everything in one transaction; the marker goes to one of the topics that are written to."""
        kafka = library()
        producer, marker, topic = self._producer, publication.marker, ""
        producer.begin_transaction()
        for block in publication.blocks():
            produce_block(producer, block)
            topic = topic or a_topic_of(block)
        place = kafka.TopicPartition(topic, 0, marker.version, metadata=marker.to_text())
        producer.send_offsets_to_transaction([place], self._group, self._timeout)
        producer.commit_transaction(self._timeout)
        self.marker = marker

    def give_up(self) -> None:
        """End what is open, as far as possible, so that readers need not wait for Kafka to do it."""
        kafka = library()
        with contextlib.suppress(kafka.KafkaException):
            self._producer.purge()
            self._producer.abort_transaction(_ABORT_SECONDS)


_producers: OrderedDict[tuple[str, str, tuple[tuple[str, str], ...]], TransactionalProducer] = OrderedDict()


def _published(publisher: KafkaPublisher, publication: Publication, who: str) -> None:
    """One try. A producer that saw an error is not used again: a new one finds out what has become of it."""
    group = publisher.marker_group(publication)
    identity = publisher.transactional_id(publication)
    key = identity, group, tuple(sorted(publisher.settings.items()))
    producer = _producers.pop(key, None) or TransactionalProducer(publisher.settings, identity, group, who)
    # The stage is not touched before the marker is known: one that was published may be gone.
    if not publication.is_done(producer.marker):
        try:
            producer.publish(publication)
        except BaseException:
            producer.give_up()
            raise
    _producers[key] = producer
    while len(_producers) > _OPEN_PRODUCERS_MAX:
        _producers.popitem(last=False)


def last_marker(settings: dict[str, str], group: str, timeout: float) -> Marker | None:
    """The marker that a group holds; waits for transactions that are about to end."""
    kafka = library()
    from confluent_kafka.admin import AdminClient

    client = AdminClient(common_settings(settings))

    def asked() -> Any:
        wanted = [kafka.ConsumerGroupTopicPartitions(group)]
        return client.list_consumer_group_offsets(wanted, require_stable=True, request_timeout=timeout)[group].result()

    found = [place for place in _answered(asked, timeout).topic_partitions if place.metadata]
    # Topics may change from version to version, and each keeps the last marker that was put there.
    markers = [Marker.from_text(place.metadata) for place in found]
    return max(markers, key=lambda marker: marker.version, default=None)


def _answered(ask: Callable[[], Any], timeout: float) -> Any:
    """The answer of a coordinator, which may have to be found or to load first."""
    kafka = library()
    give_up = time.monotonic() + timeout
    while True:
        try:
            return ask()
        except kafka.KafkaException as failure:
            error = error_of(failure)
            if not (error.retriable() or _is_on_its_way(error)) or time.monotonic() > give_up:
                raise
        time.sleep(_FIRST_PAUSE_SECONDS)


def _is_on_its_way(error: Any) -> bool:
    codes = library().KafkaError
    return error.code() in {
        codes.COORDINATOR_LOAD_IN_PROGRESS,
        codes.COORDINATOR_NOT_AVAILABLE,
        codes.NOT_COORDINATOR,
        codes._WAIT_COORD,
        codes._TRANSPORT,
        codes.UNSTABLE_OFFSET_COMMIT,
    }
