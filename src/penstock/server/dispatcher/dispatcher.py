"""The dispatcher of one process: it tries to lead, supervises, and finds jobs for the server."""

from __future__ import annotations

import logging
import threading
import uuid
from pathlib import Path

from penstock.errors import JobNotFoundError, PenstockError
from penstock.server.dispatcher.leadership import Leadership
from penstock.server.dispatcher.processes import HOST
from penstock.server.dispatcher.registry import ENDED, HISTORY_KEPT, Registry
from penstock.server.dispatcher.remote_drivers import SILENT_MS, Decoded, RemoteView
from penstock.server.dispatcher.submitted_views import SubmittedView, with_submission
from penstock.server.dispatcher.supervisor import Supervisor
from penstock.server.job_views import Document, JobView
from penstock.server.local_jobs import LocalJobs

_PASS_SECONDS = 1.0
_RENEW_SECONDS = 1.5

_log = logging.getLogger(__name__)


class Dispatcher:
    """A `JobSource`: running jobs of this machine, submissions that have no job just now, and the history."""

    def __init__(self, registry: Registry, folder: Path, url: str, history: int = HISTORY_KEPT) -> None:
        self.registry = registry
        self.url = url
        self.holder = f"{HOST}-{uuid.uuid4().hex[:12]}"
        self.supervisor = Supervisor(registry, folder, history)
        self._leadership = Leadership(registry, self.holder, url)
        self._local = LocalJobs()
        self._decoded = Decoded()
        self._ended = threading.Event()
        self._threads = [
            threading.Thread(target=self._keep_lead, name="penstock-lease", daemon=True),
            threading.Thread(target=self._supervise, name="penstock-supervisor", daemon=True),
        ]

    def start(self) -> None:
        """Begin to supervise."""
        for thread in self._threads:
            thread.start()

    def stop(self) -> None:
        """Let another dispatcher lead; drivers go on."""
        self._ended.set()
        for thread in self._threads:
            thread.join(10)
        self._leadership.leave()

    def _keep_lead(self) -> None:
        while not self._ended.is_set():
            self._leadership.step()
            self._ended.wait(_RENEW_SECONDS)

    def _supervise(self) -> None:
        while not self._ended.is_set():
            try:
                self.supervisor.look(self._leadership.lead)
            except PenstockError as error:
                _log.warning("the drivers cannot be looked at: %s", error)
            except Exception:
                _log.exception("a look at the drivers failed; the next one is in a second")
            self._ended.wait(_PASS_SECONDS)

    # ---- where the server finds jobs ----

    def views(self) -> list[JobView]:
        """Running jobs first, then what waits for its driver, then the history."""
        found: dict[str, JobView] = {}
        submissions = self.registry.submissions()
        alive = {each.job_id: each for each in submissions if each.state != ENDED}
        for view in self._local.running():
            found.setdefault(view.job_id, SubmittedView(view, self.registry, alive.get(view.job_id), self._just_left))
        reported, history = self.registry.reporting_jobs(SILENT_MS), self.registry.history()
        contents = self.registry.reports(
            [each for each, ms in reported if not self._decoded.is_known(("report", each), ms)]
        )
        for job_id, seen_ms in reported:
            content = contents.get(job_id)
            found.setdefault(job_id, RemoteView(job_id, self.registry, seen_ms, self._decoded, content))
        for left in self._local.left():
            # What has just ended is not in the history yet; what ended before another start of the job is not meant.
            starter = alive.get(left.job_id)
            if starter is None or starter.id == left.last["process"].get("submission"):
                found.setdefault(left.job_id, SubmittedView(left, self.registry))
        for submission in submissions:
            if submission.state != ENDED:
                waiting = SubmittedView(None, self.registry, submission)
                found.setdefault(waiting.job_id, waiting)
        for job_id, ended_ms in history:
            found.setdefault(job_id, HistoryView(job_id, self.registry, ended_ms, self._decoded))
        names = {("report", job_id) for job_id, _ in reported} | {("history", job_id) for job_id, _ in history}
        self._decoded.keep_only(names)
        for submission in submissions:
            waiting = SubmittedView(None, self.registry, submission)
            found.setdefault(waiting.job_id, waiting)
        return list(found.values())

    def _just_left(self, submission_id: str) -> Document | None:
        """What the job of a submission left, if it has ended."""
        documents = (view.last for view in self._local.left())
        return next((each for each in documents if each["process"].get("submission") == submission_id), None)

    def view(self, job_id: str) -> JobView:
        """The job with an id, which may be that of its submission."""
        for view in self.views():
            if view.job_id == job_id:
                return view
        submission = self.registry.submission(job_id)
        if submission is not None and submission.job_id is not None:
            return self.view(submission.job_id)
        raise JobNotFoundError(f"no job has the id {job_id!r}; /jobs/overview lists those that are known")


class HistoryView:
    """A job that is over; its document is read when it is asked for."""

    def __init__(self, job_id: str, registry: Registry, ended_ms: int, read: Decoded) -> None:
        self._job_id = job_id
        self._registry = registry
        self._ended_ms = ended_ms
        self._read = read

    @property
    def job_id(self) -> str:
        """The id."""
        return self._job_id

    def document(self) -> Document:
        """The last document."""
        document = self._read.of(("history", self._job_id), self._ended_ms, self._last)
        return with_submission(document, self._registry)

    def _last(self) -> Document:
        document = self._registry.ended_job(self._job_id)
        if document is None:
            raise JobNotFoundError(f"job {self._job_id} is too long over to be known")
        return document

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
        return JobNotFoundError(f"job {self._job_id} has ended: it takes no requests")
