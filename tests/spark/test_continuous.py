"""Continuous mode on Spark: tasks that stay, killed at any moment, also on the way to micro-batches and back."""

from __future__ import annotations

import sys
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


SCRIPT = """
from penstock.common import Configuration, WatermarkStrategy
from penstock.connectors.source import SplitSource
from penstock.datastream import StreamExecutionEnvironment


def doubled(number):
    return number * 2


class Numbers(SplitSource):
    def __init__(self, function):
        self.function = function

    def is_bounded(self):
        return True

    def split_count(self, parallelism):
        return parallelism

    def split_end(self, split, split_count):
        return 10

    def available(self, split, split_count, position, elapsed_ms, limit):
        return min(10, position + limit)

    def read(self, split, split_count, start, stop):
        yield [self.function(number) for number in range(start, stop)], None


configuration = Configuration()
configuration.set_string("penstock.execution.mode", "continuous")
environment = StreamExecutionEnvironment.get_execution_environment(configuration).set_parallelism(2)
numbers = environment.from_source(Numbers(doubled), WatermarkStrategy.no_watermarks(), "numbers")
print("sum", sum(numbers.key_by(lambda number: number).map(lambda number: number).execute_and_collect("script")))
"""


@pytest.mark.slow
def test_a_source_of_the_users_own_script(tmp_path: Path) -> None:
    script = tmp_path / "script.py"
    script.write_text(SCRIPT)
    with process_group(tmp_path) as group:
        program = group.start([sys.executable, str(script)], "script")
        program.finish()
        assert program.tail(1).strip() == f"sum {2 * 2 * sum(range(10))}"
