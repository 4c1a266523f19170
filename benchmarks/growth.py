"""`python -m benchmarks.growth`: records a second against keys, bytes of state, operators, levels and parallelism.

What is drawn from it is `benchmarks.page`'s.
"""

from __future__ import annotations

import argparse
import math
import sys
import time
from collections.abc import Callable, Iterable, Iterator
from dataclasses import dataclass
from statistics import median
from typing import Any

from rich.console import Console
from rich.table import Table

sys.path.insert(0, __file__.rpartition("/benchmarks/")[0])

from benchmarks import results
from benchmarks.growth_jobs import FEW_KEYS, counted, kept_bytes, levels, maps
from benchmarks.measuring import run, slope
from benchmarks.workloads import Build
from penstock.errors import JobFailedError

PARALLELISM = 2
ROUNDS = 3


@dataclass(frozen=True)
class Axis:
    """One thing that grows: its values, the job at each, and how many records are timed there."""

    name: str
    title: str
    values: tuple[int, ...]
    job: Callable[[int], Build]
    additional: Callable[[int], int]
    before: Callable[[int], int] = lambda value: 300_000
    parallelism: Callable[[int], int] = lambda value: PARALLELISM

    def points(self, scale: float) -> Iterator[tuple[int, int, int]]:
        """Each value, and the two numbers of records whose times are compared."""
        for value in self.values:
            small = int(self.before(value) * scale)
            yield value, small, small + int(self.additional(value) * scale)


AXES = (
    Axis(
        "keys",
        "keys of a running count",
        (100, 1_000, 10_000, 100_000, 1_000_000),
        counted,
        lambda keys: 2_000_000,
        # Timed when nearly all keys have been met, so that it is the state's size that counts and not its growth.
        before=lambda keys: max(300_000, 2 * keys),
    ),
    Axis("state_bytes", "bytes of state for each key", (8, 64, 512, 4096), kept_bytes, lambda size: 1_500_000),
    Axis("operators", "maps in a chain", (1, 2, 4, 8, 16), maps, lambda number: 4_000_000 if number < 8 else 2_000_000),
    Axis("levels", "running counts in a row", (1, 2, 3, 4, 5), levels, lambda number: 1_800_000 // min(number, 3)),
    Axis(
        "parallelism",
        "parallelism of a running count",
        (1, 2, 3, 4),
        lambda value: counted(FEW_KEYS),
        lambda value: 2_000_000,
        parallelism=lambda value: value,
    ),
)


def measure(axes: Iterable[Axis], rounds: int, scale: float) -> Iterator[dict[str, Any]]:
    """One row of the results for each point and round; a round goes over all points before the next begins."""
    chosen = tuple(axes)
    run(counted(FEW_KEYS), 10_000)  # the first job of a session pays for what all share
    for number in range(1, rounds + 1):
        for axis in chosen:
            for value, small, large in axis.points(scale):
                row = {"axis": axis.name, "x": value, "round": number, "records": [small, large]}
                yield {**row, **_point(axis, value, small, large)}


def _point(axis: Axis, value: int, small: int, large: int) -> dict[str, Any]:
    try:
        rate, last = slope(axis.job(value), small, large, parallelism=axis.parallelism(value))
    except JobFailedError as error:  # one point less is better than a run for nothing
        return {"records_per_second": None, "largest_worker_mb": None, "error": str(error).partition("\n")[0]}
    rounded = None if math.isnan(rate) else round(rate)
    return {"records_per_second": rounded, "largest_worker_mb": round(last.largest_worker_mb), "error": None}


def table(series: list[dict[str, Any]]) -> Table:
    """The medians over the rounds."""
    shown = Table(title="Growth: medians, in steady state")
    for column in ("what grows", "to", "records/s", "us for a record", "largest worker, MB"):
        shown.add_column(column, justify="left" if column == "what grows" else "right")
    for axis in AXES:
        for value in axis.values:
            rows = [row for row in series if (row["axis"], row["x"]) == (axis.name, value)]
            rates = [row["records_per_second"] for row in rows if row["records_per_second"]]
            if rates:
                middle = median(rates)
                largest = max(row["largest_worker_mb"] or 0 for row in rows)
                shown.add_row(axis.title, f"{value:,}", f"{middle:,.0f}", f"{1e6 / middle:.2f}", f"{largest:,}")
        shown.add_section()
    return shown


def main(arguments: list[str]) -> int:
    """Measure, print, and store what was measured if all of it was."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--axis", choices=[axis.name for axis in AXES], help="measure one only, and store nothing")
    parser.add_argument("--rounds", type=int, default=ROUNDS)
    parser.add_argument("--scale", type=float, default=1.0, help="more or fewer records; stored only with 1")
    chosen = parser.parse_args(arguments)
    console = Console()
    started = time.monotonic()
    heading = results.heading(parallelism=PARALLELISM, rounds=chosen.rounds)
    series = []
    for row in measure([axis for axis in AXES if chosen.axis in (None, axis.name)], chosen.rounds, chosen.scale):
        series.append(row)
        told = row["error"] or f"{row['records_per_second'] or 0:,} records/s"
        console.print(f"{row['axis']} {row['x']:,}, round {row['round']}: {told}")
    console.print(table(series), f"{time.monotonic() - started:.0f} s")
    if chosen.axis is None and chosen.scale == 1:
        console.print(f"Stored as {results.write('growth', {**heading, 'series': series}).relative_to(results.ROOT)}")
    return 0


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
