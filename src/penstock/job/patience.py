"""How long a job that was asked to end is waited for: user code may block for ever, and so may storage.

Spark kills the Python worker of a cancelled task within seconds, so this is for what it cannot kill: a source that
blocks while it is asked for its position, a sink that blocks in the driver, a store that does not answer.
"""

from __future__ import annotations

import threading
import time
from collections.abc import Callable
from concurrent.futures import Future
from concurrent.futures import wait as wait_for
from functools import partial
from typing import Any, Protocol

from penstock.errors import CheckpointError
from penstock.graph import JobSettings
from penstock.graph.declared_settings import CANCELLATION_TIMEOUT
from penstock.job.savepoint_desk import SavepointDesk, SavepointRequest

_LOOK_SECONDS = 1.0


class EndingJob(Protocol):
    """What has to be known of a job to give it up."""

    settings: JobSettings
    statistics: Any
    savepoints: SavepointDesk
    ended: Future[Any]

    def abandon(self, text: str) -> None:
        """Call the job ended, whatever hangs in it."""

    def fail_stop(self, text: str) -> None:
        """Cancel a job that does not come to its end."""


class Patience:
    """Watches a job from the moment it was asked to end."""

    def __init__(self, job: EndingJob, seconds: float) -> None:
        """Give up after so many seconds without progress; 0 for never."""
        self._job = job
        self._seconds = seconds

    def on_cancel(self) -> None:
        """A job that was cancelled ends within the time, or is called ended."""
        self._start(self._await_cancelled)

    def on_stop(self) -> None:
        """A job that was stopped makes batches final until it ends, or is cancelled."""
        self._start(self._await_stopped)

    def on_savepoint(self, request: SavepointRequest) -> None:
        """A savepoint is begun at the end of a batch, or cannot be had; what is begun may take as long as it takes."""
        if request.drains:
            self.on_stop()
        else:
            self._start(partial(self._await_savepoint, request))

    def _start(self, watch: Callable[[], None]) -> None:
        if self._seconds and not self._job.ended.done():
            threading.Thread(target=watch, name="penstock-patience", daemon=True).start()

    def _await_savepoint(self, request: SavepointRequest) -> None:
        batch = self._await(request.path)
        if not request.path.done() and self._job.savepoints.withdraw(request):
            request.path.set_exception(
                CheckpointError(
                    f"no savepoint of job {self._job.settings.job_name!r}: batch {batch + 1} was not done after "
                    f"{self._seconds:g} s ({CANCELLATION_TIMEOUT}), and a savepoint is made between batches. The job "
                    "goes on; cancel it if one of its functions blocks"
                )
            )

    def _await_cancelled(self) -> None:
        wait_for([self._job.ended], self._seconds)
        if not self._job.ended.done():
            self._job.abandon(
                f"job {self._job.settings.job_name!r} was cancelled, but one of its functions did not return within "
                f"{self._seconds:g} s ({CANCELLATION_TIMEOUT}); it is abandoned and ends with this process"
            )

    def _await_stopped(self) -> None:
        seen = self._await(self._job.ended)
        if not self._job.ended.done():
            self._job.fail_stop(
                f"job {self._job.settings.job_name!r} was asked to stop, but batch {seen + 1} was not done after "
                f"{self._seconds:g} s: a function may block, or the batch is large (then raise {CANCELLATION_TIMEOUT}"
                "). The job was cancelled; its checkpoint is from the previous batch, and can be resumed"
            )

    def _await(self, future: Future[Any]) -> int:
        """Wait for a future, for as long as batches become final; returns the last of them."""
        seen, since = self._job.statistics.progress.batch, time.monotonic()
        while not future.done() and time.monotonic() - since < self._seconds:
            wait_for([future], min(_LOOK_SECONDS, self._seconds / 4))
            batch = self._job.statistics.progress.batch
            if batch != seen:
                seen, since = batch, time.monotonic()
        return int(seen)
