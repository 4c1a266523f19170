"""Requests for savepoints of a running job: they wait for the end of a version, and are served in the job's thread.

`penstock.savepoint` says what is in a savepoint, and the engine writes its parts.
"""

from __future__ import annotations

import time
from collections import deque
from collections.abc import Callable
from concurrent.futures import Future
from contextlib import AbstractContextManager, ExitStack, suppress
from dataclasses import dataclass, field
from functools import partial
from typing import Protocol, TypeVar

from penstock.checkpoint import CheckpointDirectory, Seal
from penstock.errors import CheckpointError
from penstock.graph.plan import JobPlan
from penstock.job.journal import JobJournal, SavepointRecord, now_ms
from penstock.savepoint import CheckpointOrigin, begin_savepoint, finish_savepoint
from penstock.savepoint.writing import PartOrder, PartResult, SavepointDraft, savepoint_place

# A batch may take long, and who serves has other things to look after.
_PATIENCE_SECONDS = 0.05

Result = TypeVar("Result")


@dataclass(eq=False)
class SavepointRequest:
    """What a client asked for: a savepoint in a directory, and perhaps the end of the job, drained or as it is."""

    directory: str | None
    stops: bool = False
    drains: bool = False
    path: Future[str] = field(default_factory=Future)


class VersionBoundary(Protocol):
    """Where a job can be looked at between two versions."""

    def between_versions(self, patience_seconds: float) -> AbstractContextManager[Seal | None]:
        """The last version, with none being made meanwhile; None if one is being made, or nothing is final yet."""

    def stop(self) -> None:
        """Let no version become final any more."""


class SavepointDesk:
    """Takes the requests of a job's clients, from any thread, and serves them in that of the job."""

    def __init__(
        self,
        plan: JobPlan,
        directory: CheckpointDirectory,
        job_id: str,
        default: str | None,
        write_parts: Callable[[list[PartOrder]], list[PartResult]],
    ) -> None:
        """Write to `default` where a request names no directory."""
        self._plan = plan
        self._directory = directory
        self._job_id = job_id
        self._default = default
        self._write_parts = write_parts
        self._waiting: deque[SavepointRequest] = deque()
        self._closed_by: BaseException | None = None

    def take(self, request: SavepointRequest) -> None:
        """Note a request; its future tells what becomes of it."""
        self._waiting.append(request)
        if self._closed_by is not None:
            self.close(self._closed_by)

    def withdraw(self, request: SavepointRequest) -> bool:
        """Take a request off the list; False if it is no longer on it: it is being served, or nobody waits for it."""
        try:
            self._waiting.remove(request)
        except ValueError:
            return False
        return True

    def wants_drain(self) -> bool:
        """Whether a client waits for the job to come to its end."""
        return any(request.drains for request in list(self._waiting))

    def serve(self, versions: VersionBoundary) -> bool:
        """Serve what can be served while the job runs; returns whether it is to stop now."""
        for request in [each for each in list(self._waiting) if not each.drains]:
            if request.stops:
                if self._serve_stopping(request, versions):
                    return True
            else:
                self._serve_beside(request, versions)
        return False

    def serve_ended(self) -> None:
        """Serve what is left when the job has come to its end."""
        seal = self._directory.last_seal()
        while self._waiting and seal is not None:
            self._write_whole(self._waiting.popleft(), seal)

    def serve_resting(self, last_version: Callable[[], Seal | None]) -> bool:
        """Serve what can be served while the job waits for its restart; returns whether it is to end instead."""
        for request in [each for each in list(self._waiting) if not each.drains]:
            if not self.withdraw(request):
                continue
            seal = _attempt(request, last_version)
            if seal is None:
                if not request.path.done():
                    request.path.set_exception(
                        CheckpointError("the job failed before its first batch, so there is nothing to save")
                    )
                continue
            if self._write_whole(request, seal) and request.stops:
                return True
        return False

    def close(self, error: BaseException) -> None:
        """The job has ended: fail what is left, and what may still come."""
        self._closed_by = error
        with suppress(IndexError):  # a client may close what it has just asked for while the job closes the rest
            while True:
                self._waiting.popleft().path.set_exception(error)

    def _serve_stopping(self, request: SavepointRequest, versions: VersionBoundary) -> bool:
        """Nothing may become final between the savepoint and the end; if it cannot be written, the job goes on."""
        with versions.between_versions(_PATIENCE_SECONDS) as seal:
            if seal is None or not self.withdraw(request):
                return False
            is_written = self._write_whole(request, seal)
            if is_written:
                versions.stop()
            return is_written

    def _serve_beside(self, request: SavepointRequest, versions: VersionBoundary) -> None:
        """What the next batch changes is copied before it can run; the rest is pinned, and written beside it."""
        with ExitStack() as pins:
            with versions.between_versions(_PATIENCE_SECONDS) as seal:
                if seal is None or not self.withdraw(request):
                    return
                pins.enter_context(self._directory.pinned(seal.version))
                draft = _attempt(request, partial(self._begin, request, seal))
            if draft is not None:
                self._finish(request, draft)

    def _write_whole(self, request: SavepointRequest, seal: Seal) -> bool:
        draft = _attempt(request, partial(self._begin, request, seal))
        return draft is not None and self._finish(request, draft)

    def _begin(self, request: SavepointRequest, seal: Seal) -> SavepointDraft:
        place = savepoint_place(request.directory, self._default)
        origin = CheckpointOrigin(self._directory, seal, self._plan.fingerprint(), self._plan.name, self._job_id)
        return begin_savepoint(origin, self._plan, place)

    def _finish(self, request: SavepointRequest, draft: SavepointDraft) -> bool:
        now_ms = time.time_ns() // 1_000_000
        path = _attempt(request, lambda: finish_savepoint(draft, self._write_parts, now_ms))
        if path is not None:
            request.path.set_result(path)
        return path is not None


def note_savepoint(journal: JobJournal, request: SavepointRequest) -> None:
    """Have a journal told what becomes of a request."""
    began_ms = now_ms()

    def note(path: Future[str]) -> None:
        error = path.exception()
        where = None if error is not None else path.result()
        why = None if error is None else str(error)
        journal.on_savepoint(SavepointRecord(began_ms, now_ms(), request.stops, where, why))

    request.path.add_done_callback(note)


def _attempt(request: SavepointRequest, action: Callable[[], Result]) -> Result | None:
    """A savepoint that cannot be written fails its request, and nothing else."""
    try:
        return action()
    except Exception as error:
        request.path.set_exception(error)
        return None
