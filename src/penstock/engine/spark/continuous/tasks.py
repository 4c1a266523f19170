"""What runs inside Spark's tasks in continuous mode: a station, fed by sources or by the tasks before it."""

from __future__ import annotations

import pickle
import queue
import sys
import threading
import time
import uuid
from collections.abc import Iterator
from dataclasses import dataclass

import pyarrow as pa
from pyspark import TaskContext

from penstock.checkpoint import CheckpointDirectory
from penstock.common.constants import MIN_WATERMARK
from penstock.engine.spark.continuous.carried_rows import contents_of, first_fillers, rows_of, sender_of, to_carried
from penstock.engine.spark.continuous.links import (
    BACK,
    BARRIER,
    DRAIN,
    END,
    HIGHEST,
    MARKS,
    SPLIT_TIMES,
    Address,
    Order,
    TaskLink,
)
from penstock.engine.spark.continuous.pace import LevelPace, SourcePace
from penstock.engine.spark.continuous.state_writer import StateWriter
from penstock.engine.spark.local_stores import local_path
from penstock.engine.spark.shipping import ShippedPlan, clock_of, subtask_of
from penstock.engine.spark.startup.worker_garbage import keep_collections_short
from penstock.errors import StorageFullError
from penstock.job.continuous.floors import Floors
from penstock.job.continuous.source_station import POLL_RECORDS, SourceStation
from penstock.job.intake import SourceList
from penstock.job.watermark_alignment import SplitTimes
from penstock.runtime.continuous.flow import FlowWindow
from penstock.runtime.continuous.station import LevelStation, Station
from penstock.runtime.failure import OperatorFailure
from penstock.runtime.report import BACKPRESSURED, BUSY, IDLE, SubtaskEntry
from penstock.runtime.source_tasks import Offset
from penstock.runtime.subtask import Subtask
from penstock.state.versions import StateVersion, SubtaskState

Batches = Iterator[pa.RecordBatch]

_FEW_RECORDS = 100
"""A source that had fewer has hardly any more: it looks again when it would send them, and not at once."""
_SWITCH_SECONDS = 0.001
_WAITING_BATCHES = 64
"""Record batches that wait in a task before Spark's shuffle has to: what bounds its memory."""
_MOST_LEFT = 1_000_000
"""Room for all that is left to read when a task ends before those that send to it."""
_END_SECONDS = 5.0
"""How long the tasks before may take to end after this one."""


@dataclass(frozen=True)
class Standing:
    """What all tasks of an attempt are told."""

    plan: ShippedPlan
    floors: Floors
    first_version: int
    address: Address
    linger_ms: int
    watermark_interval_ms: int
    alignment_interval_ms: int | None = None
    """How often source tasks tell the driver how far their splits have come, if anybody wants to know."""


class SparkStationHost:
    """What stations ask of an engine, in a task of Spark."""

    def __init__(self, standing: Standing) -> None:
        keep_collections_short()
        # The thread that reads the input waits for the lock of the one that works, and records wait for both.
        sys.setswitchinterval(_SWITCH_SECONDS)
        self.attempt = uuid.uuid4().hex[:12]
        self.now_ms = clock_of(standing.plan)
        self._plan = standing.plan
        self._directory = CheckpointDirectory(standing.plan.checkpoint_uri)
        self._seal = self._directory.read_seal(standing.first_version - 1)
        self.writer = StateWriter()
        self.write_later = self.writer.write_later
        self.wait_for_writes = self.writer.wait_for_writes

    def subtask(self, vertex: int, number: int) -> Subtask:
        """A copy of a subtask for this task."""
        return subtask_of(self._plan, vertex, number)

    def entry(self, vertex_uid: str, number: int) -> SubtaskEntry:
        """What the last sealed version left of a subtask."""
        return SubtaskEntry() if self._seal is None else self._seal.entry(vertex_uid, number)

    def open_state(self, subtask: Subtask, version: StateVersion) -> SubtaskState:
        """The keyed state of a subtask at a version."""
        return SubtaskState.open(
            self._directory.filesystem,
            self._directory.state_path(subtask.vertex.uid, subtask.subtask),
            version,
            local_path=local_path(self._plan, subtask),
            backend=self._plan.state_backend,
        )


