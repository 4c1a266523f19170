"""The clock of a job in process that runs in real time; owns no job."""

from __future__ import annotations

import threading
import time

from penstock.testing.clock import ManualClock


class LiveClock(ManualClock):
    """Processing time of this machine; letting time pass means waiting, unless the job is to end."""

    def __init__(self) -> None:
        self.called_off = threading.Event()
        """Set when the job is cancelled."""
        self.in_a_hurry = threading.Event()
        """Set when the job is cancelled or to end by itself: then nothing is waited for any more."""

    def __call__(self) -> int:
        """The time."""
        return time.time_ns() // 1_000_000

    def advance(self, by_ms: int) -> None:
        """Wait."""
        self.in_a_hurry.wait(by_ms / 1000)

    def set(self, now_ms: int) -> None:
        """Time passes by itself."""
