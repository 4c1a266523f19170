"""The driver of a job on an engine that does nothing: attempts, failures, ends; and versions that are no batches."""

from __future__ import annotations

import threading
from collections.abc import Callable
from pathlib import Path

import pytest

from penstock.checkpoint import Seal
from penstock.common import JobStatus
from penstock.common.restart_strategy import RestartStrategies
from penstock.datastream import StreamExecutionEnvironment
from penstock.engine.in_process.sinks import InProcessSinks
from penstock.errors import CheckpointError, JobCancelledError, JobFailedError
from penstock.graph import JobSettings
from penstock.job.client import RunningJobClient
from penstock.job.driver import JobDriver
from penstock.job.engine_contract import AttemptControl
from penstock.job.failures import failure_text
from penstock.job.program import Program
from penstock.job.statistics import JobStatistics
from penstock.job.versions import VersionDriver
from penstock.savepoint.writing import PartOrder, PartResult

Attempt = Callable[[AttemptControl], None]


class ScriptedEngine:
    """Runs one function for each attempt, and notes what else it is asked for."""

    def __init__(self, *attempts: Attempt, finish: Callable[[], None] = lambda: None) -> None:
        self._attempts = attempts
        self._finish = finish
        self.asked: list[str] = []

    def run_attempt(self, attempt: int, control: AttemptControl) -> None:
        self.asked.append(f"attempt {attempt}")
        control.on_running()
        self._attempts[attempt](control)

    def publish_last(self) -> Seal | None:
        return None

    def write_parts(self, orders: list[PartOrder]) -> list[PartResult]:
        raise AssertionError

    def stop(self) -> None:
        self.asked.append("stop")

    def explained(self, error: Exception) -> Exception:
        return error

    def failure_text(self, error: BaseException, job_name: str) -> str:
        return failure_text(error, job_name)

    def finish(self) -> None:
        self._finish()

    def close(self, *, is_well: bool, is_held: bool) -> None:
        self.asked.append(f"close {is_well}")


def program(folder: Path, **settings: object) -> Program:
    environment = StreamExecutionEnvironment.get_execution_environment()
    environment.from_collection([1]).print()
    made = Program.open(environment.graph, JobSettings(job_name="driven", **settings), str(folder / "checkpoint"))  # type: ignore[arg-type]
    made.adopt()
    return made


def started(folder: Path, engine: ScriptedEngine, **settings: object) -> RunningJobClient:
    made = program(folder, **settings)
    job = JobDriver(made, engine, InProcessSinks(made.plan), JobStatistics(made.plan))
    job.start()
    return RunningJobClient(job)


def fails(control: AttemptControl) -> None:
    raise ValueError("bad luck")


def ends(control: AttemptControl) -> None:
    return


def until_asked(control: AttemptControl) -> None:
    while not control.is_cancelled() and not control.is_stopping():
        control.pause(60)
    if control.is_stopping():
        control.on_draining()


def test_an_attempt_that_fails_is_followed_by_another(tmp_path: Path) -> None:
    engine = ScriptedEngine(fails, ends)
    client = started(tmp_path, engine, restart_strategy=RestartStrategies.fixed_delay_restart(1, 0))
    client.wait(60)
    assert engine.asked == ["attempt 0", "attempt 1", "close True"]
    assert client.restarts() == client.progress().restarts == 1
    failure = client.last_failure()
    assert failure is not None and failure.summary == "bad luck"
    assert client.get_job_status().result() is JobStatus.FINISHED


def test_the_strategy_may_give_up(tmp_path: Path) -> None:
    client = started(tmp_path, ScriptedEngine(fails), restart_strategy=RestartStrategies.no_restart())
    with pytest.raises(JobFailedError, match="bad luck\njob 'driven' failed"):
        client.wait(60)
    with pytest.raises(CheckpointError, match="has ended, so there is no savepoint to take with a failure: bad luck"):
        client.trigger_savepoint(str(tmp_path)).result(60)


def test_cancel_reaches_an_attempt_that_pauses(tmp_path: Path) -> None:
    engine = ScriptedEngine(until_asked)
    client = started(tmp_path, engine)
    client.cancel().result(60)
    assert client.get_job_status().result() is JobStatus.CANCELED
    with pytest.raises(JobCancelledError):
        client.wait(60)


def test_an_attempt_that_comes_back_after_the_job_was_abandoned_changes_nothing(tmp_path: Path) -> None:
    go_on = threading.Event()
    client = started(tmp_path, ScriptedEngine(lambda control: bool(go_on.wait(60))), cancellation_timeout_ms=50)
    with pytest.raises(JobFailedError, match="was asked to stop, but batch"):
        client.stop().result(60)
    go_on.set()
    (runner,) = [each for each in threading.enumerate() if each.name == "penstock-driven"]
    runner.join(60)
    assert client.get_job_status().result() is JobStatus.FAILED


def test_stop_reaches_an_attempt_that_pauses(tmp_path: Path) -> None:
    client = started(tmp_path, ScriptedEngine(until_asked))
    client.stop().result(60)
    assert client.was_drained()
    assert client.get_job_status().result() is JobStatus.FINISHED


def test_functions_that_cannot_be_closed_fail_the_job_without_a_restart(tmp_path: Path) -> None:
    def refuse() -> None:
        raise JobFailedError("in close()")

    strategy = RestartStrategies.fixed_delay_restart(5, 0)
    engine = ScriptedEngine(ends, finish=refuse)
    with pytest.raises(JobFailedError, match=r"^in close\(\)$"):
        started(tmp_path, engine, restart_strategy=strategy).wait(60)
    assert engine.asked == ["attempt 0", "close False"]


def test_versions_need_not_be_batches(tmp_path: Path) -> None:
    """An engine of barriers may skip numbers: a barrier that was given up is never completed."""
    made = program(tmp_path)
    made.directory.take_over()
    steps: list[tuple[str, object]] = []

    def versions() -> VersionDriver:
        sinks, statistics = InProcessSinks(made.plan), JobStatistics(made.plan)
        return VersionDriver(
            made.plan, made.directory, sinks, statistics, on_step=lambda kind, what: steps.append((kind, what))
        )

    first = versions()
    for barrier in (0, 5):
        first.complete_version(barrier, [], made.sources().first_offset())
    second = versions()
    assert second.publish_last() == second.last_of_all()
    second.complete_version(9, [], made.sources().first_offset())
    assert made.directory.sealed_versions() == [0, 5, 9]
    assert steps == [(kind, barrier) for barrier in (0, 5, 9) for kind in ("seal", "publish")]


def test_a_job_that_was_stopped_makes_nothing_final_any_more(tmp_path: Path) -> None:
    made = program(tmp_path)
    made.directory.take_over()
    versions = VersionDriver(made.plan, made.directory, InProcessSinks(made.plan), JobStatistics(made.plan))
    versions.complete_version(0, [], made.sources().first_offset())
    versions.stop()
    with pytest.raises(CheckpointError, match="version 1 came after the job was stopped"):
        versions.complete_version(1, [], made.sources().first_offset())
    assert made.directory.sealed_versions() == [0]
