"""Processor time that the host gave to others: on a shared machine it makes the longest delays."""

from __future__ import annotations

import threading
import time
from types import TracebackType
from typing import Any

import psutil

__all__ = ["StolenBySecond", "StolenTime"]

QUIET_SHARE = 0.03
"""In a quiet second the host gave less than this to others, and in the second before it too."""


class StolenTime:
    """The share of the time of all cores that was stolen since this was made, or asked; None where nobody tells."""

    def __init__(self) -> None:
        self._before: Any = psutil.cpu_times()

    def share(self) -> float | None:
        """From 0 to 1; begins again."""
        before, now = self._before, psutil.cpu_times()
        self._before = now
        if not hasattr(now, "steal"):
            return None
        passed = sum(now[:8]) - sum(before[:8])  # times of guests are part of the others
        return round((now.steal - before.steal) / passed, 3) if passed else None


class StolenBySecond:
    """Notes how much was stolen in each second of the machine's clock, as long as the block is open."""

    def __init__(self) -> None:
        self.shares: dict[int, float] = {}
        self._ends = threading.Event()
        self._thread = threading.Thread(target=self._watch, daemon=True)

    def __enter__(self) -> StolenBySecond:
        self._thread.start()
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        self._ends.set()
        self._thread.join()

    def is_quiet(self, second: int) -> bool:
        """Whether nothing to speak of was stolen in a second, or in the one before, whose delays may show in it."""
        return all(self.shares.get(each, 1.0) < QUIET_SHARE for each in (second - 1, second))

    def _watch(self) -> None:
        stolen = StolenTime()
        while not self._ends.wait(1 - time.time() % 1):
            share = stolen.share()
            if share is not None:
                self.shares[round(time.time()) - 1] = share
