"""Continuous mode on Spark: tasks that stay, killed at any moment, also on the way to micro-batches and back."""

from __future__ import annotations

from pathlib import Path

import pytest

from tests.spark.jobs import outcome
from tests.spark.jobs.counters import Order
from tests.spark.processes import ProcessGroup, process_group, spark_settings

MASTER = "local[24]"
"""All tasks run at the same time, so each needs a thread of Spark's."""
COUNT = 3_000
RATE = 150.0


def order_for(group: ProcessGroup, folder: Path, mode: str) -> Order:
    settings = {**spark_settings(group), "penstock.execution.mode": mode, "execution.checkpointing.interval": "500 ms"}
    return Order(str(folder), COUNT, RATE, master=MASTER, settings=settings)


def run_until_seals(group: ProcessGroup, folder: Path, mode: str, seals: int) -> None:
    """Run the job until it has made so many versions final, and kill all of it."""
    before = outcome.newest_seal(folder)
    program = group.start(order_for(group, folder, mode).arguments(), mode)
    program.wait_until(lambda: outcome.newest_seal(folder) >= before + seals, f"{seals} versions in {mode} mode")
    group.kill()


@pytest.mark.slow
@pytest.mark.timeout(900)
def test_a_job_that_is_killed_in_both_modes_loses_and_repeats_nothing(tmp_path: Path) -> None:
    with process_group(tmp_path) as group:
        run_until_seals(group, tmp_path, "continuous", 3)
        run_until_seals(group, tmp_path, "micro-batch", 2)
        program = group.start(order_for(group, tmp_path, "continuous").arguments(), "last")
        program.finish()
        group.await_end()
    outcome.assert_exact(tmp_path, COUNT)
