"""Running a workload and watching its processes."""

from __future__ import annotations

import math
import threading
import time
from dataclasses import dataclass
from types import TracebackType

import psutil

from benchmarks.workloads import Build
from penstock.common import Configuration
from penstock.datastream import StreamExecutionEnvironment
from penstock.engine.spark.startup.session_config import WORKER_DAEMON

MEGABYTE = 1024 * 1024


@dataclass(frozen=True)
class Run:
    """One run: seconds from submit to the end, and the largest Python worker seen (resident, in MB)."""

    records: int
    seconds: float
    largest_worker_mb: float


class WorkerMemory:
    """Samples the resident memory of Spark's Python workers while a `with` block lasts."""

    def __init__(self) -> None:
        self.largest_mb = 0.0
        self._stop = threading.Event()
        self._thread = threading.Thread(target=self._sample, daemon=True)

    def __enter__(self) -> WorkerMemory:
        self._thread.start()
        return self

    def __exit__(self, kind: type[BaseException] | None, error: BaseException | None, tb: TracebackType | None) -> None:
        self._stop.set()
        self._thread.join()

    def _sample(self) -> None:
        while not self._stop.wait(0.2):
            for process in psutil.Process().children(recursive=True):
                self.largest_mb = max(self.largest_mb, _resident_mb(process))


def _resident_mb(process: psutil.Process) -> float:
    try:
        # Workers are forked from their daemon, and called like it. Spark's JVM has its name too, among its settings.
        if WORKER_DAEMON not in process.cmdline()[1:3]:
            return 0.0
        return float(process.memory_info().rss) / MEGABYTE
    except psutil.Error:  # it has just ended
        return 0.0


def run(build: Build, records: int, *, parallelism: int = 2, batch: int = 500_000) -> Run:
    """Run a workload over a number of records in the shared session."""
    configuration = Configuration()
    configuration.set_string("penstock.batch.max-records", str(batch))
    environment = StreamExecutionEnvironment.get_execution_environment(configuration)
    environment.set_parallelism(parallelism)
    build(environment, records)
    with WorkerMemory() as memory:
        started = time.monotonic()
        environment.execute("benchmark")
        seconds = time.monotonic() - started
    return Run(records, seconds, memory.largest_mb)


def slope(build: Build, small: int, large: int, *, parallelism: int = 2) -> tuple[float, Run]:
    """Records a second in steady state: what the additional records cost, start-up apart.

    Not a number where they cost nothing that could be told from chance: then there are too few of them.
    """
    first, second = (run(build, records, parallelism=parallelism) for records in (small, large))
    additional = second.seconds - first.seconds
    return (large - small) / additional if additional > 0 else math.nan, second
