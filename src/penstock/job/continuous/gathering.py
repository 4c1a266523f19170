"""The driver's side of barriers: a version is complete when every task has passed its barrier, and final in order."""

from __future__ import annotations

import time
from dataclasses import dataclass, field

from penstock.checkpoint import Seal
from penstock.job.continuous.offsets import merged_offset
from penstock.job.intake import SourceList
from penstock.job.versions import VersionDriver
from penstock.runtime.continuous.station import Turned
from penstock.runtime.report import Report
from penstock.runtime.rows import ExchangeRow
from penstock.runtime.source_tasks import Offset


@dataclass
class _Gathered:
    """What is known of a version that is not complete yet."""

    passed: int = 0
    reports: list[Report] = field(default_factory=list)
    offsets: dict[int, Offset] = field(default_factory=dict)
    arrived: list[ExchangeRow] = field(default_factory=list)


class VersionGathering:
    """Collects what the tasks of an attempt report, and has versions made final."""

    def __init__(self, versions: VersionDriver, sources: SourceList, *, source_tasks: int, level_tasks: int) -> None:
        self._versions = versions
        self._sources = sources
        self._source_tasks = source_tasks
        self._tasks = source_tasks + level_tasks
        self._waiting: dict[int, _Gathered] = {}
        self._started: dict[int, float] = {}

    def on_barrier_sent(self, version: int) -> None:
        """Remember when a version began to be cut."""
        self._started[version] = time.monotonic()

    def add_row(self, version: int, row: ExchangeRow) -> None:
        """Keep a row for the driver's own sinks until its version is final."""
        self._of(version).arrived.append(row)

    def add(self, number: int, turned: Turned) -> None:
        """A task has passed a barrier; `number` is that of a source task, or of no importance."""
        found = self._of(turned.version)
        found.passed += 1
        found.reports += turned.reports
        if turned.offset is not None:
            found.offsets[number] = turned.offset

    def is_complete(self, version: int) -> bool:
        """Whether all tasks have passed the barrier of a version."""
        return version in self._waiting and self._waiting[version].passed == self._tasks

    def complete(self, version: int) -> Seal:
        """Make a version final whose barrier all tasks have passed."""
        found = self._waiting.pop(version)
        offset = merged_offset([found.offsets[number] for number in range(self._source_tasks)], self._sources)
        started = self._started.pop(version, None)
        return self._versions.complete_version(version, found.reports, offset, arrived=found.arrived, started=started)

    def _of(self, version: int) -> _Gathered:
        return self._waiting.setdefault(version, _Gathered())
