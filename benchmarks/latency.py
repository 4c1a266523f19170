"""`python -m benchmarks.latency`: the time of a batch that has next to nothing to do, the delay of a record, and what a
job costs that does little.

The first two let batches follow each other at once; the last has the settings of a job that sets none.
"""

from __future__ import annotations

import argparse
import sys
import time
from collections.abc import Iterable, Iterator
from dataclasses import dataclass
from statistics import median, quantiles
from typing import Any, NamedTuple

import psutil
from pyspark.sql import SparkSession
from rich.console import Console
from rich.table import Table

sys.path.insert(0, __file__.rpartition("/benchmarks/")[0])

from benchmarks import results
from benchmarks.delays.marks import KEYS
from benchmarks.delays.penstock_job import DueRecords
from benchmarks.workloads import RunningCount, discard
from penstock.common import Configuration, WatermarkStrategy
from penstock.common.job_client import JobClient
from penstock.datastream import DataStream, KeyedProcessFunction, StreamExecutionEnvironment

PARALLELISM = 2
ROUNDS = 3
RATE = 1_000
TINY_RATE = 100
WARM_UP_BATCHES, MEASURED_BATCHES = 60, 40
WARM_UP_SECONDS, MEASURED_SECONDS = 8, 15
IDLE_SECONDS = 10
LITTLE_RATE = 100
LITTLE_WARM_UP_SECONDS, LITTLE_SECONDS = 60, 20
AT_ONCE = {"penstock.batch.min-interval": "0"}
PARTS = ("latestOffset", "queryPlanning", "walCommit", "addBatch", "commitOffsets", "triggerExecution")


class CountAndPass(RunningCount):
    """Counts, and hands on when the record was due."""

    def process_element(self, value: Any, ctx: KeyedProcessFunction.Context) -> Iterable[Any]:
        """Count."""
        for key, count in super().process_element(value, ctx):
            yield key, count, value[1]


@dataclass(frozen=True)
class Floor:
    """Milliseconds of tiny batches: those of the warm-up, those after it, and the median of each part of these."""

    warm_up: list[int]
    measured: list[int]
    parts: dict[str, float]


class Little(NamedTuple):
    """What a job costs that does little, with all of its processes."""

    cores: float
    processes: int
    megabytes: float
    delays: list[float]


def _counts(rate: int, settings: dict[str, str]) -> DataStream:
    configuration = Configuration()
    for key, value in settings.items():
        configuration.set_string(key, value)
    environment = StreamExecutionEnvironment.get_execution_environment(configuration).set_parallelism(PARALLELISM)
    records = environment.from_source(DueRecords(rate, KEYS), WatermarkStrategy.no_watermarks(), "due")
    return records.key_by(lambda record: record[0]).process(CountAndPass())


def _started(rate: int, name: str) -> JobClient:
    counts = _counts(rate, AT_ONCE)
    discard(counts)
    return counts.environment.execute_async(name)


def floor() -> Floor:
    """Run tiny batches and let Spark tell how long each part of them took."""
    job = _started(TINY_RATE, "floor")
    seen: dict[int, dict[str, int]] = {}
    try:
        while len(seen) < WARM_UP_BATCHES + MEASURED_BATCHES:
            time.sleep(0.5)  # rarely: asking is work for the process that is measured
            seen |= _batches()
    finally:
        job.cancel().result()
    durations = [seen[batch] for batch in sorted(seen)]
    totals = [each["triggerExecution"] for each in durations]
    measured = durations[WARM_UP_BATCHES:]
    parts = {part: median(each.get(part, 0) for each in measured) for part in PARTS}
    return Floor(totals[:WARM_UP_BATCHES], totals[WARM_UP_BATCHES:], parts)


def _batches() -> dict[int, dict[str, int]]:
    """Durations of the last batches that did something, by number."""
    queries = SparkSession.active().streams.active
    progress = queries[0].recentProgress if queries else []
    return {each["batchId"]: each["durationMs"] for each in progress if "addBatch" in each["durationMs"]}


def delays() -> list[float]:
    """Milliseconds from being due to being handed out, final, of every record that was due after the warm-up."""
    found = []
    for age, delay in _results(RATE, AT_ONCE):
        if age >= WARM_UP_SECONDS + MEASURED_SECONDS:
            break
        if age >= WARM_UP_SECONDS:
            found.append(delay)
    return found


