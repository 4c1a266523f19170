"""Continuous mode on Spark: tasks that stay, killed at any moment, also on the way to micro-batches and back."""

from __future__ import annotations

import random
import sys
from collections.abc import Sequence
from pathlib import Path

import pytest

from tests.spark.jobs import outcome, resuming
from tests.spark.jobs.counters import Order
from tests.spark.jobs.deaths import AFTER_SEAL, ALIGNING, BEFORE_SEAL, DRIVER_MOMENTS, MID_PUBLISH
from tests.spark.jobs.resume_matrix import CHECKPOINT, CLEAN, SAVEPOINT, SIGKILL, Cell, check
from tests.spark.processes import PATIENCE_SECONDS, ProcessGroup, kill, process_group, spark_settings
from tests.spark.test_cluster import cluster, cluster_settings, executors, placements

MASTER = "local[24]"
"""All tasks run at the same time, so each needs a thread of Spark's."""
MOST_TASKS = 24
COUNT = 3_000
RATE = 150.0
SIGKILLED = -9


def continuous(group: ProcessGroup, mode: str = "continuous", interval: str = "500 ms") -> dict[str, str]:
    """Settings of a job in a mode; watermarks come often, so that many sessions fire before they merge."""
    paces = {"execution.checkpointing.interval": interval, "pipeline.auto-watermark-interval": "20 ms"}
    return {**spark_settings(group), **paces, "penstock.execution.mode": mode}


def order_for(group: ProcessGroup, folder: Path, mode: str) -> Order:
    return Order(str(folder), COUNT, RATE, master=MASTER, settings=continuous(group, mode))


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


# ---- deaths at chosen moments ----


def run_with_dying_drivers(folder: Path, moments: Sequence[str], count: int) -> None:
    """Let a driver die at each moment, one after the other: between barrier and seal, in the seal, in publication."""
    with process_group(folder) as group:
        for number, moment in enumerate(moments):
            order = Order(
                str(folder), count, RATE, MASTER, driver_death=(moment, 1 + number % 2), settings=continuous(group)
            )
            program = group.start(order.arguments(), f"dies {moment} {number}")
            assert program.process.wait(PATIENCE_SECONDS) == SIGKILLED, program.tail()
            group.kill()
            outcome.assert_nothing_wrong_so_far(folder, count)
        # Without a rate the rest would come between two watermarks: no session would fire and then merge.
        order = Order(str(folder), count, 5 * RATE, MASTER, settings=continuous(group))
        group.start(order.arguments(), "last").finish()
        group.await_end()
    outcome.assert_exact(folder, count)


@pytest.mark.drawn(4, group="deaths in continuous mode")
@pytest.mark.slow
@pytest.mark.timeout(900)
def test_a_driver_that_dies_between_barrier_and_seal_loses_and_repeats_nothing(tmp_path: Path) -> None:
    run_with_dying_drivers(tmp_path, [BEFORE_SEAL], COUNT)


@pytest.mark.soak
def test_drivers_that_die_at_every_moment_lose_and_repeat_nothing(tmp_path: Path) -> None:
    run_with_dying_drivers(tmp_path, [*DRIVER_MOMENTS, *DRIVER_MOMENTS], 5 * COUNT)


