"""Continuous mode in this process: stations joined by channels, fed in an order that chance decides.

The same stations, barriers and versions as on Spark, without threads: a seed chooses which source reads, which channel
delivers its next row and when a barrier is sent, so that a run can be repeated.
"""

from __future__ import annotations

from collections import deque
from collections.abc import Callable, Sequence
from functools import partial

from penstock.engine.in_process.batches import BatchRunner
from penstock.engine.in_process.program_files import working_directory
from penstock.job.continuous.floors import Floors
from penstock.job.continuous.gathering import VersionGathering
from penstock.job.continuous.source_station import SourceStation
from penstock.job.intake import IntakeRequest
from penstock.runtime import rows
from penstock.runtime.continuous.station import LevelStation, Station
from penstock.runtime.report import SubtaskEntry
from penstock.runtime.rows import ExchangeRow
from penstock.runtime.source_tasks import Offset
from penstock.runtime.subtask import Subtask
from penstock.state.versions import StateVersion, SubtaskState

_FLUSH_RATE = 0.1
_AHEAD_RATE = 0.5
_STEP_RATE = 0.05
"""How many deliveries are steps: a version has far more of them than a batch has tasks."""
Action = Callable[[], None]


class _Host:
    """What stations ask of an engine."""

    def __init__(self, runner: ContinuousRunner) -> None:
        self.attempt = f"{runner.seal.version}-{runner.steps}"
        self._runner = runner
        self._seal = runner.seal

    def subtask(self, vertex: int, number: int) -> Subtask:
        return self._runner.new_subtask(vertex, number)

    def entry(self, vertex_uid: str, number: int) -> SubtaskEntry:
        return self._seal.entry(vertex_uid, number)

    def open_state(self, subtask: Subtask, version: StateVersion) -> SubtaskState:
        return self._runner.open_state(subtask, version)

    def now_ms(self) -> int:
        return self._runner.clock()

    def write_later(self, write: Action) -> None:
        self._runner.write_later(write)

    def wait_for_writes(self) -> None:
        """What was not written by now dies with the process."""


