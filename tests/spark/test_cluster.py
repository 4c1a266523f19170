"""A real Spark cluster on this machine: an executor that is killed takes nothing with it; state goes on elsewhere."""

from __future__ import annotations

import re
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

import psutil
import pyspark
import pytest

from penstock.java import java_home
from tests.spark.jobs import outcome
from tests.spark.jobs.counters import Order
from tests.spark.processes import QUICK_JAVA, ProcessGroup, Program, command_of, kill, process_group, spark_settings

SPARK_CLASS = str(Path(pyspark.__file__).parent / "bin" / "spark-class")
MASTER_ADDRESS = re.compile(r"spark://127\.0\.0\.1:\d+")
EXECUTOR = "org.apache.spark.executor.CoarseGrainedExecutorBackend"


@contextmanager
def cluster(folder: Path, cores: int = 1) -> Iterator[tuple[ProcessGroup, str]]:
    """A master and two workers of some cores each on loopback; gives their process group and the master's address."""
    with process_group(folder) as group:
        master = _start_daemon(group, "master.Master", "master")
        master.wait_until(lambda: MASTER_ADDRESS.search(master.tail(200)), "the master's address in its log")
        found = MASTER_ADDRESS.search(master.tail(200))
        assert found is not None
        workers = [_start_worker(group, number, found.group(), cores) for number in (1, 2)]
        for worker in workers:
            worker.wait_until(lambda w=worker: "Successfully registered" in w.tail(200), "the worker's registration")
        yield group, found.group()


def _start_worker(group: ProcessGroup, number: int, address: str, cores: int) -> Program:
    folder = str(group.scratch / f"worker-{number}")
    limits = ["--cores", str(cores), "--memory", "700m"]
    return _start_daemon(group, "worker.Worker", f"worker-{number}", *limits, "--work-dir", folder, address)


def _start_daemon(group: ProcessGroup, kind: str, name: str, *arguments: str) -> Program:
    local = group.scratch / f"local-{name}"
    local.mkdir()
    address = ["--host", "127.0.0.1", "--port", "0", "--webui-port", "0"]
    return group.start(
        [SPARK_CLASS, f"org.apache.spark.deploy.{kind}", *address, *arguments],
        name,
        JAVA_HOME=str(java_home()),
        SPARK_LOCAL_IP="127.0.0.1",
        SPARK_LOCAL_DIRS=str(local),
        SPARK_DAEMON_MEMORY="256m",
        SPARK_DAEMON_JAVA_OPTS=f"-Djava.io.tmpdir={local} {QUICK_JAVA}",
        # Executors must get Penstock from the driver, as on machines where it is not installed.
        PYTHONPATH="",
    )


def cluster_settings(group: ProcessGroup, cores: int = 1) -> dict[str, str]:
    """Small executors, and many small batches however slow or fast the machine is."""
    return {
        **spark_settings(group),
        "spark.executor.cores": str(cores),
        "spark.executor.memory": "600m",
        "spark.executor.extraJavaOptions": f"-Djava.io.tmpdir={group.scratch} {QUICK_JAVA}",
        "penstock.batch.max-records": "225",
    }


def executors(group: ProcessGroup) -> dict[int, psutil.Process]:
    """The living executors by process id."""
    return {process.pid: process for process in group.alive() if EXECUTOR in command_of(process)}


def placements(folder: Path) -> list[tuple[int, int, int]]:
    """(batch, subtask, executor) for every try of a batch that the keyed subtasks began, in order of batches."""
    names = [path.name.split("-")[1:4] for path in (folder / "notes").glob("ran-*")]
    return sorted((int(batch), int(subtask), int(executor)) for batch, subtask, executor in names)


def run_with_dying_executors(folder: Path, *, count: int, kills: int) -> None:
    """Kill an executor that has just worked on state, so many times, and see the others take over."""
    with cluster(folder) as (group, address):
        order = Order(str(folder), count, master=address, settings=cluster_settings(group))
        job = group.start(order.arguments(), "job", SPARK_LOCAL_IP="127.0.0.1")
        killed: dict[int, int] = {}
        for _ in range(kills):
            begun_at = outcome.newest_seal(folder)
            job.wait_until(
                lambda begun=begun_at: outcome.newest_seal(folder) >= begun + 3 and len(executors(group)) == 2,
                "three more batches on two executors",
            )
            victim = placements(folder)[-1][2]
            killed[victim] = outcome.newest_seal(folder)
            kill(executors(group)[victim])
        job.finish()
    _assert_state_moved(folder, killed)
    outcome.assert_exact(folder, count)
    assert outcome.restarts(folder) == 0


def _assert_state_moved(folder: Path, killed: dict[int, int]) -> None:
    ran = placements(folder)
    for victim, sealed in killed.items():
        held = {subtask for _, subtask, executor in ran if executor == victim}
        assert held, "the executor had no state to lose"
        # The batch after the seal may have begun on the victim before it died; no later one can have.
        later = {subtask for batch, subtask, executor in ran if batch > sealed + 1 and executor != victim}
        assert held <= later, f"subtasks {held - later} did not go on after executor {victim} died"
        assert not [1 for batch, _, executor in ran if batch > sealed + 2 and executor == victim]


@pytest.mark.slow
@pytest.mark.timeout(900)
def test_state_moves_when_an_executor_is_killed(tmp_path: Path) -> None:
    run_with_dying_executors(tmp_path, count=2_400, kills=1)


@pytest.mark.soak
def test_state_moves_when_executors_are_killed_again_and_again(tmp_path: Path) -> None:
    run_with_dying_executors(tmp_path, count=30_000, kills=8)