def run_with_dying_workers(folder: Path, seed: int, *, count: int, deadly: int, kills: int) -> None:
    """Let workers die of records, of staging, of writing state, between two barriers of a version, and of kills."""
    chance = random.Random(seed)
    with process_group(folder) as group:
        settings = {**continuous(group), "restart-strategy.type": "fixed-delay"}
        order = Order(
            str(folder),
            count,
            RATE,
            MASTER,
            worker_deaths={"staged": 1, "stored": 3, ALIGNING: 2},
            deadly={"record": chance.sample(range(count // 2), deadly)},
            settings=settings,
            restarts=100,
        )
        program = group.start(order.arguments(), "job")
        for _ in range(kills):
            before = outcome.newest_seal(folder)
            program.wait_until(
                lambda then=before: outcome.newest_seal(folder) > then + 1, "progress since the last kill"
            )
            program.wait_until(program.task_workers, "a worker")
            kill(chance.choice(program.task_workers()))
        program.finish()
        group.await_end()
    outcome.assert_exact(folder, count)
    assert (folder / "notes" / f"died-{ALIGNING}").exists(), "no worker died between two barriers"
    assert outcome.restarts(folder) >= 1 + kills


@pytest.mark.drawn(4, group="deaths in continuous mode")
@pytest.mark.slow
@pytest.mark.timeout(900)
def test_killed_workers_restart_the_job_in_the_same_spark(tmp_path: Path, seed: int) -> None:
    run_with_dying_workers(tmp_path, seed, count=COUNT, deadly=1, kills=1)


@pytest.mark.soak
def test_many_killed_workers_restart_the_job(tmp_path: Path, seed: int) -> None:
    run_with_dying_workers(tmp_path, seed, count=6 * COUNT, deadly=6, kills=8)


def run_with_dying_executors(folder: Path, *, count: int, kills: int) -> None:
    """Kill executors of a real cluster: the job goes on from the last version on those that are left and come anew."""
    with cluster(folder, cores=MOST_TASKS) as (group, address):
        settings = {**cluster_settings(group, MOST_TASKS), **continuous(group)}
        settings |= {"restart-strategy.type": "fixed-delay"}
        order = Order(str(folder), count, RATE, address, settings=settings, restarts=100)
        job = group.start(order.arguments(), "job", SPARK_LOCAL_IP="127.0.0.1")
        for _ in range(kills):
            before = outcome.newest_seal(folder)
            job.wait_until(
                lambda then=before: outcome.newest_seal(folder) > then + 2 and len(executors(group)) == 2,
                "versions with two executors",
            )
            busy = [placed[2] for placed in placements(folder)[-3:] if placed[2] in executors(group)]
            kill(executors(group)[busy[-1]])
        job.finish()
    outcome.assert_exact(folder, count)
    assert outcome.restarts(folder) >= kills


@pytest.mark.drawn(4, group="deaths in continuous mode")
@pytest.mark.slow
@pytest.mark.timeout(900)
def test_a_killed_executor_restarts_the_job(tmp_path: Path) -> None:
    run_with_dying_executors(tmp_path, count=COUNT, kills=1)


@pytest.mark.soak
def test_executors_that_are_killed_again_and_again_restart_the_job(tmp_path: Path) -> None:
    run_with_dying_executors(tmp_path, count=6 * COUNT, kills=5)


# ---- savepoints ----

SOME_CELLS = [Cell("lmdb", 2, 4, SIGKILL, SAVEPOINT, BEFORE_SEAL)]
CELLS = [
    Cell("lmdb", 5, 3, CLEAN, CHECKPOINT, ""),
    Cell("rocksdb", 4, 2, SIGKILL, CHECKPOINT, MID_PUBLISH),
    Cell("rocksdb", 2, 4, CLEAN, SAVEPOINT, ""),
    Cell("heap", 2, 2, CLEAN, CHECKPOINT, ""),
    Cell("heap", 4, 2, SIGKILL, SAVEPOINT, AFTER_SEAL),
]


def run_cell(folder: Path, cell: Cell) -> None:
    first = resuming.Order(
        str(folder), cell.backend, cell.before, "first", engine="spark", batches=2, death=("", 1), rate=20.0
    )

    def run(order: resuming.Order) -> None:
        is_killed = order.leaves.startswith("killed")
        with process_group(folder / order.leaves.replace(" ", "-")) as group:  # Java's options have no room for spaces
            settings = {**continuous(group, interval="200 ms"), "spark.master": "local[40]"}
            rate = first.rate if order.leaves != "at the end" else None
            told = resuming.Order(**{**vars(order), "settings": settings, "rate": rate})
            program = group.start(told.arguments(), order.leaves)
            assert program.process.wait(PATIENCE_SECONDS) == (SIGKILLED if is_killed else 0), program.tail()
            group.kill()

    check(cell, first, run, run)


@pytest.mark.drawn(4, group="deaths in continuous mode")
@pytest.mark.slow
@pytest.mark.timeout(900)
@pytest.mark.parametrize("cell", SOME_CELLS, ids=str)
def test_a_savepoint_is_gone_on_from(tmp_path: Path, cell: Cell) -> None:
    run_cell(tmp_path, cell)


@pytest.mark.soak
@pytest.mark.parametrize("cell", CELLS, ids=str)
def test_cells_of_the_resume_matrix(tmp_path: Path, cell: Cell) -> None:
    run_cell(tmp_path, cell)


# ---- programs ----


def output_of(text: str, folder: Path) -> str:
    """What a program of a user prints."""
    script = folder / "script.py"
    script.write_text(text)
    with process_group(folder) as group:
        program = group.start([sys.executable, str(script)], "script")
        program.finish()
        return program.tail(200)


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
    assert output_of(SCRIPT, tmp_path).splitlines()[-1] == f"sum {2 * 2 * sum(range(10))}"


TROUBLES = """
import sys, time, warnings
from penstock.common import Configuration, RestartStrategies, WatermarkStrategy
from penstock.datastream import StreamExecutionEnvironment
from penstock.datastream.connectors.number_seq import NumberSequenceSource


def environment(mode, **settings):
    told = {"penstock.execution.mode": mode, "execution.checkpointing.interval": "300 ms", **settings}
    made = StreamExecutionEnvironment.get_execution_environment(Configuration.from_dict(told)).set_parallelism(2)
    made.set_restart_strategy(RestartStrategies.no_restart())
    return made, made.from_source(NumberSequenceSource(0, 10**9), WatermarkStrategy.no_watermarks(), "numbers")


def slow(number):
    time.sleep(0.005)
    return number


def stuck(number):
    time.sleep(3600 if number == 7 else 0)
    return number


# A slow function: versions come all the same, the source waits, and figures say who is busy and who is held back.
made, numbers = environment("continuous")
numbers.key_by(lambda n: n % 100).map(slow).name("slow").filter(lambda n: False).print()
client = made.execute_async("slow")
while (client.progress().batch or 0) < 12:
    time.sleep(0.1)
document = client._job.statistics.journal.subtasks()
versions = client._job.statistics.journal.versions()
load = {uid: record.load for (uid, subtask), record in document.items() if subtask == 0}
source, function = (load[vertex.uid] for vertex in client._job.plan.vertices if not vertex.is_driver)
print("held back", source["backpressured"] > 0.5, "busy", function["busy"] > 0.5)
print("read", sum(each.records for each in versions) < 12 * 5_000)
print("version", max(each.times.work_ms for each in versions[3:]) < 10_000)
client.cancel().result()

# A function that never returns: the checkpoint times out, and the error says who it waits for.
made, numbers = environment("continuous", **{"execution.checkpointing.timeout": "1 s"})
made.get_checkpoint_config().set_tolerable_checkpoint_failure_number(1)
numbers.key_by(lambda n: n % 100).map(stuck).name("stuck").filter(lambda n: False).print()
try:
    made.execute("stuck")
except Exception as error:
    print("error", str(error).splitlines()[0])

# Results that come at the end cannot run in continuous mode: `auto` takes micro-batches then.
for mode in ("continuous", "auto"):
    made, _ = environment(mode, **{"execution.runtime-mode": "BATCH"})
    try:
        print(mode, sorted(made.from_collection([1, 2, 2]).key_by(lambda n: n).sum().execute_and_collect("batch")))
    except Exception as error:
        print(mode, error)
"""


@pytest.mark.slow
@pytest.mark.timeout(300)
def test_slow_and_stuck_functions_and_what_cannot_run(tmp_path: Path) -> None:
    told = output_of(TROUBLES, tmp_path)
    assert "held back True busy True" in told, told
    assert "read True" in told, "the source ran far ahead of the slow function"
    assert "version True" in told, "a checkpoint waited behind what the slow function had to do"
    assert "error checkpoint 0 is not complete after 2 s" in told, told
    assert "it waits for 'stuck -> Filter', subtask 0" in told, told
    assert (
        "continuous job 'batch' cannot run with penstock.execution.mode=continuous: the runtime mode is BATCH" in told
    )
    assert "job 'batch' runs in micro-batches: the runtime mode is BATCH" in told, told
    assert "auto [1, 4]" in told, told
