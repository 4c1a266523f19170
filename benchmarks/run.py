"""`make bench-parts`: speed in steady state, of windows too, memory of workers, the cost of checkpoints, as tables.

Says what this machine does with Penstock alone; the comparison with other systems is `side_by_side`.
"""

from __future__ import annotations

import argparse
import platform
import sys

import pyspark
from rich.console import Console
from rich.table import Table

sys.path.insert(0, __file__.rpartition("/benchmarks/")[0])

from benchmarks import async_calls, checkpoints, growth, kafka, latency, operators, patterns, results, steps, testkit
from benchmarks.measuring import run, slope
from benchmarks.windows import CAPTION, WINDOWS
from benchmarks.workloads import Build, keyed_count, keyed_timers, map_and_filter

SPEED = {
    "map + filter, two lambdas": map_and_filter,
    "keyed count, 2,000 keys": keyed_count(2_000),
    "keyed count, 200,000 keys": keyed_count(200_000),
    "keyed count with timers, 2,000 keys": keyed_timers(2_000),
}
PARTS = (
    "speed",
    "windows",
    "async",
    "kafka",
    "memory",
    "patterns",
    "checkpoints",
    "testkit",
    "growth",
    "latency",
    "profile",
    "operators",
)
MEMORY_KEYS = 1_000_000
MEMORY_LIMIT_MB = 600


def main() -> int:
    """Measure and print; exits with 1 if a worker grew past its limit."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--only", choices=PARTS, help="measure one part only")
    parser.add_argument("--scale", type=float, default=1.0, help="more or fewer records than usual")
    arguments = parser.parse_args()
    if arguments.only == "growth":  # long, so only when it is asked for
        return growth.main(["--scale", str(arguments.scale)])
    if arguments.only == "latency":
        return latency.main([])
    if arguments.only == "operators":
        return operators.main(["--records", str(int(operators.RECORDS * arguments.scale))])
    if arguments.only == "profile":
        return steps.main(["--records", str(int(steps.RECORDS * arguments.scale))])
    console = Console()
    console.print(
        f"Python {platform.python_version()}, Spark {pyspark.__version__}, parallelism 2, {platform.machine()}"
    )
    status = 0
    if arguments.only in (None, "speed"):
        console.print(_speeds("Speed", SPEED, arguments.scale))
    if arguments.only in (None, "windows"):
        console.print(_speeds("Windows", WINDOWS, arguments.scale, CAPTION))
    if arguments.only in (None, "async"):
        status = async_calls.main()
    if arguments.only in (None, "kafka"):
        status = kafka.main(arguments.scale) or status
    if arguments.only in (None, "memory"):
        status = _memory(console, arguments.scale) or status
    if arguments.only in (None, "patterns"):
        status = patterns.main(["--events", str(int(patterns.EVENTS * arguments.scale))]) or status
    if arguments.only in (None, "checkpoints"):
        status = checkpoints.main(arguments.scale) or status
    if arguments.only in (None, "testkit"):
        status = testkit.main() or status
    return status


def _speeds(title: str, jobs: dict[str, Build], scale: float, caption: str | None = None) -> Table:
    table = Table(title=f"{title}, records a second in steady state", caption=caption)
    for column in ("job", "records/s", "largest worker, MB"):
        table.add_column(column, justify="left" if column == "job" else "right")
    run(map_and_filter, 10_000)  # the first job of a session pays for what all share
    for name, build in jobs.items():
        rate, last = slope(build, int(1_000_000 * scale), int(4_000_000 * scale))
        table.add_row(name, f"{rate:,.0f}", f"{last.largest_worker_mb:,.0f}")
    return table


def _memory(console: Console, scale: float) -> int:
    # Each key is met twice, so that its state is read back as well as written.
    result = run(keyed_count(MEMORY_KEYS), int(2 * MEMORY_KEYS * scale))
    console.print(
        f"Memory: {MEMORY_KEYS:,} keys, {result.records:,} records in {result.seconds:.1f} s, "
        f"largest Python worker {result.largest_worker_mb:,.0f} MB (limit {MEMORY_LIMIT_MB})"
    )
    if scale == 1:
        facts = {"keys": MEMORY_KEYS, "records": result.records, "largest_worker_mb": round(result.largest_worker_mb)}
        results.write("memory", {**results.heading(parallelism=2, rounds=1), **facts})
    return 0 if result.largest_worker_mb <= MEMORY_LIMIT_MB else 1


if __name__ == "__main__":
    sys.exit(main())
