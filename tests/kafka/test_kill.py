"""A job from Kafka to Kafka that is killed again and again, and a broker that is killed under it: exact in the end."""

from __future__ import annotations

import random
from collections.abc import Callable
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

pytestmark = pytest.mark.slow

# Moments to kill all processes of the job at: soon after the start, some time after it has published something new, and
# while one of its transactions is open, which stays so until the next run.
EARLY, SOME_TIME, IN_TRANSACTION = "early", "some time", "in a transaction"
PARTITIONS = 4
# The broker answers in the order it was asked, but not across connections.
LOOKS_AT_FROZEN_JOB = 20
MORE_TRIES = 3


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
    """Freeze the job as soon as a transaction is seen to be open, and kill it if that transaction stays so.

    A request to commit may be on its way to the broker when the processes are frozen: then they go on to the next one.
    """
    processes = scene.group.alive()  # once: a search for processes takes longer than a transaction is open
    while True:
        while not scene.watch.is_open():
            assert program.process.poll() is None, program.tail()
        for_each(processes, psutil.Process.suspend)
        if all(scene.watch.is_open() for _ in range(LOOKS_AT_FROZEN_JOB)):
            break
        for_each(processes, psutil.Process.resume)
    for_each(processes, psutil.Process.kill)


def for_each(processes: list[psutil.Process], act: Callable[[psutil.Process], None]) -> None:
    """Do something to all processes that are still there."""
    for process in processes:
        with suppress(psutil.NoSuchProcess):
            act(process)


def run_with_kills(scene: Scene, moments: list[str], numbers: range, seed: int) -> None:
    """Kill the job at each of the moments, in random order, and let a last run finish."""
    chance = random.Random(seed)
    left_open = 0
    # Each moment in both ways, in turns.
    ways = [(moment, (number + seed) % 2 == 0) for number, moment in enumerate(sorted(moments))]
    for number, (moment, in_files) in enumerate(chance.sample(ways, len(ways))):
        left_open += run_and_kill(scene, f"run-{number}", moment, in_files, chance)
    for number in range(MORE_TRIES if IN_TRANSACTION in moments else 0):
        # A process that was started after the others were listed may have ended the transaction: then once more.
        if not left_open:
            left_open += run_and_kill(scene, f"again-{number}", IN_TRANSACTION, bool(seed % 2), chance)
    assert left_open, "no kill has left a transaction open"
    done = assert_nothing_wrong_so_far(scene.order.servers, scene.order.sink)
    assert done < len(numbers), "the job had finished before it was killed for the last time"
    scene.start("last-run", batch_records=len(numbers), brake="").finish()
    assert_exact(scene.order.servers, scene.order.sink, numbers)


def new_order(kafka: LocalBroker, source: str, sink: str, folder: Path, batch: int, group: ProcessGroup) -> Order:
    # Where the machine is very busy, Spark gives up waiting for a process of its own: a restart, as in production.
    checkpoint = str(folder / "checkpoint")
    return Order(kafka.address, source, sink, checkpoint, batch, restarts=100, settings=spark_settings(group))


def kill_test(
    kafka: LocalBroker,
    topic: NewTopic,
    folder: Path,
    moments: list[str],
    numbers: range,
    seed: int,
    batch: int,
    **changes: Any,
) -> None:
    source, sink = topic(PARTITIONS, "numbers"), topic(PARTITIONS - 1, "counts")
    send_numbers(kafka.address, source, numbers)
    watch = TransactionWatch(kafka.address, sink)
    try:
        with process_group(folder) as group:
            order = new_order(kafka, source, sink, folder, batch, group)
            settings = {**order.settings, **changes.pop("settings", {})}
            scene = Scene(group, watch, replace(order, settings=settings, **changes))
            run_with_kills(scene, moments, numbers, seed)
    finally:
        watch.close()


@pytest.mark.drawn(3, group="deaths of a job on Spark")
@pytest.mark.timeout(900)
def test_a_death_within_a_transaction_loses_and_repeats_nothing(
    kafka: LocalBroker, topic: NewTopic, tmp_path: Path, seed: int
) -> None:
    """Of one of the two ways of publishing; the long form has both, and other moments."""
    kill_test(kafka, topic, tmp_path, [IN_TRANSACTION], range(20_000), seed, batch=1_000)


@pytest.mark.soak
def test_forty_deaths_between_kafka_and_kafka_lose_and_repeat_nothing(
    kafka: LocalBroker, topic: NewTopic, tmp_path: Path, seed: int
) -> None:
    moments = [*[EARLY] * 6, *[SOME_TIME] * 17, *[IN_TRANSACTION] * 17]
    kill_test(kafka, topic, tmp_path, moments, range(2_000_000), seed, batch=12_500)


def continuous_kill_test(
    kafka: LocalBroker, topic: NewTopic, folder: Path, moments: list[str], numbers: range, seed: int
) -> None:
    """The same with tasks that stay, and a sink so slow that the source is held back."""
    brake = folder / "brake"
    brake.touch()
    settings = {
        "penstock.execution.mode": "continuous",
        "execution.checkpointing.interval": "500 ms",
        "spark.master": "local[24]",
    }
    kill_test(kafka, topic, folder, moments, numbers, seed, 1_000, settings=settings, brake=str(brake))


@pytest.mark.drawn(3, group="deaths of a job on Spark")
@pytest.mark.timeout(900)
def test_a_death_in_continuous_mode_loses_and_repeats_nothing(
    kafka: LocalBroker, topic: NewTopic, tmp_path: Path, seed: int
) -> None:
    continuous_kill_test(kafka, topic, tmp_path, [IN_TRANSACTION], range(100_000), seed)


@pytest.mark.soak
def test_many_deaths_in_continuous_mode_lose_and_repeat_nothing(
    kafka: LocalBroker, topic: NewTopic, tmp_path: Path, seed: int
) -> None:
    moments = [*[EARLY] * 3, *[SOME_TIME] * 4, *[IN_TRANSACTION] * 5]
    continuous_kill_test(kafka, topic, tmp_path, moments, range(1_000_000), seed)


def broker_kill_test(own_kafka: LocalBroker, folder: Path, numbers: range, kills: int) -> None:
    own_kafka.start()
    own_kafka.create_topic("numbers", PARTITIONS)
    own_kafka.create_topic("counts", PARTITIONS - 1)
    send_numbers(own_kafka.address, "numbers", numbers)
    watch = TransactionWatch(own_kafka.address, "counts")
    with process_group(folder) as group:
        order = new_order(own_kafka, "numbers", "counts", folder, 5_000, group)
        scene = Scene(group, watch, order)
        program = scene.start("run")
        for _ in range(kills):
            final = watch.final()
            program.wait_until(lambda final=final: watch.final() > final, "something new is published")
            own_kafka.kill()
            own_kafka.start()
        program.finish()
    watch.close()
    assert_exact(own_kafka.address, "counts", numbers)


@pytest.mark.timeout(600)
def test_a_broker_that_is_killed_and_comes_back_loses_and_repeats_nothing(
    own_kafka: LocalBroker, tmp_path: Path
) -> None:
    broker_kill_test(own_kafka, tmp_path, range(20_000), kills=1)


@pytest.mark.soak
def test_a_broker_that_is_killed_again_and_again_loses_and_repeats_nothing(
    own_kafka: LocalBroker, tmp_path: Path
) -> None:
    broker_kill_test(own_kafka, tmp_path, range(50_000), kills=5)
