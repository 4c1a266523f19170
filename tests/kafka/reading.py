"""What a careful reader sees of a topic: all messages of committed transactions up to its end, by partition."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

from confluent_kafka import Consumer, TopicPartition

PATIENCE_SECONDS = 60.0


@dataclass(frozen=True)
class Seen:
    partition: int
    key: bytes | None
    value: bytes | None
    timestamp: int
    headers: tuple[tuple[str, bytes | None], ...]


def read_all(address: str, topic: str, *, isolation: str = "read_committed", waits: bool = True) -> list[Seen]:
    """All messages that are there now, each partition in its order; waits for transactions that hang, or not."""
    consumer = _consumer(address, isolation)
    try:
        numbers = consumer.list_topics(topic, timeout=10).topics[topic].partitions
        # To a reader of committed messages a topic ends before a transaction that hangs, or is just being ended.
        careless = _consumer(address, "read_uncommitted" if waits else isolation)
        ends = {n: careless.get_watermark_offsets(TopicPartition(topic, n), timeout=10)[1] for n in numbers}
        careless.close()
        consumer.assign([TopicPartition(topic, n, 0) for n, end in ends.items() if end > 0])
        left = {n for n, end in ends.items() if end > 0}
        found: list[Seen] = []
        waited = 0.0
        while left:
            # It waits until all of them are there, or for that time.
            messages = consumer.consume(1000, timeout=0.05)
            waited = 0.0 if messages else waited + 0.05
            assert waited < PATIENCE_SECONDS, f"partitions {left} of {topic} cannot be read to the end"
            for message in messages:
                error = message.error()
                if error is None:
                    found.append(_seen(message))
                elif message.offset() >= ends[message.partition()]:
                    left.discard(message.partition())
        return found
    finally:
        consumer.close()


def _consumer(address: str, isolation: str) -> Consumer:
    return Consumer(
        {
            "bootstrap.servers": address,
            "group.id": "reading",
            "isolation.level": isolation,
            "enable.partition.eof": True,
            "enable.auto.commit": False,
            "auto.offset.reset": "earliest",
            "fetch.wait.max.ms": 20,
        }
    )


def _seen(message: Any) -> Seen:
    return Seen(
        message.partition(),
        message.key(),
        message.value(),
        message.timestamp()[1],
        tuple(message.headers() or ()),
    )
