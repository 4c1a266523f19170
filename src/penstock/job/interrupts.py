"""An interrupt (Ctrl-C, the stop button of a notebook) while this program waits for a job.

PySpark's own handler cancels all Spark jobs of the session first, in the middle of whatever the program was asking the
JVM for: the query fails, and the JVM's complaint comes instead of a quiet end. Who waits for a job can end it better.
"""

from __future__ import annotations

import signal
import sys
import threading
from collections.abc import Iterator
from contextlib import contextmanager
from types import TracebackType


@contextmanager
def plain_interrupts() -> Iterator[None]:
    """Let an interrupt be a KeyboardInterrupt and nothing else; a handler of the user's stays."""
    is_main = threading.current_thread() is threading.main_thread()  # nobody else may set one, or gets an interrupt
    handler = signal.getsignal(signal.SIGINT) if is_main else None
    if not str(getattr(handler, "__module__", "")).startswith("pyspark."):
        yield
        return
    signal.signal(signal.SIGINT, signal.default_int_handler)
    try:
        yield
    finally:
        signal.signal(signal.SIGINT, handler)


def tell_in_one_line(job_name: str) -> None:
    """Let the interrupt that cancelled a job end the program with one line instead of a traceback."""
    before = sys.excepthook

    def hook(kind: type[BaseException], error: BaseException, place: TracebackType | None) -> None:
        if issubclass(kind, KeyboardInterrupt):
            sys.stderr.write(f"{interrupted_line(job_name)}\n")
        else:
            before(kind, error, place)

    sys.excepthook = hook


def interrupted_line(job_name: str) -> str:
    """Return what a person reads who has interrupted a job."""
    return f"penstock: job {job_name!r} was cancelled by an interrupt; what it had committed stays"
