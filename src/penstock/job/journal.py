"""What a job remembers of its own life, to be asked for from outside: states, versions, failures, subtasks.

It grows with the number of subtasks, not with time: only the last versions, savepoints and failures are kept.
"""

from __future__ import annotations

import threading
import time
from collections import deque
from collections.abc import Callable, Iterable
from dataclasses import dataclass, field

from penstock.checkpoint import Seal
from penstock.common.constants import MIN_WATERMARK
from penstock.common.job_failure import JobFailure
from penstock.runtime.report import BACKPRESSURED, BUSY, IDLE, Report, SubtaskEntry

VERSIONS_KEPT = 200
DETAILED_VERSIONS = 20
"""Of so many versions it is known what each subtask wrote."""

_FAILURES_KEPT = 50
_SAVEPOINTS_KEPT = 50

COMBINED_BY: dict[str, Callable[[float, float], float]] = {
    "sum": lambda total, value: total + value,
    "min": min,
    "max": max,
    "last": lambda total, value: value,
}
"""How figures of several batches become one, by the word that a report has for it."""


def now_ms() -> int:
    """The time as clients read it."""
    return time.time_ns() // 1_000_000


@dataclass(frozen=True)
class VersionTimes:
    """When a version was begun and made final, and where the time went: work of the tasks, seal, publication."""

    began_ms: int
    work_ms: int
    seal_ms: int
    publish_ms: int
    alignment_ms: int = 0
    """Continuous mode: how long the first barrier waited for the others, in the task where it waited longest."""


@dataclass(frozen=True)
class VersionRecord:
    """A version that is final. `written` has the bytes of state that each subtask has in all, and wrote for it."""

    version: int
    times: VersionTimes
    sealed_ms: int
    records: int
    state_bytes: int
    written_bytes: int
    subtasks: int
    written: dict[str, list[tuple[int, int, int]]] | None = None


@dataclass(frozen=True)
class SavepointRecord:
    """A savepoint that somebody asked for: where it is, or why there is none."""

    began_ms: int
    ended_ms: int
    stops: bool
    path: str | None = None
    error: str | None = None


@dataclass
class SubtaskRecord:
    """What one subtask of a vertex has done since this process started the job."""

    figures: dict[str, dict[str, float]] = field(default_factory=dict)
    watermark: int = MIN_WATERMARK
    state_bytes: int = 0
    has_ended: bool = False
    load: dict[str, float] | None = None
    """Shares of the last version's time: busy, idle, backpressured; None if the engine does not measure them."""


class JobJournal:
    """Written by the threads of the job, read by anybody."""

    def __init__(self) -> None:
        self.status_ms: dict[str, int] = {"CREATED": now_ms()}
        self.restored_from: int | None = None
        self.versions_in_all = 0
        self._lock = threading.Lock()
        self._versions: deque[VersionRecord] = deque(maxlen=VERSIONS_KEPT)
        self._failures: deque[JobFailure] = deque(maxlen=_FAILURES_KEPT)
        self._savepoints: deque[SavepointRecord] = deque(maxlen=_SAVEPOINTS_KEPT)
        self._subtasks: dict[tuple[str, int], SubtaskRecord] = {}

    # ---- written by the job ----

    def on_status(self, status: str) -> None:
        """Note when a job came to a state; the last time counts."""
        self.status_ms[status] = now_ms()

    def on_version(
        self, previous: Seal, seal: Seal, reports: Iterable[Report], records: int, times: VersionTimes
    ) -> None:
        """Note a version that is final and published."""
        with self._lock:
            if self.versions_in_all == 0 and previous.version >= 0:
                self.restored_from = previous.version
            self.versions_in_all += 1
            written: dict[str, list[tuple[int, int, int]]] = {}
            for report in reports:
                self._note_subtask(report)
                sizes = (report.subtask, *_sizes(report.entry, previous.entry(report.vertex_uid, report.subtask)))
                written.setdefault(report.vertex_uid, []).append(sizes)
            state_bytes = sum(_state_bytes(entry) for entry in seal.entries.values())
            parts = [part for parts in written.values() for part in parts]
            self._versions.append(
                VersionRecord(
                    version=seal.version,
                    times=times,
                    sealed_ms=times.began_ms + times.work_ms + times.seal_ms,
                    records=records,
                    state_bytes=state_bytes,
                    written_bytes=sum(part[2] for part in parts),
                    subtasks=len(parts),
                    written=written,
                )
            )
            self._forget_details()

    def on_failure(self, failure: JobFailure) -> None:
        """Note a failure, whether the job is restarted or not."""
        self._failures.append(failure)

    def on_savepoint(self, record: SavepointRecord) -> None:
        """Note a savepoint that was written or could not be."""
        self._savepoints.append(record)

    def _note_subtask(self, report: Report) -> None:
        record = self._subtasks.setdefault((report.vertex_uid, report.subtask), SubtaskRecord())
        record.watermark = report.entry.watermark
        record.has_ended = report.entry.has_ended
        record.state_bytes = _state_bytes(report.entry)
        record.load = _load(report)
        for uid, figures in report.metrics.items():
            totals = record.figures.setdefault(uid, {})
            combined_by = report.combined_by.get(uid, {})
            for name, value in figures.items():
                combine = COMBINED_BY[combined_by.get(name, "sum")]
                totals[name] = combine(totals[name], value) if name in totals else value

    def _forget_details(self) -> None:
        """What subtasks wrote is much for jobs with many of them, so it is kept of the last versions only."""
        if len(self._versions) > DETAILED_VERSIONS:
            index = len(self._versions) - DETAILED_VERSIONS - 1
            self._versions[index] = _without_details(self._versions[index])

    # ---- read by anybody ----

    def versions(self) -> list[VersionRecord]:
        """The last versions, the oldest first."""
        with self._lock:
            return list(self._versions)

    def failures(self) -> list[JobFailure]:
        """The last failures, the oldest first."""
        return list(self._failures)

    def savepoints(self) -> list[SavepointRecord]:
        """The last savepoints, the oldest first."""
        return list(self._savepoints)

    def subtasks(self) -> dict[tuple[str, int], SubtaskRecord]:
        """What each subtask has done, by the uid of its vertex and its number."""
        with self._lock:
            return {
                key: SubtaskRecord(
                    {uid: dict(figures) for uid, figures in record.figures.items()},
                    record.watermark,
                    record.state_bytes,
                    record.has_ended,
                    record.load,
                )
                for key, record in self._subtasks.items()
            }


def _without_details(record: VersionRecord) -> VersionRecord:
    if record.written is None:
        return record
    return VersionRecord(**{**record.__dict__, "written": None})


def _load(report: Report) -> dict[str, float] | None:
    for figures in report.metrics.values():
        if IDLE in figures:
            busy, idle, held_back = figures[BUSY], figures[IDLE], figures[BACKPRESSURED]
            total = max(1.0, busy + idle + held_back)
            return {"busy": busy / total, "idle": idle / total, "backpressured": held_back / total}
    return None


def _state_bytes(entry: SubtaskEntry) -> int:
    return sum(file.bytes for file in entry.state.files) + len(entry.inline or b"")


def _sizes(entry: SubtaskEntry, before: SubtaskEntry) -> tuple[int, int]:
    """Bytes of all files of a state, and of those that are new since the version before."""
    known = {file.name for file in before.state.files}
    new = sum(file.bytes for file in entry.state.files if file.name not in known)
    return _state_bytes(entry), new + len(entry.inline or b"")
