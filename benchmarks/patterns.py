"""`python -m benchmarks.patterns [--events N]`: what looking for a pattern with `within` keeps, as events go by.

Runs in this process, without Spark. Memory of the process, rows and bytes of the store, timers and the largest buffer
of a key are measured at ten points of the run; it fails if any of them grows after the first two.
"""

from __future__ import annotations

import argparse
import sys
import time
from dataclasses import asdict, dataclass
from typing import Any

import psutil

sys.path.insert(0, __file__.rpartition("/benchmarks/")[0])

from rich.console import Console
from rich.table import Table

from penstock.cep import CEP, Pattern
from penstock.common.constants import MAX_WATERMARK
from penstock.datastream import StreamExecutionEnvironment
from penstock.testing import KeyedHarness

EVENTS = 1_000_000
KEYS = 200
WINDOW_MS = 4_000  # an event a millisecond: 20 events of a key
POINTS = 10
BATCH = 5_000
GROWTH = 1.2
"""What a figure may be above the largest of the first two points. The allocator needs some air."""
MEMORY_GROWTH_MB = 30


@dataclass(frozen=True)
class Point:
    """What is there after so many events."""

    events: int
    memory_mb: float
    rows: int
    store_kb: float
    timers: int
    largest_buffer: int
    seconds: float


def pattern() -> Pattern:
    """Matches that overlap, loops that stay open, and many that never come to an end."""
    begun = Pattern.begin("a").where(lambda event: event[1] == 0).followed_by("b").where(lambda event: event[1] == 1)
    return begun.one_or_more().followed_by("c").where(lambda event: event[1] == 2).within(WINDOW_MS)


def event(number: int) -> tuple[int, int, int]:
    """Key, kind and time; kinds come in no order that repeats soon."""
    mixed = (number * 2_654_435_761) & 0xFFFFFFFF
    return number % KEYS, (mixed >> 7) % 5, number


def operator() -> Any:
    """The operator as a job would have it."""
    stream = StreamExecutionEnvironment.in_process().from_collection([event(0)]).key_by(lambda each: each[0])
    CEP.pattern(stream, pattern()).select(lambda match: len(match["b"]))
    return list(stream.environment.graph.nodes.values())[-1].operator


def measured(events: int) -> tuple[list[Point], int]:
    """The points of a run, and what is left in the store when all windows have passed."""
    points: list[Point] = []
    started = time.perf_counter()
    with KeyedHarness(operator(), key=lambda each: each[0]) as harness:
        for first in range(0, events, BATCH):
            harness.process_elements([(event(number), number) for number in range(first, min(first + BATCH, events))])
            harness.process_watermark(first + BATCH - 1)
            harness.clear_output()
            snapshot = harness.snapshot()  # the batch ends
            if (first + BATCH) * POINTS // events > len(points):
                points.append(_point(harness, snapshot.rows, first + BATCH, time.perf_counter() - started))
        harness.process_watermark(MAX_WATERMARK)
        left = harness.num_keyed_state_entries() + harness.num_event_time_timers()
    return points, left


def _point(harness: Any, rows: dict[bytes, bytes], events: int, seconds: float) -> Point:
    figures = harness._running().head.context.metrics.values()
    return Point(
        events,
        round(psutil.Process().memory_info().rss / 2**20, 1),
        len(rows),
        round(sum(len(key) + len(value) for key, value in rows.items()) / 1024, 1),
        harness.num_event_time_timers(),
        int(figures["sharedBufferSize.max"]),
        round(seconds, 1),
    )


def grown(points: list[Point]) -> list[str]:
    """The figures that grow after the first two points."""
    found = []
    for name in ("rows", "store_kb", "timers"):
        first = max(getattr(point, name) for point in points[:2])
        if any(getattr(point, name) > first * GROWTH for point in points[2:]):
            found.append(name)
    if points[-1].memory_mb > max(point.memory_mb for point in points[:2]) + MEMORY_GROWTH_MB:
        found.append("memory_mb")
    return found


def main(arguments: list[str]) -> int:
    """Measure and print; 1 if something grows or is left."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--events", type=int, default=EVENTS)
    events = parser.parse_args(arguments).events
    points, left = measured(events)
    caption = f"left when all windows have passed: {left} states and timers"
    table = Table(title=f"A pattern with within({WINDOW_MS} ms), {KEYS} keys", caption=caption)
    for name in asdict(points[0]):
        table.add_column(name.replace("_", " "), justify="right")
    for point in points:
        table.add_row(*[f"{value:,}" for value in asdict(point).values()])
    Console().print(table)
    faults = grown(points)
    if faults:
        print(f"grows: {', '.join(faults)}")
    return 1 if faults or left else 0


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
