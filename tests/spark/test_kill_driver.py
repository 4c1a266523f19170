"""A job whose processes are all killed again and again, at random and at the worst moments, is exact in the end."""

from __future__ import annotations

import random
from pathlib import Path

import pytest

from tests.spark.jobs import outcome
from tests.spark.jobs.counters import Order
from tests.spark.jobs.deaths import AFTER_SEAL, BEFORE_SEAL, DRIVER_MOMENTS, MID_PUBLISH
from tests.spark.processes import ProcessGroup, process_group, spark_settings

FROM_OUTSIDE = "from outside"
# Slow enough that no run comes to the end before it is killed; the last run has no limit.
RECORDS_PER_SECOND = 150.0
SIGKILLED = -9


def run_with_kills(folder: Path, seed: int, moments: list[str], count: int) -> None:
    """Start the job once for each moment, see it die there, and let a last run finish."""
    chance = random.Random(seed)
    chance.shuffle(moments)
    with process_group(folder) as group:
        for number, moment in enumerate(moments):
            _run_until_killed(group, folder, count, moment, chance, f"run-{number}")
            assert not group.alive()
            outcome.assert_nothing_wrong_so_far(folder, count)
        last = Order(str(folder), count, spark=spark_settings(group))
        group.start(last.arguments(), "last-run").finish()
        group.await_end()
    outcome.assert_exact(folder, count)
    assert outcome.torn_files(folder) == []


def _run_until_killed(
    group: ProcessGroup, folder: Path, count: int, moment: str, chance: random.Random, name: str
) -> None:
    begun_at = outcome.newest_seal(folder)
    passes = chance.randrange(3)
    death = ("never", 0) if moment == FROM_OUTSIDE else (moment, passes)
    order = Order(str(folder), count, RECORDS_PER_SECOND, driver_death=death, spark=spark_settings(group))
    program = group.start(order.arguments(), name)
    if moment == FROM_OUTSIDE:
        program.wait_until(lambda: outcome.newest_seal(folder) >= begun_at + passes, f"{passes} batches")
        assert program.runs_for(chance.uniform(0, 1.5)), program.tail()
        group.kill()
    else:
        assert program.process.wait(300) == SIGKILLED, program.tail()
        group.await_end()


@pytest.mark.slow
@pytest.mark.timeout(900)
def test_five_deaths_of_the_driver_lose_and_repeat_nothing(tmp_path: Path, seed: int) -> None:
    moments = [BEFORE_SEAL, AFTER_SEAL, MID_PUBLISH, FROM_OUTSIDE, FROM_OUTSIDE]
    run_with_kills(tmp_path, seed, moments, count=10_000)


@pytest.mark.soak
def test_twenty_six_deaths_of_the_driver_lose_and_repeat_nothing(tmp_path: Path, seed: int) -> None:
    run_with_kills(tmp_path, seed, [*DRIVER_MOMENTS * 2, *[FROM_OUTSIDE] * 16], count=60_000)
