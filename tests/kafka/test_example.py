"""The examples that write to Kafka do what they say, on a real broker."""

from __future__ import annotations

import importlib
import json
from pathlib import Path

import pytest
from account_notifications.test_job import expected as expected_notifications
from gallery.readme_commands import commands, readme_of, run_commands
from order_pipeline.test_job import expected as expected_revenue
from pyspark.sql import SparkSession

from penstock.kafka_broker import LocalBroker
from tests.kafka.reading import read_all

ROOT = Path(__file__).parents[2]


@pytest.mark.slow
def test_the_example_goes_on_where_it_was_and_shows_each_balance_once(
    spark: SparkSession, kafka: LocalBroker, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.syspath_prepend(str(ROOT / "examples"))
    example = importlib.import_module("kafka_exactly_once")
    for name in ("payments", "balances"):
        kafka.create_topic(name, 2)
    first = ["ann:10", "ann:17", "bob:5"]
    assert sorted(example.main(kafka.address, str(tmp_path / "checkpoint"), 3)) == first
    second = ["ann:27", "ann:34", "bob:10"]
    assert sorted(example.main(kafka.address, str(tmp_path / "checkpoint"), 6)) == sorted(first + second)


def test_account_notifications_reach_their_topic_once(kafka: LocalBroker, tmp_path: Path) -> None:
    readme = readme_of("account_notifications")
    start, job, stop = commands(readme, "kafka")
    assert (start, stop) == ("penstock kafka start --topic notifications:2", "penstock kafka stop")
    kafka.create_topic("notifications", 2)
    generate, *_ = commands(readme)
    run_commands("account_notifications", tmp_path, [generate, job.replace("127.0.0.1:9092", kafka.address)])
    told = [json.loads(message.value or b"") for message in read_all(kafka.address, "notifications")]
    assert sorted(tuple(row.values()) for row in told) == expected_notifications()


def test_the_order_pipeline_runs_as_a_streams_application(own_kafka: LocalBroker, tmp_path: Path) -> None:
    kafka = own_kafka.start()
    start, generate, job, stop = commands(readme_of("order_pipeline"), "kafka")
    assert start == "penstock kafka start --topic orders:1 --topic customers:1 --topic revenue:1"
    assert stop == "penstock kafka stop"
    for name in ("orders", "customers", "revenue"):
        kafka.create_topic(name, 1)
    run_commands(
        "order_pipeline", tmp_path, [line.replace("127.0.0.1:9092", kafka.address) for line in (generate, job)]
    )
    last = {message.key: json.loads(message.value or b"") for message in read_all(kafka.address, "revenue")}
    found = {(row["country"], row["start_ms"]): (row["orders"], row["cents"]) for row in last.values()}
    assert found == expected_revenue()
