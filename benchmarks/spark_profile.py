"""`python -m benchmarks.spark_profile`: what jobs cost on Spark: times of their stages, and where their workers are.

The steps of a record within one process are `benchmarks.steps`'.
"""

from __future__ import annotations

import argparse
import json
import re
import shutil
import subprocess
import sys
import tempfile
import threading
from collections import Counter
from collections.abc import Iterable, Iterator
from contextlib import contextmanager, suppress
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

import psutil

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
WORKERS = "pyspark.worker"
"""What the command of the process has that workers are forked from."""
_MEASURES = {
    "internal.metrics.executorRunTime": ("tasks", 1e-3),
    "internal.metrics.executorCpuTime": ("jvm", 1e-9),
    "internal.metrics.jvmGCTime": ("collecting", 1e-3),
    "time to run Python workers": ("python", 1e-3),
    "internal.metrics.shuffle.write.bytesWritten": ("shuffled", 1.0),
}
_QUERY = "sql.streaming.queryId"
_LINE = re.compile(r":\d+\)$")


@dataclass
class Stage:
    """The stages of all batches that stand at the same place, added up; seconds, and bytes."""

    wall: float = 0.0
    measures: dict[str, float] = field(default_factory=dict)


def stages_of(log: Iterable[str]) -> tuple[int, list[Stage]]:
    """How many batches the last query of an event log had, and the first, second, ... stage of all of them."""
    queries: dict[str, list[list[int]]] = {}
    ended: dict[int, dict[str, Any]] = {}
    for line in log:
        event = json.loads(line)
        if event["Event"] == "SparkListenerJobStart" and _QUERY in (event.get("Properties") or {}):
            queries.setdefault(event["Properties"][_QUERY], []).append(sorted(event["Stage IDs"]))
        elif event["Event"] == "SparkListenerStageCompleted":
            ended[event["Stage Info"]["Stage ID"]] = event["Stage Info"]
    jobs = [*queries.values()][-1] if queries else []
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
            yield from ("| in the workers | share of samples |", "|---|---:|")
            for name, samples in self.functions.most_common(SHOWN):
                yield f"| `{name}` | {samples / self.functions.total():.0%} |"
            yield ""


def measure(job: str, py_spy: str | None, scale: float) -> Profile:
    """Run a job of the comparison, a small input to warm up and a large one, and read what was written of it.

    Samples come from a run of their own: taking them slows the workers down.
    """
    workload, system = WORKLOADS[job], SYSTEMS["penstock"]
    sizes = list(workload.sizes(system, 5.0, scale))
    with _folder() as folder:
        _run(job, sizes, folder, {"spark.eventLog.enabled": "true", "spark.eventLog.dir": folder.as_uri()})
        (log,) = folder.glob("local-*")
        with log.open() as events:
            batches, stages = stages_of(events)
    functions: Counter[str] = Counter()
    if py_spy is not None:
        with _folder() as folder:
            sampler = _Sampler(py_spy, folder)
            sampler.start()
            _run(job, sizes, folder, {})
            functions = worker_functions(sampler.lines())
    return Profile(job, sizes[-1], batches, stages, functions)


class _Sampler(threading.Thread):
    """Lets py-spy follow the workers of the run in a folder, from when there are any until they end."""

    def __init__(self, py_spy: str, folder: Path) -> None:
        super().__init__(daemon=True)
        self._folder, self._samples = folder, folder / "samples"
        self._how = [py_spy, "record", "--subprocesses", "--rate", str(RATE), "--format", "raw"]
        self._over = threading.Event()

    def run(self) -> None:
        """Wait for workers, and sample them."""
        while not self._over.wait(0.2):
            found = _ancestor_of_workers(self._folder)
            if found is not None:
                what = ["--duration", str(LIMIT_S), "--output", str(self._samples), "--pid", str(found)]
                subprocess.run([*self._how, *what], capture_output=True, check=False)
                return

    def lines(self) -> list[str]:
        """What was found, when the run has ended."""
        self._over.set()
        self.join()
        return self._samples.read_text().splitlines() if self._samples.exists() else []


def _ancestor_of_workers(folder: Path) -> int | None:
    """Workers are forked from one process; py-spy follows forks, but not through the JVM that has started it."""
    found = []
    for process in psutil.process_iter():
        with suppress(psutil.Error):
            if WORKERS in process.cmdline() and process.environ().get("TMPDIR") == str(folder):
                found.append((process.create_time(), process.pid))
    return min(found)[1] if found else None


@contextmanager
def _folder() -> Iterator[Path]:
    folder = Path(tempfile.mkdtemp(prefix="penstock-profile-"))
    try:
        yield folder
    finally:
        shutil.rmtree(folder, ignore_errors=True)


def _run(job: str, sizes: list[int], folder: Path, settings: dict[str, str]) -> None:
    workload, system = WORKLOADS[job], SYSTEMS["penstock"]
    plain = {"spark.eventLog.compress": "false", "spark.eventLog.rolling.enabled": "false"}
    options = {**workload.options_of(system), **plain, **settings}
    told = (workload.keys, workload.zipf, workload.rate, PARALLELISM)
    task = Task(workload.job, str(folder / "report"), sizes, *told, options=options)
    command = [sys.executable, "-m", f"benchmarks.{system.module}", task.as_json()]
    ended = processes.run(command, environment_of(sys.executable, folder), folder, LIMIT_S)
    if ended.error is not None:
        sys.exit(f"{job}: {ended.error}")


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
