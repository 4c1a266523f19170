"""Spark's process for Python workers, without a stack on the terminal each time that Java hangs up on one.

Java does so to workers that have told all they had to tell, and to the tasks of a job that is cancelled. Through a Unix
socket, unlike TCP, a worker notices when it says goodbye.

Spark has such a process for each of the questions that it asks when a query starts, and keeps it. With `ends_idle` it
ends when it has had no worker for a while; Spark, which finds its socket gone, starts another if it asks again.
"""

from __future__ import annotations

import os
import signal
from collections.abc import Callable
from contextlib import suppress
from typing import Any

from pyspark import daemon

_IDLE_SECONDS = 10.0


def ended_quietly(worker: Callable[..., int]) -> Callable[..., int]:
    """Spark's function for the life of a worker; a worker whose Java has gone ends as after a task that failed."""

    def run(*arguments: Any) -> int:
        try:
            return worker(*arguments)
        except (BrokenPipeError, ConnectionResetError):
            return 1  # this process is not used again

    return run


class IdleEnd:
    """Ends this process after a while without workers, in two steps, so that whoever has just connected is served.

    First it takes its socket away: who asks from now on is told that nobody is there. Who had connected by then gets a
    worker, and the process stays for as long as it has one.
    """

    def __init__(self, end: Callable[[], None]) -> None:
        self._end = end
        self._path: str | None = None
        self._was_idle = False
        self._is_closed = False

    def noting_path(self, write: Callable[[bytes, Any], None]) -> Callable[[bytes, Any], None]:
        """Spark's function that tells Java the path of the socket."""

        def run(path: bytes, stream: Any) -> None:
            self._path = os.fsdecode(path)
            write(path, stream)

        return run

    def look(self, *_: Any) -> None:
        """Be called every so often."""
        is_idle = not _has_children()
        if self._path is None or not (is_idle and self._was_idle):
            self._was_idle = is_idle
        elif not self._is_closed:
            self._is_closed = True
            with suppress(FileNotFoundError):
                os.unlink(self._path)
        else:
            self._end()


def _has_children() -> bool:
    with suppress(ChildProcessError):
        os.waitpid(-1, os.WNOHANG)
        return True
    return False


def manage_workers(*, ends_idle: bool = False) -> None:
    """Be the process that workers are forked from."""
    daemon.worker = ended_quietly(daemon.worker)
    if ends_idle:
        idle = IdleEnd(lambda: os.kill(os.getpid(), signal.SIGTERM))  # which is how Spark ends it
        daemon.write_with_length = idle.noting_path(daemon.write_with_length)  # type: ignore[attr-defined]
        signal.signal(signal.SIGALRM, idle.look)
        signal.setitimer(signal.ITIMER_REAL, _IDLE_SECONDS, _IDLE_SECONDS)
    daemon.manager()


if __name__ == "__main__":
    manage_workers()
