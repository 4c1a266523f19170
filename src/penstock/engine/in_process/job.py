"""A job in this process that runs when it is told to: batches one by one, on a clock that is set by hand. For tests."""

from __future__ import annotations

import os
from collections import Counter
from collections.abc import Iterator
from concurrent.futures import Future
from typing import Any

from penstock.common.job_execution_result import JobExecutionResult
from penstock.common.job_id import JobID
from penstock.common.job_status import JobStatus
from penstock.engine.in_process.batches import BatchRunner, Scratch
from penstock.engine.in_process.chances import Chances, ProcessDied
from penstock.engine.in_process.clock import ManualClock
from penstock.engine.in_process.cluster import THIS_PROCESS
from penstock.engine.in_process.continuous import ContinuousRunner
from penstock.engine.in_process.options import InProcessOptions
from penstock.errors import CheckpointError, GraphError, JobCancelledError, JobFailedError
from penstock.graph import JobSettings, LogicalGraph
from penstock.job.continuous.admission import continuous_refusal
from penstock.job.intake import IntakeRequest
from penstock.job.plan_sources import source_operator
from penstock.job.program import Program
from penstock.job.restarts import Restarts
from penstock.job.savepoint_desk import SavepointRequest
from penstock.job.statistics import JobStatistics
from penstock.runtime.failure import OperatorFailure
from penstock.runtime.source_tasks import Offset
from penstock.savepoint import CheckpointOrigin, begin_savepoint, finish_savepoint
from penstock.savepoint.writing import savepoint_place

# How far time may run ahead while nothing can be read: longer than any pause that a test needs.
_PATIENCE_MS = 3_600_000
_PAUSED = ", and watermark alignment lets some splits wait for those without data (with_idleness leaves these out)"


class StalledJob(JobFailedError):
    """Nothing is left to read, and no time will change that. The job is as it was: it can be stopped."""


