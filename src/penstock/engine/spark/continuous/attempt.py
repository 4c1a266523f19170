"""One attempt of a job in continuous mode, seen from the driver: barriers out, reports in, versions made final."""

from __future__ import annotations

import queue
import threading
import time
import uuid
from collections.abc import Callable, Iterator

import cloudpickle
import pyarrow as pa
from pyspark.sql import DataFrame, SparkSession

from penstock.checkpoint import Seal
from penstock.engine.spark.continuous import pipelined, tasks
from penstock.engine.spark.continuous.carried_rows import SCHEMA
from penstock.engine.spark.continuous.links import BARRIER, DRAIN, END, HIGHEST, SPLIT_TIMES, Message, Switchboard
from penstock.engine.spark.continuous.tasks import Standing
from penstock.engine.spark.shipping import ShippedPlan
from penstock.errors import CheckpointError
from penstock.job.continuous.checkpoint_patience import CheckpointPatience
from penstock.job.continuous.floors import Floors
from penstock.job.continuous.gathering import VersionGathering
from penstock.job.driver_sinks import DriverSinks
from penstock.job.engine_contract import AttemptControl
from penstock.job.intake import SourceList
from penstock.job.program import Program
from penstock.job.source_alignment import SourceAlignment
from penstock.job.versions import VersionDriver
from penstock.job.watermark_alignment import SplitTimes

_POLL_SECONDS = 0.02
_END_SECONDS = 10.0
"""How long tasks may take to end after they were told to."""


