"""A broker of the run's own with the topics that the Kafka Streams jobs read, filled before the clock starts."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

from confluent_kafka import Producer

from benchmarks.peers.drawn import PERIOD, VALUES, drawn_keys
from benchmarks.peers.reporting import Task
from penstock.kafka_broker import LocalBroker

PREFIX = "bench"
_FLUSH_SECONDS = 300
_POLL_EVERY = 10_000


@contextmanager
def filled_broker(task: Task, folder: Path) -> Iterator[str]:
    """The address of a broker; for run number n there are the topics bench-n-in, bench-n-table and bench-n-out."""
    with LocalBroker(folder / "kafka") as broker:
        for turn, records in enumerate(task.sizes):
            for name in ("in", "table", "out"):
                # The times of the records are long ago: Kafka would delete them while they are read.
                broker.create_topic(f"{PREFIX}-{turn}-{name}", task.parallelism, {"retention.ms": "-1"})
            _fill(broker.address, task, turn, records)
        yield broker.address


def _fill(address: str, task: Task, turn: int, records: int) -> None:
    producer = Producer({"bootstrap.servers": address, "partitioner": "murmur2_random", "linger.ms": 50})
    keys, rate = drawn_keys(task.keys, task.zipf), task.rate
    for key in range(task.keys):
        producer.produce(f"{PREFIX}-{turn}-table", key=str(key), value=str(key % VALUES), timestamp=1)
    for number in range(records):
        while True:
            try:
                producer.produce(
                    f"{PREFIX}-{turn}-in",
                    key=str(keys[number % PERIOD]),
                    value=str(number % VALUES),
                    timestamp=number * 1000 // rate + 1_000,
                )
                break
            except BufferError:
                producer.poll(0.1)
        if number % _POLL_EVERY == 0:
            producer.poll(0)
    assert producer.flush(_FLUSH_SECONDS) == 0, "Kafka did not take the input"
