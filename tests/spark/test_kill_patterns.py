"""A job that looks for patterns is killed while matches are half-finished: it finds each of them once in the end."""

from __future__ import annotations

import random
from collections import Counter
from pathlib import Path

import pytest

from penstock.checkpoint import CheckpointDirectory
from penstock.graph import JobSettings, compile_plan
from penstock.testing.leftovers import left_of_branch
from tests.spark.jobs import outcome, patterns
from tests.spark.jobs.deaths import AFTER_SEAL, BEFORE_SEAL, DRIVER_MOMENTS, MID_PUBLISH
from tests.spark.jobs.patterns import EVENTS, JOB, SPLITS, Order
from tests.spark.processes import ProcessGroup, process_group, spark_settings
from tests.spark.test_kill_driver import FROM_OUTSIDE, PYTHON_ONLY, run_until_killed


def run_with_kills(folder: Path, seed: int, moments: list[str], *, count: int, deadly: int) -> None:
    """Kill the job once at each moment, in random order, then let workers die in the run that comes to the end."""
    chance = random.Random(seed)
    wanted = Counter(map(outcome.as_line, patterns.expected(count)))
    with process_group(folder) as group:
        for number, moment in enumerate(chance.sample(moments, len(moments))):
            # What was let pass once has left a version with partial matches.
            run_until_killed(group, folder, count, moment, chance, f"run-{number}", Order, least_passes=1)
            assert half_finished(folder, count) > 0
            surplus = outcome.published(folder / "main") - wanted
            assert not surplus, f"{surplus.total()} are wrong or there twice, as {sorted(surplus)[:3]}"
        _finish(group, folder, count, chance.sample(range(count * 3 // 4, count), deadly))
    assert outcome.published(folder / "main") == wanted
    assert outcome.left(folder) == {}


def _finish(group: ProcessGroup, folder: Path, count: int, deadly: list[int]) -> None:
    settings = {**spark_settings(group), "penstock.batch.max-records": str(count // 8)}
    order = Order(str(folder), count, None, master="local[2,8]", deadly={"end": deadly}, settings=settings)
    group.start(order.arguments(), "last-run").finish()
    group.await_end()
    # A deadly number whose event nobody asks the last element about kills nobody.
    assert outcome.deaths(folder)


def half_finished(folder: Path, count: int) -> int:
    """Rows of state in the last version that is final: partial matches, and the events that they need."""
    plan = compile_plan(patterns.build(Order(str(folder), count)).graph, JobSettings(job_name=JOB, parallelism=SPLITS))
    return left_of_branch(CheckpointDirectory(str(folder / "checkpoint")), plan, [EVENTS]).state_entries


@pytest.mark.drawn(3, group="deaths of a job on Spark")
@pytest.mark.slow
@pytest.mark.timeout(600)
def test_a_dead_driver_and_dead_workers_cost_no_match_and_repeat_none(tmp_path: Path, seed: int) -> None:
    moment = random.Random(seed).choice([BEFORE_SEAL, AFTER_SEAL, MID_PUBLISH, FROM_OUTSIDE])
    run_with_kills(tmp_path, seed, [moment], count=1_600, deadly=4)


@pytest.mark.soak
def test_many_deaths_cost_no_match_and_repeat_none(tmp_path: Path, seed: int) -> None:
    moments = [*DRIVER_MOMENTS, PYTHON_ONLY, *[FROM_OUTSIDE] * 4]
    run_with_kills(tmp_path, seed, moments, count=12_000, deadly=20)
