"""The handle to a job in process, and the way to start one; the job itself is in `penstock.testing.in_process_job`."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from typing import Any

from penstock.common.completable_future import CompletableFuture
from penstock.common.job_client import JobClient
from penstock.common.job_execution_result import JobExecutionResult
from penstock.common.job_failure import JobFailure
from penstock.common.job_id import JobID
from penstock.common.job_status import JobStatus
from penstock.errors import CheckpointError, JobCancelledError, PenstockError
from penstock.graph import JobSettings, LogicalGraph
from penstock.testing.in_process_job import InjectedCrash, InProcessJob, InProcessOptions, StalledJob
from penstock.testing.live_job import submit_live
from penstock.testing.program_files import make_importable, refuse_shipped_files

__all__ = ["InProcessJob", "InProcessJobClient", "InProcessOptions", "InjectedCrash", "StalledJob", "submit"]


class InProcessJobClient(JobClient):
    """The handle to a job in process. Nothing runs by itself: batches run while the caller waits for something."""

    def __init__(self, job: InProcessJob) -> None:
        self.job = job

    def get_job_id(self) -> JobID:
        """Identity of the job."""
        return JobID(self.job.job_id)

    def get_job_status(self) -> CompletableFuture[JobStatus]:
        """Where the job is in its life."""
        return CompletableFuture.completed(self.job.status)

    def cancel(self) -> CompletableFuture[None]:
        """Stop the job where it is."""
        if not self.job.status.is_globally_terminal_state():
            self.job.end(JobStatus.CANCELED)
        return CompletableFuture.completed(None)

    def get_accumulators(self) -> CompletableFuture[dict[str, Any]]:
        """None are kept in process."""
        return CompletableFuture.completed({})

    def get_job_execution_result(self) -> CompletableFuture[JobExecutionResult]:
        """The result of the job, run to its end."""
        return CompletableFuture.completed(self.wait())

    def wait(self, timeout: float | None = None) -> JobExecutionResult:
        """Run the job to its end."""
        if self.job.status is JobStatus.CANCELED:
            raise JobCancelledError(f"job {self.job.settings.job_name!r} was cancelled")
        if self.job.failure is not None:
            raise self.job.failure
        self.job.run()
        return JobExecutionResult(self.get_job_id(), 0, {})

    def run_batch(self) -> bool:
        """Run one batch; returns whether there may be more."""
        return self.job.run_batch()

    def stop(self, drain: bool = True) -> CompletableFuture[None]:
        """End all sources where they are and run the last batch; without `drain`, cancel."""
        if not drain:
            return self.cancel()
        self.job.drain()
        self.wait()
        return CompletableFuture.completed(None)

    def trigger_savepoint(
        self, savepoint_directory: str | None = None, format_type: Any = None
    ) -> CompletableFuture[str]:
        """Write a savepoint of what has been run so far."""
        return self._savepoint(lambda: self.job.write_savepoint(savepoint_directory))

    def stop_with_savepoint(
        self, advance_to_end_of_event_time: bool, savepoint_directory: str | None = None, format_type: Any = None
    ) -> CompletableFuture[str]:
        """Write a savepoint and end the job."""
        drain = advance_to_end_of_event_time
        return self._savepoint(lambda: self.job.stop_with_savepoint(savepoint_directory, drain=drain))

    def _savepoint(self, write: Callable[[], str]) -> CompletableFuture[str]:
        if self.job.status.is_globally_terminal_state():
            return CompletableFuture.failed(CheckpointError(f"job {self.job.settings.job_name!r} has ended already"))
        try:
            return CompletableFuture.completed(write())
        except PenstockError as error:
            return CompletableFuture.failed(error)

    def was_drained(self) -> bool:
        """Whether sources were ended before all was read."""
        return self.job.wish.is_draining

    def last_failure(self) -> JobFailure | None:
        """What went wrong last, also if the job was restarted after it."""
        return self.job.last_failure

    def collected(self, collect_id: str) -> Iterator[Any]:
        """The records of a collecting sink; runs the job to its end first."""
        self.wait()
        yield from self.job.collected[collect_id]


def submit(graph: LogicalGraph, settings: JobSettings, options: InProcessOptions | None) -> JobClient:
    """Check a program and make it a job in this process.

    With options, or a seed in the settings, it is a test: time is made up, and batches run while somebody waits for
    them. Without, the program is tried as it is: the job runs by itself, in real time.
    """
    refuse_shipped_files(settings)
    make_importable(settings.python_files)
    if options is None and settings.seed is not None:
        options = InProcessOptions(settings.seed)
    if options is None:
        return submit_live(graph, settings)
    return InProcessJobClient(InProcessJob(graph, settings, options))
