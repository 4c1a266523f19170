"""The life of a job on Spark: start, restart by its strategy, drain, cancel, end."""

from __future__ import annotations

import logging
import pickle
import threading
import time
from collections.abc import Iterator
from concurrent.futures import Future
from contextlib import suppress
from functools import partial
from queue import Empty
from typing import Any

from pyspark.sql import SparkSession
from pyspark.sql.streaming.query import StreamingQuery

from penstock.checkpoint import CheckpointDirectory
from penstock.common.completable_future import CompletableFuture
from penstock.common.job_client import JobClient
from penstock.common.job_execution_result import JobExecutionResult
from penstock.common.job_failure import JobFailure
from penstock.common.job_id import JobID
from penstock.common.job_status import JobStatus
from penstock.common.operator_metrics import OperatorMetrics
from penstock.engine.announcing import announce
from penstock.engine.spark.backpressure import Backpressure
from penstock.engine.spark.batches import BatchCommitter, publish_left
from penstock.engine.spark.control import Control
from penstock.engine.spark.diagnosis import diagnosed
from penstock.engine.spark.driver_sinks import DriverSinks
from penstock.engine.spark.failures import failure_text
from penstock.engine.spark.frame_ends import FrameEnds
from penstock.engine.spark.interrupts import plain_interrupts
from penstock.engine.spark.local_stores import HEAP_BACKEND, LocalStores
from penstock.engine.spark.patience import Patience
from penstock.engine.spark.progress import ProgressDisplay
from penstock.engine.spark.restarts import Restarts
from penstock.engine.spark.savepoints import SavepointDesk, SavepointRequest
from penstock.engine.spark.session import get_session, query_config
from penstock.engine.spark.shipping import ShippedPlan, check_picklable, ship
from penstock.engine.spark.spark_names import SparkNames
from penstock.engine.spark.statistics import JobStatistics, Progress
from penstock.engine.spark.taking_over import TakingOver, declared_on_workers
from penstock.engine.spark.topology import build_frame, count_frame_sources
from penstock.engine.spark.worker_orders import Workers
from penstock.errors import CheckpointError, JobCancelledError, JobFailedError, TakenOverError
from penstock.graph import JobPlan, JobSettings, LogicalGraph, compile_plan
from penstock.runtime.admission import admit, has_no_end
from penstock.runtime.intake import SourceList
from penstock.runtime.subtask import TaskSettings
from penstock.savepoint import Origin
from penstock.savepoint.matching import check_declared
from penstock.savepoint.starting import Beginning, made_or_abandoned, needs_check
from penstock.scratch import clear_scratch, make_scratch, remove_scratch

_POLL_SECONDS = 0.05
_REST_POLL_SECONDS = 0.1

_log = logging.getLogger(__name__)


def submit(graph: LogicalGraph, settings: JobSettings) -> SparkJobClient:
    """Check a program, start it as a job and return the handle to it."""
    clear_scratch()
    temporary = None if settings.checkpoint_directory else make_scratch("checkpoint")
    try:
        directory = CheckpointDirectory(
            settings.checkpoint_directory or str(temporary), retained=settings.retained_versions
        )
        beginning = Beginning.find(directory, settings.recovery_path)
        plan = compile_plan(graph, settings, beginning.adopted)
        job = SparkJob(plan, settings, directory, beginning, is_batch_mode=admit(plan, settings.runtime_mode))
    except BaseException:
        _remove(temporary)
        raise
    job.start(temporary)
    client = SparkJobClient(job)
    announce(
        client,
        job.ended,
        name=settings.job_name,
        checkpoint=directory.uri,
        savepoint_directory=settings.savepoint_directory,
    )
    return client


def _nothing_to_save(job_name: str, error: BaseException | None) -> CheckpointError:
    why = "" if error is None else f" with a failure: {failure_text(error, job_name)}"
    return CheckpointError(f"job {job_name!r} has ended, so there is nothing to save{why}")


def _remove(temporary: str | None) -> None:
    if temporary is not None:
        remove_scratch(temporary)


