"""Jobs in trouble on Spark: they say what is wrong, everywhere they are looked at, and end when they are asked to."""

from __future__ import annotations

import json
import os
import threading
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest

from penstock.common import JobStatus
from penstock.common.restart_strategy import RestartStrategies
from penstock.datastream import MapFunction
from penstock.datastream.connectors.data_gen import DataGeneratorSource, RateLimiterStrategy
from penstock.errors import CheckpointError, GraphError, JobFailedError
from penstock.job.running_jobs import find_job
from tests.spark.conftest import NewEnvironment
from tests.spark.test_life_cycle import numbering_job, values
from tests.spark.waiting import wait_until

AN_HOUR = RestartStrategies.fixed_delay_restart(1_000_000, 3_600_000)


def failing_job(environment: Any) -> Any:
    environment.set_restart_strategy(AN_HOUR)
    source = DataGeneratorSource(lambda n: n, None, RateLimiterStrategy.per_second(50))
    environment.from_source(source, None, "numbers").map(lambda n: 1 // (n - 3)).name("divides").print()
    client = environment.execute_async("troubled")
    wait_until(lambda: client.get_job_status().result() is JobStatus.RESTARTING, "it waits for its restart")
    return client


def test_a_restarting_job_tells_why_and_can_be_stopped(
    new_environment: NewEnvironment, tmp_path: Path, monkeypatch: pytest.MonkeyPatch, caplog: pytest.LogCaptureFixture
) -> None:
    monkeypatch.setenv("PENSTOCK_HOME", str(tmp_path / "home"))
    environment = new_environment(1, checkpoint="ck", **{"penstock.batch.max-records": 2})
    client = failing_job(environment)
    what = "ZeroDivisionError: integer division or modulo by zero, in operator 'divides'"
    assert what in client.last_failure().summary
    assert client.progress().last_failure == client.last_failure()
    assert client.metrics()["job"]["restarts"] == client.restarts() == 1
    assert f"job 'troubled' failed in attempt 0 and is restarted in 3600.0 s: {what}" in caplog.text
    running, status = find_job("troubled")
    assert status["status"] == "RESTARTING"
    assert status["last_failure"]["text"] == client.last_failure().text
    # A savepoint is that of the last batch that is done, also while the job waits.
    assert Path(running.savepoint(str(tmp_path / "savepoints"))).is_dir()
    with pytest.raises(JobFailedError, match="ZeroDivisionError"):
        client.stop().result()  # tries once more, at once, and cannot come to its end
    assert client.get_job_status().result() is JobStatus.FAILED
    assert client.restarts() == 1


def test_a_restarting_job_can_be_cancelled_and_stopped_with_a_savepoint(
    new_environment: NewEnvironment, tmp_path: Path
) -> None:
    cancelled = failing_job(new_environment(1))
    cancelled.cancel().result(timeout=60)
    assert cancelled.get_job_status().result() is JobStatus.CANCELED
    stopped = failing_job(new_environment(1, checkpoint="ck", **{"penstock.batch.max-records": 2}))
    path = stopped.stop_with_savepoint(False, str(tmp_path / "savepoints")).result(timeout=60)
    assert Path(path).is_dir()
    assert stopped.get_job_status().result() is JobStatus.FINISHED
    drained = failing_job(new_environment(1))
    with pytest.raises(CheckpointError, match="ZeroDivisionError"):
        drained.stop_with_savepoint(True, str(tmp_path / "savepoints")).result(timeout=60)
    assert drained.get_job_status().result() is JobStatus.FAILED


class Blocks(MapFunction):
    """Says by a file that it was called, and never comes back."""

    def __init__(self, mark: Path, how: Callable[[], None]) -> None:
        self.mark = str(mark)
        self.how = how

    def map(self, value: int) -> int:
        Path(self.mark).write_text("called")
        self.how()
        return value


def endless_loop() -> None:
    while True:
        pass


@pytest.mark.parametrize("how", [lambda: threading.Event().wait(), endless_loop], ids=["waits", "loops"])
def test_a_function_that_blocks_does_not_keep_a_job_from_ending(
    new_environment: NewEnvironment, tmp_path: Path, how: Callable[[], None]
) -> None:
    def start(name: str) -> Any:
        environment = new_environment(1, **{"task.cancellation.timeout": "1 s"})
        environment.from_sequence(0, 9).map(Blocks(tmp_path / name, how)).print()
        client = environment.execute_async(name)
        wait_until((tmp_path / name).exists, "the function is called")
        return client

    start("cancelled").cancel().result(timeout=60)
    stopped = start("stopped")
    with pytest.raises(JobFailedError, match=r"was asked to stop, but batch 0 was not done after 1 s"):
        stopped.stop().result(timeout=60)
    assert stopped.get_job_status().result() is JobStatus.FAILED


def test_a_worker_that_dies_is_told_with_its_operator_and_how(new_environment: NewEnvironment) -> None:
    environment = new_environment(2)
    environment.from_sequence(0, 3).key_by(lambda n: 0).map(lambda n: os._exit(3)).name("leaves").print()
    with pytest.raises(JobFailedError) as caught:
        environment.execute("dying")
    text = str(caught.value)
    assert "a Python worker ended with exit code 3 in 'leaves" in text, text
    assert "4 times in a row" in text
    assert "awaitResult" not in text


def test_functions_that_are_too_large_are_refused_before_the_start(
    new_environment: NewEnvironment, tmp_path: Path
) -> None:
    large = os.urandom(3 << 20)
    environment = new_environment(1, checkpoint="untouched", **{"penstock.plan.max-bytes": "2mb"})
    environment.from_collection([1]).map(lambda value: large[value]).name("fat").print()
    with pytest.raises(
        GraphError, match=r"operator 'fat'.*3 MB of data.*2 MB are allowed \(penstock\.plan\.max-bytes\)"
    ):
        environment.execute()
    assert not (tmp_path / "untouched").exists()


@pytest.mark.parametrize("damage", ["both empty", "positions cut", "commit empty"])
def test_logs_that_a_power_cut_emptied_are_repaired_and_results_are_exact(
    new_environment: NewEnvironment, tmp_path: Path, damage: str
) -> None:
    def start(most: int) -> Any:
        environment = new_environment(2, checkpoint="ck", **{"penstock.batch.max-records": most})
        numbering_job(environment, tmp_path / "out", 120)
        return environment.execute_async("torn")

    first = start(4)
    wait_until(lambda: first.progress().batch >= 2, "some batches are done")
    first.cancel().result()
    logs = tmp_path / "ck" / "spark"
    newest = {log: max((logs / log).glob("[0-9]*"), key=lambda path: int(path.name)) for log in ("offsets", "commits")}
    for path in newest.values():
        (path.parent / f".{path.name}.crc").unlink(missing_ok=True)
    if damage in ("both empty", "commit empty"):
        newest["commits"].write_text("")
    if damage in ("both empty", "positions cut"):
        newest["offsets"].write_bytes(newest["offsets"].read_bytes()[: 0 if damage == "both empty" else -5])
    second = start(1000)
    second.wait(timeout=120)
    assert values(tmp_path / "out") == list(range(120))
    assert json.loads(newest["offsets"].read_text().splitlines()[2])
