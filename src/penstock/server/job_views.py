"""One job as the server sees it, wherever it is: in this process, in another one on this machine, or over.

A view gives the job's document (`penstock.job.document`), which is plain data, and takes requests. Everything that is
shown is made from documents, so a page cannot tell where a job runs.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any, Protocol

from penstock.errors import JobNotFoundError
from penstock.job.announcing import AnnouncedJob
from penstock.job.document import process_facts, thread_stacks
from penstock.job.running_jobs import RunningJob

Document = dict[str, Any]

ENDED = frozenset({"FINISHED", "CANCELED", "FAILED"})
"""States in which a job is over."""


class JobView(Protocol):
    """What can be asked of a job, or done to it."""

    @property
    def job_id(self) -> str:
        """Identity of the job."""

    def document(self) -> Document:
        """Everything that is known of the job now; raises JobNotFoundError if it has just gone."""

    def threads(self) -> list[dict[str, str]]:
        """What the threads of its driver are doing; empty for a job that is over."""

    def savepoint(self, directory: str | None) -> str:
        """Write a savepoint; returns its path when it is whole."""

    def stop(self, directory: str | None, *, drain: bool) -> str:
        """Write a savepoint and end the job; returns the path when it has ended."""

    def cancel(self) -> None:
        """End the job at once; returns when it has ended."""


@dataclass(frozen=True)
class DriverView:
    """A job that another process on this machine drives; asked through its socket."""

    running: RunningJob

    @property
    def job_id(self) -> str:
        """The id on its card."""
        return self.running.card.job_id

    @property
    def checkpoint(self) -> str:
        """The checkpoint directory on its card."""
        return self.running.card.checkpoint

    def document(self) -> Document:
        """Ask the driver."""
        return self.running.document()

    def threads(self) -> list[dict[str, str]]:
        """Ask the driver."""
        return self.running.threads()

    def savepoint(self, directory: str | None) -> str:
        """Ask the driver and wait."""
        return self.running.savepoint(directory)

    def stop(self, directory: str | None, *, drain: bool) -> str:
        """Ask the driver and wait for the end."""
        return self.running.stop(directory, drain=drain)

    def cancel(self) -> None:
        """Ask the driver and wait for the end."""
        self.running.cancel()


@dataclass(frozen=True)
class ClientView:
    """A job of this process."""

    client: AnnouncedJob

    @property
    def job_id(self) -> str:
        """The id that the client tells."""
        return str(self.client.get_job_id())

    def document(self) -> Document:
        """Ask the client."""
        return {**self.client.document(), "process": process_facts()}

    def threads(self) -> list[dict[str, str]]:
        """The threads of this process."""
        return thread_stacks()

    def savepoint(self, directory: str | None) -> str:
        """Ask the client and wait."""
        return self.client.trigger_savepoint(directory).result()

    def stop(self, directory: str | None, *, drain: bool) -> str:
        """Ask the client and wait for the end."""
        return self.client.stop_with_savepoint(drain, directory).result()

    def cancel(self) -> None:
        """Ask the client and wait for the end."""
        self.client.cancel().result()


@dataclass(frozen=True)
class EndedView:
    """A job that is over; there is its last document and nothing else."""

    last: Document

    @property
    def job_id(self) -> str:
        """The id in the document."""
        return str(self.last["id"])

    def document(self) -> Document:
        """The last document."""
        return self.last

    def threads(self) -> list[dict[str, str]]:
        """There are none."""
        return []

    def savepoint(self, directory: str | None) -> str:
        """Refuse."""
        raise self._over()

    def stop(self, directory: str | None, *, drain: bool) -> str:
        """Refuse."""
        raise self._over()

    def cancel(self) -> None:
        """Refuse."""
        raise self._over()

    def _over(self) -> JobNotFoundError:
        return JobNotFoundError(f"job {self.job_id} has ended ({self.last['status'].lower()}): it takes no requests")


class JobSource(Protocol):
    """Where the server finds jobs."""

    def views(self) -> list[JobView]:
        """All jobs, the latest first; one view for each id."""

    def view(self, job_id: str) -> JobView:
        """The job with an id; raises JobNotFoundError."""


class SingleJob:
    """One job and no other."""

    def __init__(self, view: JobView) -> None:
        self._view = view

    def views(self) -> list[JobView]:
        """That one."""
        return [self._view]

    def view(self, job_id: str) -> JobView:
        """That one, if it is asked for."""
        if job_id != self._view.job_id:
            raise JobNotFoundError(f"job {job_id} is not known here; this page shows job {self._view.job_id}")
        return self._view