class SparkJob:
    """A job and the thread that keeps it running."""

    def __init__(
        self,
        plan: JobPlan,
        settings: JobSettings,
        directory: CheckpointDirectory,
        beginning: Beginning,
        *,
        is_batch_mode: bool,
    ) -> None:
        self.plan = plan
        self.settings = settings
        self._is_batch_mode = is_batch_mode
        self.status = JobStatus.CREATED
        self.statistics = JobStatistics(plan)
        self._backpressure = Backpressure(SourceList.of(plan, settings.max_records_per_batch), settings)
        self.sinks = DriverSinks(plan)
        self.ended: Future[JobExecutionResult] = Future()
        # Everything that can be refused is refused before the caller gets a handle and before a file is written:
        # functions that cannot be pickled, no Java, no session, a directory of another job.
        check_picklable(plan, settings.max_plan_bytes)
        self._session: SparkSession = get_session(settings)
        for path in settings.python_files:
            self._session.sparkContext.addPyFile(path)
        self._temporary: str | None = None
        self._directory = directory
        self.job_id = beginning.adopt(directory, plan, allow_non_restored_state=settings.allow_non_restored_state)
        if beginning.origin is not None:
            made_or_abandoned(directory, partial(self._take_over, beginning.origin))
        own = needs_check(directory, beginning)
        if own is not None:
            shipped = self._ship(self._task_settings(0, time.time_ns() // 1_000_000), None)
            check_declared(own, plan, declared_on_workers(self._session, shipped, plan))
        has_stores = settings.state_backend != HEAP_BACKEND
        self._stores = LocalStores(self._session, settings.state_directory if has_stores else None, self.job_id)
        self.savepoints = SavepointDesk(self._session, plan, directory, self.job_id, settings.savepoint_directory)
        self._started = time.monotonic()
        self._cancel = threading.Event()
        self._drain = threading.Event()
        self.was_drained = False
        self._ending = threading.RLock()
        self._unstoppable: JobFailedError | None = None
        self._run_id = ""
        self._committer: BatchCommitter | None = None
        self._patience = Patience(self, settings.cancellation_timeout_ms / 1000)
        self._thread = threading.Thread(target=self._run, name=f"penstock-{settings.job_name}", daemon=True)

    def start(self, temporary: str | None) -> None:
        """Let the job run; it removes the temporary directory, if it has one, when it ends."""
        self._temporary = temporary
        self._thread.start()

    def _take_over(self, origin: Origin) -> None:
        """Make the first version of what another job had come to."""
        counts = count_frame_sources(self._session, self.plan)
        sources = SourceList.of(self.plan, self.settings.max_records_per_batch)
        started_ms = time.time_ns() // 1_000_000
        shipped = self._ship(self._task_settings(0, started_ms), None)
        TakingOver(self._session, self.plan, self._directory, origin, counts).run(shipped, sources)

    def cancel(self) -> None:
        """Ask the job to stop at once; its checkpoint stays."""
        self._cancel.set()
        self.sinks.is_closed.set()
        self._patience.on_cancel()

    def drain(self) -> None:
        """Ask the job to end its sources where they are, fire everything, and finish."""
        self._drain.set()
        self._patience.on_stop()

    def take_savepoint(self, request: SavepointRequest) -> None:
        """Take the request of a client; its future tells what becomes of it."""
        self.savepoints.take(request)
        self._patience.on_savepoint(request)

    def abandon(self, text: str) -> None:
        """Call a job that was cancelled ended although something in it does not come back."""
        _log.warning("%s", text)
        if self._committer is not None:
            self._committer.stop()  # what comes back after all must not make anything final
        self._end(None)

    def fail_stop(self, text: str) -> None:
        """End a job at once that does not come to its end."""
        self._unstoppable = JobFailedError(text)
        self.cancel()

    def _task_settings(self, attempt: int, started_ms: int) -> TaskSettings:
        return TaskSettings(
            job_id=self.job_id,
            attempt=attempt,
            started_ms=started_ms,
            job_parameters=self.settings.job_parameters,
            watermark_every_records=self.settings.watermark_every_records,
            is_batch_mode=self._is_batch_mode,
            is_endless=has_no_end(self.plan),
            staging=self._directory.staging_uri,
            shares_objects=self.settings.object_reuse,
        )

    def _run(self) -> None:
        """Start the query again and again until it has finished, was cancelled, or the strategy gives up."""
        restarts = Restarts(self.settings.restart_strategy, self.settings.job_name)
        try:
            while True:
                was_stopping = self._is_stopping()
                try:
                    self._run_attempt(restarts.attempt)
                    break
                except Exception as raised:
                    if self._cancel.is_set():
                        raise
                    error = self._taken_over() or self._diagnosed(raised)
                    failure = restarts.on_failure(error, was_stopping=was_stopping, is_stopping=self._is_stopping())
                    self.statistics.on_failure(failure)
                    if failure.restart_in_ms is None:
                        raise error from raised
                    del raised, error
                self.status = JobStatus.RESTARTING
                if self._rest(failure.restart_in_ms / 1000):
                    break
            if not self._cancel.is_set():
                self.savepoints.serve_ended()
            self._end(None)
        except BaseException as error:
            self._end(error)

    def _diagnosed(self, raised: Exception) -> Exception:
        checkpoint = self._directory.uri
        return diagnosed(raised, self._session, self.plan, checkpoint=checkpoint, run_id=self._run_id)

    def _taken_over(self) -> TakenOverError | None:
        """Why an attempt failed that was paused while another driver went on: its files are gone, its sinks refuse."""
        with suppress(OSError):
            return self._directory.taken_over() if self._directory.was_taken_over() else None
        return None

    def _is_stopping(self) -> bool:
        """Whether the job is to end its sources and then itself."""
        return self._drain.is_set() or self.savepoints.wants_drain()

    def _rest(self, seconds: float) -> bool:
        """Wait before a restart, not longer than anybody wants; returns whether the job was stopped meanwhile."""
        end = time.monotonic() + seconds
        while not self._cancel.is_set() and not self._is_stopping():
            if self.savepoints.serve_resting(partial(publish_left, self.plan, self._directory, self._session)):
                return True
            left = end - time.monotonic()
            if left <= 0:
                break
            self._cancel.wait(min(left, _REST_POLL_SECONDS))
        return False

    def _end(self, error: BaseException | None) -> None:
        """Tell how the job ended, whatever cannot be tidied up; once, for who was tired of waiting may have told."""
        with self._ending:
            if self.ended.done():
                return
            try:
                self._tidy(is_well=error is None)
            except Exception as untidy:
                _log.warning("job %r left files behind: %s", self.settings.job_name, untidy)
            self._tell_end(error)
            # After the end is told: who hears that there is no savepoint may look at what became of the job.
            self.savepoints.close(_nothing_to_save(self.settings.job_name, error))

    def _tidy(self, *, is_well: bool) -> None:
        with suppress(OSError):  # storage that is gone is no reason for the end not to be told
            if self._directory.is_held():  # if not, another start of the job may use the stores
                self._stores.remove(on_workers=is_well)
        self._stores.release()
        _remove(self._temporary)
        if self._cancel.is_set() and self.settings.deletes_when_cancelled:
            self._directory.discard()

    def _tell_end(self, error: BaseException | None) -> None:
        name = self.settings.job_name
        if self._cancel.is_set():
            self.status = JobStatus.CANCELED if self._unstoppable is None else JobStatus.FAILED
            self.ended.set_exception(self._unstoppable or JobCancelledError(f"job {name!r} was cancelled"))
        elif error is not None:
            self.status = JobStatus.FAILED
            failed = JobFailedError(failure_text(error, name))
            failed.__cause__ = error
            self.ended.set_exception(failed)
        else:
            self.status = JobStatus.FINISHED
            runtime_ms = int((time.monotonic() - self._started) * 1000)
            self.ended.set_result(JobExecutionResult(JobID(self.job_id), runtime_ms, self.statistics.metrics()))

    def _ship(self, settings: TaskSettings, clock_file: str | None) -> ShippedPlan:
        backend, place = self.settings.state_backend, self.settings.state_directory
        return ship(self.plan, settings, self._directory.uri, backend, clock_file, place)

    def _run_attempt(self, attempt: int) -> None:
        if self._cancel.is_set():
            return
        self._directory.take_over()
        sources = SourceList.of(self.plan, self.settings.max_records_per_batch)
        control = Control(sources)
        shipped = self._ship(self._task_settings(attempt, control.now_ms()), control.clock_file)
        control.write_plan(pickle.dumps(shipped))
        committer = BatchCommitter(
            self.plan,
            self._directory,
            control,
            self.sinks,
            self.statistics,
            Workers(self._session),
            self._backpressure,
        )
        self._committer = committer
        try:
            if committer.finish_if_ended():
                return
            names = SparkNames(self._session, self.plan, self.settings.job_name, self.job_id)
            with names.query_name() as name:
                query = self._start_query(shipped, control, committer, names, name)
                self._run_id = str(query.runId)
                self.status = JobStatus.RUNNING
                try:
                    self._watch(query, committer, control)
                except Exception:
                    with suppress(Exception):  # with Java gone, the first error tells more
                        query.stop()
                    raise
                query.stop()
        except Exception as error:
            # A query that is stopped from outside leaves an error of its own in the committer, which explains nothing.
            raise (error if isinstance(error, CheckpointError) else committer.error or error) from None
        finally:
            committer.close()
            control.remove()

    def _start_query(
        self, shipped: ShippedPlan, control: Control, committer: BatchCommitter, names: SparkNames, name: str
    ) -> StreamingQuery:
        with query_config(self._session):
            frame, committer.frame_counts = build_frame(self._session, self.plan, shipped, control.directory)
            writer = frame.writeStream.queryName(name).foreachBatch(names.given_to(committer.on_batch))
            writer = writer.option("checkpointLocation", self._directory.spark_path)
            if self.settings.batch_interval_ms:
                writer = writer.trigger(processingTime=f"{self.settings.batch_interval_ms} milliseconds")
            return writer.start()

    def _watch(self, query: StreamingQuery, committer: BatchCommitter, control: Control) -> None:
        frame_ends = FrameEnds(self.plan, committer.frame_counts)
        while not self._cancel.is_set():
            if not query.isActive:
                query.awaitTermination()  # raises what ended it
                if committer.finished_batch is None:
                    raise CheckpointError(
                        f"the query of job {self.settings.job_name!r} was stopped from outside: by another start of it "
                        f"on checkpoint {self._directory.uri}, or by somebody who stopped Spark's queries"
                    )
                return
            if committer.finished_batch is not None:
                _await_commit(query, committer.finished_batch)
                return
            if self._is_stopping() and not control.state.is_draining:
                control.drain()
                self.was_drained = True
            if self.savepoints.serve(committer):
                return
            for uid in frame_ends.newly_ended(query):
                control.end_frame(uid)
            committer.changed.wait(_POLL_SECONDS)
            committer.changed.clear()
        self.status = JobStatus.CANCELLING


def _await_commit(query: StreamingQuery, batch: int) -> None:
    """Let Spark log the commit of the last batch, so that a later start has nothing to repeat.

    Not needed for correctness (the batch is sealed), so it is not waited for at any price.
    """
    give_up = time.monotonic() + 10
    while query.isActive and time.monotonic() < give_up:
        progress = query.lastProgress
        if progress is not None and progress["batchId"] >= batch:
            return
        time.sleep(0.01)


class SparkJobClient(JobClient):
    """The handle to a job on Spark."""

    def __init__(self, job: SparkJob) -> None:
        self._job = job

    def get_job_id(self) -> JobID:
        """Identity of the job; the same after a restart from its checkpoint."""
        return JobID(self._job.job_id)

    def get_job_status(self) -> CompletableFuture[JobStatus]:
        """Where the job is in its life."""
        return CompletableFuture.completed(self._job.status)

    def cancel(self) -> CompletableFuture[None]:
        """Stop the job at once; done when it has stopped. Its checkpoint stays as it is."""
        self._job.cancel()
        return self._stopped()

    def stop(self, drain: bool = True) -> CompletableFuture[None]:
        """Stop the job in good order: `drain` ends its sources, fires all timers and commits all sinks first."""
        if not drain:
            return self.cancel()
        self._job.drain()
        return self._stopped()

    def trigger_savepoint(
        self, savepoint_directory: str | None = None, format_type: Any = None
    ) -> CompletableFuture[str]:
        """Write a savepoint of the last batch, the job going on."""
        return self._savepoint(SavepointRequest(savepoint_directory))

    def stop_with_savepoint(
        self, advance_to_end_of_event_time: bool, savepoint_directory: str | None = None, format_type: Any = None
    ) -> CompletableFuture[str]:
        """Write a savepoint of the last batch and end the job; done when it has ended."""
        drain = advance_to_end_of_event_time
        return self._savepoint(SavepointRequest(savepoint_directory, stops=True, drains=drain))

    def _savepoint(self, request: SavepointRequest) -> CompletableFuture[str]:
        self._job.take_savepoint(request)
        if not request.stops:
            return CompletableFuture(request.path)
        stopped: Future[str] = Future()
        request.path.add_done_callback(lambda path: _pass_on_stop(path, self._job.ended, stopped))
        return CompletableFuture(stopped)

    def _stopped(self) -> CompletableFuture[None]:
        stopped: Future[None] = Future()
        self._job.ended.add_done_callback(lambda ended: _pass_on(ended, stopped))
        return CompletableFuture(stopped)

    def get_accumulators(self) -> CompletableFuture[dict[str, Any]]:
        """The figures of the job so far."""
        return CompletableFuture.completed(self.metrics())

    def get_job_execution_result(self) -> CompletableFuture[JobExecutionResult]:
        """The result, once the job has ended."""
        return CompletableFuture(self._job.ended)

    def wait(self, timeout: float | None = None) -> JobExecutionResult:
        """Wait for the end, with progress on a terminal or in a notebook; raises JobFailedError, JobCancelledError."""
        display = ProgressDisplay(self._job.settings.job_name, lambda: (self._job.status, self.progress()))
        with display, plain_interrupts():
            try:
                return self._job.ended.result(timeout)
            except KeyboardInterrupt:
                self.cancel().result()
                raise

    def metrics(self) -> OperatorMetrics:
        """Records in and out, and the user's own metrics, by the names of operators; see docs/metrics.md."""
        return self._job.statistics.metrics()

    def progress(self) -> Progress:
        """Batch, records, rate, watermark, lag, and how the sources are paced."""
        return self._job.statistics.progress

    def restarts(self) -> int:
        """How often the job was restarted."""
        return self._job.statistics.progress.restarts

    def last_failure(self) -> JobFailure | None:
        """What went wrong last, whether the job was restarted after it or not; None if nothing did."""
        return self._job.statistics.progress.last_failure

    def explain(self) -> str:
        """The plan that runs."""
        return self._job.plan.explain()

    def was_drained(self) -> bool:
        """Whether sources were ended before all was read."""
        return self._job.was_drained

    def collected(self, collect_id: str) -> Iterator[Any]:
        """The records of a collecting sink as they become final; ends with the job and raises its failure."""
        waiting = self._job.sinks.collected[collect_id]
        while True:
            has_ended = self._job.ended.done()
            try:
                with plain_interrupts():
                    records = waiting.get(timeout=None if has_ended else 0.05, block=not has_ended)
                yield from records
            except KeyboardInterrupt:
                self.cancel().result()
                raise
            except Empty:
                if has_ended:
                    self._job.ended.result()
                    return


def _pass_on(ended: Future[JobExecutionResult], stopped: Future[None]) -> None:
    error = ended.exception()
    if error is None or isinstance(error, JobCancelledError):
        stopped.set_result(None)
    else:
        stopped.set_exception(error)


def _pass_on_stop(path: Future[str], ended: Future[JobExecutionResult], stopped: Future[str]) -> None:
    """A job that is stopped with a savepoint goes on if that cannot be written; otherwise its end is waited for."""
    error = path.exception()
    if error is not None:
        stopped.set_exception(error)
    else:
        ended.add_done_callback(lambda _: stopped.set_result(path.result()))
