"""Clocks of jobs in process: one that stands still until it is told to move, and that of the machine."""

from __future__ import annotations

import time


class ManualClock:
    """Processing time in milliseconds, set by hand.

    >>> clock = ManualClock()
    >>> clock.advance(5)
    >>> clock()
    5
    """

    def __init__(self, now_ms: int = 0) -> None:
        self.now_ms = now_ms

    def __call__(self) -> int:
        """The time."""
        return self.now_ms

    def advance(self, by_ms: int) -> None:
        """Let time pass; it never goes back."""
        if by_ms < 0:
            raise ValueError(f"a clock does not go back: advance({by_ms})")
        self.now_ms += by_ms

    def set(self, now_ms: int) -> None:
        """Set the time; it never goes back."""
        self.advance(now_ms - self.now_ms)


class RealClock(ManualClock):
    """Processing time of this machine, which passes by itself."""

    def __call__(self) -> int:
        """The time."""
        return time.time_ns() // 1_000_000

    def advance(self, by_ms: int) -> None:
        """Time passes by itself."""

    def set(self, now_ms: int) -> None:
        """Time passes by itself."""
