"""Jobs of submissions: what the driver says, and what only the dispatcher knows, such as deaths of drivers before."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

from penstock.common.masking import masked, shown
from penstock.errors import JobNotFoundError
from penstock.job.journal import now_ms
from penstock.server.dispatcher.registry import ENDED, WAITING, Registry, Submission
from penstock.server.job_views import Document, JobView


class SubmittedView:
    """A job that runs, or a submission that has none just now."""

    def __init__(
        self,
        running: JobView | None,
        registry: Registry,
        submission: Submission | None = None,
        left: Callable[[str], Document | None] = lambda submission_id: None,
    ) -> None:
        """Ask `left` for what the job of a submission has left, should it just have ended."""
        self._running = running
        self._registry = registry
        self._submission = submission
        self._left = left

    @property
    def job_id(self) -> str:
        """The id of the job; that of the submission until there is one."""
        if self._running is not None:
            return self._running.job_id
        assert self._submission is not None
        return self._submission.job_id or self._submission.id

    def document(self) -> Document:
        """What the driver says, or what stands for it."""
        if self._running is not None:
            try:
                return with_submission(self._running.document(), self._registry)
            except JobNotFoundError:
                if self._submission is None:
                    raise
                # It has just ended, or died; what becomes of it then is up to the supervisor.
                document = self._left(self._submission.id)
                if document is not None:
                    return with_submission(document, self._registry)
        assert self._submission is not None
        return waiting_document(self._registry.submission(self._submission.id) or self._submission)

    def threads(self) -> list[dict[str, str]]:
        """Those of the driver."""
        return [] if self._running is None else self._running.threads()

    def savepoint(self, directory: str | None) -> str:
        """Ask the driver."""
        return self._driver().savepoint(directory)

    def stop(self, directory: str | None, *, drain: bool) -> str:
        """Ask the driver."""
        return self._driver().stop(directory, drain=drain)

    def cancel(self) -> None:
        """Ask the driver; a submission that waits for one is over at once."""
        submission = self._submission
        if self._running is None and submission is not None and submission.state == WAITING:
            if self._registry.change(submission, state=ENDED, outcome="CANCELED") is not None:
                return
            raise JobNotFoundError(f"submission {submission.id} has just been started: cancel it again")
        self._driver().cancel()

    def _driver(self) -> JobView:
        if self._running is None:
            raise JobNotFoundError(f"job {self.job_id} has no driver just now")
        return self._running


def with_submission(document: Document, registry: Registry) -> Document:
    """A document with what only the dispatcher knows."""
    submission_id = (document.get("process") or {}).get("submission")
    submission = None if submission_id is None else registry.submission(submission_id)
    if submission is None or not submission.deaths:
        return document
    progress = {**document["progress"], "restarts": document["progress"]["restarts"] + len(submission.deaths)}
    return {**document, "progress": progress, "exceptions": [*document["exceptions"], *_deaths(submission)]}


def _deaths(submission: Submission) -> list[dict[str, Any]]:
    told = zip(submission.deaths_ms, submission.deaths, strict=True)
    return [_exception(moment, text, number) for number, (moment, text) in reversed(list(enumerate(told)))]


def _exception(moment_ms: int, text: str, attempt: int) -> dict[str, Any]:
    place = dict.fromkeys(("operator", "uid", "subtask", "record"))
    summary = text.strip().splitlines()[0] if text.strip() else "failed"
    return {
        "at_ms": moment_ms,
        "attempt": attempt,
        "restart_in_ms": 0,
        "summary": masked(summary),
        "text": masked(text),
        **place,
    }


def waiting_document(submission: Submission) -> Document:
    """A document for a submission without a job: before its first, between two drivers, or after a failed start."""
    now = now_ms()
    is_over = submission.state == ENDED
    status = submission.outcome if is_over else "RESTARTING" if submission.deaths else "CREATED"
    failed = [] if submission.error is None else [_exception(now, submission.error, submission.attempt)]
    moment = submission.deaths_ms[-1] if submission.deaths_ms else submission.created_ms
    progress = {"batch": -1, "records": 0, "records_per_second": 0.0, "watermark": None, "lag_ms": None, "pace": None}
    return {
        "format": 1,
        "id": submission.job_id or submission.id,
        "name": submission.name,
        "status": status,
        "type": "STREAMING",
        "started_ms": submission.created_ms,
        "ended_ms": moment if is_over else None,
        "now_ms": now,
        "status_ms": {"CREATED": submission.created_ms, str(status): moment},
        "progress": {**progress, "restarts": len(submission.deaths), "last_failure": None},
        "plan": [],
        "explanation": "",
        "subtasks": {},
        "metrics": {},
        "checkpoints": {"completed": 0, "restored": None, "history": [], "savepoints": []},
        "exceptions": [*failed, *_deaths(submission)],
        "settings": {key: shown(key, value) for key, value in submission.launch.settings.items()},
        "restart_strategy": "",
        "restart": submission.restart,
        "parallelism": submission.launch.parallelism or 1,
        "cluster": {"engine": None, "version": None, "master": None, "web_url": None, "workers": []},
        "checkpoint": None,
        "savepoint_directory": None,
        "process": {
            "pid": submission.pid,
            "host": submission.host or "",
            "python": "",
            "executable": "",
            "platform": "",
            "log": None,
            "submission": submission.id,
        },
    }
