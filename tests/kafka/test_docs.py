"""The page on Kafka is a program: its blocks run, one after the other, against a real broker."""

from __future__ import annotations

import json
import re
from pathlib import Path

import pytest

from penstock.datastream import StreamExecutionEnvironment
from penstock.kafka_broker import LocalBroker
from tests.kafka.producing import produce

PAGE = Path(__file__).parents[2] / "docs" / "kafka.md"
FENCE = re.compile(r"^```python ?(\S*)\n(.*?)^```", re.MULTILINE | re.DOTALL)
SHOWN_ADDRESS = "localhost:9092"


def test_the_page_runs(kafka: LocalBroker, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]) -> None:
    kafka.create_topic("orders", 2)
    records = [json.dumps({"id": n, "customer": f"c{n % 2}", "amount": 1.5}) for n in range(4)]
    produce(kafka.address, "orders", records)
    # In process, because Spark is what other tests are for.
    monkeypatch.setattr(
        StreamExecutionEnvironment, "get_execution_environment", staticmethod(StreamExecutionEnvironment.in_process)
    )
    namespace = {"__name__": "kafka_page"}
    text = PAGE.read_text()
    blocks = [(found[1], text.count("\n", 0, found.start(2)), found[2]) for found in FENCE.finditer(text)]
    assert {word for word, _, _ in blocks} == {"run-with-kafka"}
    for _, line, code in blocks:
        if "set_bad_records" in code:
            produce(kafka.address, "orders", ["no order"], partition=1)
        exec(compile("\n" * line + code.replace(SHOWN_ADDRESS, kafka.address), PAGE, "exec"), namespace)
    printed = capsys.readouterr().out
    assert "3.0" in printed and "no order" in printed
