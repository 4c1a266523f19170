"""The page about Kafka and its example do what they say, on a real broker."""

from __future__ import annotations

import importlib
import re
import tempfile
from pathlib import Path

import pytest
from pyspark.sql import SparkSession

from penstock.kafka_broker import LocalBroker

pytestmark = pytest.mark.spark

ROOT = Path(__file__).parents[2]
PAGE = ROOT / "docs" / "kafka.md"
BLOCK = re.compile(r"^```python( run)?\n(.*?)^```", re.MULTILINE | re.DOTALL)
ADDRESS = "127.0.0.1:9092"


def test_the_blocks_of_the_page_run(
    spark: SparkSession, kafka: LocalBroker, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(tempfile, "tempdir", str(tmp_path))
    text = PAGE.read_text()
    blocks = list(BLOCK.finditer(text))
    assert blocks
    for block in blocks:
        assert block[1], f"a block that does not run: {block[2]}"
        lines = "\n" * text.count("\n", 0, block.start(2))
        code = compile(lines + block[2].replace(ADDRESS, kafka.address), PAGE, "exec")
        exec(code, {"__name__": "kafka_block"})


def test_the_example_goes_on_where_it_was_and_shows_each_total_once(
    spark: SparkSession, kafka: LocalBroker, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.syspath_prepend(str(ROOT / "examples"))
    example = importlib.import_module("kafka_exactly_once")
    for name in ("orders", "totals"):
        kafka.create_topic(name, 2)
    first = ["ann:10", "ann:17", "bob:5"]
    assert sorted(example.main(kafka.address, str(tmp_path / "checkpoint"), 3)) == first
    second = ["ann:27", "ann:34", "bob:10"]
    assert sorted(example.main(kafka.address, str(tmp_path / "checkpoint"), 6)) == sorted(first + second)
