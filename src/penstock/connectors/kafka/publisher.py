"""Publishes stages to Kafka: messages and marker in one transaction.

The marker is an offset with a text, committed in the transaction for a consumer group that nobody is in: it is as
atomic as the messages, it takes no topic of its own, and there is only one to be read. `init_transactions`
comes before it is read: that ends what a dead process left open and shuts a live one out. A producer that has not been
shut out since knows the marker it wrote itself.
"""

from __future__ import annotations

import contextlib
import hashlib
import logging
import threading
import time
from collections import OrderedDict
from dataclasses import dataclass
from typing import Any

from penstock.common.secret_references import resolved_all
from penstock.connectors.kafka.library import ConnectionErrors, client_library
from penstock.connectors.kafka.producing import (
    common_settings,
    error_of,
    is_hopeless,
    kafka_log,
    new_producer,
    produce_block,
)
from penstock.connectors.staged_sink import Marker, Publication, Publisher
from penstock.errors import SinkError

_log = logging.getLogger(__name__)

_PATIENCE_SECONDS = 60.0
_FIRST_PAUSE_SECONDS = 0.05
_LAST_PAUSE_SECONDS = 2.0
_TIMES_SHUT_OUT_MAX = 3
_ABORT_SECONDS = 5.0
_MARKER_SECONDS = 10.0
_DEFAULT_TRANSACTION_MS = 60_000
_OPEN_PRODUCERS_MAX = 64
_COORDINATORS_TOPIC = "__transaction_state"
_PARTITION = 0


@dataclass(frozen=True)
class KafkaPublisher(Publisher):
    """Publishes by the settings of a sink; `prefix` keeps the transactions of different jobs apart."""

    settings: dict[str, str]
    prefix: str

    def publish(self, publication: Publication) -> None:
        """Publish; errors that may pass are tried again for a minute."""
        kafka = client_library()
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
                    f"{who} was fenced off by another process with the transactional id "
                    f"{self.transactional_id(publication)!r}: give each job its own transactional id prefix, and start "
                    "it only once"
                )
            if is_hopeless(error) or time.monotonic() + pause > give_up:
                raise SinkError(
                    f"{who} cannot publish version {publication.version} to {self.settings['bootstrap.servers']}: "
                    f"{error.str()} ({error.name()}). It stays staged and is published when the job is started again."
                )
            _log.warning("%s: publishing version %d is retried: %s", who, publication.version, error.str())
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
    """A producer that is the only one of its transactional id, as long as no other one is made.

    Markers are kept apart by a topic that the publication goes to: whether a publication was made is told by the marker
    of its own topic, for any later one there replaced it.
    """

    def __init__(self, settings: dict[str, str], transactional_id: str, group: str, who: str) -> None:
        self._timeout = int(settings.get("transaction.timeout.ms", _DEFAULT_TRANSACTION_MS)) / 1000
        self._producer = new_producer(settings, who, ConnectionErrors(), **{"transactional.id": transactional_id})
        # Asking for anything makes a connection; without one, librdkafka looks for its coordinator only twice a second.
        self._producer.list_topics(_COORDINATORS_TOPIC, timeout=self._timeout)
        self._producer.init_transactions(self._timeout)
        self._group = MarkerGroup(settings, group)
        self._markers: dict[str, Marker | None] = {}
        self._is_stuck = False

    def marker(self, topic: str) -> Marker | None:
        """The last marker of a topic: nobody else can have written one since it was first asked for."""
        if topic not in self._markers:
            self._markers[topic] = self._group.marker(topic, self._timeout)
        return self._markers[topic]

    def publish(self, publication: Publication, topic: str) -> None:
        """Write everything in one transaction."""
        producer, marker = self._producer, publication.marker
        producer.begin_transaction()
        for block in publication.blocks():
            produce_block(producer, block)
        self._send_marker(self._group.place(topic, marker))
        producer.commit_transaction(self._timeout)
        self._markers[topic] = marker

    def _send_marker(self, place: Any) -> None:
        """Add the marker to the transaction.

        After its broker was killed and came back, librdkafka waits for the old coordinator of the group, five minutes
        and whatever time it was given. So it is called in a thread, which is left behind with the producer.
        """
        send, metadata = self._producer.send_offsets_to_transaction, self._group.metadata
        failures: list[BaseException] = []

        def call() -> None:
            try:
                send([place], metadata, _MARKER_SECONDS)
            except BaseException as error:
                failures.append(error)

        thread = threading.Thread(target=call, name="penstock-marker", daemon=True)
        thread.start()
        thread.join(_MARKER_SECONDS)
        if thread.is_alive():
            self._is_stuck = True
            kafka = client_library()
            raise kafka.KafkaException(kafka.KafkaError(kafka.KafkaError._TIMED_OUT, "the marker is not taken"))
        if failures:
            raise failures[0]

    def give_up(self) -> None:
        """End what is open, as far as possible, so that readers need not wait for Kafka to do it."""
        if self._is_stuck:
            return  # the next producer of its id ends the transaction
        kafka = client_library()
        with contextlib.suppress(kafka.KafkaException):
            self._producer.purge()
            self._producer.abort_transaction(_ABORT_SECONDS)


class MarkerGroup:
    """The consumer group that holds the markers of an owner: offsets are versions, and the text beside is the marker.

    Read by a consumer: librdkafka's admin client crashes when the coordinator of the group has just moved.
    """

    def __init__(self, settings: dict[str, str], name: str) -> None:
        self._settings = {**common_settings(settings), "group.id": name, "isolation.level": "read_committed"}
        # Without servers there is no connection: this one only knows the name of its group.
        self.metadata = client_library().Consumer({"group.id": name}).consumer_group_metadata()

    def marker(self, topic: str, timeout: float) -> Marker | None:
        """The marker at a topic; waits for transactions that are about to end."""
        kafka = client_library()
        consumer = kafka.Consumer(resolved_all(self._settings, "Kafka sink"), logger=kafka_log)
        try:
            (found,) = consumer.committed([kafka.TopicPartition(topic, _PARTITION)], timeout)
        finally:
            consumer.close()
        if found.error is not None:
            raise kafka.KafkaException(found.error)
        return Marker.from_text(found.metadata) if found.offset >= 0 else None

    def place(self, topic: str, marker: Marker) -> Any:
        """The marker in the form of an offset."""
        return client_library().TopicPartition(topic, _PARTITION, marker.version, metadata=marker.to_text())


producers: OrderedDict[tuple[str, str, tuple[tuple[str, str], ...]], TransactionalProducer] = OrderedDict()


def forget_producers() -> None:
    """Go on as a process that has published nothing yet; what is open is left as it is."""
    producers.clear()


def _published(publisher: KafkaPublisher, publication: Publication, who: str) -> None:
    """One try. A producer that saw an error is not used again: a new one finds out what has become of it."""
    group = publisher.marker_group(publication)
    identity = publisher.transactional_id(publication)
    topic = publication.stages[0].note
    key = identity, group, tuple(sorted(publisher.settings.items()))
    producer = producers.pop(key, None) or TransactionalProducer(publisher.settings, identity, group, who)
    # The stage is not touched before the marker is known: one that was published may be gone.
    if not publication.is_done(producer.marker(topic)):
        try:
            producer.publish(publication, topic)
        except BaseException:
            producer.give_up()
            raise
    producers[key] = producer
    while len(producers) > _OPEN_PRODUCERS_MAX:
        producers.popitem(last=False)
