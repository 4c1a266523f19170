"""A job in this process that runs by itself, in real time: a whole program tried without Spark or Java.

The setting `penstock.engine=in-process` asks for it. Owns the thread of the job and its handle; how a batch is run is
that of `penstock.testing.in_process_job`. One process does everything, so it is for trying programs, not for load.
"""

from __future__ import annotations

import threading
import time
from collections.abc import Callable, Iterator
from concurrent.futures import Future
from dataclasses import dataclass, replace
from typing import Any

from penstock.checkpoint import Seal
from penstock.common.completable_future import CompletableFuture
from penstock.common.constants import MAX_WATERMARK, MIN_WATERMARK
from penstock.common.job_client import JobClient
from penstock.common.job_execution_result import JobExecutionResult
from penstock.common.job_failure import JobFailure
from penstock.common.job_id import JobID
from penstock.common.job_status import JobStatus
from penstock.common.operator_metrics import OperatorMetrics
from penstock.errors import CheckpointError, JobCancelledError, JobFailedError
from penstock.graph import JobSettings, LogicalGraph
from penstock.graph.nodes import bare_name
from penstock.runtime.intake import Wish
from penstock.runtime.report import Report
from penstock.runtime.source_tasks import Offset
from penstock.state.backends import BACKENDS, DEFAULT_BACKEND
from penstock.testing.in_process_job import InProcessJob, InProcessOptions, StalledJob
from penstock.testing.live_clock import LiveClock

_PAUSE_SECONDS = 0.02
"""How long to wait before the sources are asked again where nothing was new."""


@dataclass(frozen=True)
class LiveProgress:
    """Where a job is: last batch, records read in all and per second, event time and how far it lags.

    `last_failure` is what went wrong last, if anything did, and `restarts` how often the job was started again.
    """

    batch: int = -1
    records: int = 0
    records_per_second: float = 0.0
    watermark: int | None = None
    lag_ms: int | None = None
    pace: None = None
    restarts: int = 0
    last_failure: JobFailure | None = None


class LiveJob(InProcessJob):
    """A job whose batches run when there is something to read or something is due."""

    def __init__(self, graph: LogicalGraph, settings: JobSettings) -> None:
        self.live_clock = LiveClock()
        self._began_in_a_hurry = False
        backend = settings.state_backend if settings.state_backend in BACKENDS else DEFAULT_BACKEND
        super().__init__(graph, settings, InProcessOptions(clock=self.live_clock, state=backend))
        self.progress = LiveProgress()
        self.totals: dict[str, dict[str, float]] = {}
        self._started_ms = self._last_ms = self.live_clock()

    def step(self, kind: str, what: object = "") -> None:
        """Nothing dies here, and a job that does not end must not keep a trace."""

    def may_restart(self) -> bool:
        """A job that is to end is tried once more, so that it can end in good order; a cancelled one is not."""
        return not self.live_clock.called_off.is_set() and not self._began_in_a_hurry

    def _try_batch(self) -> bool:
        self._began_in_a_hurry = self.live_clock.in_a_hurry.is_set()
        return super()._try_batch()

    def drain(self) -> None:
        """End all sources where they are, without waiting for anything before that."""
        super().drain()
        self.live_clock.in_a_hurry.set()

    def refuse_endless(self) -> None:
        """A job may run for ever: it can be stopped."""

    def next_offset(self) -> Offset:
        """Where the next batch ends, if there is something to do now."""
        assert self.seal is not None
        now = self.live_clock()
        wish = Wish(self.wish.is_draining, (), self.seal.next_deadline())
        end = self.sources.next_offset(self.offset, wish, now_ms=now, elapsed_ms=now - self._started_ms)
        if end == self.offset:
            raise StalledJob("nothing to do at the moment")
        return end

    def on_sealed(self, seal: Seal, reports: list[Report]) -> None:
        """Add what the batch brought to the figures."""
        uids = {vertex.operators[0].uid for vertex in self.plan.sources()}
        read = 0.0
        for report in reports:
            for uid, figures in report.metrics.items():
                totals = self.totals.setdefault(uid, {})
                for name, value in figures.items():
                    is_sum = name not in report.ways.get(uid, {})
                    totals[name] = totals.get(name, 0) + value if is_sum else value
                read += figures.get("records_in", 0) if uid in uids else 0
        now = self.live_clock()
        rate = read / max((now - self._last_ms) / 1000, 1e-3)
        self._last_ms = now
        heads = {vertex.uid for vertex in self.plan.sources()}
        marks = [entry.watermark for (uid, _), entry in seal.entries.items() if uid in heads]
        watermark = min((mark for mark in marks if MIN_WATERMARK < mark < MAX_WATERMARK), default=None)
        lag = None if watermark is None else max(0, now - watermark)
        self.progress = LiveProgress(seal.version, self.progress.records + int(read), rate, watermark, lag)


