"""A sink far slower than its source: what has not been written stays in Kafka, not in memory, and nothing is lost."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from pathlib import Path

import psutil
import pytest

from penstock.kafka_broker import LocalBroker
from tests.kafka.conftest import NewTopic
from tests.kafka.jobs.numbers import Order
from tests.kafka.topics_of_numbers import TransactionWatch, assert_exact, send_numbers
from tests.spark.jobs import outcome
from tests.spark.processes import Program, process_group, spark_settings

pytestmark = pytest.mark.slow

WIDTH = 1_000
MEGABYTE = 1_000_000


@dataclass(frozen=True)
class Amounts:
    """How many records there are, after how many of them memory is looked at, and how many a batch may have."""

    numbers: range
    first: int
    later: int
    most: int


def most_memory(program: Program, condition: Callable[[], bool]) -> float:
    """The most that the job has in memory until a condition holds."""
    samples: list[float] = []

    def look() -> bool:
        samples.append(python_memory(program))
        return condition()

    program.wait_until(look, "the slow sink has written some more")
    return max(samples)


def python_memory(program: Program) -> float:
    """Megabytes of the driver and of Spark's Python processes."""
    everyone = [psutil.Process(program.process.pid), *program.processes("pyspark")]
    return sum(_own_megabytes(process) for process in everyone)


def _own_megabytes(process: psutil.Process) -> float:
    try:
        return 0.0 if process.name() == "java" else float(process.memory_full_info().uss) / MEGABYTE
    except psutil.NoSuchProcess:
        return 0.0


def run_with_slow_sink(kafka: LocalBroker, topic: NewTopic, tmp_path: Path, amounts: Amounts) -> float:
    """Check batches and results; tells how many megabytes were added after the first batches."""
    source, sink = topic(4, "numbers"), topic(4, "counts")
    send_numbers(kafka.address, source, amounts.numbers, WIDTH)
    brake = tmp_path / "brake"
    brake.touch()
    watch = TransactionWatch(kafka.address, sink)
    with process_group(tmp_path) as group:
        settings = {**spark_settings(group), "penstock.batch.target-time": "500 ms"}
        checkpoint = str(tmp_path / "checkpoint")
        order = Order(kafka.address, source, sink, checkpoint, amounts.most, 100, brake=str(brake), settings=settings)
        program = group.start(order.arguments(), "run")
        first = most_memory(program, lambda: watch.final() > amounts.first)
        batches = -outcome.newest_seal(tmp_path)
        later = most_memory(program, lambda: watch.final() > amounts.later)
        batches += outcome.newest_seal(tmp_path)
        print(f"{first:.0f} MB for the first batches, {later:.0f} MB for {batches} later ones")
        brake.unlink()
        program.finish()
    watch.close()
    assert_exact(kafka.address, sink, amounts.numbers)
    assert batches > 2 * (amounts.later - amounts.first) / amounts.most, "batches are as large as for a fast sink"
    return later - first


@pytest.mark.timeout(600)
def test_a_slow_sink_slows_the_source(kafka: LocalBroker, topic: NewTopic, tmp_path: Path) -> None:
    run_with_slow_sink(kafka, topic, tmp_path, Amounts(range(60_000), 10_000, 25_000, 10_000))


@pytest.mark.soak
def test_a_slow_sink_slows_the_source_and_fills_no_memory(kafka: LocalBroker, topic: NewTopic, tmp_path: Path) -> None:
    amounts = Amounts(range(150_000), 30_000, 60_000, 20_000)
    waiting = (len(amounts.numbers) - amounts.later) * WIDTH / MEGABYTE
    added = run_with_slow_sink(kafka, topic, tmp_path, amounts)
    assert added < waiting / 2, "what the sink has not taken has come into memory"
