"""The Kafka sink: tasks write directly (at least once, or without a guarantee), or records are staged (exactly once).

The exactly-once way is `penstock.connectors.staged_sink`, with the encoder of `kafka/records.py` and the publisher of
`kafka/publisher.py`.
"""

from __future__ import annotations

from functools import partial
from typing import Any

from penstock.connectors.holding import HoldWatch
from penstock.connectors.kafka.library import ConnectionErrors
from penstock.connectors.kafka.producing import (
    KafkaTopics,
    max_message_bytes,
    new_producer,
    produce_block,
    producer_settings,
    topic_partitions,
)
from penstock.connectors.kafka.publisher import KafkaPublisher
from penstock.connectors.kafka.records import KafkaEncoder, KafkaRecordSerializationSchema
from penstock.connectors.sink import Committer, DeliveryGuarantee, SinkContext, SinkWriter
from penstock.connectors.staged_sink import Publisher, RecordEncoder, StagedSink
from penstock.errors import ConfigurationError, SinkError

FAILED_RECORDS = "failed_records"
_END_SECONDS = 120.0
_LOOK_SECONDS = 1.0
"""How often a sink that waits for Kafka looks whether it is refused."""


class KafkaSink(StagedSink):
    """Writes records to Kafka; use `KafkaSink.builder()`."""

    state_identity = "KafkaSink"

    def __init__(
        self,
        properties: dict[str, str],
        serializer: KafkaRecordSerializationSchema,
        guarantee: DeliveryGuarantee,
        transactional_id_prefix: str | None = None,
    ) -> None:
        """Describe the sink; `properties` by Kafka's Java names, with `bootstrap.servers` among them."""
        self.properties = properties
        self.serializer = serializer
        self.guarantee = guarantee
        self.prefix = transactional_id_prefix
        if self.is_staged and not transactional_id_prefix:
            raise ConfigurationError(
                "KafkaSink: exactly-once delivery needs set_transactional_id_prefix(...), a name that no other job on "
                "the same Kafka cluster uses"
            )

    @property
    def is_staged(self) -> bool:
        """Whether records are published after the seal."""
        return self.guarantee is DeliveryGuarantee.EXACTLY_ONCE

    def settings(self, who: str) -> dict[str, str]:
        """Settings of the producers."""
        return producer_settings(self.properties, who, transactional=self.is_staged)

    def validate(self, name: str) -> None:
        """Try the settings on the client, and ask Kafka for the topic."""
        who = f"Kafka sink {name!r}"
        settings = self.settings(who)
        more = {"transactional.id": f"{self.prefix}-check"} if self.is_staged else {}
        errors = ConnectionErrors()
        producer = new_producer(settings, who, errors, **more)
        topic = self.serializer.fixed_topic
        if topic is not None:
            known = topic_partitions(producer, topic, who, settings["bootstrap.servers"], errors)
            wanted = self.serializer.partitioner
            if isinstance(wanted, int) and wanted not in known:
                raise SinkError(
                    f"{who}: topic {topic!r} has no partition {wanted}: it has {len(known)}, counted from 0"
                )

    def create_encoder(self, context: SinkContext) -> RecordEncoder:
        """Make the encoder of a subtask."""
        who = f"Kafka sink {context.name!r}"
        settings = self.settings(who)
        topics = KafkaTopics(producer_settings(self.properties, who, transactional=False), who)
        return KafkaEncoder(self.serializer, context, topics, max_message_bytes(settings))

    def create_publisher(self) -> Publisher:
        """Make the publisher of transactions."""
        assert self.prefix is not None, "checked when the sink was made"
        return KafkaPublisher(self.settings("Kafka sink"), self.prefix)

    def create_writer(self, context: SinkContext) -> SinkWriter:
        """Make the writer: one that stages, or one that sends."""
        if self.is_staged:
            return super().create_writer(context)
        who = f"Kafka sink {context.name!r}"
        # Messages that arrive tell nothing: a call into Python for each would cost more than sending it.
        errors = ConnectionErrors()
        producer = new_producer(self.settings(who), who, errors, **{"delivery.report.only.error": True})
        is_sure = self.guarantee is DeliveryGuarantee.AT_LEAST_ONCE
        servers = str(self.properties["bootstrap.servers"])
        return SendingWriter(producer, self.create_encoder(context), context, errors, servers, is_sure=is_sure)

    def create_committer(self) -> Committer | None:
        """Make the committer, if something is staged."""
        return super().create_committer() if self.is_staged else None


class SendingWriter(SinkWriter):
    """Sends records as they come. If it is to be sure, a batch ends when Kafka has all of them."""

    def __init__(
        self,
        producer: Any,
        encoder: RecordEncoder,
        context: SinkContext,
        errors: ConnectionErrors,
        servers: str,
        *,
        is_sure: bool,
    ) -> None:
        """Take a producer of its own: what fails there is this subtask's."""
        self._producer = producer
        self._errors = errors
        self._servers = servers
        self._encoder = encoder
        self._name = context.name
        self._watch = HoldWatch(context.hold, f"Kafka sink {context.name!r}")
        self._is_sure = is_sure
        self._failed = context.metrics.counter(FAILED_RECORDS)
        self._failures: list[Any] = []
        self._on_delivery = partial(self._delivered, self._failures)

    def begin(self, version: int, attempt: str, state: Any) -> None:
        """Start with nothing failed; what an earlier try has on its way does not count for this one."""
        self._failures = []
        self._on_delivery = partial(self._delivered, self._failures)

    def write(self, values: list[Any], timestamps: list[int | None] | None, watermark: int) -> None:
        """Send a block."""
        if values:
            self._watch.check()
            produce_block(self._producer, self._encoder.encode(values, timestamps), self._on_delivery)
            self._raise_failure()

    def prepare_commit(self, now_ms: int, end_of_input: bool) -> list[Any]:
        """Wait until Kafka has everything; without a promise only at the end, and not for ever."""
        self._watch.check()
        if self._is_sure:
            while self._producer.flush(_LOOK_SECONDS):
                self._raise_failure()
                self._raise_refusal()
            self._raise_failure()
        elif end_of_input:
            self._failed.inc(self._producer.flush(_END_SECONDS))
        else:
            self._producer.poll(0)
        return []

    def _raise_refusal(self) -> None:
        refusal = self._errors.refused(f"Sink {self._name!r}", "write", self._servers)
        if refusal is not None:
            raise SinkError(f"{refusal}.")

    def abort(self) -> None:
        """Send no more of a try that failed."""
        self._producer.purge(in_queue=True, in_flight=False, blocking=False)

    def _delivered(self, failures: list[Any], error: Any, message: Any) -> None:
        if error is not None:
            self._failed.inc()
            failures.append((error, message.topic()))

    def _raise_failure(self) -> None:
        if self._is_sure and self._failures:
            error, topic = self._failures[0]
            raise SinkError(f"Sink {self._name!r} could not write to topic {topic!r}: {error.str()} ({error.name()}).")
