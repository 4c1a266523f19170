"""Failures of a job that may go on: what is decided, what people are told, and that a job which is to end does end."""

from __future__ import annotations

import logging
import threading
from concurrent.futures import Future
from dataclasses import dataclass, field
from types import SimpleNamespace
from typing import Any

import pytest

from penstock.common import Configuration
from penstock.common.job_failure import JobFailure, summary_of
from penstock.common.job_progress import Progress
from penstock.common.restart_strategy import RestartStrategies, RestartStrategyConfiguration
from penstock.datastream import MapFunction, StreamExecutionEnvironment
from penstock.errors import (
    CheckpointError,
    JobCancelledError,
    JobFailedError,
    SparkLostError,
    StorageFullError,
    TakenOverError,
)
from penstock.graph import JobSettings
from penstock.job.patience import Patience
from penstock.job.progress_display import describe
from penstock.job.restarts import Restarts
from penstock.job.savepoint_desk import SavepointDesk, SavepointRequest
from penstock.job.statistics import JobStatistics
from penstock.runtime.failure import OperatorFailure
from tests.spark.waiting import wait_until

TRACEBACK = 'Traceback (most recent call last):\n  File "job.py", line 3, in f\nZeroDivisionError: boom'
PLACE = "in operator 'Map' (uid 'm', subtask 0), on a record"
FAILURE = OperatorFailure(f"{TRACEBACK}\n{PLACE}\nrecord: 7", "Map", "m")
FOR_EVER = RestartStrategies.exponential_delay_restart(initial_backoff=5_000)


def decided(strategy: RestartStrategyConfiguration, error: Exception, **asked: bool) -> int | None:
    asked = {"was_stopping": False, "is_stopping": False, **asked}
    return Restarts(strategy, "job").on_failure(error, **asked).restart_in_ms


@pytest.mark.parametrize(
    "error", [SparkLostError("gone"), CheckpointError("x"), TakenOverError("x"), StorageFullError("x")]
)
@pytest.mark.parametrize("strategy", [FOR_EVER, RestartStrategies.fixed_delay_restart(100, 1)])
def test_what_a_restart_cannot_mend_ends_the_job_at_once(strategy: Any, error: Exception) -> None:
    assert decided(strategy, error) is None


def test_a_failure_of_user_code_is_the_strategys_business() -> None:
    assert decided(FOR_EVER, FAILURE) == 5_000
    assert decided(RestartStrategies.no_restart(), FAILURE) is None


def test_a_job_that_was_asked_to_stop_gets_one_more_try_and_no_pause() -> None:
    assert decided(FOR_EVER, FAILURE, is_stopping=True) == 0
    assert decided(FOR_EVER, FAILURE, was_stopping=True, is_stopping=True) is None
    assert decided(RestartStrategies.no_restart(), FAILURE, is_stopping=True) is None


def test_each_failure_is_logged_with_attempt_delay_and_traceback(caplog: pytest.LogCaptureFixture) -> None:
    restarts = Restarts(FOR_EVER, "orders")
    for _ in range(2):
        restarts.on_failure(FAILURE, was_stopping=False, is_stopping=False)
    first, second = caplog.messages
    assert first.startswith(
        f"job 'orders' failed in attempt 0 and is restarted in 5.0 s: ZeroDivisionError: boom, {PLACE}\nTraceback"
    )
    assert "attempt 1 and is restarted in 7.5 s" in second
    assert [record.levelno for record in caplog.records] == [logging.WARNING] * 2  # shown without any handler


@pytest.mark.parametrize(
    ("text", "summary"),
    [
        (FAILURE.text, f"ZeroDivisionError: boom, {PLACE}"),
        (f"{TRACEBACK}\njob 'j' failed in Spark (PythonException)", "ZeroDivisionError: boom"),
        ("the seal is damaged\njob 'j' failed", "the seal is damaged"),
        ("", ""),
        ("x" * 1000, "x" * 299 + "…"),
    ],
)
def test_a_failure_has_a_line(text: str, summary: str) -> None:
    assert summary_of(text) == summary


def test_a_failure_is_in_progress_and_metrics() -> None:
    plan: Any = SimpleNamespace(sources=list, vertices=[])
    statistics = JobStatistics(plan)
    assert statistics.metrics() == {}
    statistics.on_failure(JobFailure(FAILURE.text, 0, 1_700_000_000_000, 5_000))
    statistics.on_failure(JobFailure(FAILURE.text, 1, 1_700_000_001_000, 7_500))
    assert statistics.progress.restarts == 2
    assert statistics.metrics() == {"job": {"restarts": 2, "last_failure_ms": 1_700_000_001_000}}
    said = f"restarted 2 times, last failure 2023-11-14 22:13:21: ZeroDivisionError: boom, {PLACE}"
    assert describe(statistics.progress) == f"waiting for the first batch · {said}"
    statistics.on_failure(JobFailure(FAILURE.text, 2, 1_700_000_002_000, None))
    assert (statistics.progress.restarts, statistics.progress.last_failure.attempt) == (2, 2)  # type: ignore[union-attr]


@dataclass
class HangingJob:
    """A job that does not end, and notes how it is given up."""

    batches: list[int] = field(default_factory=list)
    settings: JobSettings = field(default_factory=lambda: JobSettings(job_name="hangs"))
    ended: Future[Any] = field(default_factory=Future)
    savepoints: SavepointDesk = field(default_factory=lambda: SavepointDesk(*[None] * 5))  # type: ignore[arg-type]
    told: list[str] = field(default_factory=list)
    given_up: threading.Event = field(default_factory=threading.Event)

    @property
    def statistics(self) -> Any:
        batch = self.batches.pop(0) if len(self.batches) > 1 else self.batches[0]
        return SimpleNamespace(progress=Progress(batch))

    def abandon(self, text: str) -> None:
        self.told.append(f"abandoned: {text}")
        self.given_up.set()

    def fail_stop(self, text: str) -> None:
        self.told.append(f"failed: {text}")
        self.given_up.set()


