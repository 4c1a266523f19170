"""The versions of a job: each is completed, made final and published in the order that makes it exactly-once."""

from __future__ import annotations

import threading
import time
from collections.abc import Callable, Iterator, Sequence
from contextlib import closing, contextmanager

from penstock.checkpoint import CheckpointDirectory, Seal
from penstock.checkpoint.committing import VersionCommitter
from penstock.checkpoint.seal import Frames
from penstock.connectors.sink import WorkRunner, run_here
from penstock.errors import CheckpointError
from penstock.graph.plan import JobPlan
from penstock.job.backpressure import Backpressure
from penstock.job.driver_sinks import DriverSinks
from penstock.job.journal import VersionTimes, now_ms
from penstock.job.operator_warnings import OperatorWarnings
from penstock.job.statistics import JobStatistics
from penstock.runtime.report import ALIGNMENT, Report
from penstock.runtime.rows import ExchangeRow
from penstock.runtime.source_tasks import Offset


class _VersionClock:
    """Where the time of a version goes."""

    def __init__(self, began: float) -> None:
        self._began = began
        self._worked = time.monotonic()
        self._sealed = self._worked
        self._began_ms = now_ms() - round((self._worked - began) * 1000)

    def on_seal(self) -> None:
        self._sealed = time.monotonic()

    def times(self, reports: Sequence[Report]) -> VersionTimes:
        spans = ((self._began, self._worked), (self._worked, self._sealed), (self._sealed, time.monotonic()))
        work_ms, seal_ms, publish_ms = (round((end - start) * 1000) for start, end in spans)
        waited = (figures.get(ALIGNMENT, 0.0) for report in reports for figures in report.metrics.values())
        return VersionTimes(self._began_ms, work_ms, seal_ms, publish_ms, round(max(waited, default=0.0)))


def _nothing(kind: str, what: object) -> None:
    """What happens between the steps of a version: nothing, unless somebody looks."""


class VersionDriver:
    """Completes the versions of one attempt; engines call it when all parts of a version are reported."""

    def __init__(
        self,
        plan: JobPlan,
        directory: CheckpointDirectory,
        sinks: DriverSinks,
        statistics: JobStatistics,
        *,
        run_on_workers: WorkRunner = run_here,
        backpressure: Backpressure | None = None,
        operator_warnings: OperatorWarnings | None = None,
        on_step: Callable[[str, object], None] = _nothing,
    ) -> None:
        """Call `on_step` before each step that matters if the process dies there.

        `operator_warnings` knows what was warned of in earlier attempts.
        """
        self._directory = directory
        self._sinks = sinks
        self._statistics = statistics
        self._backpressure = backpressure
        self._on_step = on_step
        self._committer = VersionCommitter(plan, directory, run_on_workers)
        self._operator_warnings = operator_warnings or OperatorWarnings(plan)
        self._lock = threading.Lock()
        self._is_stopped = False
        self._began = time.monotonic()
        self.last: Seal | None = None
        """The version that this attempt completed last."""

    # ---- completing ----

    @contextmanager
    def being_made(self, version: int) -> Iterator[None]:
        """A version is being made until this is left; savepoints wait for it, and a job that was stopped makes none."""
        with self._lock:
            self._refuse_if_stopped(version)
            self._began = time.monotonic()
            yield

    def previous(self) -> Seal:
        """What the next version goes on from: the last one that is final, or the empty beginning."""
        return self.last or self.last_of_all() or Seal()

    def complete_version(
        self,
        version: int,
        reports: list[Report],
        offset: Offset,
        frames: Frames | None = None,
        *,
        arrived: Sequence[ExchangeRow] = (),
        started: float | None = None,
    ) -> Seal:
        """Make a version final, once all its parts are reported and at-least-once sinks have their records.

        1. The parts are written: state files and staged output that nobody refers to yet.
        2. The seal: from here on the version is final.
        3. Exactly-once sinks are published from the seal.
        Who dies before 2 makes the version again from the one before; after 2, the next start finds the seal and does
        3 again, without running anything. `started` is when the version was begun, by the monotonic clock.
        """
        clock = _VersionClock(self._began if started is None else started)
        self._operator_warnings.look_at(reports)
        self._on_step("seal", version)
        self._refuse_if_stopped(version)
        previous = self.previous()
        seal = self._committer.seal(previous, version, reports, offset, frames)
        clock.on_seal()
        self._sinks.after_seal(arrived)
        self._statistics.on_version(seal, reports)
        self._on_step("publish", version)
        self._committer.publish(seal)
        self._statistics.note_version(previous, seal, reports, clock.times(reports))
        if self._backpressure is not None and started is not None:
            pace = self._backpressure.on_batch(previous.offset, seal.offset, reports, time.monotonic() - started)
            self._statistics.on_pace(pace, self._backpressure.uids)
        self.last = seal
        return seal

    def found_final(self, version: int) -> Seal | None:
        """The seal of the first version of an attempt, published, if an earlier process had made it final."""
        sealed = self._directory.read_seal(version) if self.last is None else None
        if sealed is not None:
            self._committer.publish_again(sealed)
            self.last = sealed
        return sealed

    # ---- between versions ----

    @contextmanager
    def between_versions(self, patience_seconds: float) -> Iterator[Seal | None]:
        """The last version, published, with none being made meanwhile; None if one is, or nothing is final."""
        if not self._lock.acquire(timeout=patience_seconds):
            yield None
            return
        try:
            # What an earlier start left, this one has perhaps not come to publish.
            yield self.last or self.publish_last()
        finally:
            self._lock.release()

    def stop(self) -> None:
        """Let no version become final any more; one that is being made final while this is called may still be."""
        self._is_stopped = True

    def _refuse_if_stopped(self, version: int) -> None:
        if self._is_stopped:
            raise CheckpointError(f"version {version} came after the job was stopped; it is left to a later start")

    # ---- before and after an attempt ----

    def last_of_all(self) -> Seal | None:
        """The last version that is final, whoever made it."""
        return self._directory.last_seal()

    def publish_last(self) -> Seal | None:
        """The last version that is final, its output published; None if there is none."""
        return _published(self._committer, self._directory)

    def have_all_ended(self, seal: Seal) -> bool:
        """Whether every source has ended; all that they set off ran in the same version."""
        return self._committer.have_all_ended(seal)

    def close(self) -> None:
        """Let go of connections; nothing may run any more."""
        self._committer.close()


def publish_last(plan: JobPlan, directory: CheckpointDirectory, run_on_workers: WorkRunner = run_here) -> Seal | None:
    """The last version, published, of a job that does not run just now; None if it has none."""
    with closing(VersionCommitter(plan, directory, run_on_workers)) as committer:
        return _published(committer, directory)


def _published(committer: VersionCommitter, directory: CheckpointDirectory) -> Seal | None:
    seal = directory.last_seal()
    # Asking the sinks of a version that is done would trust them for ever.
    if seal is not None and not directory.is_done(seal.version):
        committer.publish_again(seal)
    return seal
