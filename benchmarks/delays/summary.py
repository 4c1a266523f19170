"""Percentiles and a histogram of the delays of a run, from the counts that its processes left."""

from __future__ import annotations

import math
import time
from collections import Counter
from collections.abc import Callable, Iterable
from pathlib import Path
from typing import Any

from benchmarks.delays.marks import TENTHS, seconds_of

PERCENTILES = {"p50": 0.50, "p90": 0.90, "p99": 0.99, "p999": 0.999}
EDGES_MS = (1, 2, 3, 5, 7, 10, 15, 20, 30, 50, 70, 100, 150, 200, 300, 500, 700, 1_000, 2_000, 5_000)
"""Upper ends of the bars of a histogram; what is longer is in a bar of its own."""


def percentile(counts: Counter[int], share: float) -> float:
    """The delay in ms that this share of records does not exceed."""
    wanted = math.ceil(sum(counts.values()) * share)
    for tenth in sorted(counts):
        wanted -= counts[tenth]
        if wanted <= 0:
            return tenth / TENTHS
    return max(counts) / TENTHS


def is_unmeasured(folder: Path, warm_up_s: float, last_s: float) -> bool:
    """Whether a run warms up yet, or has been measured: it may be held up for a moment."""
    gone = time.time() - min(map(_first_second, folder.glob("*.marks")), default=time.time())
    return gone < warm_up_s - 1 or gone > warm_up_s + last_s


def _first_second(path: Path) -> int:
    with path.open(encoding="utf-8") as file:
        return int(file.read(20).strip("[").partition(",")[0] or time.time())


def measured(folder: Path, warm_up_s: float, last_s: float, is_quiet: Callable[[int], bool]) -> dict[str, Any] | None:
    """What a run shows for `last_s` seconds after its warm-up, which begins with the first result; None: nothing.

    The figures in "quiet" are those of the seconds in which the machine was there for the run alone.
    """
    seconds = seconds_of(folder)
    first = min(seconds, default=0) + warm_up_s
    after = {second: found for second, found in seconds.items() if first <= second < first + last_s}
    counts = _sum(after.values())
    if not counts:
        return None
    quiet = [found for second, found in after.items() if is_quiet(second)]
    samples = sum(counts.values())
    per_second = round(samples / (max(after) - min(after) + 1))
    rest = {"max": max(counts) / TENTHS, "samples": samples, "per_second": per_second, "histogram": histogram(counts)}
    return {**_percentiles(counts), **rest, "quiet": {"seconds": len(quiet), **_percentiles(_sum(quiet))}}


def _sum(many: Iterable[Counter[int]]) -> Counter[int]:
    total: Counter[int] = Counter()
    for each in many:
        total.update(each)
    return total


def _percentiles(counts: Counter[int]) -> dict[str, float]:
    return {name: percentile(counts, share) for name, share in PERCENTILES.items()} if counts else {}


def histogram(counts: Counter[int]) -> list[int]:
    """How many delays are in each bar of `EDGES_MS`, and how many are longer."""
    bars = [0] * (len(EDGES_MS) + 1)
    for tenth, count in counts.items():
        place = next((at for at, edge in enumerate(EDGES_MS) if tenth < edge * TENTHS), len(EDGES_MS))
        bars[place] += count
    return bars
