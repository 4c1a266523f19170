"""A batch of a Spark query as a version of the job: gathers its reports, and has it made final."""

from __future__ import annotations

import json
import threading
import time
from itertools import islice

from pyspark.sql import DataFrame

from penstock.checkpoint import CheckpointDirectory, Seal
from penstock.checkpoint.committing import reports_of
from penstock.checkpoint.seal import Frames
from penstock.connectors.sink import WorkRunner
from penstock.engine.spark.control import Control
from penstock.engine.spark.driver_sinks import SparkDriverSinks
from penstock.engine.spark.quiet_py4j import tell_elsewhere
from penstock.engine.spark.rows_arrow import from_batch
from penstock.engine.spark.spark_logs import read_offsets
from penstock.graph.plan import JobPlan
from penstock.job.backpressure import Backpressure
from penstock.job.source_alignment import SourceAlignment
from penstock.job.statistics import JobStatistics
from penstock.job.versions import VersionDriver
from penstock.runtime.report import Report
from penstock.runtime.rows import ExchangeRow
from penstock.runtime.source_tasks import Offset

_LONGEST_TEXT = 500
"""Characters of an error that Spark is handed as it is."""


class BatchFailedError(Exception):
    """Tells Spark that a batch failed, in few words: why is in `BatchCommitter.error`.

    Spark looks through the text for signs of an interruption, with an expression that overflows the stack of its thread
    on a long one: the Java stacks of a batch that is cancelled would leave a thousand lines on the terminal.
    """


class BatchCommitter:
    """`foreachBatch` of a job's query; one for each start of the job. Batch N is version N."""

    def __init__(
        self,
        plan: JobPlan,
        directory: CheckpointDirectory,
        control: Control,
        sinks: SparkDriverSinks,
        statistics: JobStatistics,
        run_on_workers: WorkRunner,
        backpressure: Backpressure,
        alignment: SourceAlignment,
    ) -> None:
        self.versions = VersionDriver(
            plan, directory, sinks, statistics, run_on_workers=run_on_workers, backpressure=backpressure
        )
        self._directory = directory
        self._control = control
        self._sinks = sinks
        self._backpressure = backpressure
        self._alignment = alignment
        control.take_at_most(backpressure.pace.limit)
        self.frame_counts: dict[str, int] = {}
        self.error: Exception | None = None
        self.finished_batch: int | None = None
        self.changed = threading.Event()

    def on_batch(self, frame: DataFrame, batch: int) -> None:
        """Run a batch and make it final; then Spark logs the commit. See `VersionDriver.complete_version`."""
        try:
            with self.versions.being_made(batch):
                sealed = self.versions.found_final(batch) or self._run(frame, batch)
        except Exception as error:
            # Spark would only hand back the text of it.
            self.error = error
            tell_elsewhere(error)
            if len(str(error)) <= _LONGEST_TEXT:
                raise
            short = BatchFailedError(f"batch {batch} failed: {type(error).__name__}")
            tell_elsewhere(short)
            raise short from None
        if self.versions.have_all_ended(sealed):
            self.finished_batch = batch
        self._ask_for_next(sealed)
        self.changed.set()

    def _ask_for_next(self, sealed: Seal) -> None:
        """Before Spark asks how far the batch behind a version goes."""
        self._control.wake_at(sealed.next_deadline())
        self._control.pause(self._alignment.paused(sealed))

    def finish_if_ended(self) -> bool:
        """Before a start: whether the job had already come to its end, with its last output published."""
        last = self.versions.last_of_all()
        if last is None:
            return False
        if not self.versions.have_all_ended(last):
            # Without this, timers set before the restart would wait for the first record after it.
            self._ask_for_next(last)
            return False
        self.versions.publish_last()
        return True

    def close(self) -> None:
        """Let go of connections; the query must have stopped."""
        self.versions.close()

    def _run(self, frame: DataFrame, batch: int) -> Seal:
        started = time.monotonic()
        # The tasks go on from the version before their batch; the seal must be made from no other.
        assert self.versions.previous().version == batch - 1, "tasks would have failed without the previous seal"
        arrived, reports = self._gathered(frame, batch)
        offset, frames = self._offsets(batch)
        sealed = self.versions.complete_version(batch, reports, offset, frames, arrived=arrived, started=started)
        # Before Spark asks how far the next batch goes.
        self._control.take_at_most(self._backpressure.pace.limit)
        self._control.rest_until(started + self._backpressure.rest_ms / 1000)
        return sealed

    def _gathered(self, frame: DataFrame, batch: int) -> tuple[list[ExchangeRow], list[Report]]:
        """Have the tasks run; returns what reached the driver, when its at-least-once sinks have their records."""
        apart = self._sinks.spark_vertices()
        if apart:
            frame = frame.persist()
        try:
            wanted = frame.where(~frame["vertex"].isin(apart)) if apart else frame
            arrived = [row for table in wanted.toArrow().to_batches() for row in from_batch(table)]
            reports = reports_of(arrived)  # raises a failure among them
            self._sinks.before_seal(frame, arrived, batch)
        finally:
            if apart:
                frame.unpersist()
        return arrived, reports

    def _offsets(self, batch: int) -> tuple[Offset, Frames]:
        """Where the sources stand after a batch, by Spark's log: Penstock's own, then the frames."""
        own, *others = read_offsets(self._directory, batch)
        logged = iter(others)
        frames = {uid: list(islice(logged, count)) for uid, count in self.frame_counts.items()}
        return Offset.from_json(json.loads(own or "{}")), frames
