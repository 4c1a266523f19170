"""The clock of a job in process that runs in real time; owns no job."""

from __future__ import annotations

import threading
import time

from penstock.testing.clock import ManualClock


class LiveClock(ManualClock):
    """Processing time of this machine; letting time pass means waiting, until somebody is called off."""

    def __init__(self) -> None:
        self.called_off = threading.Event()

    def __call__(self) -> int:
        """The time."""
        return time.time_ns() // 1_000_000

    def advance(self, by_ms: int) -> None:
        """Wait."""
        self.called_off.wait(by_ms / 1000)

    def set(self, now_ms: int) -> None:
        """Time passes by itself."""
