"""A job from Kafka to Kafka that is killed again and again, and a broker that is killed under it: exact in the end."""

from __future__ import annotations

import random
from contextlib import suppress
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Any

import psutil
import pytest

from penstock.kafka_broker import LocalBroker
from tests.kafka.conftest import NewTopic
from tests.kafka.jobs.numbers import Order
from tests.kafka.topics_of_numbers import TransactionWatch, assert_exact, assert_nothing_wrong_so_far, send_numbers
from tests.spark.processes import ProcessGroup, Program, process_group, spark_settings

pytestmark = pytest.mark.spark

# Moments to kill all processes of the job at: soon after the start, some time after it has published something new, and
# while one of its transactions is open, which stays so until the next run.
EARLY, SOME_TIME, IN_TRANSACTION = "early", "some time", "in a transaction"
PARTITIONS = 4


@dataclass(frozen=True)
class Scene:
    """Topics and processes of one test."""

    group: ProcessGroup
    watch: TransactionWatch
    order: Order

    def start(self, name: str, **changes: Any) -> Program:
        """Start the job, with some changes to its order."""
        return self.group.start(replace(self.order, **changes).arguments(), name)


def run_and_kill(scene: Scene, name: str, moment: str, in_files: bool, chance: random.Random) -> bool:
    """Start the job, publishing in one of its two ways, and kill it; tells whether that left a transaction open."""
    program = scene.start(name, in_files=in_files)
    final = scene.watch.final()
    if moment == EARLY:
        assert program.runs_for(chance.uniform(2, 6)), program.tail()
    else:
        program.wait_until(lambda: scene.watch.final() > final, "something new is published")
    if moment == SOME_TIME:
        assert program.runs_for(chance.uniform(0, 1.0)), program.tail()
    if moment == IN_TRANSACTION:
        kill_in_transaction(scene, program)
    scene.group.kill()
    return scene.watch.is_open()


def kill_in_transaction(scene: Scene, program: Program) -> None:
    """Look as often as possible, and kill at once: a search for processes takes longer than a transaction is open."""
    processes = scene.group.alive()
    while not scene.watch.is_open():
        assert program.process.poll() is None, program.tail()
    for process in processes:
        with suppress(psutil.NoSuchProcess):
            process.kill()


def run_with_kills(scene: Scene, moments: list[str], numbers: range, seed: int) -> None:
    """Kill the job at each of the moments, in random order, and let a last run finish."""
    chance = random.Random(seed)
    left_open = 0
    # Each moment in both ways, in turns.
    ways = [(moment, number % 2 == 0) for number, moment in enumerate(sorted(moments))]
    for number, (moment, in_files) in enumerate(chance.sample(ways, len(ways))):
        left_open += run_and_kill(scene, f"run-{number}", moment, in_files, chance)
    assert left_open, "no kill has left a transaction open"
    done = assert_nothing_wrong_so_far(scene.order.servers, scene.order.sink)
    assert done < len(numbers), "the job had finished before it was killed for the last time"
    scene.start("last-run", batch_records=len(numbers)).finish()
    assert_exact(scene.order.servers, scene.order.sink, numbers)


def new_order(kafka: LocalBroker, source: str, sink: str, folder: Path, batch: int, group: ProcessGroup) -> Order:
    # Where the machine is very busy, Spark gives up waiting for a process of its own: a restart, as in production.
    checkpoint = str(folder / "checkpoint")
    return Order(kafka.address, source, sink, checkpoint, batch, restarts=100, settings=spark_settings(group))


def kill_test(kafka: LocalBroker, topic: NewTopic, folder: Path, moments: list[str], numbers: range, seed: int) -> None:
    source, sink = topic(PARTITIONS, "numbers"), topic(PARTITIONS - 1, "counts")
    send_numbers(kafka.address, source, numbers)
    watch = TransactionWatch(kafka.address, sink)
    try:
        with process_group(folder) as group:
            batch = len(numbers) // (4 * len(moments))
            run_with_kills(
                Scene(group, watch, new_order(kafka, source, sink, folder, batch, group)), moments, numbers, seed
            )
    finally:
        watch.close()


@pytest.mark.timeout(900)
def test_five_deaths_between_kafka_and_kafka_lose_and_repeat_nothing(
    kafka: LocalBroker, topic: NewTopic, tmp_path: Path, seed: int
) -> None:
    moments = [EARLY, *[SOME_TIME] * 2, *[IN_TRANSACTION] * 2]
    kill_test(kafka, topic, tmp_path, moments, range(100_000), seed)


@pytest.mark.soak
def test_forty_deaths_between_kafka_and_kafka_lose_and_repeat_nothing(
    kafka: LocalBroker, topic: NewTopic, tmp_path: Path, seed: int
) -> None:
    moments = [*[EARLY] * 6, *[SOME_TIME] * 17, *[IN_TRANSACTION] * 17]
    kill_test(kafka, topic, tmp_path, moments, range(2_000_000), seed)


@pytest.mark.timeout(600)
def test_a_broker_that_is_killed_and_comes_back_loses_and_repeats_nothing(
    own_kafka: LocalBroker, tmp_path: Path
) -> None:
    numbers = range(50_000)
    own_kafka.start()
    own_kafka.create_topic("numbers", PARTITIONS)
    own_kafka.create_topic("counts", PARTITIONS - 1)
    send_numbers(own_kafka.address, "numbers", numbers)
    watch = TransactionWatch(own_kafka.address, "counts")
    with process_group(tmp_path) as group:
        order = new_order(own_kafka, "numbers", "counts", tmp_path, 5_000, group)
        scene = Scene(group, watch, order)
        program = scene.start("run")
        for _ in range(2):
            final = watch.final()
            program.wait_until(lambda final=final: watch.final() > final, "something new is published")
            own_kafka.kill()
            own_kafka.start()
        program.finish()
    watch.close()
    assert_exact(own_kafka.address, "counts", numbers)
