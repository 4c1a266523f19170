"""SQL into upsert sinks (groups, joins, an interval join, a Top-N), killed again and again: tables end up right."""

from __future__ import annotations

import random
from functools import partial
from pathlib import Path

import pytest

from penstock.kafka_broker import LocalBroker
from tests.kafka.jobs import tables
from tests.kafka.jobs.tables import Order
from tests.spark.jobs import outcome
from tests.spark.jobs.deaths import AFTER_SEAL, BEFORE_SEAL, TORN_SEAL
from tests.spark.processes import ProcessGroup, kill, process_group, spark_settings
from tests.spark.test_kill_driver import AT_START, FROM_OUTSIDE, PYTHON_ONLY, run_until_killed

pytestmark = pytest.mark.slow


def run_with_kills(order: partial[Order], folder: Path, seed: int, moments: list[str], count: int, deaths: int) -> None:
    """Kill the job once at each moment, in random order; then let a last run finish, some of whose workers die."""
    chance = random.Random(seed)
    shown = order(str(folder), count)
    wanted = tables.expected(count)
    tables.create_database(shown)
    with process_group(folder) as group:
        for number, moment in enumerate(chance.sample(moments, len(moments))):
            run_until_killed(group, folder, count, moment, chance, f"run-{number}", order, least_passes=1)
            assert all(held != wanted[name] for name, held in tables.in_topics(shown, waits=False).items())
        finish(group, folder, order, count, deaths)
    assert tables.in_database(shown) == {name: wanted[name] for name in shown.tables}
    assert tables.in_topics(shown) == {name: wanted[name] for name in shown.topics}


def finish(group: ProcessGroup, folder: Path, order: partial[Order], count: int, deaths: int) -> None:
    """Run to the end; so many times, when a version is final, a process that runs tasks is killed."""
    settings = {**spark_settings(group), "penstock.batch.max-records": str(count // (4 * deaths + 2))}
    rate = 500.0 if deaths else None  # slow enough that there is something to kill
    program = group.start(order(str(folder), count, rate, master="local[2,8]", settings=settings).arguments(), "last")
    for _ in range(deaths):
        version = outcome.newest_seal(folder)
        program.wait_until(lambda version=version: outcome.newest_seal(folder) > version, "another version")  # type: ignore[misc]
        for process in program.task_workers()[:1]:
            kill(process)
    program.finish()
    group.await_end()


def new_order(kafka: LocalBroker, prefix: str, topics: tuple[str, ...], names: tuple[str, ...]) -> partial[Order]:
    for name in topics:
        kafka.create_topic(prefix + name, 3)
    return partial(Order, servers=kafka.address, prefix=prefix, topics=topics, tables=names)


@pytest.mark.drawn(3, group="deaths of a job on Spark")
@pytest.mark.timeout(600)
def test_a_death_leaves_upsert_tables_right(kafka: LocalBroker, tmp_path: Path, seed: int) -> None:
    moment = random.Random(seed).choice([BEFORE_SEAL, AFTER_SEAL, FROM_OUTSIDE])
    names = random.Random(seed).sample(sorted(tables.QUERIES), len(tables.QUERIES))
    order = new_order(kafka, f"death-{seed}-", tuple(names[:2]), tuple(names[2:]))
    run_with_kills(order, tmp_path, seed, [moment], count=600, deaths=0)


@pytest.mark.soak
def test_many_deaths_leave_upsert_tables_right(kafka: LocalBroker, tmp_path: Path, seed: int) -> None:
    moments = [BEFORE_SEAL, TORN_SEAL, AFTER_SEAL, AT_START, PYTHON_ONLY, *[FROM_OUTSIDE] * 4]
    order = new_order(kafka, f"deaths-{seed}-", tuple(tables.QUERIES), tuple(tables.QUERIES))
    run_with_kills(order, tmp_path, seed, moments, count=8_000, deaths=3)