def run_source_task(standing: Standing, sources: bytes, start: Offset, batches: Batches) -> Batches:
    """Read sources until the driver says that this is the end."""
    for _ in batches:  # the rows of the frame only say how many tasks there are
        pass
    number = _number()
    link = TaskLink(standing.address, 0, number)
    host = SparkStationHost(standing)
    standing.plan.imports.install()  # sources may be of classes of the user's script
    all_sources: SourceList = pickle.loads(sources)
    source_list = all_sources.for_reader(number)
    began_ms = host.now_ms()
    with _told_failures(link):
        station = SourceStation(host, standing.floors.place(0, number, standing.first_version), source_list, start)
        outlet, pace = _Outlet(station, link), SourcePace(standing.linger_ms, standing.watermark_interval_ms)
        alignment = _Alignment(station, link, standing.alignment_interval_ms)
        has_told_end, wait = False, 0.0
        yield from outlet.begun()
        while True:
            for what, told in outlet.orders(wait):
                if what == END:
                    station.abort()
                    source_list.close()
                    return
                if what == DRAIN:
                    station.drain()
                elif what == BARRIER:
                    station.turn()
                elif what == HIGHEST:
                    alignment.take(told)
            now = host.now_ms()
            done, room = 0, outlet.room
            if alignment.may_read and not station.has_ended() and outlet.is_open:
                done = station.poll(now, now - began_ms, room)
            station.on_processing_time(now)
            alignment.attend()
            pace.attend(station, is_behind=done >= min(room, POLL_RECORDS))
            if station.has_ended() and not has_told_end:
                station.flush()
                link.tell("ended")
                has_told_end = True
            host.writer.check()
            yield from outlet.given_out(done)
            wait = 0.0 if done >= _FEW_RECORDS and outlet.is_open else pace.wait_seconds(station.next_deadline())


def run_level_task(standing: Standing, floor: int, batches: Batches) -> Batches:
    """Work on what comes from the tasks before, until they have ended."""
    number = _number()
    link = TaskLink(standing.address, floor, number)
    host = SparkStationHost(standing)
    with _told_failures(link):
        vertices = standing.floors.levels[floor - 1].vertices_of(number)
        station = LevelStation(host, standing.floors.place(floor, number, standing.first_version), vertices)
        outlet, incoming = _Outlet(station, link), _Incoming(batches)
        pace = LevelPace(standing.linger_ms, standing.watermark_interval_ms)
        yield from outlet.begun()
        while True:
            deadline = station.next_deadline()
            wait = pace.wait_seconds(deadline)
            contents: list[bytes] | None = []
            if any(what == END for what, _ in outlet.orders(0.0 if outlet.is_open else wait)):
                station.abort()
                incoming.drop_the_rest()
                return
            if outlet.is_open:
                contents = incoming.take(wait, outlet.room, outlet.times)
            if contents is None:
                station.abort()
                return
            for content in contents:
                sender = sender_of(content)
                for row in rows_of(content):
                    station.take(sender, row)
                pace.on_work(sender)
            now = host.now_ms()
            station.on_processing_time(now)
            if deadline is not None and now >= deadline:
                pace.on_work()
            pace.attend(station, is_idle=incoming.is_empty)
            host.writer.check()
            yield from outlet.given_out(len(contents))


class _TaskTimes:
    """Where the time of a task goes between two versions: it waits for input, or for those that take from it."""

    def __init__(self) -> None:
        self.idle_seconds = 0.0
        self.blocked_seconds = 0.0
        self._began = time.monotonic()

    def take_figures(self) -> dict[str, float]:
        """The figures by name, and begin again; the task was busy when it did not wait."""
        now = time.monotonic()
        idle, blocked, busy = self.idle_seconds, self.blocked_seconds, now - self._began
        self.idle_seconds, self.blocked_seconds, self._began = 0.0, 0.0, now
        return {BUSY: max(0.0, busy - idle - blocked) * 1000, IDLE: idle * 1000, BACKPRESSURED: blocked * 1000}


class _Alignment:
    """Tells the driver how far aligned splits have come, as often as their sources want it, and takes its answers.

    Nothing is read before the first of them, which comes when all tasks are there.
    """

    def __init__(self, station: SourceStation, link: TaskLink, interval_ms: int | None) -> None:
        self._station = station
        self._link = link
        self._interval = None if interval_ms is None else interval_ms / 1000
        self._due = 0.0
        self._told: SplitTimes | None = None
        self.may_read = interval_ms is None

    def take(self, highest: dict[str, int]) -> None:
        """Take from the driver how far the splits of each source may be read."""
        self._station.highest = highest
        self.may_read = True

    def attend(self) -> None:
        """Tell it if it is time, and if there is news."""
        now = time.monotonic()
        if self._interval is None or now < self._due:
            return
        times = self._station.split_times()
        # Before there is a watermark, nobody can be held back: the first of them is news that cannot wait.
        is_begun = any(mark > MIN_WATERMARK for each in times.values() for mark, _ in each.values())
        self._due = now + (self._interval if is_begun else 0.0)
        if times != self._told:
            self._told = times
            self._link.tell(SPLIT_TIMES, times)


