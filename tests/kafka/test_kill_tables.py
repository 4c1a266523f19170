"""SQL whose rows change and go, into upsert sinks, killed again and again: the tables are right in the end."""

from __future__ import annotations

import random
from functools import partial
from pathlib import Path

import pytest

from penstock.kafka_broker import LocalBroker
from tests.kafka.jobs import tables
from tests.spark.jobs import outcome
from tests.spark.jobs.deaths import AFTER_SEAL, BEFORE_SEAL, TORN_SEAL
from tests.spark.processes import ProcessGroup, kill, process_group, spark_settings
from tests.spark.test_kill_driver import AT_START, FROM_OUTSIDE, PYTHON_ONLY, run_until_killed

pytestmark = pytest.mark.spark

PREFIX = "killed-"


def run_with_kills(kafka: LocalBroker, folder: Path, seed: int, moments: list[str], count: int, workers: int) -> None:
    """Kill the job once at each moment, in random order; then let a last run finish, some of whose workers die."""
    chance = random.Random(seed)
    prefix = f"{PREFIX}{seed}-{count}-"
    tables.create_database(folder)
    for name in tables.QUERIES:
        kafka.create_topic(prefix + name, 3)
    order = partial(tables.Order, servers=kafka.address, prefix=prefix)
    with process_group(folder) as group:
        for number, moment in enumerate(chance.sample(moments, len(moments))):
            run_until_killed(group, folder, count, moment, chance, f"run-{number}", order, least_passes=1)
            assert tables.in_topics(kafka.address, prefix, waits=False) != tables.expected(count)
        finish(group, folder, order, count, workers)
    wanted = tables.expected(count)
    assert tables.in_database(folder) == wanted
    assert tables.in_topics(kafka.address, prefix) == wanted


def finish(group: ProcessGroup, folder: Path, order: partial[tables.Order], count: int, workers: int) -> None:
    """Run to the end; whenever a version is final, one of the processes that run tasks is killed, so many times."""
    settings = {**spark_settings(group), "penstock.batch.max-records": str(count // (4 * workers + 4))}
    rate = 500.0 if workers else None  # slow enough that there is something to kill
    program = group.start(order(str(folder), count, rate, master="local[2,8]", settings=settings).arguments(), "last")
    for _ in range(workers):
        version = outcome.newest_seal(folder)
        program.wait_until(lambda version=version: outcome.newest_seal(folder) > version, "another version")  # type: ignore[misc]
        for process in program.task_workers()[:1]:
            kill(process)
    program.finish()
    group.await_end()


@pytest.mark.timeout(600)
def test_a_death_leaves_upsert_tables_right(kafka: LocalBroker, tmp_path: Path, seed: int) -> None:
    moment = random.Random(seed).choice([BEFORE_SEAL, AFTER_SEAL, FROM_OUTSIDE])
    run_with_kills(kafka, tmp_path, seed, [moment], count=1_500, workers=0)


@pytest.mark.soak
def test_many_deaths_leave_upsert_tables_right(kafka: LocalBroker, tmp_path: Path, seed: int) -> None:
    moments = [BEFORE_SEAL, TORN_SEAL, AFTER_SEAL, AT_START, PYTHON_ONLY, *[FROM_OUTSIDE] * 4]
    run_with_kills(kafka, tmp_path, seed, moments, count=8_000, workers=3)
