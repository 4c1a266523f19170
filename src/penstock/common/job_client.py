"""`JobClient`, what a program can do with a job it started, whatever engine runs it."""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections.abc import Iterator
from typing import Any

from penstock.common.completable_future import CompletableFuture
from penstock.common.job_execution_result import JobExecutionResult
from penstock.common.job_failure import JobFailure
from penstock.common.job_id import JobID
from penstock.common.job_progress import Progress
from penstock.common.job_status import JobStatus
from penstock.common.operator_metrics import OperatorMetrics

__all__ = ["JobClient"]


class JobClient(ABC):
    """A handle on one started job. Only `wait` blocks; the other methods give futures."""

    @abstractmethod
    def get_job_id(self) -> JobID:
        """Return the job's identity."""

    @abstractmethod
    def get_job_status(self) -> CompletableFuture[JobStatus]:
        """Return where the job is in its life."""

    @abstractmethod
    def cancel(self) -> CompletableFuture[None]:
        """Stop the job at once; done when it has stopped."""

    @abstractmethod
    def trigger_savepoint(
        self, savepoint_directory: str | None = None, format_type: Any = None
    ) -> CompletableFuture[str]:
        """Write a savepoint, the job going on; done, with its path, when it is whole.

        Without a directory, that of the configuration is used. `format_type` is accepted: there is one format.
        """

    @abstractmethod
    def stop_with_savepoint(
        self, advance_to_end_of_event_time: bool, savepoint_directory: str | None = None, format_type: Any = None
    ) -> CompletableFuture[str]:
        """Write a savepoint and end the job, with nothing done in between; done, with its path, when it has ended.

        `advance_to_end_of_event_time` ends the sources first, fires all timers and windows and commits all sinks: for
        jobs that will not go on.
        """

    @abstractmethod
    def get_accumulators(self) -> CompletableFuture[dict[str, Any]]:
        """Return the accumulators so far."""

    @abstractmethod
    def get_job_execution_result(self) -> CompletableFuture[JobExecutionResult]:
        """Return the result of the job, or its failure; done when the job has ended."""

    @abstractmethod
    def stop(self, drain: bool = True) -> CompletableFuture[None]:
        """Stop the job in good order; `drain` ends its sources, fires all timers and commits all sinks first."""

    @abstractmethod
    def wait(self, timeout: float | None = None) -> JobExecutionResult:
        """Wait for the end of the job and return its result; raises what made it fail."""

    @abstractmethod
    def progress(self) -> Progress:
        """Return the last batch, records, rate, watermark and lag, and how the sources are paced."""

    @abstractmethod
    def metrics(self) -> OperatorMetrics:
        """Return records in and out, and the user's own metrics, by the names of operators."""

    @abstractmethod
    def last_failure(self) -> JobFailure | None:
        """Return what went wrong last, also if the job was restarted after it; None if nothing did."""

    @abstractmethod
    def restarts(self) -> int:
        """Return how often the job was restarted after a failure."""

    @abstractmethod
    def explain(self) -> str:
        """Return the plan that runs, as text."""

    @abstractmethod
    def was_drained(self) -> bool:
        """Whether sources were ended before all was read, by `stop` or with a savepoint."""

    @abstractmethod
    def collected(self, collect_id: str) -> Iterator[Any]:
        """Return the records of a collecting sink as they become final; `execute_and_collect` calls it."""
