"""Documents of jobs, remembered for a moment: a page asks many questions at once that one document answers."""

from __future__ import annotations

import threading
import time

from penstock.errors import PenstockError
from penstock.server.job_views import Document, JobSource, JobView

_FRESH_SECONDS = 0.5
_MOST_REMEMBERED = 200


class Documents:
    """Gives the document of a job, asked for at most twice a second; from any thread."""

    def __init__(self, jobs: JobSource, fresh_seconds: float = _FRESH_SECONDS) -> None:
        self._jobs = jobs
        self._fresh_seconds = fresh_seconds
        self._lock = threading.Lock()
        self._known: dict[str, tuple[float, Document]] = {}

    def of(self, job_id: str) -> Document:
        """The document of one job; raises JobNotFoundError."""
        return self._remembered(job_id) or self._asked(self._jobs.view(job_id))

    def all(self) -> list[Document]:
        """Those of all jobs; a job that does not answer just now is left out."""
        found = []
        for view in self._jobs.views():
            try:
                found.append(self._remembered(view.job_id) or self._asked(view))
            except (PenstockError, TimeoutError):
                continue
        return found

    def forget(self, job_id: str) -> None:
        """Ask again next time: somebody has just changed something."""
        with self._lock:
            self._known.pop(job_id, None)

    def _remembered(self, job_id: str) -> Document | None:
        with self._lock:
            asked, document = self._known.get(job_id, (0.0, None))
        is_fresh = document is not None and time.monotonic() - asked < self._fresh_seconds
        return document if is_fresh else None

    def _asked(self, view: JobView) -> Document:
        document = view.document()
        with self._lock:
            self._known[view.job_id] = time.monotonic(), document
            if len(self._known) > _MOST_REMEMBERED:
                self._known.pop(next(iter(self._known)))
        return document