def _results(rate: int, settings: dict[str, str]) -> Iterator[tuple[float, float]]:
    """Of every record: seconds from the first result until it was due, and its delay in milliseconds."""
    began_ms: float | None = None
    with _counts(rate, settings).execute_and_collect("delay") as collected:
        for _, _, due_ms in collected:
            now_ms = time.time_ns() / 1e6
            # What was due while the job started tells of the start.
            began_ms = began_ms or now_ms
            yield (due_ms - began_ms) / 1000, now_ms - due_ms


def little() -> Little:
    """Run a job with few records and no settings, and look at its processes while it runs."""
    found: list[float] = []
    before, began = 0.0, 0.0
    for age, delay in _results(LITTLE_RATE, {}):
        if age >= LITTLE_WARM_UP_SECONDS + LITTLE_SECONDS:
            cores = (_cpu_seconds() - before) / (time.monotonic() - began)
            return Little(cores, len(_processes()), sum(map(_megabytes_of, _processes())), found)
        if age >= LITTLE_WARM_UP_SECONDS:
            found.append(delay)
            if not began:
                before, began = _cpu_seconds(), time.monotonic()
    raise AssertionError("the job gives records for ever")


def idle_cores() -> float:
    """How much of a core all processes of a job take that has nothing to do."""
    job = _started(0, "idle")
    try:
        time.sleep(5)  # what a start sets off is over by then
        before, began = _cpu_seconds(), time.monotonic()
        time.sleep(IDLE_SECONDS)
        return (_cpu_seconds() - before) / (time.monotonic() - began)
    finally:
        job.cancel().result()


def _processes() -> list[psutil.Process]:
    own = psutil.Process()
    return [own, *own.children(recursive=True)]


def _cpu_seconds() -> float:
    return sum(map(_cpu_of, _processes()))


def _cpu_of(process: psutil.Process) -> float:
    try:
        return float(sum(process.cpu_times()[:2]))
    except psutil.Error:  # it has just ended
        return 0.0


def _megabytes_of(process: psutil.Process) -> float:
    """Pages that several processes share count once, in parts."""
    try:
        return float(process.memory_full_info().pss) / 2**20
    except psutil.Error:
        return 0.0


def main(arguments: list[str] | None = None) -> int:
    """Measure, print and store."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--rounds", type=int, default=ROUNDS)
    rounds = parser.parse_args(arguments).rounds
    tiny = floor()
    cuts = [(quantiles(each, n=100), len(each)) for each in (delays() for _ in range(rounds))]
    idle, few = idle_cores(), little()
    Console().print(_table(tiny, cuts, idle, few))
    content = {
        "floor_ms": tiny.measured,
        "warm_up_ms": tiny.warm_up,
        "parts_ms": tiny.parts,
        "delay_ms": [
            {"p50": round(cut[49]), "p99": round(cut[98]), "samples": samples, "rate": RATE} for cut, samples in cuts
        ],
        "idle_cores": round(idle, 3),
        "little": {
            "rate": LITTLE_RATE,
            "cores": round(few.cores, 3),
            "processes": few.processes,
            "megabytes": round(few.megabytes),
            "p50": round(median(few.delays)),
            "p99": round(quantiles(few.delays, n=100)[98]),
        },
    }
    results.write("latency", {**results.heading(parallelism=PARALLELISM, rounds=rounds), **content})
    return 0


def _table(tiny: Floor, cuts: list[tuple[list[float], int]], idle: float, few: Little) -> Table:
    table = Table(title=f"Two levels: a tiny batch, and the delay of a record at {RATE:,} records/s")
    table.add_column("what")
    table.add_column("ms", justify="right")
    table.add_row(f"tiny batch, median of {len(tiny.measured)}", f"{median(tiny.measured):,.0f}")
    for part, each in tiny.parts.items():
        table.add_row(f"  {part}", f"{each:,.0f}")
    table.add_row(f"tiny batch of the first {len(tiny.warm_up)}, median", f"{median(tiny.warm_up):,.0f}")
    for turn, (cut, _) in enumerate(cuts, 1):
        table.add_row(f"delay p50 / p99, round {turn}", f"{cut[49]:,.0f} / {cut[98]:,.0f}")
    table.add_row("an idle job takes, of one core", f"{idle:.1%}")
    cut = quantiles(few.delays, n=100)
    table.add_row(f"a job at {LITTLE_RATE} records/s takes, of one core", f"{few.cores:.1%}")
    table.add_row("  processes / MB", f"{few.processes} / {few.megabytes:,.0f}")
    table.add_row("  delay p50 / p99", f"{cut[49]:,.0f} / {cut[98]:,.0f}")
    return table


if __name__ == "__main__":
    sys.exit(main())
