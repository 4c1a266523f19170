"""The driver's part of every batch: gather reports, seal the version, publish sinks, say what comes next.

The order is what makes it exactly-once, see `BatchCommitter.on_batch`.
"""

from __future__ import annotations

import json
import threading
import time
from collections.abc import Iterator
from contextlib import closing, contextmanager
from itertools import islice

from pyspark.sql import DataFrame, SparkSession

from penstock.checkpoint import CheckpointDirectory, Seal
from penstock.checkpoint.committing import VersionCommitter, reports_of
from penstock.checkpoint.seal import Frames
from penstock.checkpoint.spark_logs import read_offsets
from penstock.connectors.sink import WorkRunner
from penstock.engine.spark.backpressure import Backpressure
from penstock.engine.spark.control import Control
from penstock.engine.spark.driver_sinks import DriverSinks
from penstock.engine.spark.rows_arrow import from_batch
from penstock.engine.spark.statistics import JobStatistics
from penstock.engine.spark.worker_orders import Workers
from penstock.errors import CheckpointError
from penstock.graph.plan import JobPlan
from penstock.runtime.pickled_states import PickledStates
from penstock.runtime.report import Report
from penstock.runtime.source_tasks import Offset


class BatchCommitter:
    """`foreachBatch` of a job's query; one for each start of the job."""

    def __init__(
        self,
        plan: JobPlan,
        directory: CheckpointDirectory,
        control: Control,
        sinks: DriverSinks,
        statistics: JobStatistics,
        run_on_workers: WorkRunner,
        backpressure: Backpressure,
    ) -> None:
        self._directory = directory
        self._versions = VersionCommitter(plan, directory, run_on_workers)
        self._pickled_states = PickledStates(plan)
        self._control = control
        self._sinks = sinks
        self._statistics = statistics
        self._backpressure = backpressure
        control.take_at_most(backpressure.pace.limit)
        self._previous: Seal | None = None
        self._lock = threading.Lock()
        self._is_stopped = False
        self.frame_counts: dict[str, int] = {}
        self.error: Exception | None = None
        self.finished_batch: int | None = None
        self.changed = threading.Event()

    def on_batch(self, frame: DataFrame, batch: int) -> None:
        """Run a batch and make it final.

        1. The tasks run; they write state files and staged output that nobody refers to yet.
        2. At-least-once sinks of the driver's side.
        3. The seal: from here on the batch is final.
        4. Exactly-once sinks are published from the seal. Then Spark logs the commit.
        A driver that dies before 3 runs the batch again from the previous seal; after 3, it finds the seal and does 4
        again, without running anything.
        """
        try:
            with self._lock:
                self._refuse_if_stopped(batch)
                self._previous = sealed = self._final(frame, batch)
        except Exception as error:
            # Spark would only hand back the text of it.
            self.error = error
            raise
        if self._versions.have_all_ended(sealed):
            self.finished_batch = batch
        self._control.wake_at(sealed.next_deadline())
        self.changed.set()

    @contextmanager
    def between_batches(self, patience_seconds: float) -> Iterator[Seal | None]:
        """The last version, published, with no batch running meanwhile; None if a batch runs or nothing is final."""
        if not self._lock.acquire(timeout=patience_seconds):
            yield None
            return
        try:
            yield self._previous or self._version_before()
        finally:
            self._lock.release()

    def close(self) -> None:
        """Let go of connections; the query must have stopped."""
        self._versions.close()

    def stop(self) -> None:
        """Let no batch become final any more; one that is being made final while this is called may still be."""
        self._is_stopped = True

    def _refuse_if_stopped(self, batch: int) -> None:
        if self._is_stopped:
            raise CheckpointError(f"batch {batch} came after the job was stopped; it is left to a later start")

    def _version_before(self) -> Seal | None:
        """What an earlier start left, which this one has perhaps not come to publish."""
        versions = self._directory.sealed_versions()
        seal = self._directory.read_seal(versions[-1]) if versions else None
        if seal is not None:
            self._publish_left(seal)
        return seal

    def _publish_left(self, seal: Seal) -> None:
        _publish_unless_done(self._versions, self._directory, seal)

    def _final(self, frame: DataFrame, batch: int) -> Seal:
        sealed = self._directory.read_seal(batch) if self._previous is None else None
        if sealed is not None:
            self._versions.publish_again(sealed)
        else:
            sealed = self._run(frame, batch)
        return sealed

    def finish_if_ended(self) -> bool:
        """Before a start: whether the job had already come to its end, with its last output published."""
        versions = self._directory.sealed_versions()
        last = self._directory.read_seal(versions[-1]) if versions else None
        if last is None:
            return False
        if not self._versions.have_all_ended(last):
            # Without this, timers set before the restart would wait for the first record after it.
            self._control.wake_at(last.next_deadline())
            return False
        self._publish_left(last)
        return True

    def _run(self, frame: DataFrame, batch: int) -> Seal:
        previous = self._previous or self._directory.read_seal(batch - 1)
        started = time.monotonic()
        assert previous is not None, "tasks would have failed without the previous seal"
        apart = self._sinks.spark_vertices()
        if apart:
            frame = frame.persist()
        try:
            wanted = frame.where(~frame["vertex"].isin(apart)) if apart else frame
            arrived = [row for table in wanted.toArrow().to_batches() for row in from_batch(table)]
            reports = reports_of(arrived)
            self._pickled_states.look_at(reports)
            self._sinks.before_seal(frame, arrived, batch)
        finally:
            if apart:
                frame.unpersist()
        self._refuse_if_stopped(batch)
        seal = self._versions.seal(previous, batch, reports, *self._offsets(batch))
        self._sinks.after_seal(arrived)
        self._statistics.on_batch(batch, seal, reports)
        self._versions.publish(seal)
        self._take_pace(previous, seal, reports, time.monotonic() - started)
        return seal

    def _take_pace(self, previous: Seal, seal: Seal, reports: list[Report], seconds: float) -> None:
        """Let the next batch take what this one shows to be right; before Spark asks how far it goes."""
        pace = self._backpressure.on_batch(previous.offset, seal.offset, reports, seconds)
        self._control.take_at_most(pace.limit)
        self._statistics.on_pace(pace, self._backpressure.uids)

    def _offsets(self, batch: int) -> tuple[Offset, Frames]:
        """Where the sources stand after a batch, by Spark's log: Penstock's own, then the frames."""
        own, *others = read_offsets(self._directory, batch)
        logged = iter(others)
        frames = {uid: list(islice(logged, count)) for uid, count in self.frame_counts.items()}
        return json.loads(own or "{}"), frames


def publish_left(plan: JobPlan, directory: CheckpointDirectory, session: SparkSession) -> Seal | None:
    """The last version, published, of a job that does not run just now; None if it has none."""
    versions = directory.sealed_versions()
    seal = directory.read_seal(versions[-1]) if versions else None
    if seal is not None:
        with closing(VersionCommitter(plan, directory, Workers(session))) as committer:
            _publish_unless_done(committer, directory, seal)
    return seal


def _publish_unless_done(committer: VersionCommitter, directory: CheckpointDirectory, seal: Seal) -> None:
    """Publish what may not be published; asking the sinks of a batch that is done would trust them for ever."""
    if not directory.is_done(seal.version):
        committer.publish_again(seal)
