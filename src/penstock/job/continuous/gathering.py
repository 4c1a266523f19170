"""The driver's side of barriers: a version is complete when every task has passed its barrier, and final in order."""

from __future__ import annotations

import time
from dataclasses import dataclass, field

from penstock.checkpoint import Seal
from penstock.job.continuous.floors import Floors
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

    passed: set[tuple[int, int]] = field(default_factory=set)
    reports: list[Report] = field(default_factory=list)
    offsets: dict[int, Offset] = field(default_factory=dict)
    arrived: list[ExchangeRow] = field(default_factory=list)


class VersionGathering:
    """Collects what the tasks of an attempt report, and has versions made final."""

    def __init__(self, versions: VersionDriver, sources: SourceList, floors: Floors) -> None:
        self._versions = versions
        self._sources = sources
        self._floors = floors
        self._waiting: dict[int, _Gathered] = {}
        self._started: dict[int, float] = {}

    def on_barrier_sent(self, version: int) -> None:
        """Remember when a version began to be cut."""
        self._started[version] = time.monotonic()

    def add_row(self, version: int, row: ExchangeRow) -> None:
        """Keep a row for the driver's own sinks until its version is final."""
        self._of(version).arrived.append(row)

    def add(self, floor: int, number: int, turned: Turned) -> None:
        """A task has passed a barrier."""
        found = self._of(turned.version)
        found.passed.add((floor, number))
        found.reports += turned.reports
        if turned.offset is not None:
            found.offsets[number] = turned.offset

    def is_complete(self, version: int) -> bool:
        """Whether all tasks have passed the barrier of a version."""
        return version in self._waiting and len(self._waiting[version].passed) == self._floors.task_count

    def missing(self, version: int) -> list[tuple[int, int]]:
        """The tasks, by floor and number, that have not passed the barrier of a version."""
        tasks = ((floor, number) for floor in self._floors.numbers() for number in range(self._floors.width(floor)))
        return [task for task in tasks if task not in self._of(version).passed]

    def complete(self, version: int) -> Seal:
        """Make a version final whose barrier all tasks have passed."""
        found = self._waiting.pop(version)
        offset = merged_offset([found.offsets[number] for number in range(self._floors.source_tasks)], self._sources)
        started = self._started.pop(version, None)
        return self._versions.complete_version(version, found.reports, offset, arrived=found.arrived, started=started)

    def _of(self, version: int) -> _Gathered:
        return self._waiting.setdefault(version, _Gathered())