class InProcessJob:
    """A job whose batches run in the thread of the caller: `run_batch` runs one, `run` and `wait` all of them.

    `crashed` counts the deaths of its process by the kind of step.
    """

    def __init__(self, graph: LogicalGraph, settings: JobSettings, options: InProcessOptions) -> None:
        """Check a program and make it a job; nothing runs yet."""
        scratch = Scratch(self)
        self.scratch = scratch.path
        place = settings.checkpoint_directory or os.path.join(scratch.path, "checkpoint")
        program = Program.open(graph, settings, place)
        self.plan = program.plan
        self.settings = settings
        self.directory = program.directory
        self.statistics = JobStatistics(program.plan)
        self.status = JobStatus.CREATED
        self.ended: Future[JobExecutionResult] = Future()
        self.was_drained = False
        self.crashed: Counter[str] = Counter()
        self.clock = options.clock or ManualClock()
        is_continuous = settings.execution_mode == "continuous"
        if settings.execution_mode == "auto":
            is_continuous = continuous_refusal(program.plan, is_batch_mode=program.is_batch_mode) is None
        make_runner = ContinuousRunner if is_continuous else BatchRunner
        self.runner = make_runner(
            program,
            self.statistics,
            scratch,
            clock=self.clock,
            chances=options.chances(),
            state=options.state,
            most_waiting=None,
        )
        self._restarts = Restarts(settings.restart_strategy, settings.job_name)
        self.runner.begin()
        self.job_id = program.job_id
        self._start_process()

    # ---- what tests look at ----

    @property
    def chances(self) -> Chances:
        """What decides for the job what a cluster leaves to chance."""
        return self.runner.chances

    @property
    def steps(self) -> int:
        """How many steps the job has taken at which its process could have died."""
        return self.runner.steps

    @property
    def retried_tasks(self) -> int:
        """How many tasks died and were run again."""
        return self.runner.retried_tasks

    @property
    def batches(self) -> int:
        """How many batches are final."""
        return self.runner.seal.version + 1

    @property
    def crashes(self) -> int:
        """How often the process has died."""
        return self.crashed.total()

    @property
    def restarts(self) -> int:
        """How often the job was started again after a failure."""
        return self._restarts.attempt

    # ---- what a client asks for ----

    def cancel(self) -> None:
        """End the job where it is."""
        if not self.ended.done():
            self._end(JobStatus.CANCELED)

    def drain(self) -> None:
        """End all sources where they are, and run the last batch."""
        self.was_drained = True
        self.wait()

    def take_savepoint(self, request: SavepointRequest) -> None:
        """Write a savepoint of what has been run so far, and end the job if that is asked for too."""
        try:
            request.path.set_result(self._savepoint(request))
        except Exception as error:
            request.path.set_exception(error)

    def wait(self, timeout: float | None = None) -> JobExecutionResult:
        """Run the job to its end."""
        if not self.ended.done():
            self.run()
        return self.ended.result()

    def cluster(self) -> dict[str, Any]:
        """This process does everything."""
        return THIS_PROCESS

    def collected(self, collect_id: str) -> Iterator[Any]:
        """The records of a collecting sink; runs the job to its end first."""
        self.wait()
        yield from self.runner.sinks.collected[collect_id]

    def _savepoint(self, request: SavepointRequest) -> str:
        name = self.settings.job_name
        if self.ended.done():
            raise CheckpointError(f"job {name!r} has ended, so there is no savepoint to take")
        if request.drains:
            self.was_drained = True
            while self._run_batch():
                pass
        place = savepoint_place(request.directory, self.settings.savepoint_directory)
        seal = self.runner.last_version()
        origin = CheckpointOrigin(self.directory, seal, self.plan.fingerprint(), name, self.job_id)
        path = finish_savepoint(begin_savepoint(origin, self.plan, place), self.runner.write_parts, self.clock())
        if request.stops:
            self._end(JobStatus.FINISHED)
        return path

    # ---- batches ----

    def run(self) -> None:
        """Run batches until the job has ended."""
        self._refuse_endless()
        while self.run_batch():
            pass

    def _refuse_endless(self) -> None:
        """Refuse to run a job to an end that it does not have."""
        for vertex in self.plan.sources():
            if not source_operator(vertex).source.is_bounded() and not self.was_drained:
                raise GraphError(
                    f"{vertex.name!r} never ends, so the job would run forever: use a bounded source, or "
                    "execute_async() and then run_batch() and stop() of the client"
                )

    def run_batch(self) -> bool:
        """Run one batch, with whatever crashes and restarts it takes; returns whether there may be more."""
        if self.ended.done():
            return False
        self.status = JobStatus.RUNNING
        try:
            has_more = self._run_batch()
        except StalledJob:
            raise
        except Exception as failure:
            self._end(JobStatus.FAILED, failure)
            raise
        if not has_more:
            self._end(JobStatus.FINISHED)
        return has_more

    def _run_batch(self) -> bool:
        while True:
            try:
                return not self.runner.has_ended() and self.runner.run_batch(self._next_end)
            except ProcessDied as death:
                self._note(death)
                self._start_process()
            except OperatorFailure as failure:
                self._restart_after(failure)

    def _restart_after(self, error: OperatorFailure) -> None:
        failure = self._restarts.on_failure(error, was_stopping=False, is_stopping=False, now_ms=self.clock())
        self.statistics.on_failure(failure)
        if failure.restart_in_ms is None:
            raise JobFailedError(failure.text) from error
        self.clock.advance(failure.restart_in_ms)
        self.runner.close_functions()
        self._start_process()

    def _start_process(self) -> None:
        """A new process of the job, or the first of some that lives: sinks may be made to die while they publish."""
        while True:
            try:
                self.runner.begin_process(self._restarts.attempt)
                return
            except ProcessDied as death:
                self._note(death)

    def _note(self, death: ProcessDied) -> None:
        self.crashed[str(death)] += 1

    def _next_end(self) -> Offset:
        """Where the next batch ends; time passes where only time can move the job on."""
        due = self.runner.seal.next_deadline()
        paused = self.runner.paused()
        request = IntakeRequest(self.was_drained, (), due, paused=paused)
        offset = self.runner.offset
        for now in _moments(self.clock(), due):
            end = self.runner.sources.next_offset(offset, request, now_ms=now, elapsed_ms=now)
            if end != offset:
                self.clock.set(now)
                return self.chances.cut(offset, end)
        raise StalledJob(
            f"job {self.settings.job_name!r} waits for data that will never arrive: its sources have no more data but "
            f"have not ended{_PAUSED if paused else ''}; call stop(), or use bounded sources"
        )

    def _end(self, status: JobStatus, failure: Exception | None = None) -> None:
        """The job will run no more: close its functions, remove what it has on disk of its own."""
        self.status = status
        unclosed: JobFailedError | None = None
        try:
            self.runner.close_functions()
        except JobFailedError as error:
            unclosed = error
        self.runner.close()
        if status is JobStatus.CANCELED and self.settings.deletes_when_cancelled:
            self.directory.discard()
        # What ended the job, if something did, matters more than what fails now.
        self._tell_end(failure or unclosed)
        if unclosed is not None and failure is None:
            raise unclosed

    def _tell_end(self, failure: Exception | None) -> None:
        self.runner.sinks.close()
        if failure is not None:
            self.status = JobStatus.FAILED
            self.ended.set_exception(failure)
        elif self.status is JobStatus.CANCELED:
            self.ended.set_exception(JobCancelledError(f"job {self.settings.job_name!r} was cancelled"))
        else:
            self.ended.set_result(JobExecutionResult(JobID(self.job_id), 0, self.statistics.metrics()))


def _moments(start: int, due: int | None) -> Iterator[int]:
    """Times at which to look for something to do: now, then every second, and when something is due."""
    now = start
    while now < start + _PATIENCE_MS:
        yield now
        now = min(now + 1000, due) if due is not None and due > now else now + 1000
    if due is not None and due >= now:
        yield due
