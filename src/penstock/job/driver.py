"""The driver of a job: the thread that keeps it running, its restarts, savepoints and end. The engine runs it."""

from __future__ import annotations

import logging
import threading
import time
from collections.abc import Callable, Iterator
from concurrent.futures import Future
from contextlib import suppress
from typing import Any

from penstock.common.job_execution_result import JobExecutionResult
from penstock.common.job_failure import JobFailure
from penstock.common.job_id import JobID
from penstock.common.job_status import JobStatus
from penstock.errors import CheckpointError, JobCancelledError, JobFailedError, TakenOverError
from penstock.job.driver_sinks import DriverSinks
from penstock.job.engine_contract import JobEngine
from penstock.job.interrupts import plain_interrupts, tell_in_one_line
from penstock.job.journal import now_ms
from penstock.job.patience import Patience
from penstock.job.program import Program
from penstock.job.progress_display import ProgressDisplay
from penstock.job.restarts import Restarts
from penstock.job.savepoint_desk import SavepointDesk, SavepointRequest, VersionBoundary, note_savepoint
from penstock.job.statistics import JobStatistics

_REST_POLL_SECONDS = 0.1

_log = logging.getLogger(__name__)


class JobDriver:
    """A job that runs by itself; a `Job` for clients, and the `AttemptControl` of its engine."""

    def __init__(self, program: Program, engine: JobEngine, sinks: DriverSinks, statistics: JobStatistics) -> None:
        """Take a program whose directory is the job's, and the engine that is to run it."""
        settings = program.settings
        self.plan = program.plan
        self.settings = settings
        self.job_id = program.job_id
        self.statistics = statistics
        self._status = JobStatus.CREATED
        self.ended: Future[JobExecutionResult] = Future()
        self.was_drained = False
        self._directory = program.directory
        self._engine = engine
        self._sinks = sinks
        self.savepoints = SavepointDesk(
            self.plan, self._directory, self.job_id, settings.savepoint_directory, engine.write_parts
        )
        self._started = time.monotonic()
        self._cancel = threading.Event()
        self._drain = threading.Event()
        self._asked = threading.Event()
        self._ending = threading.RLock()
        self._unstoppable: JobFailedError | None = None
        self._on_end: Callable[[], None] | None = None
        self._patience = Patience(self, settings.cancellation_timeout_ms / 1000)
        self._thread = threading.Thread(target=self._run, name=f"penstock-{settings.job_name}", daemon=True)

    def start(self, on_end: Callable[[], None] | None = None) -> None:
        """Let the job run; `on_end` removes what it was given for its time."""
        self._on_end = on_end
        self._thread.start()

    @property
    def status(self) -> JobStatus:
        """Where the job is in its life."""
        return self._status

    @status.setter
    def status(self, status: JobStatus) -> None:
        self._status = status
        self.statistics.journal.on_status(status.name)

    # ---- what clients ask for, from any thread ----

    def cancel(self) -> None:
        """Ask the job to stop at once; its checkpoint stays."""
        self._cancel.set()
        self._asked.set()
        self._sinks.close()
        self._patience.on_cancel()

    def drain(self) -> None:
        """Ask the job to end its sources where they are, fire everything, and finish."""
        self._drain.set()
        self._asked.set()
        self._patience.on_stop()

    def take_savepoint(self, request: SavepointRequest) -> None:
        """Take the request of a client; its future tells what becomes of it."""
        note_savepoint(self.statistics.journal, request)
        self.savepoints.take(request)
        self._asked.set()
        self._patience.on_savepoint(request)

    def wait(self, timeout: float | None) -> JobExecutionResult:
        """Wait for the end, with progress on a terminal or in a notebook; an interrupt cancels the job."""
        display = ProgressDisplay(self.settings.job_name, lambda: (self.status, self.statistics.progress))
        with display, plain_interrupts():
            try:
                return self.ended.result(timeout)
            except KeyboardInterrupt:
                self._cancel_and_wait()
                raise

    def collected(self, collect_id: str) -> Iterator[Any]:
        """The records of a collecting sink as they become final; ends with the job and raises its failure."""
        records = iter(self._sinks.collected[collect_id])
        while True:
            try:
                with plain_interrupts():
                    record = next(records)
            except StopIteration:
                self.ended.result()
                return
            except KeyboardInterrupt:
                self._cancel_and_wait()
                raise
            yield record

    def _cancel_and_wait(self) -> None:
        tell_in_one_line(self.settings.job_name)
        self.cancel()
        with suppress(Exception):
            self.ended.result()

    def cluster(self) -> dict[str, Any]:
        """What runs the job; see `JobEngine.cluster`."""
        return self._engine.cluster()

    def abandon(self, text: str) -> None:
        """Call a job that was cancelled ended although something in it does not come back."""
        _log.warning("%s", text)
        self._engine.stop()  # what comes back after all must not make anything final
        self._end(None)

    def fail_stop(self, text: str) -> None:
        """End a job at once that does not come to its end."""
        self._unstoppable = JobFailedError(text)
        self.cancel()

    # ---- what the engine asks while an attempt runs ----

    def is_cancelled(self) -> bool:
        """Whether the job is to end at once."""
        return self._cancel.is_set()

    def is_stopping(self) -> bool:
        """Whether the job is to end its sources and then itself."""
        return self._drain.is_set() or self.savepoints.wants_drain()

    def on_running(self) -> None:
        """Note that records can flow."""
        self.status = JobStatus.RUNNING

    def on_draining(self) -> None:
        """Note that sources are ended before all was read."""
        self.was_drained = True

    def serve_savepoints(self, versions: VersionBoundary) -> bool:
        """Write what is asked for; returns whether the job is to stop now."""
        return self.savepoints.serve(versions)

    def pause(self, seconds: float) -> None:
        """Wait, not longer than until somebody asks something."""
        self._asked.wait(seconds)
        self._asked.clear()

    # ---- the thread ----

    def _run(self) -> None:
        """Run attempts until the job has finished, was cancelled, or the strategy gives up."""
        restarts = Restarts(self.settings.restart_strategy, self.settings.job_name, self._engine.failure_text)
        try:
            while True:
                was_stopping = self.is_stopping()
                try:
                    if not self._cancel.is_set():
                        self._engine.run_attempt(restarts.attempt, self)
                    break
                except Exception as raised:
                    if self._cancel.is_set():
                        raise
                    error = self._taken_over() or self._engine.explained(raised)
                    failure = restarts.on_failure(error, was_stopping=was_stopping, is_stopping=self.is_stopping())
                    self.statistics.on_failure(failure)
                    if failure.restart_in_ms is None:
                        raise error from raised
                    del raised, error
                self.status = JobStatus.RESTARTING
                if self._rest(failure.restart_in_ms / 1000):
                    break
            if self._cancel.is_set():
                with self._ending:  # who was tired of waiting may have told the end
                    if not self.ended.done():
                        self.status = JobStatus.CANCELLING
            else:
                self._engine.finish()
                self.savepoints.serve_ended()
            self._end(None)
        except BaseException as error:
            self._end(error)

    def _taken_over(self) -> TakenOverError | None:
        """Why an attempt failed that was paused while another driver went on: its files are gone, its sinks refuse."""
        with suppress(OSError):
            return self._directory.taken_over() if self._directory.was_taken_over() else None
        return None

    def _rest(self, seconds: float) -> bool:
        """Wait before a restart, not longer than anybody wants; returns whether the job was stopped meanwhile."""
        end = time.monotonic() + seconds
        while not self._cancel.is_set() and not self.is_stopping():
            if self.savepoints.serve_resting(self._engine.publish_last):
                return True
            left = end - time.monotonic()
            if left <= 0:
                break
            self.pause(min(left, _REST_POLL_SECONDS))
        return False

    def _end(self, error: BaseException | None) -> None:
        """Tell how the job ended, whatever cannot be tidied up; once, for who was tired of waiting may have told."""
        with self._ending:
            if self.ended.done():
                return
            try:
                self._tidy(is_well=error is None)
            except Exception as untidy:
                _log.warning("job %r could not remove all of its files: %s", self.settings.job_name, untidy)
            self._tell_end(error)
            self._sinks.close()
            # After the end is told: who hears that there is no savepoint may look at what became of the job.
            self.savepoints.close(self._nothing_to_save(error))

    def _tidy(self, *, is_well: bool) -> None:
        is_held = False
        with suppress(OSError):  # storage that is gone is no reason for the end not to be told
            is_held = self._directory.is_held()
        self._engine.close(is_well=is_well, is_held=is_held)
        if self._on_end is not None:
            self._on_end()
        if self._cancel.is_set() and self.settings.deletes_when_cancelled:
            self._directory.discard()

    def _tell_end(self, error: BaseException | None) -> None:
        name = self.settings.job_name
        if self._cancel.is_set():
            self.status = JobStatus.CANCELED if self._unstoppable is None else JobStatus.FAILED
            self.ended.set_exception(self._unstoppable or JobCancelledError(f"job {name!r} was cancelled"))
        elif error is not None:
            self.status = JobStatus.FAILED
            failed = self._failed(error)
            self._note_failure(str(failed))
            self.ended.set_exception(failed)
        else:
            self.status = JobStatus.FINISHED
            runtime_ms = int((time.monotonic() - self._started) * 1000)
            self.ended.set_result(JobExecutionResult(JobID(self.job_id), runtime_ms, self.statistics.metrics()))

    def _note_failure(self, text: str) -> None:
        """What failed outside of an attempt is noted by nobody else."""
        last = self.statistics.progress.last_failure
        if last is None or last.restart_in_ms is not None:
            self.statistics.on_failure(JobFailure(text, 0 if last is None else last.attempt + 1, now_ms()))

    def _failed(self, error: BaseException) -> JobFailedError:
        if isinstance(error, JobFailedError):
            return error  # it says so already
        failed = JobFailedError(self._engine.failure_text(error, self.settings.job_name))
        failed.__cause__ = error
        return failed

    def _nothing_to_save(self, error: BaseException | None) -> CheckpointError:
        name = self.settings.job_name
        why = "" if error is None else f" with a failure: {self._engine.failure_text(error, name)}"
        return CheckpointError(f"job {name!r} has ended, so there is no savepoint to take{why}")
