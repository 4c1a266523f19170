"""`python -m benchmarks.spark_profile`: what jobs cost on Spark: times of their stages, and where their workers are.

Owns the runs, the reading of Spark's event log and of py-spy's samples, and their place on the page. The steps of a
record within one process are `benchmarks.steps`'.
"""

from __future__ import annotations

import argparse
import json
import re
import shutil
import sys
import tempfile
from collections import Counter
from collections.abc import Iterable, Iterator
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

sys.path.insert(0, __file__.rpartition("/benchmarks/")[0])

from benchmarks import processes
from benchmarks.catalogue import PARALLELISM, SYSTEMS, WORKLOADS
from benchmarks.pages.marks import fill
from benchmarks.peers.reporting import Task
from benchmarks.side_by_side import LIMIT_S, environment_of

JOBS = ("map_filter", "count_2k", "tumbling", "tumbling_fields")
BEGIN, END = "<!-- spark: made by benchmarks.spark_profile -->", "<!-- end of spark -->"
RATE = 100
"""Samples a second."""
SHOWN = 12
_MEASURES = {
    "internal.metrics.executorRunTime": ("tasks", 1e-3),
    "internal.metrics.executorCpuTime": ("jvm", 1e-9),
    "internal.metrics.jvmGCTime": ("collecting", 1e-3),
    "time to run Python workers": ("python", 1e-3),
    "internal.metrics.shuffle.write.bytesWritten": ("shuffled", 1.0),
}
_LINE = re.compile(r":\d+\)$")


@dataclass
class Stage:
    """The stages of all batches that stand at the same place, added up; seconds, and bytes."""

    wall: float = 0.0
    measures: dict[str, float] = field(default_factory=dict)


def stages_of(log: Iterable[str]) -> tuple[int, list[Stage]]:
    """How many batches an event log has, and the first, second, ... stage of all of them."""
    jobs: list[list[int]] = []
    ended: dict[int, dict[str, Any]] = {}
    for line in log:
        event = json.loads(line)
        if event["Event"] == "SparkListenerJobStart" and "streaming.sql.batchId" in (event.get("Properties") or {}):
            jobs.append(sorted(event["Stage IDs"]))
        elif event["Event"] == "SparkListenerStageCompleted":
            ended[event["Stage Info"]["Stage ID"]] = event["Stage Info"]
    stages = [Stage() for _ in range(max(map(len, jobs), default=0))]
    for job in jobs:
        for place, number in enumerate(job):
            if number in ended:
                _add(stages[place], ended[number])
    return len(jobs), stages


def _add(stage: Stage, told: dict[str, Any]) -> None:
    stage.wall += (told["Completion Time"] - told["Submission Time"]) / 1000
    for each in told["Accumulables"]:
        if each.get("Name") in _MEASURES:
            name, unit = _MEASURES[each["Name"]]
            stage.measures[name] = stage.measures.get(name, 0.0) + float(each["Value"]) * unit


def worker_functions(samples: Iterable[str]) -> Counter[str]:
    """How many samples found a worker at work in each function, from what py-spy writes as `raw`."""
    found: Counter[str] = Counter()
    for line in samples:
        stack, _, count = line.rstrip().rpartition(" ")
        process, *frames = stack.split(";")
        if frames and "worker" in process:
            found[_function(frames[-1])] += int(count)
    return found


def _function(frame: str) -> str:
    """`name (package/module.py)` of a frame, without the line and without where packages are installed."""
    name, _, place = _LINE.sub("", frame).partition(" (")
    return f"{name} ({place.rpartition('site-packages/')[2].rpartition('src/')[2]})"


@dataclass(frozen=True)
class Profile:
    """What one job was found to cost."""

    job: str
    records: int
    batches: int
    stages: list[Stage]
    functions: Counter[str]

    def text(self) -> str:
        """As Markdown."""
        return "".join(f"{line}\n" for line in self._lines())

    def _lines(self) -> Iterator[str]:
        yield from (f"### {self.job} on Spark", "", f"{self.records:,} records in {self.batches} batches.", "")
        yield "| stage | wall, µs | tasks, µs | in Python, µs | JVM's CPU, µs | garbage, µs | bytes shuffled |"
        yield "|---|---:|---:|---:|---:|---:|---:|"
        for number, stage in enumerate(self.stages):
            seconds = [
                stage.wall,
                *(stage.measures.get(name, 0.0) for name in ("tasks", "python", "jvm", "collecting")),
            ]
            cells = [f"{each / self.records * 1e6:.2f}" for each in seconds]
            cells.append(f"{stage.measures.get('shuffled', 0.0) / self.records:.1f}")
            yield f"| {number} | {' | '.join(cells)} |"
        yield ""
        if self.functions:
            yield from ("| in the workers | µs | share |", "|---|---:|---:|")
            total = self.functions.total()
            for name, samples in self.functions.most_common(SHOWN):
                yield f"| `{name}` | {samples / RATE / self.records * 1e6:.2f} | {samples / total:.0%} |"
            yield f"| all | {total / RATE / self.records * 1e6:.2f} | |"
            yield ""


def measure(job: str, py_spy: str | None, scale: float) -> Profile:
    """Run a job of the comparison, a small input to warm up and a large one, and read what was written of it."""
    workload, system = WORKLOADS[job], SYSTEMS["penstock"]
    sizes = list(workload.sizes(system, 5.0, scale))
    folder = Path(tempfile.mkdtemp(prefix="penstock-profile-"))
    try:
        (folder / "events").mkdir()
        options = {
            **workload.options_of(system),
            "spark.eventLog.enabled": "true",
            "spark.eventLog.dir": (folder / "events").as_uri(),
            "spark.eventLog.compress": "false",
            "spark.eventLog.rolling.enabled": "false",
        }
        told = (workload.keys, workload.zipf, workload.rate, PARALLELISM)
        task = Task(workload.job, str(folder / "report"), sizes, *told, options=options)
        command = [sys.executable, "-m", f"benchmarks.peers.{system.module}", task.as_json()]
        samples = folder / "samples"
        if py_spy is not None:
            how = ["--subprocesses", "--rate", str(RATE), "--format", "raw", "--output", str(samples)]
            command = [py_spy, "record", *how, "--", *command]
        ended = processes.run(command, environment_of(sys.executable, folder), folder, LIMIT_S)
        if ended.error is not None:
            sys.exit(f"{job}: {ended.error}")
        (log,) = (path for path in (folder / "events").rglob("*") if path.is_file() and path.stat().st_size)
        with log.open() as events:
            batches, stages = stages_of(events)
        functions = worker_functions(samples.read_text().splitlines()) if samples.exists() else Counter()
        return Profile(job, sum(sizes), batches, stages, functions)
    finally:
        shutil.rmtree(folder, ignore_errors=True)


def main(words: list[str] | None = None) -> int:
    """Measure, and print or write."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("jobs", nargs="*", default=[], help=f"some of {', '.join(JOBS)}")
    parser.add_argument("--py-spy", help="the program py-spy, if workers are to be sampled")
    parser.add_argument("--scale", type=float, default=1.0, help="more or fewer records")
    parser.add_argument("--page", type=Path, help="write into this page")
    options = parser.parse_args(words)
    profiles = [measure(job, options.py_spy, options.scale) for job in options.jobs or JOBS]
    text = "".join(profile.text() for profile in profiles)
    if options.page:
        fill(options.page, BEGIN, END, text)
    else:
        sys.stdout.write(text)
    return 0


if __name__ == "__main__":
    sys.exit(main())