class _Outlet:
    """What a station gives out, and the driver's link; looks after the flow of what is under way, and of time."""

    def __init__(self, station: Station, link: TaskLink) -> None:
        self.times = _TaskTimes()
        station.take_figures = self.times.take_figures
        self._station = station
        self._link = link
        self._flow = FlowWindow(station.place.targets)

    @property
    def is_open(self) -> bool:
        """Whether more work may be done for those that take from here."""
        return self._flow.is_open

    @property
    def room(self) -> int:
        """How much work may be done at once."""
        return self._flow.room

    def orders(self, patience_seconds: float) -> list[Order]:
        """What the driver wants, waiting for it so long at the most."""
        began = time.monotonic()
        orders = self._link.orders(patience_seconds)
        now = time.monotonic()
        if patience_seconds:
            self._note_wait(now - began)
        for what, told in orders:
            if what == BACK:
                receiver, mark = told
                self._flow.on_back(receiver, mark, now)
        return [order for order in orders if order[0] != BACK]

    def begun(self) -> Batches:
        """What has to be sent before anything else."""
        place = self._station.place
        if place.number == 0 and place.targets:
            yield first_fillers(place.targets)

    def given_out(self, units: int) -> Batches:
        """Everything for others; `units` is how much work it comes from."""
        station, flow = self._station, self._flow
        for_driver = station.take_for_driver()
        if for_driver:
            self._link.tell("rows", for_driver)
        now = time.monotonic()
        if units:
            flow.on_work(units, now)
        if flow.wants_mark(now):
            station.send_mark(flow.mark(now))
        outgoing = station.take_outgoing()
        for turned in station.take_turned():
            self._link.tell("turned", turned)
        marks = station.take_marks()
        if marks:
            self._link.tell(MARKS, marks)
        if outgoing:
            yield to_carried(outgoing, station.place.number)
            self.times.blocked_seconds += time.monotonic() - now

    def _note_wait(self, seconds: float) -> None:
        if self._flow.is_open:
            self.times.idle_seconds += seconds
        else:
            self.times.blocked_seconds += seconds


class _Incoming:
    """Reads the input in a thread of its own, so that a task can look at the clock while nothing comes."""

    def __init__(self, batches: Batches) -> None:
        self._batches = batches
        self._waiting: queue.SimpleQueue[list[bytes] | BaseException | None] = queue.SimpleQueue()
        self._room = threading.Semaphore(_WAITING_BATCHES)
        self._reader = threading.Thread(target=self._read, name="penstock-input", daemon=True)
        self._reader.start()

    @property
    def is_empty(self) -> bool:
        """Whether nothing waits just now."""
        return self._waiting.empty()

    def take(self, seconds: float, most: int, times: _TaskTimes) -> list[bytes] | None:
        """What has come, after waiting for it so long at the most; None at the end of input."""
        found: list[bytes] = []
        began = time.monotonic()
        try:
            item = self._waiting.get(timeout=seconds) if seconds > 0 else self._waiting.get_nowait()
            times.idle_seconds += time.monotonic() - began
            while True:
                if isinstance(item, BaseException):
                    raise item
                if item is None:
                    return None
                self._room.release()
                found += item
                if len(found) >= most:
                    return found
                item = self._waiting.get_nowait()
        except queue.Empty:
            if not found:
                times.idle_seconds += time.monotonic() - began
            return found

    def drop_the_rest(self) -> None:
        """Read to the end without looking: Spark goes on with the same connection when the task has ended."""
        self._room.release(_MOST_LEFT)
        self._reader.join(_END_SECONDS)

    def _read(self) -> None:
        try:
            for batch in self._batches:
                contents = contents_of(batch)
                if contents:
                    self._room.acquire()
                    self._waiting.put(contents)
            self._waiting.put(None)
        except BaseException as error:
            self._waiting.put(error)


class _told_failures:
    """Tells the driver what made a task fail, and hangs up; Spark would only have the text of it."""

    def __init__(self, link: TaskLink) -> None:
        self._link = link

    def __enter__(self) -> None:
        return None

    def __exit__(self, kind: object, error: BaseException | None, trace: object) -> None:
        try:
            if isinstance(error, OperatorFailure | StorageFullError):
                self._link.tell("failure", error)
        finally:
            self._link.close()  # the process may live on for other tasks


def _number() -> int:
    context = TaskContext.get()
    assert context is not None, "not in a task"
    return int(context.partitionId())
