"""The numbered records that kill tests send through Kafka, and what a read_committed consumer must get in the end.

A key's numbers rise in the order they were sent, and the job counts them: so the output tells what was lost, what came
twice, what came out of order, and whether the state was right.
"""

from __future__ import annotations

from collections import defaultdict

from confluent_kafka import Consumer, Producer, TopicPartition

from tests.kafka.reading import Seen, read_all

KEYS = 97
_PATIENCE_SECONDS = 60


def key_of(number: int) -> str:
    """The key of a number; some keys have far more records than others."""
    return f"k{min(number % KEYS, number // 7 % KEYS)}"


def send_numbers(servers: str, topic: str, numbers: range, width: int = 1) -> None:
    """Send each number with its key, in order; spaces make it `width` characters wide."""
    producer = Producer({"bootstrap.servers": servers, "linger.ms": 50, "enable.idempotence": True})
    for number in numbers:
        producer.produce(topic, key=key_of(number), value=str(number).ljust(width))
        if number % 50_000 == 49_999:  # half of what the client keeps waiting
            assert producer.flush(_PATIENCE_SECONDS) == 0
    assert producer.flush(_PATIENCE_SECONDS) == 0


def assert_nothing_wrong_so_far(servers: str, topic: str) -> int:
    """Whatever is visible is there once, in order, with the right count; returns how many records there are."""
    return len(_checked(read_all(servers, topic, waits=False)))


def assert_exact(servers: str, topic: str, numbers: range) -> None:
    """Every number is there exactly once, in order, with the right count, and nothing else."""
    found = _checked(read_all(servers, topic))
    missing = sorted(set(numbers) - found)
    assert not missing, f"{len(missing)} numbers are missing, as {missing[:5]}"
    assert len(found) == len(numbers), f"{len(found) - len(numbers)} numbers were never sent"


def _checked(messages: list[Seen]) -> set[int]:
    """The numbers in messages: each once, in the order of its key and with the right count."""
    seen: set[int] = set()
    counts: defaultdict[str, int] = defaultdict(int)
    last: dict[str, int] = {}
    for key, number, count in map(_parsed, messages):
        assert number not in seen, f"{number} is there twice"
        assert number > last.get(key, -1), f"{number} of {key} comes after {last[key]}"
        counts[key] += 1
        assert count == counts[key], f"{number} of {key} is counted as {count}, and is number {counts[key]}"
        seen.add(number)
        last[key] = number
    return seen


class TransactionWatch:
    """Sees from outside whether a transaction is open on a topic: records are there that are not final."""

    def __init__(self, servers: str, topic: str) -> None:
        """Connect."""
        self._all = Consumer(_settings(servers, "read_uncommitted"))
        self._final = Consumer(_settings(servers, "read_committed"))
        self._partitions = [TopicPartition(topic, partition) for partition in _partitions(self._all, topic)]

    def is_open(self) -> bool:
        """Whether some partition has records of a transaction that has not ended."""
        return any(
            self._end(self._final, partition) < self._end(self._all, partition) for partition in self._partitions
        )

    def final(self) -> int:
        """How far the topic is final, over all partitions; markers of transactions count."""
        return sum(self._end(self._final, partition) for partition in self._partitions)

    def close(self) -> None:
        """Disconnect."""
        self._all.close()
        self._final.close()

    @staticmethod
    def _end(consumer: Consumer, partition: TopicPartition) -> int:
        offsets = consumer.get_watermark_offsets(partition, timeout=_PATIENCE_SECONDS)
        assert offsets is not None
        return int(offsets[1])


def _parsed(message: Seen) -> tuple[str, int, int]:
    assert message.key is not None and message.value is not None
    key, number, count = message.value.decode().split(":")
    assert key == message.key.decode() == key_of(int(number)), message
    return key, int(number), int(count)


def _settings(servers: str, isolation: str) -> dict[str, str | int | float | bool]:
    return {
        "bootstrap.servers": servers,
        "group.id": "tests",
        "isolation.level": isolation,
        "enable.auto.commit": False,
    }


def _partitions(consumer: Consumer, topic: str) -> list[int]:
    return sorted(consumer.list_topics(topic, timeout=_PATIENCE_SECONDS).topics[topic].partitions)
