"""Records for the tests of the source: put into topics of the test's broker, with what a test wants to see of them."""

from __future__ import annotations

from collections.abc import Iterable
from typing import Any

from confluent_kafka import Producer


def produce(servers: str, topic: str, records: Iterable[Any], *, partition: int = 0, **settings: Any) -> None:
    """Write records, each a text or the arguments of `Producer.produce`, and wait until they are there."""
    # Without idempotence, batches that are sent again to a new topic may change places.
    producer = Producer({"bootstrap.servers": servers, "linger.ms": 0, "enable.idempotence": True})
    for number, record in enumerate(records):
        given = record if isinstance(record, dict) else {"value": record}
        producer.produce(topic, **{"partition": partition, **settings, **given})
        if number % 50_000 == 49_999:
            producer.flush(30)
    assert producer.flush(30) == 0


def produce_in_transactions(servers: str, topic: str, transactions: Iterable[tuple[list[str], bool]]) -> None:
    """Write transactions, each a list of values and whether it is committed or aborted."""
    producer = Producer({"bootstrap.servers": servers, "transactional.id": f"{topic}-writer"})
    producer.init_transactions(30)
    for values, is_committed in transactions:
        producer.begin_transaction()
        for value in values:
            producer.produce(topic, value=value, partition=0)
        producer.flush(30)
        if is_committed:
            producer.commit_transaction(30)
        else:
            producer.abort_transaction(30)
