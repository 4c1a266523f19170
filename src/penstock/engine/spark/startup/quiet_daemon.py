"""Spark's process for Python workers, without a stack on the terminal each time that Java hangs up on one.

Java does so to workers that have told all they had to tell, and to the tasks of a job that is cancelled. Through a Unix
socket, unlike TCP, a worker notices when it says goodbye.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

from pyspark import daemon


def ended_quietly(worker: Callable[..., int]) -> Callable[..., int]:
    """Spark's function for the life of a worker; a worker whose Java has gone ends as after a task that failed."""

    def run(*arguments: Any) -> int:
        try:
            return worker(*arguments)
        except (BrokenPipeError, ConnectionResetError):
            return 1  # this process is not used again

    return run


def manage_workers() -> None:
    """Be the process that workers are forked from."""
    daemon.worker = ended_quietly(daemon.worker)
    daemon.manager()


if __name__ == "__main__":
    manage_workers()
