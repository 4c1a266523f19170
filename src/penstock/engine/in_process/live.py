"""A job in this process that runs by itself, in real time: a whole program tried without Spark or Java.

The setting `penstock.engine=in-process` asks for it. One process does everything, so it is for trying programs, not for
load.
"""

from __future__ import annotations

import os
import time
from collections.abc import Iterator
from contextlib import contextmanager, suppress
from typing import Any

from penstock.checkpoint import Seal
from penstock.engine.in_process.batches import BatchRunner, Scratch
from penstock.engine.in_process.chances import Chances
from penstock.engine.in_process.clock import RealClock
from penstock.engine.in_process.cluster import THIS_PROCESS
from penstock.errors import ConfigurationError, JobFailedError
from penstock.graph import JobSettings, LogicalGraph
from penstock.job.announcing import announce
from penstock.job.client import RunningJobClient
from penstock.job.driver import JobDriver
from penstock.job.engine_contract import AttemptControl
from penstock.job.failures import failure_text
from penstock.job.hand_over import MOST_WAITING
from penstock.job.intake import IntakeRequest
from penstock.job.observing import observe
from penstock.job.program import Program, checkpoint_place
from penstock.job.statistics import JobStatistics
from penstock.job.versions import publish_last
from penstock.runtime.source_tasks import Offset
from penstock.savepoint.writing import PartOrder, PartResult
from penstock.state.backends import BACKENDS, DEFAULT_BACKEND

_PAUSE_SECONDS = 0.02
"""How long to wait before the sources are asked again where nothing was new."""


def submit_live(graph: LogicalGraph, settings: JobSettings) -> RunningJobClient:
    """Check a program and let it run in this process; `penstock list` shows it like any other."""
    engine = LiveEngine(graph, settings)
    job = JobDriver(engine.program, engine, engine.runner.sinks, engine.statistics)
    observe(job)
    job.start()
    client = RunningJobClient(job)
    announce(
        client,
        job.ended,
        name=settings.job_name,
        checkpoint=engine.program.directory.uri,
        savepoint_directory=settings.savepoint_directory,
    )
    return client


class LiveEngine:
    """Runs batches when there is something to read or something is due, in the thread of the driver."""

    def __init__(self, graph: LogicalGraph, settings: JobSettings) -> None:
        """Check a program and make its directory ready."""
        if settings.execution_mode == "continuous":
            raise ConfigurationError(
                "a job that runs by itself in process has micro-batches only: leave penstock.execution.mode out, or "
                "run it on Spark"
            )
        scratch = Scratch(self)
        place = checkpoint_place(settings) or os.path.join(scratch.path, "checkpoint")
        self.program = Program.open(graph, settings, place)
        self.statistics = JobStatistics(self.program.plan)
        self._clock = RealClock()
        self._started_ms = self._clock()
        self._is_draining = False
        self.runner = BatchRunner(
            self.program,
            self.statistics,
            scratch,
            clock=self._clock,
            chances=Chances(),
            state=settings.state_backend if settings.state_backend in BACKENDS else DEFAULT_BACKEND,
            most_waiting=MOST_WAITING,
        )
        self.runner.begin()

    def run_attempt(self, attempt: int, control: AttemptControl) -> None:
        """Run batches from the last version on."""
        self.runner.begin_process(attempt)
        control.on_running()
        try:
            self._run_batches(control)
        except Exception:
            self._close_functions_quietly()
            raise

    def _run_batches(self, control: AttemptControl) -> None:
        while not control.is_cancelled():
            if control.is_stopping() and not self._is_draining:
                self._is_draining = True
                control.on_draining()
            if control.serve_savepoints(self) or self.runner.has_ended():
                return
            began = time.monotonic()
            if not self.runner.run_batch(self._next_end):
                control.pause(_PAUSE_SECONDS)
            elif not self.runner.has_ended() and self._rests(began, control):
                return

    def _rests(self, began: float, control: AttemptControl) -> bool:
        """Wait for the next batch; an interval is from one beginning to the next. Returns whether to stop now."""
        interval = (self.program.settings.batch_interval_ms or 0) / 1000
        while not control.is_cancelled() and not control.is_stopping():
            left = began + interval - time.monotonic()
            if left <= 0:
                break
            if control.serve_savepoints(self):
                return True
            control.pause(left)
        return False

    def _next_end(self) -> Offset | None:
        """Where the next batch ends, if there is something to do now."""
        now, offset = self._clock(), self.runner.offset
        request = IntakeRequest(self._is_draining, (), self.runner.seal.next_deadline(), paused=self.runner.paused())
        end = self.runner.sources.next_offset(offset, request, now_ms=now, elapsed_ms=now - self._started_ms)
        return None if end == offset else end

    # ---- what else the driver asks for ----

    @contextmanager
    def between_versions(self, patience_seconds: float) -> Iterator[Seal | None]:
        """The last version; savepoints are written in the thread that runs the batches, so none runs meanwhile."""
        yield self.runner.last_version()

    def publish_last(self) -> Seal | None:
        """The last version, its output published, while no attempt runs."""
        return publish_last(self.program.plan, self.program.directory)

    def write_parts(self, orders: list[PartOrder]) -> list[PartResult]:
        """Write the state of subtasks into a savepoint."""
        return self.runner.write_parts(orders)

    def stop(self) -> None:
        """Let no batch become final any more."""
        self.runner.versions.stop()

    def explained(self, error: Exception) -> Exception:
        """An error of this process explains itself."""
        return error

    def failure_text(self, error: BaseException, job_name: str) -> str:
        """An error in words for users."""
        return failure_text(error, job_name)

    def finish(self) -> None:
        """Close the functions; one that cannot be closed fails the job."""
        self.runner.close_functions()

    def cluster(self) -> dict[str, Any]:
        """This process does everything."""
        return THIS_PROCESS

    def close(self, *, is_well: bool, is_held: bool) -> None:
        """Remove what the job has on disk of its own."""
        self._close_functions_quietly()
        self.runner.close()

    def _close_functions_quietly(self) -> None:
        with suppress(JobFailedError):  # what ended the attempt matters more
            self.runner.close_functions()
