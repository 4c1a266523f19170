"""Waiting for a condition with a deadline, for tests of things that happen in other threads and processes."""

from __future__ import annotations

import threading
import time
from collections.abc import Callable

# Generous: Spark starts in 5 s on an idle machine, and in a minute beside other work. Who waits this long has failed.
PATIENCE_SECONDS = 240.0


def wait_until(condition: Callable[[], object], what: str, seconds: float = PATIENCE_SECONDS) -> None:
    """Return as soon as the condition holds; fail with `what` if it does not within the time."""
    deadline = time.monotonic() + seconds
    tick = threading.Event()
    while not condition():
        if time.monotonic() > deadline:
            raise AssertionError(f"waited {seconds:.0f} s in vain until {what}")
        tick.wait(0.05)
