"""A Kafka Streams application with exactly_once_v2, killed again and again: exact in the end, by its checkpoint."""

from __future__ import annotations

from dataclasses import asdict
from pathlib import Path

import pytest
from confluent_kafka.admin import AdminClient

from penstock.kafka_broker import LocalBroker
from tests.kafka.conftest import NewTopic
from tests.kafka.jobs.kstreams_numbers import KStreamsOrder
from tests.kafka.test_kill import EARLY, IN_TRANSACTION, PARTITIONS, SOME_TIME, Scene, new_order, run_with_kills
from tests.kafka.topics_of_numbers import TransactionWatch, send_numbers
from tests.spark.processes import process_group

pytestmark = pytest.mark.slow


def kill_test(
    kafka: LocalBroker, topic: NewTopic, folder: Path, moments: list[str], numbers: range, seed: int, batch: int
) -> None:
    """Every number is counted once and in order, so the counts are those of the state before the kill."""
    source, sink = topic(PARTITIONS, "numbers"), topic(PARTITIONS - 1, "counts")
    send_numbers(kafka.address, source, numbers)
    watch = TransactionWatch(kafka.address, sink)
    before = topics_of(kafka)
    try:
        with process_group(folder) as group:
            order = KStreamsOrder(**asdict(new_order(kafka, source, sink, folder, batch, group)))
            run_with_kills(Scene(group, watch, order), moments, numbers, seed)
    finally:
        watch.close()
    # There is nothing that state could be read from again but the checkpoint: no changelog, no repartition topic.
    assert topics_of(kafka) == before


def topics_of(kafka: LocalBroker) -> set[str]:
    listed = AdminClient({"bootstrap.servers": kafka.address}).list_topics(timeout=60).topics
    return {name for name in listed if not name.startswith("__")}


@pytest.mark.timeout(900)
def test_an_application_that_dies_within_a_transaction_loses_and_repeats_nothing(
    kafka: LocalBroker, topic: NewTopic, tmp_path: Path, seed: int
) -> None:
    kill_test(kafka, topic, tmp_path, [IN_TRANSACTION], range(20_000), seed, batch=1_000)


@pytest.mark.soak
def test_twenty_deaths_of_an_application_lose_and_repeat_nothing(
    kafka: LocalBroker, topic: NewTopic, tmp_path: Path, seed: int
) -> None:
    moments = [*[EARLY] * 2, *[SOME_TIME] * 9, *[IN_TRANSACTION] * 9]
    kill_test(kafka, topic, tmp_path, moments, range(600_000), seed, batch=12_500)