class LiveJobClient(JobClient):
    """The handle to a job that runs by itself in a thread of this process."""

    def __init__(self, job: LiveJob) -> None:
        self.job = job
        self.ended: Future[JobExecutionResult] = Future()
        # A batch is never looked at from outside while it runs.
        self._between_batches = threading.RLock()
        self._started = time.monotonic()
        self._thread = threading.Thread(target=self._run, name=f"penstock-{job.settings.job_name}", daemon=True)
        self._thread.start()

    def get_job_id(self) -> JobID:
        """Identity of the job; the same after a restart from its checkpoint."""
        return JobID(self.job.job_id)

    def get_job_status(self) -> CompletableFuture[JobStatus]:
        """Where the job is in its life."""
        return CompletableFuture.completed(self.job.status)

    def cancel(self) -> CompletableFuture[None]:
        """Stop the job where it is; done when it has stopped. Its checkpoint stays as it is."""
        self.job.live_clock.called_off.set()
        self.job.live_clock.in_a_hurry.set()
        return self._stopped()

    def stop(self, drain: bool = True) -> CompletableFuture[None]:
        """Stop the job in good order: `drain` ends its sources, fires all timers and commits all sinks first."""
        if not drain:
            return self.cancel()
        self.job.drain()
        return self._stopped()

    def trigger_savepoint(
        self, savepoint_directory: str | None = None, format_type: Any = None
    ) -> CompletableFuture[str]:
        """Write a savepoint of the last batch, the job going on."""
        return self._savepoint(lambda: self.job.write_savepoint(savepoint_directory))

    def stop_with_savepoint(
        self, advance_to_end_of_event_time: bool, savepoint_directory: str | None = None, format_type: Any = None
    ) -> CompletableFuture[str]:
        """Write a savepoint of the last batch and end the job."""
        drain = advance_to_end_of_event_time
        return self._savepoint(lambda: self.job.stop_with_savepoint(savepoint_directory, drain=drain))

    def get_accumulators(self) -> CompletableFuture[dict[str, Any]]:
        """The figures of the job so far."""
        return CompletableFuture.completed(dict(self.metrics()))

    def get_job_execution_result(self) -> CompletableFuture[JobExecutionResult]:
        """The result, once the job has ended."""
        return CompletableFuture(self.ended)

    def wait(self, timeout: float | None = None) -> JobExecutionResult:
        """Wait for the end; raises JobFailedError or JobCancelledError. An interrupt stops the job."""
        try:
            return self.ended.result(timeout)
        except KeyboardInterrupt:
            self.cancel().result()
            raise

    def metrics(self) -> OperatorMetrics:
        """Records in and out, and the user's own metrics, by the name of the operator, its uid among them."""
        names = [(each.uid, bare_name(each)) for vertex in self.job.plan.vertices for each in vertex.operators]
        return OperatorMetrics.of({uid: dict(figures) for uid, figures in list(self.job.totals.items())}, names)

    def progress(self) -> LiveProgress:
        """Batch, records, rate, watermark and lag; restarts and the last failure."""
        return replace(self.job.progress, restarts=self.job.restarts, last_failure=self.job.last_failure)

    def last_failure(self) -> JobFailure | None:
        """What went wrong last, also if the job was restarted after it."""
        return self.job.last_failure

    def restarts(self) -> int:
        """How often the job was restarted."""
        return self.job.restarts

    def explain(self) -> str:
        """The plan that runs."""
        return self.job.plan.explain()

    def was_drained(self) -> bool:
        """Whether sources were ended before all was read."""
        return self.job.wish.is_draining

    def collected(self, collect_id: str) -> Iterator[Any]:
        """The records of a collecting sink as they become final; ends with the job and raises its failure."""
        waiting = self.job.collected[collect_id]
        while True:
            has_ended = self.ended.done()
            while waiting:
                yield waiting.popleft()
            if has_ended:
                self.ended.result()
                return
            time.sleep(_PAUSE_SECONDS)

    def _savepoint(self, write: Callable[[], str]) -> CompletableFuture[str]:
        with self._between_batches:
            if self.job.status.is_globally_terminal_state():
                name = self.job.settings.job_name
                return CompletableFuture.failed(CheckpointError(f"job {name!r} has ended already"))
            try:
                return CompletableFuture.completed(write())
            except Exception as error:
                return CompletableFuture.failed(error)

    def _stopped(self) -> CompletableFuture[None]:
        stopped: Future[None] = Future()

        def pass_on(ended: Future[JobExecutionResult]) -> None:
            error = ended.exception()
            if error is None or isinstance(error, JobCancelledError):
                stopped.set_result(None)
            else:
                stopped.set_exception(error)

        self.ended.add_done_callback(pass_on)
        return CompletableFuture(stopped)

    # ---- the thread ----

    def _run(self) -> None:
        job, called_off = self.job, self.job.live_clock.called_off
        try:
            while not called_off.is_set() and self._run_batch():
                pass
            with self._between_batches:
                if called_off.is_set() and not job.status.is_globally_terminal_state():
                    job.end(JobStatus.CANCELED)
        except BaseException as error:
            self._fail(error)
            return
        if job.status is JobStatus.CANCELED:
            self.ended.set_exception(JobCancelledError(f"job {job.settings.job_name!r} was cancelled"))
            return
        runtime_ms = int((time.monotonic() - self._started) * 1000)
        self.ended.set_result(JobExecutionResult(self.get_job_id(), runtime_ms, self.metrics()))

    def _run_batch(self) -> bool:
        """Run a batch, or wait for a moment if there is nothing to do; returns whether there may be more."""
        began = time.monotonic()
        try:
            with self._between_batches:
                has_more = self.job.run_batch()
        except StalledJob:
            self.job.live_clock.called_off.wait(_PAUSE_SECONDS)
            return True
        # As on Spark, an interval is from one beginning of a batch to the next.
        left = (self.job.settings.batch_interval_ms or 0) / 1000 - (time.monotonic() - began)
        if has_more and left > 0 and not self.job.wish.is_draining:
            self.job.live_clock.called_off.wait(left)
        return has_more

    def _fail(self, error: BaseException) -> None:
        if self.job.live_clock.called_off.is_set():
            self.ended.set_exception(JobCancelledError(f"job {self.job.settings.job_name!r} was cancelled"))
        elif isinstance(error, JobFailedError):
            self.ended.set_exception(error)
        else:
            failed = JobFailedError(f"{error}\njob {self.job.settings.job_name!r} failed")
            failed.__cause__ = error
            self.ended.set_exception(failed)


def submit_live(graph: LogicalGraph, settings: JobSettings) -> LiveJobClient:
    """Check a program and let it run in this process; `penstock list` shows it like any other."""
    from penstock.engine.announcing import announce

    job = LiveJob(graph, settings)
    client = LiveJobClient(job)
    announce(
        client,
        client.ended,
        name=settings.job_name,
        checkpoint=job.directory.uri,
        savepoint_directory=settings.savepoint_directory,
    )
    return client