def test_a_cancelled_job_that_hangs_is_called_ended() -> None:
    job = HangingJob([3])
    Patience(job, 0.05).on_cancel()
    assert job.given_up.wait(10)
    assert "abandoned: job 'hangs' was cancelled" in job.told[0] and "task.cancellation.timeout" in job.told[0]


def test_a_stopped_job_is_waited_for_as_long_as_batches_become_final() -> None:
    job = HangingJob([3, 4, 5])
    Patience(job, 0.4).on_stop()
    assert job.given_up.wait(10)
    assert "failed: job 'hangs' was asked to stop, but batch 6 was not done after 0.4 s" in job.told[0]


def test_a_savepoint_of_a_job_that_hangs_is_refused_and_one_that_is_begun_is_not() -> None:
    job = HangingJob([3])
    waiting, begun = SavepointRequest(None), SavepointRequest(None, stops=True)
    job.savepoints.take(waiting)
    for request in (begun, waiting):
        Patience(job, 0.05).on_savepoint(request)
    with pytest.raises(CheckpointError, match=r"no savepoint of job 'hangs': batch 4 was not done after 0\.05 s"):
        waiting.path.result(10)
    assert not begun.path.done()


def test_without_a_limit_or_with_an_end_nobody_gives_up() -> None:
    patient, ended = HangingJob([3]), HangingJob([3])
    ended.ended.set_result(None)
    before = threading.active_count()
    Patience(patient, 0).on_cancel()
    Patience(ended, 0.01).on_stop()
    assert threading.active_count() == before


@pytest.mark.parametrize(
    ("key", "limit"),
    [({}, 180_000), ({"task.cancellation.timeout": "5 s"}, 5_000), ({"task.cancellation.timeout": "0"}, 0)],
)
def test_the_limit_is_flinks_setting(key: dict[str, str], limit: int) -> None:
    assert JobSettings.from_configuration(key).cancellation_timeout_ms == limit


def test_the_limit_can_be_set_by_call_without_a_warning() -> None:
    environment = StreamExecutionEnvironment.get_execution_environment()
    environment.get_config().set_task_cancellation_timeout(7_000)
    assert environment._settings("job").cancellation_timeout_ms == 7_000
    StreamExecutionEnvironment.get_execution_environment(Configuration.from_dict({"task.cancellation.timeout": "7 s"}))


class FailsTwice(MapFunction):
    times = 0

    def map(self, value: int) -> int:
        if FailsTwice.times < 2:
            FailsTwice.times += 1
            raise ZeroDivisionError("boom")
        return value


def test_in_process_a_failure_is_told_too(caplog: pytest.LogCaptureFixture) -> None:
    configuration = Configuration().set_string("penstock.engine", "in-process")
    environment = StreamExecutionEnvironment.get_execution_environment(configuration)
    environment.set_restart_strategy(RestartStrategies.fixed_delay_restart(2, 10))
    environment.from_collection([1]).map(FailsTwice()).print()
    client: Any = environment.execute_async("small")
    client.wait()
    assert (client.last_failure().attempt, client.last_failure().restart_in_ms) == (1, 10)
    assert "ZeroDivisionError: boom, in operator 'Map'" in client.last_failure().summary
    assert caplog.text.count("job 'small' failed in attempt") == 2


def test_in_process_the_last_failure_of_a_failed_job_is_known() -> None:
    configuration = Configuration().set_string("penstock.engine", "in-process")
    environment = StreamExecutionEnvironment.get_execution_environment(configuration)
    environment.from_collection([1]).map(lambda value: 1 // 0).print()
    client: Any = environment.execute_async("small")
    with pytest.raises(JobFailedError):
        client.wait()
    assert client.last_failure().restart_in_ms is None


def failing_for_ever() -> Any:
    configuration = Configuration().set_string("penstock.engine", "in-process")
    environment = StreamExecutionEnvironment.get_execution_environment(configuration)
    environment.set_restart_strategy(RestartStrategies.fixed_delay_restart(1_000_000, 3_600_000))
    environment.from_collection([1]).map(lambda value: 1 // 0).print()
    client: Any = environment.execute_async("small")
    wait_until(lambda: client.last_failure() is not None, "a failure")
    return client


def test_in_process_a_job_that_waits_for_its_restart_can_be_cancelled() -> None:
    client = failing_for_ever()
    client.cancel().result(60)
    with pytest.raises(JobCancelledError):
        client.wait(60)


def test_in_process_a_job_that_waits_for_its_restart_can_be_stopped_and_says_why_it_failed() -> None:
    client = failing_for_ever()
    with pytest.raises(JobFailedError, match="ZeroDivisionError"):
        client.stop().result(60)
    assert client.restarts() == 1


def test_a_failure_that_comes_again_and_again_says_what_can_be_done() -> None:
    restarts = Restarts(FOR_EVER, "orders")

    def text_of(record: str) -> str:
        failure = OperatorFailure(f"{TRACEBACK}\n{PLACE}\nrecord: {record}", "Map", "m")
        return restarts.on_failure(failure, was_stopping=False, is_stopping=False).text

    texts = [text_of(f"<Order at 0x7f{number}>") for number in range(4)]
    assert ["in a row" in text for text in texts] == [False, False, True, True]
    assert "this failure has come 3 times in a row, so a restart does not mend it." in texts[2]
    assert "record: <Order" in texts[2]
    assert "in a row" not in text_of("another")
