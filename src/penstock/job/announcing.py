"""A running job makes itself known on its machine, so that other processes of the user can ask it and stop it.

It costs a sleeping thread and nothing in the path of a record; a job that cannot make itself
known runs all the same.
"""

from __future__ import annotations

import atexit
import logging
import os
import threading
import time
from collections.abc import Callable
from concurrent.futures import Future
from dataclasses import asdict, replace
from typing import Any, Protocol

from penstock.common.completable_future import CompletableFuture
from penstock.common.job_execution_result import JobExecutionResult
from penstock.common.job_id import JobID
from penstock.common.job_status import JobStatus
from penstock.errors import PenstockError
from penstock.job.cards import CardFolder, JobCard
from penstock.job.document import SUBMISSION, process_facts, thread_stacks
from penstock.job.ended_jobs import EndedJobs
from penstock.job.reporting import REPORT_TO, Reporter
from penstock.job.socket import JobSocket, Request, finish_answers

_PATIENCE_SECONDS = 5.0  # at the end of the process, for answers that are under way

_log = logging.getLogger(__name__)
_lock = threading.Lock()
_announced: list[Announcement] = []
_reporters: list[Reporter] = []


class AnnouncedJob(Protocol):
    """What a job must be able to do to be asked from outside; the handle of a job on Spark can."""

    def get_job_id(self) -> JobID:
        """Identity of the job."""

    def get_job_status(self) -> CompletableFuture[JobStatus]:
        """Where the job is in its life."""

    def cancel(self) -> CompletableFuture[None]:
        """Stop the job at once."""

    def trigger_savepoint(self, savepoint_directory: str | None = None) -> CompletableFuture[str]:
        """Write a savepoint, the job going on."""

    def stop_with_savepoint(
        self, advance_to_end_of_event_time: bool, savepoint_directory: str | None = None
    ) -> CompletableFuture[str]:
        """Write a savepoint and end the job."""

    def wait(self, timeout: float | None = None) -> JobExecutionResult:
        """Wait for the end of the job."""

    def metrics(self) -> dict[str, dict[str, Any]]:
        """Figures by operator uid."""

    def progress(self) -> Any:
        """Batch, records, rate, watermark and lag, as a dataclass."""

    def restarts(self) -> int:
        """How often the job was restarted."""

    def document(self) -> dict[str, Any]:
        """Everything that can be told of the job; see `penstock.job.document`."""


class Announcement:
    """A job that is known on its machine until it is withdrawn."""

    def __init__(
        self, job: AnnouncedJob, ended: Future[JobExecutionResult], card: JobCard, savepoint_directory: str | None
    ) -> None:
        """Take what the card will tell; address, token and file come when it is posted."""
        self.job = job
        self._ended = ended
        self._card = card
        self._savepoint_directory = savepoint_directory
        self._folder = CardFolder.of_this_user()
        self._socket: JobSocket | None = None
        self._reporter: Reporter | None = None
        self._withdrawing = threading.Lock()
        self._is_kept = False
        self._answers: dict[str, Callable[[Request], Any]] = {
            "status": lambda request: self._status(),
            "document": lambda request: self.document(),
            "threads": lambda request: thread_stacks(),
            "metrics": lambda request: self.job.metrics(),
            "savepoint": lambda request: self.job.trigger_savepoint(request.get("directory")).result(),
            "stop": self._stop,
            "cancel": lambda request: self.job.cancel().result(),
        }

    def post(self) -> None:
        """Listen, and say where."""
        self._folder.open()
        self._folder.sweep()
        file = self._folder.new_name(self._card.job_id)
        self._socket = JobSocket(self._folder.path / f"{file}.sock", self._answer)
        self._card = replace(self._card, file=file, address=self._socket.address, token=self._socket.token)
        self._folder.put(self._card)

    def report(self, url: str) -> None:
        """Be known to a server on another machine too."""
        self._reporter = Reporter(url, self.document, self._answer)
        _reporters.append(self._reporter)

    def withdraw(self) -> None:
        """Be known no longer; what was asked before is answered. A second caller waits for the first.

        A job that has ended leaves what is known of it, before its card goes: so it is always to be found.
        """
        with self._withdrawing:
            if self._ended.done() and not self._is_kept:
                self._is_kept = True
                self._keep()
                if self._reporter is not None:
                    self._reporter.end()
            try:
                if self._socket is not None:
                    self._socket.close()
                    self._folder.remove(self._card)
            except OSError as error:
                _log.warning("the card of job %r could not be removed: %s", self._card.name, error)

    def document(self) -> dict[str, Any]:
        """Everything that can be told of the job, with its process."""
        return {**self.job.document(), "checkpoint": self._card.checkpoint, "process": process_facts()}

    def _keep(self) -> None:
        try:
            EndedJobs.of_this_user().keep(self.document())
        except Exception as error:
            _log.warning("job %r leaves nothing to its history: %s", self._card.name, error)

    def _answer(self, request: Request) -> Any:
        wanted = request.get("do")
        answer = self._answers.get(str(wanted))
        if answer is None:
            raise PenstockError(f"a job has no answer for {wanted!r}; use one of {', '.join(self._answers)}")
        return answer(request)

    def _status(self) -> dict[str, Any]:
        card = self._card
        return {
            "id": card.job_id,
            "name": card.name,
            "status": self.job.get_job_status().result().name,
            **asdict(self.job.progress()),
            "restarts": self.job.restarts(),
            "started_ms": card.started_ms,
            "pid": card.pid,
            "checkpoint": card.checkpoint,
            "savepoint_directory": self._savepoint_directory,
            "submission": os.environ.get(SUBMISSION),
        }

    def _stop(self, request: Request) -> str:
        drains = bool(request.get("drain", False))
        return self.job.stop_with_savepoint(drains, request.get("directory")).result()


def announce(
    job: AnnouncedJob,
    ended: Future[JobExecutionResult],
    *,
    name: str,
    checkpoint: str,
    savepoint_directory: str | None = None,
) -> None:
    """Make a job known until it has ended."""
    now_ms = time.time_ns() // 1_000_000
    card = JobCard(str(job.get_job_id()), name, os.getpid(), checkpoint, now_ms, address="", token="")
    announcement = Announcement(job, ended, card, savepoint_directory)
    with _lock:
        _announced.append(announcement)
    try:
        announcement.post()
    except (OSError, PenstockError) as error:
        _log.warning("job %r will not appear in `penstock list` and cannot be stopped from there: %s", name, error)
    if os.environ.get(REPORT_TO):
        announcement.report(os.environ[REPORT_TO])
    ended.add_done_callback(lambda _: _forget(announcement))


def running_jobs_of_this_process() -> list[AnnouncedJob]:
    """The jobs that this process has started and that have not ended, in the order of their start."""
    with _lock:
        return [announcement.job for announcement in _announced]


def _forget(announcement: Announcement) -> None:
    # In this order: a process that ends meanwhile finds it in the list, and waits until the card is gone.
    announcement.withdraw()
    with _lock:
        _announced.remove(announcement)


def _leave() -> None:
    """The process ends: whoever asked for the end of a job is still to hear of it, and no card is to be left."""
    with _lock:
        leaving = list(_announced)
    for announcement in leaving:
        announcement.withdraw()
    finish_answers(_PATIENCE_SECONDS)
    for reporter in _reporters:
        reporter.finish()


atexit.register(_leave)
