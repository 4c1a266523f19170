"""What runs inside Spark's tasks in continuous mode: a station, fed by sources or by the tasks before it."""

from __future__ import annotations

import pickle
import queue
import threading
import time
import uuid
from collections.abc import Iterator
from dataclasses import dataclass

import pyarrow as pa
from pyspark import TaskContext

from penstock.checkpoint import CheckpointDirectory
from penstock.engine.spark.continuous.carried_rows import from_carried, to_carried
from penstock.engine.spark.continuous.links import BARRIER, DRAIN, END, Address, TaskLink
from penstock.engine.spark.local_stores import local_path
from penstock.engine.spark.shipping import ShippedPlan, clock_of, subtask_of
from penstock.engine.spark.startup.worker_garbage import keep_collections_short
from penstock.errors import StorageFullError
from penstock.job.continuous.floors import Floors
from penstock.job.continuous.source_station import SourceStation
from penstock.job.intake import SourceList
from penstock.runtime.continuous.station import LevelStation, Station
from penstock.runtime.failure import OperatorFailure
from penstock.runtime.report import SubtaskEntry
from penstock.runtime.source_tasks import Offset
from penstock.runtime.subtask import Subtask
from penstock.state.versions import StateVersion, SubtaskState

Batches = Iterator[pa.RecordBatch]

_IDLE_SECONDS = 0.001
_LONGEST_WAIT_SECONDS = 0.05
_WAITING_BATCHES = 64
"""Record batches that wait in a task before Spark's shuffle has to: what bounds its memory."""


@dataclass(frozen=True)
class Standing:
    """What all tasks of an attempt are told."""

    plan: ShippedPlan
    floors: Floors
    first_version: int
    address: Address
    linger_ms: int
    watermark_interval_ms: int


class SparkStationHost:
    """What stations ask of an engine, in a task of Spark."""

    def __init__(self, standing: Standing) -> None:
        keep_collections_short()
        self.attempt = uuid.uuid4().hex[:12]
        self.now_ms = clock_of(standing.plan)
        self._plan = standing.plan
        self._directory = CheckpointDirectory(standing.plan.checkpoint_uri)
        self._seal = self._directory.read_seal(standing.first_version - 1)

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


class _Pace:
    """When to flush and when to let watermarks be emitted, by the monotonic clock."""

    def __init__(self, standing: Standing) -> None:
        self._linger = standing.linger_ms / 1000
        self._interval = standing.watermark_interval_ms / 1000
        self._flushed = self._emitted = time.monotonic()

    def attend(self, station: Station) -> None:
        """Do what is due."""
        now = time.monotonic()
        if self._interval and now - self._emitted >= self._interval:
            self._emitted = now
            station.on_interval(int(time.time() * 1000))
        if now - self._flushed >= self._linger:
            self._flushed = now
            station.flush()

    def wait_seconds(self, deadline_ms: int | None) -> float:
        """How long nothing has to be done, at the most."""
        until = self._flushed + self._linger - time.monotonic()
        if deadline_ms is not None:
            until = min(until, deadline_ms / 1000 - time.time())
        return min(max(until, 0.0), _LONGEST_WAIT_SECONDS)


def run_source_task(standing: Standing, sources: bytes, start: Offset, batches: Batches) -> Batches:
    """Read sources until the driver says that this is the end."""
    for _ in batches:  # the rows of the frame only say how many tasks there are
        pass
    number = _number()
    link = TaskLink(standing.address, 0, number)
    host = SparkStationHost(standing)
    standing.plan.imports.install()  # sources may be of classes of the user's script
    source_list: SourceList = pickle.loads(sources)
    began_ms = host.now_ms()
    with _told_failures(link):
        station = SourceStation(host, standing.floors.place(0, number, standing.first_version), source_list, start)
        pace, has_told_end, wait = _Pace(standing), False, 0.0
        while True:
            for what, _ in link.orders(wait):
                if what == END:
                    station.abort()
                    source_list.close()
                    return
                if what == DRAIN:
                    station.drain()
                elif what == BARRIER:
                    station.turn()
            now = host.now_ms()
            is_busy = not station.has_ended() and station.poll(now, now - began_ms)
            station.on_processing_time(now)
            pace.attend(station)
            if station.has_ended() and not has_told_end:
                station.flush()
                link.tell("ended")
                has_told_end = True
            yield from _given_out(station, link)
            wait = (
                0.0
                if is_busy
                else max(_IDLE_SECONDS, pace.wait_seconds(station.next_deadline()) if has_told_end else 0)
            )


def run_level_task(standing: Standing, floor: int, batches: Batches) -> Batches:
    """Work on what comes from the tasks before, until they have ended."""
    number = _number()
    link = TaskLink(standing.address, floor, number)
    host = SparkStationHost(standing)
    with _told_failures(link):
        vertices = standing.floors.levels[floor - 1].vertices_of(number)
        station = LevelStation(host, standing.floors.place(floor, number, standing.first_version), vertices)
        pace, incoming = _Pace(standing), _Incoming(batches)
        while True:
            tables = incoming.take(pace.wait_seconds(station.next_deadline()))
            if tables is None:
                station.abort()
                return
            for table in tables:
                for sender, row in from_carried(table):
                    station.take(sender, row)
            station.on_processing_time(host.now_ms())
            pace.attend(station)
            yield from _given_out(station, link)


class _Incoming:
    """Reads the input in a thread of its own, so that a task can look at the clock while nothing comes."""

    def __init__(self, batches: Batches) -> None:
        self._batches = batches
        self._waiting: queue.Queue[pa.RecordBatch | BaseException | None] = queue.Queue(_WAITING_BATCHES)
        threading.Thread(target=self._read, name="penstock-input", daemon=True).start()

    def take(self, seconds: float) -> list[pa.RecordBatch] | None:
        """What has come, after waiting for it so long at the most; None at the end of input."""
        found: list[pa.RecordBatch] = []
        try:
            item = self._waiting.get(timeout=seconds) if seconds > 0 else self._waiting.get_nowait()
            while True:
                if isinstance(item, BaseException):
                    raise item
                if item is None:
                    return None
                found.append(item)
                if len(found) == _WAITING_BATCHES:
                    return found
                item = self._waiting.get_nowait()
        except queue.Empty:
            return found

    def _read(self) -> None:
        try:
            for batch in self._batches:
                self._waiting.put(batch)
            self._waiting.put(None)
        except BaseException as error:
            self._waiting.put(error)


class _told_failures:
    """Tells the driver what made a task fail; Spark would only have the text of it."""

    def __init__(self, link: TaskLink) -> None:
        self._link = link

    def __enter__(self) -> None:
        return None

    def __exit__(self, kind: object, error: BaseException | None, trace: object) -> None:
        if isinstance(error, OperatorFailure | StorageFullError):
            self._link.tell("failure", error)


def _given_out(station: Station, link: TaskLink) -> Batches:
    for_driver = station.take_for_driver()
    if for_driver:
        link.tell("rows", for_driver)
    outgoing = station.take_outgoing()
    for turned in station.take_turned():
        link.tell("turned", turned)
    if outgoing:
        yield to_carried(outgoing, station.place.number)


def _number() -> int:
    context = TaskContext.get()
    assert context is not None, "not in a task"
    return int(context.partitionId())
