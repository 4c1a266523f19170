"""The jobs that run on this machine as other processes of the user see them: found by their cards, asked by sockets.

`find_job` takes an id, a name or the number of a process, and says what runs if nothing fits.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from typing import Any

from penstock.common.operator_metrics import OperatorMetrics
from penstock.errors import JobNotFoundError
from penstock.job.cards import CardFolder, JobCard
from penstock.job.socket import ask

_STATUS_SECONDS = 5.0
_DOCUMENT_SECONDS = 10.0
_WAYS: tuple[Callable[[JobCard, str], bool], ...] = (
    lambda card, text: card.job_id == text,
    lambda card, text: card.name == text,
    lambda card, text: str(card.pid) == text,
    lambda card, text: card.job_id.startswith(text),
)


@dataclass(frozen=True)
class RunningJob:
    """A job that another process runs."""

    card: JobCard
    folder: CardFolder

    def status(self) -> dict[str, Any] | None:
        """Id, name, status, progress, places; None if the job is gone, whose card then goes too."""
        card = self.card
        try:
            return dict(ask(card.address, card.token, {"do": "status"}, _STATUS_SECONDS))
        except ConnectionError:
            self.folder.remove(card)
            return None
        except TimeoutError:
            if not card.has_process():  # a child that it forked may hold the socket
                self.folder.remove(card)
                return None
        told = {"id": card.job_id, "name": card.name, "status": "NOT ANSWERING", "started_ms": card.started_ms}
        return {**told, "pid": card.pid, "checkpoint": card.checkpoint}

    def metrics(self) -> OperatorMetrics:
        """Figures by the names of operators."""
        return OperatorMetrics(self._ask({"do": "metrics"}))

    def document(self) -> dict[str, Any]:
        """Everything that can be told of the job; see `penstock.job.document`."""
        return dict(self._ask({"do": "document"}, _DOCUMENT_SECONDS))

    def threads(self) -> list[dict[str, str]]:
        """What the threads of the driver are doing."""
        return list(self._ask({"do": "threads"}, _DOCUMENT_SECONDS))

    def savepoint(self, directory: str | None) -> str:
        """Write a savepoint, the job going on; returns its path when it is whole."""
        return str(self._ask({"do": "savepoint", "directory": directory}))

    def stop(self, directory: str | None, *, drain: bool) -> str:
        """Write a savepoint and end the job; returns the path when it has ended."""
        return str(self._ask({"do": "stop", "directory": directory, "drain": drain}))

    def cancel(self) -> None:
        """End the job at once; returns when it has ended."""
        self._ask({"do": "cancel"})

    def _ask(self, request: dict[str, Any], timeout_seconds: float | None = None) -> Any:
        try:
            return ask(self.card.address, self.card.token, request, timeout_seconds)
        except ConnectionError:
            raise JobNotFoundError(
                f"job {self.card.name!r} ({self.card.job_id}) ended before it answered; `penstock list` shows the "
                "running jobs"
            ) from None


def running_jobs() -> list[tuple[RunningJob, dict[str, Any]]]:
    """All jobs of this user on this machine, the oldest first, each with what it says of itself."""
    folder = CardFolder.of_this_user()
    jobs = [RunningJob(card, folder) for card in folder.cards()]
    return [(job, status) for job in jobs if (status := job.status()) is not None]


def find_job(text: str) -> tuple[RunningJob, dict[str, Any]]:
    """The job that is meant by an id, a name, the number of a process, or the beginning of an id."""
    found = running_jobs()
    for is_meant in _WAYS:
        matching = [each for each in found if is_meant(each[0].card, text)]
        if len(matching) == 1:
            return matching[0]
        if matching:
            raise JobNotFoundError(f"{text!r} may be {_listed(matching)}: pass the id or the process id")
    others = f"; running jobs: {_listed(found)}" if found else ": no job is running"
    raise JobNotFoundError(f"no running job has the id, name or process id {text!r}{others}")


def _listed(found: list[tuple[RunningJob, dict[str, Any]]]) -> str:
    return ", ".join(f"{job.card.job_id[:12]} ({job.card.name!r}, process {job.card.pid})" for job, _ in found)
