"""Processor time that the host gave to others: on a shared machine it makes the longest delays."""

from __future__ import annotations

from typing import Any

import psutil

__all__ = ["StolenTime"]


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
