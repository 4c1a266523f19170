"""`JobClient`: controls a running job, on any engine."""

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
    """Controls one running job. Only `wait` blocks; slow methods return futures."""

    @abstractmethod
    def get_job_id(self) -> JobID:
        """Return the job's identity."""

    @abstractmethod
    def get_job_status(self) -> CompletableFuture[JobStatus]:
        """Return the status of the job."""

    @abstractmethod
    def cancel(self) -> CompletableFuture[None]:
        """Cancel the job; the future completes when it has stopped."""

    @abstractmethod
    def trigger_savepoint(
        self, savepoint_directory: str | None = None, format_type: Any = None
    ) -> CompletableFuture[str]:
        """Write a savepoint while the job continues; the future returns its path.

        The default directory is that of the configuration. `format_type` is accepted: there is one format.
        """

    @abstractmethod
    def stop_with_savepoint(
        self, advance_to_end_of_event_time: bool, savepoint_directory: str | None = None, format_type: Any = None
    ) -> CompletableFuture[str]:
        """Write a savepoint and stop the job; the future returns its path.

        Nothing is processed between the savepoint and the end. `advance_to_end_of_event_time` first ends the sources,
        fires all timers and windows and commits all sinks: use it only for jobs that will not be resumed.
        """

    @abstractmethod
    def get_accumulators(self) -> CompletableFuture[dict[str, Any]]:
        """Return the accumulators so far."""

    @abstractmethod
    def get_job_execution_result(self) -> CompletableFuture[JobExecutionResult]:
        """Return the result of the job, or its failure; done when the job has ended."""

    @abstractmethod
    def stop(self, drain: bool = True) -> CompletableFuture[None]:
        """Stop the job gracefully; `drain` first ends its sources, fires all timers and commits all sinks."""

    @abstractmethod
    def wait(self, timeout: float | None = None) -> JobExecutionResult:
        """Wait for the end of the job and return its result; raises its failure."""

    @abstractmethod
    def progress(self) -> Progress:
        """Return the last batch, records, rate, watermark, lag and backpressure."""

    @abstractmethod
    def metrics(self) -> OperatorMetrics:
        """Return records in and out, and the user's own metrics, by the names of operators."""

    @abstractmethod
    def last_failure(self) -> JobFailure | None:
        """Return the last failure, even if the job was restarted after it; None if there was none."""

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
