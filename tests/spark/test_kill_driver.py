"""A job whose processes are all killed again and again, at random and at the worst moments, is exact in the end."""

from __future__ import annotations

import random
from collections.abc import Callable
from pathlib import Path

import pytest

from tests.spark.jobs import outcome
from tests.spark.jobs.counters import Order
from tests.spark.jobs.deaths import AFTER_LAST_SEAL, AFTER_SEAL, BEFORE_SEAL, DRIVER_MOMENTS, MID_PUBLISH
from tests.spark.processes import PATIENCE_SECONDS, ProcessGroup, process_group, spark_settings

AT_START, FROM_OUTSIDE = "at start", "from outside"
PYTHON_ONLY = "python only"  # Java and the workers must notice by themselves that their driver is gone
OUTSIDE_MOMENTS = (AT_START, FROM_OUTSIDE, PYTHON_ONLY)
# Slow enough that no run comes to the end before it is killed; the last run has no limit.
RECORDS_PER_SECOND = 100.0
LAST_BATCHES = 6  # at least, of the run that is killed after the last seal
SIGKILLED = -9


def run_with_kills(folder: Path, seed: int, moments: list[str], count: int) -> None:
    """Start the job once for each moment, in random order, see it die there, and let a last run finish."""
    chance = random.Random(seed)
    with process_group(folder) as group:
        # The batch that ends the job comes last whatever the order, and its publication is left to the last run.
        for number, moment in enumerate([*chance.sample(moments, len(moments)), AFTER_LAST_SEAL]):
            run_until_killed(group, folder, count, moment, chance, f"run-{number}")
            assert not group.alive()
            outcome.assert_nothing_wrong_so_far(folder, count)
        last = Order(str(folder), count, settings=spark_settings(group))
        group.start(last.arguments(), "last-run").finish()
        group.await_end()
    outcome.assert_exact(folder, count)
    assert outcome.torn_files(folder) == []


def run_until_killed(
    group: ProcessGroup,
    folder: Path,
    count: int,
    moment: str,
    chance: random.Random,
    name: str,
    job: Callable[..., Order] = Order,
    least_passes: int = 0,
) -> None:
    """Start a job and see it die at a moment, after it was let pass `least_passes` times or a few more."""
    begun_at = outcome.newest_seal(folder)
    passes = least_passes + chance.randrange(3 - least_passes)
    rate = None if moment == AFTER_LAST_SEAL else RECORDS_PER_SECOND
    settings = spark_settings(group)
    # However slow or fast the machine is: batches enough for the moment to come, and for rules to come between records.
    batches = LAST_BATCHES if moment == AFTER_LAST_SEAL else 100
    settings["penstock.batch.max-records"] = str(max(1, count // batches))
    order = job(str(folder), count, rate, driver_death=(moment, passes), settings=settings)
    program = group.start(order.arguments(), name)
    if moment in OUTSIDE_MOMENTS:
        wanted = begun_at + (0 if moment == AT_START else passes + 1)
        program.wait_until(lambda: outcome.newest_seal(folder) >= wanted, f"version {wanted}")
        assert program.runs_for(chance.uniform(0, 10 if moment == AT_START else 1.5)), program.tail()
        program.process.kill()
    if moment in (AT_START, FROM_OUTSIDE):
        group.kill()
    assert program.process.wait(PATIENCE_SECONDS) == SIGKILLED, program.tail()
    group.await_end()


@pytest.mark.slow
@pytest.mark.timeout(900)
def test_two_deaths_of_the_driver_lose_and_repeat_nothing(tmp_path: Path, seed: int) -> None:
    """One is after the last seal. Cells of the resume matrix have the moments around another; the long form has all."""
    moment = random.Random(seed).choice([BEFORE_SEAL, AFTER_SEAL, MID_PUBLISH, PYTHON_ONLY])
    run_with_kills(tmp_path, seed, [moment], count=12_000)


@pytest.mark.soak
def test_twenty_seven_deaths_of_the_driver_lose_and_repeat_nothing(tmp_path: Path, seed: int) -> None:
    run_with_kills(tmp_path, seed, [*DRIVER_MOMENTS * 2, *OUTSIDE_MOMENTS * 4, *[FROM_OUTSIDE] * 4], count=60_000)