class ContinuousRunner(BatchRunner):
    """Runs versions instead of batches; records of the next version may be under way before one is final."""

    _floors: Floors
    _sources: Sequence[SourceStation] = ()
    _levels: Sequence[list[LevelStation]] = ()
    _channels: dict[tuple[int, int, int], deque[ExchangeRow]]
    _gathering: VersionGathering
    _ahead: Offset | None = None

    def begin_process(self, attempt: int) -> None:
        """Open all stations at the last version; of those of a process that died, only open files are let go."""
        for station in self.stations():
            station.abort()
        super().begin_process(attempt)
        self._floors = floors = Floors.of(self.plan)
        self._ahead = None
        self._channels = {}
        self._unwritten: list[Action] = []
        self._todo: list[deque[tuple[str, Action]]] = [deque() for _ in range(floors.source_tasks)]
        self._gathering = VersionGathering(self.versions, self.sources, floors)
        host, first = _Host(self), self.seal.version + 1
        with working_directory(self.place):
            # From the last floor to the first, as operators are opened: what is fed is ready before its feeder.
            self._levels = [self._level(host, floor, first) for floor in range(len(floors.levels), 0, -1)][::-1]
            self._sources = [
                SourceStation(host, floors.place(0, number, first), self.sources, self.offset)
                for number in range(floors.source_tasks)
            ]

    def _level(self, host: _Host, floor: int, first: int) -> list[LevelStation]:
        level = self._floors.levels[floor - 1]
        return [
            LevelStation(host, self._floors.place(floor, number, first), level.vertices_of(number))
            for number in range(level.width)
        ]

    def stations(self) -> list[Station]:
        """All stations, sources first."""
        return [*self._sources, *(station for level in self._levels for station in level)]

    def close_functions(self) -> None:
        """Close the functions of all stations."""
        with working_directory(self.place):
            for station in self.stations():
                station.abort()
                self._subtasks |= {(vertex, station.place.number): each for vertex, each in station.subtasks.items()}
                station.subtasks.clear()
        super().close_functions()

    # ---- versions ----

    def run_batch(self, choose_end: Callable[[], Offset | None]) -> bool:
        """Send a barrier where the sources have come to a chosen end, and make its version final."""
        version = self.seal.version + 1
        end = self._ahead
        if end is None:
            end = choose_end()
            if end is None:
                return False
        self.step("plan", version)
        with self.versions.being_made(version), working_directory(self.place):
            self._run_version(version, end)
        self.step("go on", version)
        return True

    def _run_version(self, version: int, end: Offset) -> None:
        self.step("begin", end.to_json())
        if self._ahead is None:
            self.set_clock(end)
            for station in self.stations():
                station.on_processing_time(self.clock())
                self._send(station)
            self._plan_reading(self.offset, end)
        self._ahead = None
        for number, station in enumerate(self._sources):
            self._todo[number].append(("source", station.turn))
        while not self._gathering.is_complete(version):
            self._do_something(end)
        self.seal = self._gathering.complete(version)
        self.offset = end

    def _plan_reading(self, start: Offset, end: Offset) -> None:
        for number, station in enumerate(self._sources):
            for task in self.chances.ordered(station.tasks(start, end)):
                self._todo[number].append((f"source {task}", partial(station.read, task)))
            self._todo[number].append(("source", partial(_move, station, end)))

    def _do_something(self, end: Offset) -> None:
        """One step of one station, chosen by chance; without a seed, sources first and then level after level."""
        reading = [number for number, todo in enumerate(self._todo) if todo]
        waiting = [key for key, channel in self._channels.items() if channel]
        if self.chances.random is None:
            if reading:
                self._read(reading[0])
            else:
                self._deliver_floor()
            return
        choices: list[Action] = [partial(self._read, number) for number in reading]
        choices += [partial(self._deliver, key) for key in waiting]
        choices += [partial(self._write, number) for number in range(len(self._unwritten))]
        assert choices, "a barrier is under way, so something can be done"
        self.chances.random.choice(choices)()
        if not reading and self._ahead is None and self.chances.happens(_AHEAD_RATE):
            self._read_ahead(end)
        if self.chances.happens(_FLUSH_RATE):
            self._flush(self.chances.random.choice(self.stations()))

    def write_later(self, write: Action) -> None:
        """Write the files of a station's version at once, or when chance decides."""
        if self.chances.random is None:
            write()
        else:
            self._unwritten.append(write)

    def _write(self, number: int) -> None:
        self.step("write", f"[{number}]")
        self._unwritten.pop(number)()
        for station in self.stations():
            self._send(station)

    def _flush(self, station: Station) -> None:
        station.on_interval(self.clock())
        station.flush()
        self._send(station)

    def _read_ahead(self, end: Offset) -> None:
        """Let sources that have sent their barrier read records of the next version, before this one is final."""
        if self.sources.scripts_clock() or end.draining:
            return
        now = self.clock()
        further = self.sources.next_offset(end, IntakeRequest(paused=self.paused()), now_ms=now, elapsed_ms=now)
        if further != end:
            self._ahead = self.chances.cut(end, further)
            self._plan_reading(end, self._ahead)

    def _read(self, number: int) -> None:
        kind, action = self._todo[number].popleft()
        self.step("source", f"{kind} [{number}]")
        action()
        self._send(self._sources[number])

    def _deliver(self, key: tuple[int, int, int]) -> None:
        floor, sender, target = key
        row = self._channels[key].popleft()
        station = self._levels[floor - 1][target]
        if self.chances.random is None or _is_barrier(row) or self.chances.happens(_STEP_RATE):
            kind = "align" if _is_barrier(row) else "operator"
            self.step(kind, f"{floor}[{target}] {sender}:{row.src}:{row.seq}")
        station.take(sender, row)
        self._send(station)

    def _deliver_floor(self) -> None:
        """Deliver what waits for the lowest floor that has something, in the order that micro-batches have."""
        lowest = min(floor for (floor, _, _), channel in self._channels.items() if channel)
        for target in range(self._floors.width(lowest)):
            mine = [key for key in self._channels if key[0] == lowest and key[2] == target]
            waiting = [(key, row) for key in mine for row in self._channels[key]]
            waiting.sort(key=lambda each: (_is_barrier(each[1]), each[1].seq, each[1].src))
            for key, _ in waiting:
                self._deliver(key)

    def _send(self, station: Station) -> None:
        """Put what a station has for others into channels, and tell the driver what it has to know."""
        floor = 0 if isinstance(station, SourceStation) else self._floor_of(station)
        number = station.place.number
        for row in station.take_outgoing():
            target = row.target % self._floors.width(floor + 1)
            self._channels.setdefault((floor + 1, number, target), deque()).append(row)
        for version, row in station.take_for_driver():
            if not self.sinks.show_at_once(row):
                self._gathering.add_row(version, row)
        for turned in station.take_turned():
            self._gathering.add(floor, number, turned)

    def _floor_of(self, station: Station) -> int:
        return next(floor for floor, level in enumerate(self._levels, 1) if station in level)


def _move(station: SourceStation, end: Offset) -> None:
    station.offset = end


def _is_barrier(row: ExchangeRow) -> bool:
    return row.kind == rows.BARRIER
