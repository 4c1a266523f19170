"""`RunningJobClient`, the handle to a job on any engine."""

from __future__ import annotations

from collections.abc import Iterator
from concurrent.futures import Future
from typing import Any

from penstock.common.completable_future import CompletableFuture
from penstock.common.job_client import JobClient
from penstock.common.job_execution_result import JobExecutionResult
from penstock.common.job_failure import JobFailure
from penstock.common.job_id import JobID
from penstock.common.job_progress import Progress
from penstock.common.job_status import JobStatus
from penstock.common.operator_metrics import OperatorMetrics
from penstock.errors import JobCancelledError
from penstock.job.document import job_document
from penstock.job.engine_contract import Job
from penstock.job.savepoint_desk import SavepointRequest


class RunningJobClient(JobClient):
    """What a program, or another process through its socket, can ask of a job."""

    def __init__(self, job: Job) -> None:
        """Be the handle to a job."""
        self._job = job

    def get_job_id(self) -> JobID:
        """Identity of the job; the same after a restart from its checkpoint."""
        return JobID(self._job.job_id)

    def get_job_status(self) -> CompletableFuture[JobStatus]:
        """Where the job is in its life."""
        return CompletableFuture.completed(self._job.status)

    def cancel(self) -> CompletableFuture[None]:
        """Cancel the job; the future completes when it has stopped. Its checkpoint stays as it is."""
        self._job.cancel()
        return self._stopped()

    def stop(self, drain: bool = True) -> CompletableFuture[None]:
        """Stop the job in good order: `drain` ends its sources, fires all timers and commits all sinks first."""
        if not drain:
            return self.cancel()
        self._job.drain()
        return self._stopped()

    def trigger_savepoint(
        self, savepoint_directory: str | None = None, format_type: Any = None
    ) -> CompletableFuture[str]:
        """Write a savepoint of the last version, the job going on."""
        return self._savepoint(SavepointRequest(savepoint_directory))

    def stop_with_savepoint(
        self, advance_to_end_of_event_time: bool, savepoint_directory: str | None = None, format_type: Any = None
    ) -> CompletableFuture[str]:
        """Write a savepoint of the last version and end the job; done when it has ended."""
        drain = advance_to_end_of_event_time
        return self._savepoint(SavepointRequest(savepoint_directory, stops=True, drains=drain))

    def _savepoint(self, request: SavepointRequest) -> CompletableFuture[str]:
        self._job.take_savepoint(request)
        if not request.stops:
            return CompletableFuture(request.path)
        stopped: Future[str] = Future()
        request.path.add_done_callback(lambda path: _pass_on_stop(path, self._job.ended, stopped))
        return CompletableFuture(stopped)

    def _stopped(self) -> CompletableFuture[None]:
        stopped: Future[None] = Future()
        self._job.ended.add_done_callback(lambda ended: _pass_on(ended, stopped))
        return CompletableFuture(stopped)

    def get_accumulators(self) -> CompletableFuture[dict[str, Any]]:
        """The figures of the job so far."""
        return CompletableFuture.completed(self.metrics())

    def get_job_execution_result(self) -> CompletableFuture[JobExecutionResult]:
        """The result, once the job has ended."""
        return CompletableFuture(self._job.ended)

    def wait(self, timeout: float | None = None) -> JobExecutionResult:
        """Wait for the end; raises JobFailedError or JobCancelledError. An interrupt (Ctrl-C) cancels the job."""
        return self._job.wait(timeout)

    def metrics(self) -> OperatorMetrics:
        """Records in and out, and the user's own metrics, by the names of operators; see docs/metrics.md."""
        return self._job.statistics.metrics()

    def progress(self) -> Progress:
        """Batch, records, rate, watermark, lag, and how the sources are paced."""
        return self._job.statistics.progress

    def restarts(self) -> int:
        """How often the job was restarted."""
        return self._job.statistics.progress.restarts

    def last_failure(self) -> JobFailure | None:
        """What went wrong last, whether the job was restarted after it or not; None if nothing did."""
        return self._job.statistics.progress.last_failure

    def document(self) -> dict[str, Any]:
        """Everything that can be told of the job, as plain data; see `penstock.job.document`."""
        return job_document(self._job)

    def explain(self) -> str:
        """The plan that runs."""
        return self._job.plan.explain()

    def was_drained(self) -> bool:
        """Whether sources were ended before all was read."""
        return self._job.was_drained

    def collected(self, collect_id: str) -> Iterator[Any]:
        """The records of a collecting sink as they become final; ends with the job and raises its failure."""
        return self._job.collected(collect_id)


def _pass_on(ended: Future[JobExecutionResult], stopped: Future[None]) -> None:
    error = ended.exception()
    if error is None or isinstance(error, JobCancelledError):
        stopped.set_result(None)
    else:
        stopped.set_exception(error)


def _pass_on_stop(path: Future[str], ended: Future[JobExecutionResult], stopped: Future[str]) -> None:
    """A job that is stopped with a savepoint goes on if that cannot be written; otherwise its end is waited for."""
    error = path.exception()
    if error is not None:
        stopped.set_exception(error)
    else:
        ended.add_done_callback(lambda _: stopped.set_result(path.result()))
