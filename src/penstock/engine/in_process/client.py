"""`InProcessJobClient`, the handle to a job in process whose batches run while the caller waits for something."""

from __future__ import annotations

from penstock.common.completable_future import CompletableFuture
from penstock.common.job_execution_result import JobExecutionResult
from penstock.engine.in_process.job import InProcessJob
from penstock.job.client import RunningJobClient


class InProcessJobClient(RunningJobClient):
    """A handle with batches by hand. Nothing runs by itself: asking for the end of the job runs it."""

    def __init__(self, job: InProcessJob) -> None:
        """Be the handle to a job; `job` tells tests how it is run."""
        super().__init__(job)
        self.job = job

    def run_batch(self) -> bool:
        """Run one batch; returns whether there may be more."""
        return self.job.run_batch()

    def get_job_execution_result(self) -> CompletableFuture[JobExecutionResult]:
        """The result of the job, run to its end."""
        self.wait()
        return super().get_job_execution_result()
