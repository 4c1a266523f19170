"""A station: the subtasks that share one task of continuous mode, and the versions they go through together.

A station is fed rows and looks at the clock when it is told to. What it has for others waits in lists until the engine
takes it: rows for the next level, and reports for the driver. It knows no threads, sockets or files.
"""

from __future__ import annotations

from collections import deque
from collections.abc import Callable, Iterable
from dataclasses import dataclass, field, replace
from functools import partial
from typing import Protocol

from penstock.runtime import rows
from penstock.runtime.continuous.alignment import BarrierAligner, barrier
from penstock.runtime.continuous.flow import mark_rows
from penstock.runtime.report import ALIGNMENT, Report, SubtaskEntry
from penstock.runtime.rows import ExchangeRow
from penstock.runtime.source_tasks import Offset
from penstock.runtime.subtask import OpenedState, Subtask
from penstock.state.versions import StateVersion, WriteVersion


class StationHost(Protocol):
    """What an engine provides for a station."""

    attempt: str

    def subtask(self, vertex: int, number: int) -> Subtask:
        """A new copy of a subtask, its functions opened."""

    def entry(self, vertex_uid: str, number: int) -> SubtaskEntry:
        """What the last sealed version left of a subtask."""

    def open_state(self, subtask: Subtask, version: StateVersion) -> OpenedState:
        """The keyed state of a subtask at a version."""

    def now_ms(self) -> int:
        """Processing time."""

    def write_later(self, write: Callable[[], None]) -> None:
        """Do the slow part of a version, writing its files, when and where it suits the engine; one after the other."""

    def wait_for_writes(self) -> None:
        """Return when what `write_later` was given has ended, well or not."""


@dataclass(frozen=True)
class Place:
    """Where a station is: its number in its level, and how many tasks send to it and take from it.

    `version` is the first version that it makes. Rows for the vertices in `driver` go to the driver and no task.
    """

    number: int
    senders: int
    targets: int
    version: int
    driver: frozenset[int] = frozenset()


@dataclass
class Turned:
    """What a station tells the driver when it has passed a barrier; `offset` tells it of sources."""

    version: int
    reports: list[Report] = field(default_factory=list)
    offset: Offset | None = None


