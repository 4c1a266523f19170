"""Restarts of a job: what each failure was, whether the job starts again after it, and that people hear of it."""

from __future__ import annotations

import re
import time
from collections.abc import Callable

from penstock.common.job_failure import JobFailure, log_restart
from penstock.common.restart_strategy import RestartStrategyConfiguration
from penstock.errors import CheckpointError, QueryableNameError, SparkLostError
from penstock.job.failures import failure_text
from penstock.runtime.failure import OperatorFailure

_HOPELESS = (CheckpointError, QueryableNameError, SparkLostError)
"""A directory that is damaged stays so, two drivers must not take it from each other for ever, and a dead Java process
does not come back. Two states of one queryable name are in the program."""


_SUSPICIOUS = 3
_AGAIN = (
    "this failure has come {count} times in a row, so a restart does not mend it. Catch the error in the function "
    "and send the record to a side output, or filter the record out before this operator; then start the program "
    "again: it resumes from the last checkpoint"
)
_ADDRESS = re.compile(r"0x[0-9a-f]+")
"""Addresses in memory, which differ where everything else is the same."""


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
        self._last = ""
        self._in_a_row = 0

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
        failure = JobFailure(self._told(error), self.attempt, now_ms, delay_ms)
        if delay_ms is not None:
            log_restart(failure, self._job_name)
            self.attempt += 1
        return failure

    def _told(self, error: BaseException) -> str:
        """Return the text of a failure, with what can be done where it comes again and again."""
        text = self._text_of(error, self._job_name)
        now = _ADDRESS.sub("", text)
        self._in_a_row = self._in_a_row + 1 if now == self._last else 1
        self._last = now
        if self._in_a_row < _SUSPICIOUS or not isinstance(error, OperatorFailure):
            return text
        return f"{text}\n{_AGAIN.format(count=self._in_a_row)}"
