"""A read replica of a job's keyed state: follows a checkpoint directory and answers as of its newest sealed version.

The job is not asked for anything, and need not run. What a version holds becomes visible at once and as a whole.
"""

from __future__ import annotations

import logging
import threading
import time
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from types import TracebackType
from typing import Any, Self

from penstock.checkpoint import CheckpointDirectory
from penstock.errors import PenstockError, QueryError
from penstock.queryable.content import VersionContent, parsed_content
from penstock.queryable.following import Follower
from penstock.queryable.store import ReplicaStore, StoreView
from penstock.scratch import make_scratch, remove_scratch

_RETRY_SECONDS = 30.0  # before something that is damaged is read again: it may have been put back

_log = logging.getLogger(__name__)


@dataclass(frozen=True)
class ReplicaStatus:
    """What a replica holds, and how far that is behind.

    `version` is None before the first one is read. `newest_version` is the newest that the directory has. `problem`
    says why the newest is not held, if something is wrong.
    """

    checkpoint: str
    job_id: str | None
    job_name: str | None
    version: int | None
    sealed_ms: int | None
    newest_version: int | None
    problem: str | None


class Replica:
    """Follows the checkpoint directory of one job.

    `store` is a directory for the copy, which the next start goes on from; without it the copy goes with the process.
    With `allows_pickles`, values without a declared type are unpickled: do that only if you trust everybody who can
    write the checkpoint directory.
    """

    def __init__(
        self,
        checkpoint: str,
        store: str | None = None,
        *,
        poll_seconds: float = 0.2,
        allows_pickles: bool = False,
    ) -> None:
        """Open the copy; call `refresh` to read the newest version, or `start` to follow in a thread."""
        directory = CheckpointDirectory(checkpoint)
        self.checkpoint = directory.uri
        self.allows_pickles = allows_pickles
        self._scratch = make_scratch("replica") if store is None else None
        self._store = ReplicaStore(store or str(self._scratch))
        self._follower = Follower(directory, self._store)
        self._poll_seconds = poll_seconds
        self._parsed: tuple[bytes, VersionContent] | None = None
        self._changing = threading.Condition()
        self._refreshing = threading.Lock()
        self._stopping = threading.Event()
        self._thread: threading.Thread | None = None

    # ---- following ----

    def start(self) -> Self:
        """Follow the directory in a thread until the replica is closed."""
        if self._thread is None:
            self._thread = threading.Thread(target=self._run, name="penstock-replica", daemon=True)
            self._thread.start()
        return self

    def refresh(self) -> bool:
        """Read the newest version now; returns whether it is another one than before."""
        with self._refreshing:
            has_changed = self._follower.follow()
        with self._changing:
            self._changing.notify_all()
        return has_changed

    def wait_for(self, version: int, timeout: float) -> bool:
        """Wait until this version or a later one is held; returns whether it is."""
        with self._changing:
            return self._changing.wait_for(lambda: self._held_version() >= version, timeout)

    def _held_version(self) -> int:
        held = self._follower.progress.held
        return -1 if held is None else held[0]

    def _run(self) -> None:
        retry_at = time.monotonic() + _RETRY_SECONDS
        told: str | None = None
        while not self._stopping.is_set():
            if time.monotonic() > retry_at:
                self._follower.forget_refusals()
                retry_at = time.monotonic() + _RETRY_SECONDS
            try:
                self.refresh()
            except Exception:  # the thread must go on: it is all that follows the job
                _log.exception("the replica of %s could not follow its job", self.checkpoint)
            problem = self._follower.progress.problem
            if problem is not None and problem != told:
                _log.warning("replica of %s: %s", self.checkpoint, problem)
            told = problem
            self._stopping.wait(self._poll_seconds)

    def close(self) -> None:
        """Stop following and let go of the copy."""
        self._stopping.set()
        if self._thread is not None:
            self._thread.join()
            self._thread = None
        self._store.close()
        if self._scratch is not None:
            remove_scratch(self._scratch)
            self._scratch = None

    def __enter__(self) -> Self:
        """Return the replica itself."""
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        """Close the replica."""
        self.close()

    # ---- reading ----

    @contextmanager
    def reading(self) -> Iterator[tuple[StoreView, VersionContent]]:
        """One version, unchanged for as long as the block lasts; `QueryError` if there is none yet."""
        with self._store.view() as view:
            data = view.content()
            if data is None or (content := self._content(data)) is None:
                raise QueryError(self._nothing_text(), 503)
            yield view, content

    def status(self) -> ReplicaStatus:
        """What is held now."""
        progress = self._follower.progress
        with self._store.view() as view:
            data = view.content()
            content = None if data is None else self._content(data)
        newest = None if progress.newest is None else progress.newest[0]
        if content is None:
            return ReplicaStatus(self.checkpoint, *self._job(), None, None, newest, progress.problem)
        job = (content.job_id, content.job_name)
        return ReplicaStatus(self.checkpoint, *job, content.version, content.sealed_ms, newest, progress.problem)

    @property
    def problem(self) -> str | None:
        """Why the newest version is not the one that is held, if something is wrong."""
        return self._follower.progress.problem

    def _content(self, data: bytes) -> VersionContent | None:
        parsed = self._parsed
        if parsed is None or parsed[0] != data:
            content = parsed_content(data)
            if content is None:
                return None
            parsed = self._parsed = data, VersionContent.of(content)
        return parsed[1]

    def _nothing_text(self) -> str:
        problem = self._follower.progress.problem
        reason = "" if problem is None else f" ({problem})"
        return f"the job of {self.checkpoint} has no sealed version that can be read yet{reason}"

    def _job(self) -> tuple[Any, Any]:
        try:
            job = self._follower.directory.read_job()
        except PenstockError:
            job = None
        return (None, None) if job is None else (job.get("job_id"), job.get("job_name"))