class Station:
    """Subtasks that run together. Subclasses say what makes them run: rows of other tasks, or sources."""

    def __init__(self, host: StationHost, place: Place, vertices: Iterable[int]) -> None:
        """Open the subtasks at the last sealed version; one that has ended by then stays closed."""
        self._host = host
        self.place = place
        self.version = place.version
        self.outgoing: list[ExchangeRow] = []
        self.for_driver: list[tuple[int, ExchangeRow]] = []
        self._turned: deque[Turned] = deque()  # another thread may add to it
        self.marks: dict[int, int] = {}
        self.take_figures: Callable[[], dict[str, float]] = dict
        """What the engine has measured of the task since the last version; subtasks that share a task share it."""
        self.subtasks: dict[int, Subtask] = {}
        for vertex in vertices:
            subtask = host.subtask(vertex, place.number)
            entry = host.entry(subtask.vertex.uid, place.number)
            if entry.has_ended:
                subtask.close()
            else:
                self._begin(subtask, entry)
                self.subtasks[vertex] = subtask

    def on_processing_time(self, now_ms: int) -> None:
        """Fire timers that are due."""
        for subtask in self.subtasks.values():
            if not subtask.has_ended:
                subtask.on_processing_time(now_ms)
                self._give_out(subtask.take_rows())

    def on_interval(self, now_ms: int) -> None:
        """Emit periodic watermarks and notice idleness."""
        for subtask in self.subtasks.values():
            subtask.on_interval(now_ms)
            self._give_out(subtask.take_rows())

    def flush(self) -> None:
        """Send what has waited for more records."""
        for subtask in self.subtasks.values():
            subtask.flush()
            self._give_out(subtask.take_rows())

    def next_deadline(self) -> int | None:
        """When the station wants to see the clock at the latest."""
        deadlines = [subtask.next_deadline() for subtask in self.subtasks.values()]
        return min((each for each in deadlines if each is not None), default=None)

    def take_outgoing(self) -> list[ExchangeRow]:
        """The rows for other tasks since the last call, in their order."""
        taken, self.outgoing = self.outgoing, []
        return taken

    def take_for_driver(self) -> list[tuple[int, ExchangeRow]]:
        """The rows for the driver's sinks since the last call, each with the version it belongs to."""
        taken, self.for_driver = self.for_driver, []
        return taken

    def take_turned(self) -> list[Turned]:
        """The versions that were finished here since the last call."""
        return [self._turned.popleft() for _ in range(len(self._turned))]

    def take_marks(self) -> dict[int, int]:
        """The last mark of each sender that was come to since the last call."""
        taken, self.marks = self.marks, {}
        return taken

    def send_mark(self, number: int) -> None:
        """Send all results so far, and a mark behind them."""
        self.flush()
        self.outgoing += mark_rows(self.place.number, self.place.targets, number)

    def turn(self) -> None:
        """End the version here: report, send the barrier on, and begin the next version.

        The files of keyed state are written while the next version is worked on; the driver is told after that.
        """
        done = Turned(self.version, offset=self._offset())
        figures = self.take_figures()
        unwritten: list[tuple[Report, WriteVersion | None]] = []
        for vertex, subtask in list(self.subtasks.items()):
            report, write = (subtask.finish(), None) if subtask.has_ended else subtask.turn()
            self._give_out(subtask.take_rows())
            self._add_figures(subtask, report, figures)
            unwritten.append((report, write))
            if report.entry.has_ended:
                del self.subtasks[vertex]
                subtask.close()
        self.outgoing += [barrier(target, self.version) for target in range(self.place.targets)]
        self.version += 1
        for report, _ in unwritten:
            if not report.entry.has_ended:
                self._begin(self._of(report), report.entry)
        self._host.write_later(partial(self._write, done, unwritten))

    def _write(self, done: Turned, unwritten: list[tuple[Report, WriteVersion | None]]) -> None:
        for report, write in unwritten:
            entry = report.entry if write is None else replace(report.entry, state=write())
            done.reports.append(replace(report, entry=entry))
        self._turned.append(done)

    def _offset(self) -> Offset | None:
        """Where sources stand that this station has."""
        return None

    def abort(self) -> None:
        """The attempt is over: what came behind the last barrier is left to the next one."""
        self._host.wait_for_writes()
        for subtask in self.subtasks.values():
            subtask.abort()

    def close(self) -> None:
        """Close the functions."""
        while self.subtasks:
            self.subtasks.popitem()[1].close()

    def _give_out(self, rows_out: list[ExchangeRow]) -> None:
        if not self.place.driver:
            self.outgoing += rows_out
            return
        for row in rows_out:
            if row.vertex in self.place.driver:
                self.for_driver.append((self.version, row))
            else:
                self.outgoing.append(row)

    def _add_figures(self, subtask: Subtask, report: Report, figures: dict[str, float]) -> None:
        report.metrics.setdefault(subtask.head_uid, {}).update(figures)

    def _of(self, report: Report) -> Subtask:
        return next(each for each in self.subtasks.values() if each.vertex.uid == report.vertex_uid)

    def _begin(self, subtask: Subtask, entry: SubtaskEntry) -> None:
        state = entry.state
        subtask.begin(self.version, self._host.attempt, entry, lambda: self._host.open_state(subtask, state))


class LevelStation(Station):
    """The subtasks of one level in one task, fed by the tasks of the level before.

    Rows for later levels pass through in their order, as they do between micro-batches.
    """

    def __init__(self, host: StationHost, place: Place, vertices: Iterable[int]) -> None:
        super().__init__(host, place, vertices)
        self.aligner = BarrierAligner(place.senders, place.version)
        self._aligning_since: int | None = None

    def take(self, sender: int, row: ExchangeRow) -> None:
        """Take a row from a task of the level before."""
        for each in self.aligner.take(sender, row):
            if each.kind == rows.BARRIER:
                self.turn()
            elif each.kind == rows.MARK:
                self.marks[each.src] = rows.decode_number(each.payload)
            else:
                self._work(each)
        if self._aligning_since is None and self.aligner.is_aligning:
            self._aligning_since = self._host.now_ms()

    def turn(self) -> None:
        """End the version, all of whose barriers have come."""
        super().turn()
        self._aligning_since = None

    def _add_figures(self, subtask: Subtask, report: Report, figures: dict[str, float]) -> None:
        waited = 0 if self._aligning_since is None else self._host.now_ms() - self._aligning_since
        super()._add_figures(subtask, report, {**figures, ALIGNMENT: waited})
        report.combined_by.setdefault(subtask.head_uid, {})[ALIGNMENT] = "last"

    def _work(self, row: ExchangeRow) -> None:
        subtask = self.subtasks.get(row.vertex)
        if subtask is None:
            self._give_out([row])
        else:
            subtask.process(row)
            self._give_out(subtask.take_rows())
