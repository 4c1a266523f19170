"""The example from Kafka to Kafka does what its first lines say, on a real broker."""

from __future__ import annotations

import importlib
from pathlib import Path

import pytest
from pyspark.sql import SparkSession

from penstock.kafka_broker import LocalBroker

pytestmark = pytest.mark.spark

ROOT = Path(__file__).parents[2]


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
