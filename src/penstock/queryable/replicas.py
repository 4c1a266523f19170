"""The replicas of many jobs: found by id, beginning of an id, or name; each is opened when it is first asked."""

from __future__ import annotations

import os
import threading
import time
import urllib.parse
from collections.abc import Callable, Iterable
from dataclasses import asdict, dataclass
from typing import Any

from pyarrow import fs

from penstock.checkpoint import CheckpointDirectory
from penstock.checkpoint.directory import absolute_uri, resolve
from penstock.errors import CheckpointError, PenstockError, QueryError
from penstock.queryable.replica import Replica

_LOOK_SECONDS = 1.0  # how long what was found in the directories counts
_LEAST_DIGITS = 6


@dataclass(frozen=True)
class JobPlace:
    """A job and its checkpoint directory; `sealed_ns` is when its newest version was sealed, 0 if it has none."""

    job_id: str
    job_name: str
    checkpoint: str
    sealed_ns: int


class Replicas:
    """Replicas of the jobs whose checkpoint directories `places` names each time it is called.

    A place is a checkpoint directory, or a folder of such directories. With `store`, copies are kept below that
    directory and outlive the process. A replica that nobody asks for `idle_seconds` is closed.
    """

    def __init__(
        self,
        places: Callable[[], Iterable[str]] | Iterable[str],
        *,
        store: str | None = None,
        allows_pickles: bool = False,
        poll_seconds: float = 0.2,
        idle_seconds: float = 900.0,
    ) -> None:
        """Open nothing yet."""
        if callable(places):
            self._places: Callable[[], Iterable[str]] = places
        else:
            given = list(places)
            self._places = lambda: given
        self._store = store
        self._options: dict[str, Any] = {"allows_pickles": allows_pickles, "poll_seconds": poll_seconds}
        self._idle_seconds = idle_seconds
        self._lock = threading.Lock()
        self._open: dict[str, Replica] = {}
        self._used: dict[str, float] = {}
        self._found: tuple[float, list[JobPlace]] = (float("-inf"), [])
        self._answers: dict[str | None, tuple[float, Replica]] = {}

    def quickly_found(self, job: str | None) -> Replica | None:
        """The replica of a job if it is open and was found a moment ago; costs next to nothing."""
        found = self._answers.get(job)
        now = time.monotonic()
        if found is None or now - found[0] > _LOOK_SECONDS:
            return None
        self._used[found[1].checkpoint] = now
        return found[1]

    def find(self, job: str | None) -> Replica:
        """The replica of a job, opened and brought up to its newest version if it was not; None means the only job."""
        found = self.quickly_found(job)
        if found is not None:
            return found
        with self._lock:
            place = chosen(self.jobs(), job)
            replica = self._opened(place.checkpoint)
            now = time.monotonic()
            self._answers[job] = now, replica
            self._used[place.checkpoint] = now
            self._close_idle(now)
        return replica

    def jobs(self) -> list[JobPlace]:
        """The jobs that there are, the newest first."""
        found_at, known = self._found
        if time.monotonic() - found_at > _LOOK_SECONDS:
            found = [place for given in self._places() for place in _jobs_at(given)]
            known = sorted(found, key=lambda place: place.sealed_ns, reverse=True)
            self._found = time.monotonic(), known
        return known

    def statuses(self) -> list[dict[str, Any]]:
        """The jobs as JSON can have them, with what is held of those that are open."""
        statuses = []
        for place in self.jobs():
            replica = self._open.get(place.checkpoint)
            held = None if replica is None else asdict(replica.status())
            sealed_ms = place.sealed_ns // 1_000_000 or None
            found = {"job_id": place.job_id, "job_name": place.job_name, "checkpoint": place.checkpoint}
            statuses.append({**found, "last_sealed_ms": sealed_ms, "replica": held})
        return statuses

    def close(self) -> None:
        """Close all replicas."""
        with self._lock:
            self._answers.clear()
            while self._open:
                self._open.popitem()[1].close()

    def _opened(self, checkpoint: str) -> Replica:
        replica = self._open.get(checkpoint)
        if replica is None:
            store = None if self._store is None else os.path.join(self._store, urllib.parse.quote(checkpoint, safe=""))
            replica = Replica(checkpoint, store, **self._options)
            replica.refresh()
            self._open[checkpoint] = replica.start()
        return replica

    def _close_idle(self, now: float) -> None:
        for checkpoint in [name for name in self._open if now - self._used.get(name, now) > self._idle_seconds]:
            self._answers = {job: kept for job, kept in self._answers.items() if kept[1].checkpoint != checkpoint}
            self._open.pop(checkpoint).close()


def chosen(places: list[JobPlace], job: str | None) -> JobPlace:
    """The job that is meant; of several of one name the one that was sealed last, as after a restart elsewhere."""
    known = ", ".join(f"{place.job_name!r} ({place.job_id[:12]})" for place in places) or "none"
    if job is None:
        if len(places) == 1:
            return places[0]
        raise QueryError(f"say which job is meant: there are {known}" if places else "there is no job here", 404)
    by_id = [place for place in places if place.job_id == job]
    by_name = [place for place in places if place.job_name == job]
    by_digits = [place for place in places if len(job) >= _LEAST_DIGITS and place.job_id.startswith(job)]
    found = by_id or by_name or by_digits
    if found:
        return found[0]
    raise QueryError(f"there is no job {job!r} here: there are {known}", 404)


def _jobs_at(place: str) -> list[JobPlace]:
    """The job of a checkpoint directory, or the jobs of the directories in a folder."""
    try:
        found = _job_at(place)
        return [found] if found is not None else [each for each in map(_job_at, _folders_in(place)) if each is not None]
    except PenstockError:
        return []  # a directory that is being made or removed; a query of it says what is wrong


def _job_at(place: str) -> JobPlace | None:
    directory = CheckpointDirectory(place)
    job = directory.read_job()
    if job is None:
        return None
    sealed = max((time_ns for time_ns, _ in directory.seal_files().values()), default=0)
    return JobPlace(str(job["job_id"]), str(job["job_name"]), absolute_uri(place), sealed)


def _folders_in(place: str) -> list[str]:
    filesystem, path = resolve(place)
    try:
        infos = filesystem.get_file_info(fs.FileSelector(path, allow_not_found=True))
    except OSError as error:
        raise CheckpointError(f"{place} cannot be read: {error}") from None
    uri = absolute_uri(place).rstrip("/")
    return [f"{uri}/{info.base_name}" for info in infos if info.type == fs.FileType.Directory]
