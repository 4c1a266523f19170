"""The arithmetic of one run: its speed in steady state, and what it took to get there.

Medians and ratios over runs are in `verdicts`.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

LEAST_DIFFERENCE_S = 0.3
"""Inputs whose times are nearer than this tell chance from speed no more."""


@dataclass(frozen=True)
class Measured:
    """Records a second, and seconds from the start of the process to the end of its first job; `error` says why not."""

    records_per_second: float | None
    startup_seconds: float | None
    error: str | None = None


def speed(reported: list[dict[str, Any]], started: float) -> Measured:
    """What a warm-up, a small and a large input say: the additional records of the large one cost only themselves."""
    if len(reported) != 3:
        return Measured(None, None, f"reported {len(reported)} of 3 inputs")
    first, small, large = reported
    seconds = large["seconds"] - small["seconds"]
    if seconds < LEAST_DIFFERENCE_S:
        return Measured(None, None, f"too few records: the large input took {seconds:.2f} s more than the small one")
    rate = (large["records"] - small["records"]) / seconds
    startup = first["ended"] - started - first["records"] / rate
    return Measured(round(rate, 1), round(max(startup, 0.0), 2))
