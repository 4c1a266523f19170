"""Starting a job while a person may press Ctrl-C."""

from __future__ import annotations

import sys
import threading
from collections.abc import Callable, Iterator
from concurrent.futures import Future
from contextlib import contextmanager, suppress

from penstock.errors import PenstockError
from penstock.table.table_result import TableResult

_PATIENCE_SECONDS = 0.5


def started(start: Callable[[], TableResult]) -> TableResult:
    """Start the job of a statement; an interrupt meanwhile cancels the job as soon as it is there.

    It is started in a thread of its own: an interrupt in the middle of it would leave a half-started Spark, and PySpark
    takes interrupts for itself if the main thread starts it.
    """
    outcome: Future[TableResult] = Future()

    def run() -> None:
        try:
            outcome.set_result(start())
        except BaseException as error:
            outcome.set_exception(error)

    threading.Thread(target=run, name="penstock-sql-start", daemon=True).start()
    with waiting("Starting the job ..."):
        try:
            return outcome.result()
        except KeyboardInterrupt:
            cancel_quietly(outcome)
            raise


def cancel_quietly(outcome: Future[TableResult]) -> None:
    """End a job whose start was asked for, when it is there."""
    with suppress(PenstockError):  # it could not be started, or failed by itself
        client = outcome.result().get_job_client()
        if client is not None:
            client.cancel().result()


@contextmanager
def waiting(text: str) -> Iterator[None]:
    """Say what is waited for, while a block lasts that takes its time, if somebody looks."""
    out = sys.stderr
    if not out.isatty():
        yield
        return
    shown = threading.Event()

    def show() -> None:
        shown.set()
        out.write(text)
        out.flush()

    timer = threading.Timer(_PATIENCE_SECONDS, show)
    timer.daemon = True
    timer.start()
    try:
        yield
    finally:
        timer.cancel()
        timer.join()
        if shown.is_set():
            out.write("\r\x1b[2K")  # nothing is left of it
            out.flush()
