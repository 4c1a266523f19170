"""A sink slower than its source, on Spark: batches become smaller, nothing is lost, and the metrics show it."""

from __future__ import annotations

import threading
from typing import Any

from penstock.datastream.connectors.data_gen import DataGeneratorSource
from tests.spark.conftest import NewEnvironment

RECORDS = 3_000
MOST = 1_000


def slowly(value: int) -> int:
    threading.Event().wait(0.002)  # what a slow system costs is time, and nothing is waited for
    return value


def test_a_slow_end_makes_batches_smaller(new_environment: NewEnvironment) -> None:
    settings: dict[str, Any] = {"penstock.batch.max-records": MOST, "penstock.batch.target-time": "400 ms"}
    environment = new_environment(**settings)
    numbers = environment.from_source(DataGeneratorSource(lambda number: number, RECORDS), None, "numbers").uid("in")
    numbers.rebalance().map(slowly).uid("slow").filter(lambda value: False).print()
    client: Any = environment.execute_async("slow end")
    client.wait()
    metrics, progress = client.metrics(), client.progress()
    assert metrics["slow"]["records_in"] == RECORDS
    assert progress.batch >= RECORDS / MOST, "more batches than the largest ones would make"
    assert metrics["in"]["batch_limit"] == progress.pace.limit < MOST
    assert metrics["in"]["backpressured_ms"] > 0 < progress.pace.backpressured
    assert progress.pace.backlog == 0
