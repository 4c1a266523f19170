"""Restarts of a job: what each failure was, whether the job starts again after it, and that people hear of it."""

from __future__ import annotations

import time
from collections.abc import Callable

from penstock.common.job_failure import JobFailure, log_restart
from penstock.common.restart_strategy import RestartStrategyConfiguration
from penstock.errors import CheckpointError, QueryableNameError, SparkLostError
from penstock.job.failures import failure_text

_HOPELESS = (CheckpointError, QueryableNameError, SparkLostError)
"""A directory that is damaged stays so, two drivers must not take it from each other for ever, and a dead Java process
does not come back. Two states of one queryable name are in the program."""


class Restarts:
    """Decides by a strategy; a job that was asked to stop gets one more try, at once."""

    def __init__(
        self,
        strategy: RestartStrategyConfiguration,
        job_name: str,
        text_of: Callable[[BaseException, str], str] = failure_text,
    ) -> None:
        """Tell failures in the words of `text_of(error, job_name)`."""
        self._policy = strategy.create_policy()
        self._job_name = job_name
        self._text_of = text_of
        self.attempt = 0

    def on_failure(
        self, error: BaseException, *, was_stopping: bool, is_stopping: bool, now_ms: int | None = None
    ) -> JobFailure:
        """What becomes of the job; `was_stopping` says whether the attempt that failed had begun as the last one."""
        now_ms = time.time_ns() // 1_000_000 if now_ms is None else now_ms
        delay_ms = None
        if not isinstance(error, _HOPELESS) and not was_stopping:
            delay_ms = self._policy.next_delay_ms(now_ms)
        if delay_ms is not None and is_stopping:
            delay_ms = 0
        failure = JobFailure(self._text_of(error, self._job_name), self.attempt, now_ms, delay_ms)
        if delay_ms is not None:
            log_restart(failure, self._job_name)
            self.attempt += 1
        return failure
