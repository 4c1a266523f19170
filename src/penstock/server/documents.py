"""Documents of jobs, remembered for a moment: a page asks many questions at once, and many pages ask the same.

However many read a list, it is made at most twice a second, and while it is made they are given the last one. A job
that does not answer at once is shown as it was, and one whose document cannot be shown is left out; the log says why,
and so does `left_out`.
"""

from __future__ import annotations

import logging
import threading
import time
import zlib
from collections.abc import Callable
from concurrent.futures import Future, ThreadPoolExecutor, wait
from dataclasses import dataclass, field
from typing import Any

from starlette.responses import Response

from penstock.errors import JobNotFoundError, PenstockError
from penstock.server.answers import Json
from penstock.server.checked_documents import checked
from penstock.server.job_views import Document, JobSource, JobView

_FRESH_SECONDS = 0.5
_STALE_SECONDS = 2.0
_LIST_SECONDS = 2.0
_ASKED_AT_ONCE = 16
_MOST_REMEMBERED = 2000

_log = logging.getLogger(__name__)


@dataclass
class _Gathered:
    """All documents as they were at a time, and what was made of them."""

    at: float
    documents: list[Document]
    answers: dict[str, Response] = field(default_factory=dict)
    lock: threading.Lock = field(default_factory=threading.Lock)

    def is_within(self, seconds: float) -> bool:
        return time.monotonic() - self.at < seconds


class Documents:
    """Gives the documents of jobs, each asked for at most twice a second; from any thread."""

    def __init__(self, jobs: JobSource, fresh_seconds: float = _FRESH_SECONDS) -> None:
        self._jobs = jobs
        self._fresh_seconds = fresh_seconds
        self._lock = threading.Lock()
        self._known: dict[str, tuple[float, Document]] = {}
        self._gathering = threading.Lock()
        self._gathered: _Gathered | None = None
        self._changes = 0
        self._pool = ThreadPoolExecutor(_ASKED_AT_ONCE, thread_name_prefix="penstock-documents")
        self._asking: dict[str, Future[Document]] = {}
        self._left_out: dict[str, str] = {}

    def of(self, job_id: str) -> Document:
        """The document of one job; raises JobNotFoundError."""
        return self._remembered(job_id) or self._asked(self._jobs.view(job_id))

    def all(self) -> list[Document]:
        """Those of all jobs that can be shown; a job that does not answer just now is left out unless it is known."""
        return self._all().documents

    def answer(self, name: str, make: Callable[[list[Document]], Any]) -> Response:
        """What is made of all documents, as JSON, or the response that is made; one answer for all who ask for it."""
        found = self._all()
        with found.lock:
            if name not in found.answers:
                made = make(found.documents)
                found.answers[name] = made if isinstance(made, Response) else Json(made)
            return found.answers[name]

    def left_out(self) -> dict[str, str]:
        """The jobs that the lists are without, with the reason."""
        return dict(self._left_out)

    def forget(self, job_id: str) -> None:
        """Ask again next time: somebody has just changed something."""
        with self._lock:
            self._known.pop(job_id, None)
        self.forget_lists()

    def forget_lists(self) -> None:
        """Make lists anew next time."""
        with self._lock:
            self._gathered = None
            self._changes += 1

    def _all(self) -> _Gathered:
        found = self._gathered
        if found is not None and found.is_within(self._fresh_seconds):
            return found
        if found is not None and found.is_within(min(_STALE_SECONDS, 4 * self._fresh_seconds)):
            self._refresh()
            return found
        with self._gathering:
            found = self._gathered
            return found if found is not None and found.is_within(self._fresh_seconds) else self._renewed()

    def _refresh(self) -> None:
        """Make lists anew behind the back of who asks, unless that is being done."""
        if self._gathering.acquire(blocking=False):
            try:
                threading.Thread(target=self._refreshed, name="penstock-lists", daemon=True).start()
            except BaseException:
                self._gathering.release()
                raise

    def _refreshed(self) -> None:
        try:
            self._renewed()
        except PenstockError as error:  # a registry that is away: who asks next is told
            _log.warning("the lists of jobs could not be made: %s", error)
        finally:
            self._gathering.release()

    def _renewed(self) -> _Gathered:
        changes = self._changes
        found = _Gathered(time.monotonic(), self._gather())
        with self._lock:
            if changes == self._changes:  # else it may be of before the change
                self._gathered = found
        return found

    def _gather(self) -> list[Document]:
        views = {view.job_id: view for view in self._jobs.views()}
        known = {job_id: self._remembered(job_id) for job_id in views}
        for job_id, view in views.items():
            if known[job_id] is None and job_id not in self._asking:
                self._asking[job_id] = self._pool.submit(self._asked, view)
        asking = {job_id: self._asking[job_id] for job_id in views if job_id in self._asking}
        wait(asking.values(), _LIST_SECONDS)
        left_out: dict[str, str] = {}
        for job_id, future in asking.items():
            try:
                known[job_id] = future.result(0)
            except TimeoutError:
                known[job_id] = self._stale(job_id)
            except Exception as error:  # whatever one job does, the others are shown
                left_out[job_id] = str(error) if str(error) else type(error).__name__
            if known[job_id] is None and job_id not in left_out:
                left_out[job_id] = "it does not answer"
        self._note(left_out)
        self._asking = {job_id: future for job_id, future in self._asking.items() if not future.done()}
        return [document for document in known.values() if document is not None]

    def _note(self, left_out: dict[str, str]) -> None:
        for job_id, reason in left_out.items():
            if self._left_out.get(job_id) != reason:
                _log.warning("lists of jobs are without job %s: %s", job_id, reason)
        self._left_out = left_out

    def _remembered(self, job_id: str) -> Document | None:
        with self._lock:
            asked, document = self._known.get(job_id, (0.0, None))
        is_fresh = document is not None and time.monotonic() - asked < self._fresh_seconds
        return document if is_fresh else None

    def _stale(self, job_id: str) -> Document | None:
        with self._lock:
            return self._known.get(job_id, (0.0, None))[1]

    def _asked(self, view: JobView) -> Document:
        try:
            document = view.document()
            if document is not self._stale(view.job_id):
                checked(document)
        except (ValueError, KeyError, TypeError, zlib.error) as error:  # what it was read from is damaged
            raise JobNotFoundError(f"the document of job {view.job_id} cannot be read: {error!r}") from None
        with self._lock:
            self._known[view.job_id] = time.monotonic(), document
            if len(self._known) > _MOST_REMEMBERED:
                self._known.pop(next(iter(self._known)))
        return document