class ContinuousAttempt:
    """Runs the tasks of a job from the last version on until the job ends, fails or is to return."""

    def __init__(
        self,
        session: SparkSession,
        program: Program,
        shipped: ShippedPlan,
        versions: VersionDriver,
        sinks: DriverSinks,
        alignment: SourceAlignment,
    ) -> None:
        self._session = session
        self._settings = program.settings
        self._versions = versions
        self._sinks = sinks
        self._sources: SourceList = program.sources()
        self._floors = Floors.of(program.plan)
        self._group = f"penstock-{program.job_id}-{uuid.uuid4().hex[:8]}"
        self._alignment = alignment
        last = versions.last_of_all()
        alignment.begin(last or Seal())
        self._highest = alignment.highest()
        self._next = 0 if last is None else last.version + 1
        start = self._sources.first_offset() if last is None or last.offset is None else last.offset
        self._start = self._sources.with_partitions(start, time.time_ns() // 1_000_000)
        self._switch = Switchboard(_driver_host(session))  # last of what may fail, for somebody has to close it
        self._standing = Standing(
            shipped,
            self._floors,
            self._next,
            self._switch.address,
            self._settings.send_every_ms,
            self._settings.watermark_interval_ms,
            alignment.update_interval_ms,
        )
        self._gathering = VersionGathering(versions, self._sources, self._floors)
        self._patience = CheckpointPatience(
            self._settings.checkpoint_timeout_ms, self._settings.tolerable_checkpoint_failures
        )
        self._plan = program.plan
        self._here = 0
        self._ended_sources = 0
        self._has_barrier = False
        self._failure: BaseException | None = None
        self._is_over = threading.Event()
        self.is_finished = False

    def run(self, control: AttemptControl) -> None:
        """Run until the job has ended, or the driver wants it to return."""
        thread = threading.Thread(target=self._run_tasks, name="penstock-continuous", daemon=True)
        thread.start()
        try:
            self._attend(control)
        finally:
            self._switch.order(END)
            if not self.is_finished or not self._is_over.wait(_END_SECONDS):
                pipelined.cancel(self._session, self._group)
            self._is_over.wait(_END_SECONDS)
            self._switch.close()

    def _run_tasks(self) -> None:
        try:
            pipelined.run_pipelined(self._session, self._frame(), self._group, self._settings.job_name)
        except BaseException as error:
            self._failure = error
        finally:
            self._is_over.set()

    def _frame(self) -> DataFrame:
        floors, standing = self._floors, self._standing
        sources = cloudpickle.dumps(self._sources)  # by value: they may be of functions of the user's script
        frame = self._session.range(0, floors.source_tasks, 1, floors.source_tasks)
        frame = frame.mapInArrow(_source_task(standing, sources, self._start), SCHEMA)
        for floor, level in enumerate(floors.levels, 1):
            frame = frame.repartitionById(level.width, "target").mapInArrow(_level_task(standing, floor), SCHEMA)
        return frame

    def _attend(self, control: AttemptControl) -> None:
        interval = (self._settings.batch_interval_ms or 1_000) / 1000
        due = time.monotonic() + interval
        is_draining = False
        while not control.is_cancelled():
            self._listen()
            if self._is_over.is_set():
                raise self._failure or CheckpointError(f"the tasks of job {self._settings.job_name!r} ended early")
            if self._here < self._floors.task_count:
                continue
            control.on_running()
            if control.is_stopping() and not is_draining:
                is_draining = True
                self._switch.order(DRAIN)
                control.on_draining()
            if self._gathering.is_complete(self._next):
                if self._completed():
                    return
                due = max(due + interval, time.monotonic() + self._settings.min_pause_ms / 1000)
            if not self._has_barrier and control.serve_savepoints(self._versions):
                return
            if not self._has_barrier and (time.monotonic() >= due or self._all_ended()):
                self._has_barrier = True
                self._patience.on_barrier(time.monotonic())
                self._gathering.on_barrier_sent(self._next)
                self._switch.order(BARRIER, self._next)
            if self._patience.is_due(time.monotonic()):
                missing = self._gathering.missing(self._next)
                self._patience.give_up_or_wait(self._next, self._floors.names(self._plan, missing))

    def _completed(self) -> bool:
        """Make the next version final; returns whether the job has come to its end."""
        with self._versions.being_made(self._next):
            seal: Seal = self._gathering.complete(self._next)
        self._patience.on_final()
        self._next += 1
        self._has_barrier = False
        self.is_finished = self._versions.have_all_ended(seal)
        return self.is_finished

    def _all_ended(self) -> bool:
        return self._ended_sources == self._floors.source_tasks

    def _listen(self) -> None:
        """Take what tasks have told, waiting a little for the first of it."""
        try:
            message = self._switch.messages.get(timeout=_POLL_SECONDS)
            while True:
                self._take(message)
                message = self._switch.messages.get_nowait()
        except queue.Empty:
            return

    def _take(self, message: Message) -> None:
        if message.what == "rows":
            for version, row in message.content:
                if not self._sinks.show_at_once(row):
                    self._gathering.add_row(version, row)
        elif message.what == "turned":
            self._gathering.add(message.floor, message.number, message.content)
        elif message.what == "failure":
            raise message.content
        elif message.what == "ended":
            self._ended_sources += 1
        elif message.what == SPLIT_TIMES:
            self._align(message.number, message.content)
        else:
            self._here += 1
            if self._alignment and self._here == self._floors.task_count:
                self._switch.order(HIGHEST, self._highest)  # now they may read: nobody is ahead for having begun first

    def _align(self, number: int, times: SplitTimes) -> None:
        """Tell the tasks that read how far they may, if what one of them told changes that."""
        highest = self._alignment.take(number, times)
        if highest != self._highest:
            self._highest = highest
            self._switch.order(HIGHEST, highest)


def _driver_host(session: SparkSession) -> str:
    return session.sparkContext.getConf().get("spark.driver.host") or "127.0.0.1"


# Spark pickles these functions by value: they hold nothing but what they pass on.

Task = Callable[[Iterator[pa.RecordBatch]], Iterator[pa.RecordBatch]]


def _source_task(standing: Standing, sources: bytes, start: object) -> Task:
    def source(batches: Iterator[pa.RecordBatch]) -> Iterator[pa.RecordBatch]:
        return tasks.run_source_task(standing, sources, start, batches)  # type: ignore[arg-type]

    return source


def _level_task(standing: Standing, floor: int) -> Task:
    def level(batches: Iterator[pa.RecordBatch]) -> Iterator[pa.RecordBatch]:
        return tasks.run_level_task(standing, floor, batches)

    return level
