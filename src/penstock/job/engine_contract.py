"""What the driver of a job and an engine ask of each other.

The driver knows *versions*: states of the whole job, numbered from 0, each made final by its seal. It does not know
batches. An engine runs *attempts*, from the last version to the end of the job or to a failure, and hands each version
to `VersionDriver.complete_version(version, reports, offset, ...)` when every subtask has reported its part of it.

How a version comes about is the engine's own matter. The two engines of today run micro-batches: all subtasks run to
the end of batch N, and that is version N. An engine of long-lived tasks with barriers in the stream attaches in the
same place: barrier N goes through all channels, every subtask reports when it has passed, and version N is complete
with the last report, while records of later versions are already being worked on.
"""

from __future__ import annotations

from collections.abc import Iterator
from concurrent.futures import Future
from typing import Any, Protocol

from penstock.checkpoint import Seal
from penstock.common.job_execution_result import JobExecutionResult
from penstock.common.job_status import JobStatus
from penstock.graph import JobSettings
from penstock.graph.plan import JobPlan
from penstock.job.savepoint_desk import SavepointRequest, VersionBoundary
from penstock.job.statistics import JobStatistics
from penstock.savepoint.writing import PartOrder, PartResult


class Job(Protocol):
    """What a client asks of a job, whatever runs it."""

    job_id: str
    plan: JobPlan
    settings: JobSettings
    statistics: JobStatistics
    ended: Future[JobExecutionResult]
    was_drained: bool

    @property
    def status(self) -> JobStatus:
        """Where the job is in its life."""

    def cancel(self) -> None:
        """End at once; the checkpoint stays as it is."""

    def drain(self) -> None:
        """End all sources where they are, fire everything, and finish."""

    def take_savepoint(self, request: SavepointRequest) -> None:
        """Take a request for a savepoint; its future tells what becomes of it."""

    def wait(self, timeout: float | None) -> JobExecutionResult:
        """Return when the job has ended; raises what made it fail."""

    def cluster(self) -> dict[str, Any]:
        """What runs the job; see `JobEngine.cluster`."""

    def collected(self, collect_id: str) -> Iterator[Any]:
        """The records of a collecting sink as they become final; ends with the job."""


class AttemptControl(Protocol):
    """What the driver wants of an attempt that runs; an engine looks at it between versions at the latest."""

    def is_cancelled(self) -> bool:
        """Whether to return at once."""

    def is_stopping(self) -> bool:
        """Whether to end all sources where they are, run to the end, and return."""

    def on_running(self) -> None:
        """To be called when records can flow."""

    def on_draining(self) -> None:
        """To be called when the sources have been told to end."""

    def serve_savepoints(self, versions: VersionBoundary) -> bool:
        """Write the savepoints that are asked for; returns whether to return now, with nothing more made final."""

    def pause(self, seconds: float) -> None:
        """Wait, not longer than until somebody asks something of the job."""


class JobEngine(Protocol):
    """What the driver asks of an engine, for one job."""

    def run_attempt(self, attempt: int, control: AttemptControl) -> None:
        """Run from the last version until all sources have ended or `control` says to return; raises a failure."""

    def publish_last(self) -> Seal | None:
        """The last version, its output published, while no attempt runs; None if there is none."""

    def write_parts(self, orders: list[PartOrder]) -> list[PartResult]:
        """Write the state of subtasks into a savepoint."""

    def stop(self) -> None:
        """Let nothing become final any more, whatever still runs; from any thread."""

    def explained(self, error: Exception) -> Exception:
        """The error that says best why an attempt failed."""

    def failure_text(self, error: BaseException, job_name: str) -> str:
        """An error in words for users."""

    def finish(self) -> None:
        """The attempts are over, and the job was not cancelled: close functions; what this raises fails the job."""

    def cluster(self) -> dict[str, Any]:
        """What runs the job, as plain data: `engine`, `version`, `master`, `web_url` and `workers`; from any thread."""

    def close(self, *, is_well: bool, is_held: bool) -> None:
        """Remove what the job has on disk; `is_held` if the checkpoint directory is still this process's."""
