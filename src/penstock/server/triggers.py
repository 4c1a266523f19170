"""Work that takes long and is asked for again by its id: savepoints, and stops with one."""

from __future__ import annotations

import threading
import uuid
from collections import OrderedDict
from collections.abc import Callable
from concurrent.futures import Future

from penstock.errors import JobNotFoundError

_REMEMBERED = 500


class Triggers:
    """Runs each in a thread of its own and remembers the last outcomes; an id that is known is not run again."""

    def __init__(self) -> None:
        self._lock = threading.Lock()
        self._known: OrderedDict[tuple[str, str], Future[str]] = OrderedDict()

    def start(self, job_id: str, work: Callable[[], str], trigger_id: str | None = None) -> str:
        """Begin work for a job; returns the id to ask by."""
        trigger_id = trigger_id or uuid.uuid4().hex
        outcome: Future[str] = Future()
        with self._lock:
            if (job_id, trigger_id) in self._known:
                return trigger_id  # a client that heard nothing asks again
            self._known[job_id, trigger_id] = outcome
            while len(self._known) > _REMEMBERED:
                self._known.popitem(last=False)
        threading.Thread(target=_run, args=(work, outcome), name="penstock-trigger", daemon=True).start()
        return trigger_id

    def outcome(self, job_id: str, trigger_id: str) -> Future[str]:
        """What became of it, or becomes; raises JobNotFoundError."""
        with self._lock:
            found = self._known.get((job_id, trigger_id))
        if found is None:
            raise JobNotFoundError(f"nothing was triggered for job {job_id} with the id {trigger_id!r}")
        return found


def _run(work: Callable[[], str], outcome: Future[str]) -> None:
    try:
        outcome.set_result(work())
    except BaseException as error:
        outcome.set_exception(error)
