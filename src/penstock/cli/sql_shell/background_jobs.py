"""The jobs of INSERT statements that a shell started: what SHOW JOBS tells, what STOP JOB ends."""

from __future__ import annotations

import threading
import time
from collections.abc import Callable
from dataclasses import dataclass
from datetime import UTC, datetime

from penstock.common.job_client import JobClient
from penstock.common.job_failure import summary_of
from penstock.errors import JobCancelledError, JobNotFoundError
from penstock.table.table_result import TableResult, told


@dataclass(frozen=True)
class ShellJob:
    """A job that runs by itself."""

    client: JobClient
    name: str
    started: float

    @property
    def job_id(self) -> str:
        """The id of the job."""
        return str(self.client.get_job_id())

    def is_running(self) -> bool:
        """Whether it has not ended."""
        return not self.client.get_job_execution_result().done()

    def status(self) -> str:
        """Where the job is in its life."""
        return self.client.get_job_status().result().name


class BackgroundJobs:
    """All jobs that were started without waiting for them."""

    def __init__(self, tell: Callable[[str], None]) -> None:
        """Have none; `tell` says to a person how a job ended, from another thread."""
        self._tell = tell
        self._jobs: list[ShellJob] = []

    def add(self, client: JobClient, name: str) -> ShellJob:
        """Watch a job."""
        job = ShellJob(client, name, time.time())
        self._jobs.append(job)
        threading.Thread(target=self._watch, args=(job,), name=f"penstock-watch-{name}", daemon=True).start()
        return job

    def _watch(self, job: ShellJob) -> None:
        error = job.client.get_job_execution_result().exception()
        if error is None:
            self._tell(f"Job {job.job_id} ({job.name}) has finished.")
        elif not isinstance(error, JobCancelledError):
            self._tell(f"Job {job.job_id} ({job.name}) has failed: {summary_of(str(error))}")

    def running(self) -> list[ShellJob]:
        """Those that have not ended."""
        return [job for job in self._jobs if job.is_running()]

    def ids_running(self) -> list[str]:
        """The ids of those."""
        return [job.job_id for job in self.running()]

    def find(self, job_id: str) -> ShellJob:
        """The job that an id, or the beginning of one, means."""
        found = [job for job in self._jobs if job.job_id.startswith(job_id)] if job_id else []
        if len(found) != 1:
            how = "There is no job" if not found else "There is more than one job"
            raise JobNotFoundError(f"{how} with the id '{job_id}' in this shell; SHOW JOBS shows them.")
        return found[0]

    def shown(self, job_id: str | None = None) -> TableResult:
        """The jobs, or one of them, as a table."""
        jobs = self._jobs if job_id is None else [self.find(job_id)]
        rows = [(job.job_id, job.name, job.status(), _moment(job.started)) for job in jobs]
        return told(("job id", "job name", "status", "start time"), rows)

    def wait(self) -> None:
        """Wait for the end of all; raises the failure of one. An interrupt cancels the one that is waited for."""
        for job in self._jobs:
            job.client.wait()

    def cancel(self) -> None:
        """End all that run, and wait until they have ended."""
        for cancelled in [job.client.cancel() for job in self.running()]:
            cancelled.exception()


def _moment(seconds: float) -> str:
    return datetime.fromtimestamp(seconds, UTC).strftime("%Y-%m-%dT%H:%M:%S.%f")[:-3]
