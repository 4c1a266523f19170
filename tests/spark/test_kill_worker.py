"""Python workers that are killed in the middle of a batch cost a retry of a task: no restart, no record."""

from __future__ import annotations

import random
from pathlib import Path

import psutil
import pytest

from tests.spark.jobs import counting, outcome, rules, sessions
from tests.spark.jobs.counters import Order
from tests.spark.processes import ProcessGroup, Program, kill, process_group, spark_settings

# More retries than the default: on a slow machine several of the deaths may fall into one batch.
MASTER = "local[2,8]"


def settings_for(group: ProcessGroup, count: int) -> dict[str, str]:
    """However slow the machine is: batches enough for every death to come."""
    # Each of the three splits may give a third of it; that of the rules does not.
    return {**spark_settings(group), "penstock.batch.max-records": str(count // 8)}


def deadly_numbers(chance: random.Random, count: int, each: int) -> dict[str, list[int]]:
    """So many records, rules, and sessions that fire: with a record in time, or again with one that is late."""
    early = range(count // 2)
    lags = {number: sessions.lag(counting.event(number)) for number in early}
    late = [number for number, lag in lags.items() if lag > sessions.LATENESS_MS // 2]
    in_time = [number for number, lag in lags.items() if not lag]
    return {
        "record": chance.sample(early, each),
        "firing": [*chance.sample(in_time, each // 2), *chance.sample(late, each - each // 2)],
        "rule": chance.sample(range(1, rules.rule_count(count)), each // 2),
    }


def run_with_dying_workers(folder: Path, seed: int, *, count: int, rate: float, deadly: int, kills: int) -> None:
    """Let workers die by themselves at chosen points, kill more from outside, and let the job finish."""
    chance = random.Random(seed)
    with process_group(folder) as group:
        order = Order(
            str(folder),
            count,
            rate,
            master=MASTER,
            worker_deaths={"staged": 1, "stored": 2},
            deadly=deadly_numbers(chance, count, deadly),
            settings=settings_for(group, count),
        )
        program = group.start(order.arguments(), "job")
        for _ in range(kills):
            _kill_a_worker(program, folder, chance)
        program.finish()
        group.await_end()
    outcome.assert_exact(folder, count)
    assert outcome.restarts(folder) == 0
    by_number = [f"{kind}-{number}" for kind, numbers in order.deadly.items() for number in numbers]
    assert outcome.deaths(folder) == sorted([*by_number, "staged-0", "staged-1", "stored-0", "stored-1"])


def _kill_a_worker(program: Program, folder: Path, chance: random.Random) -> None:
    """Wait for progress, so that each kill finds a job that has recovered from the one before."""
    before = outcome.newest_seal(folder)
    program.wait_until(lambda: outcome.newest_seal(folder) > before, "progress since the last kill")
    program.wait_until(program.task_workers, "a worker")
    kill(chance.choice(program.task_workers()))


@pytest.mark.slow
@pytest.mark.timeout(600)
def test_killed_workers_cost_a_retry_only(tmp_path: Path, seed: int) -> None:
    run_with_dying_workers(tmp_path, seed, count=3_000, rate=250.0, deadly=2, kills=3)


@pytest.mark.soak
def test_many_killed_workers_cost_retries_only(tmp_path: Path, seed: int) -> None:
    run_with_dying_workers(tmp_path, seed, count=40_000, rate=250.0, deadly=10, kills=25)


@pytest.mark.slow
@pytest.mark.timeout(600)
def test_a_killed_source_reader_costs_a_restart_but_no_record(tmp_path: Path) -> None:
    with process_group(tmp_path) as group:
        order = Order(str(tmp_path), 2_000, 250.0, settings=settings_for(group, 2_000))
        program = group.start(order.arguments(), "job")
        program.wait_until(lambda: outcome.newest_seal(tmp_path) >= 1, "two batches")
        readers: list[psutil.Process] = program.processes("python_streaming_source_runner")
        assert len(readers) == 1
        kill(readers[0])
        program.finish()
        group.await_end()
    outcome.assert_exact(tmp_path, 2_000)
    assert outcome.restarts(tmp_path) == 1
