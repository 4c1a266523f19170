"""`python -m benchmarks.queries`: what queries cost a job at full speed, and how long they take.

A job counts records by key as fast as it can. Phases without and with a query server and its clients take turns, so
that what else the machine does meets both alike. In a phase without, the server is stopped and asked for nothing.
"""

from __future__ import annotations

import argparse
import os
import signal
import subprocess
import sys
import tempfile
import threading
import time
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from statistics import median
from typing import Any

import psutil

sys.path.insert(0, __file__.rpartition("/benchmarks/")[0])

from benchmarks import results
from penstock.checkpoint import CheckpointDirectory
from penstock.queryable import QueryableStateClient

KEYS = 2_000
CLIENTS = 20
READS_PER_SECOND = 5.0  # of each client
ROUNDS = 5
PHASE_SECONDS = 10.0
TOKEN = "benchmark-of-queries"
PORT = 18_087
_START_SECONDS = 300.0


def run_job(checkpoint: str, engine: str) -> None:
    """Count generated records by key until the process is killed."""
    from penstock.common import Configuration, Types, WatermarkStrategy
    from penstock.datastream import KeyedProcessFunction, StreamExecutionEnvironment
    from penstock.datastream.connectors.data_gen import DataGeneratorSource
    from penstock.datastream.state import ValueStateDescriptor

    class Count(KeyedProcessFunction):
        def open(self, runtime_context: Any) -> None:
            descriptor = ValueStateDescriptor("count", Types.LONG())
            descriptor.set_queryable("counts")
            self.count = runtime_context.get_state(descriptor)

        def process_element(self, value: int, ctx: Any) -> None:
            self.count.update((self.count.value() or 0) + 1)

    configuration = Configuration()
    settings = {"penstock.engine": engine, "execution.checkpointing.dir": checkpoint, "spark.master": "local[2,4]"}
    if engine == "in-process":  # which has no target for the time of a batch
        settings["penstock.batch.max-records"] = "50000"
    for key, value in settings.items():
        configuration.set_string(key, value)
    environment = StreamExecutionEnvironment.get_execution_environment(configuration)
    environment.set_parallelism(2)
    source = DataGeneratorSource(lambda index: index, 1 << 60)
    numbers = environment.from_source(source, WatermarkStrategy.no_watermarks(), "numbers").uid("numbers")
    keyed = numbers.key_by(lambda number: number * 2_654_435_761 % KEYS, Types.LONG())
    keyed.process(Count()).uid("count").print()
    environment.execute("queried at full speed")


class Progress:
    """How many records a job has counted, by its seals."""

    def __init__(self, checkpoint: str) -> None:
        self._directory = CheckpointDirectory(checkpoint)

    def now(self) -> tuple[float, int]:
        """When the newest version was sealed, and how many records it has."""
        for _ in range(100):
            marks = self._directory.seal_files()
            if marks:
                version = max(marks)
                seal = self._directory.read_seal(version)
                if seal is not None and seal.offset is not None:
                    return marks[version][0] / 1e9, sum(seal.offset.positions["numbers"])
            time.sleep(0.05)
        raise SystemExit("the job seals nothing")


class Clients:
    """Clients that read random keys at an even rate, each on a connection of its own."""

    def __init__(self, count: int, rate: float) -> None:
        self.seconds: list[float] = []
        self._rate = rate
        self._is_over = threading.Event()
        self._threads = [threading.Thread(target=self._read, args=(number, count)) for number in range(count)]

    def _read(self, number: int, count: int) -> None:
        pause = 1 / self._rate
        self._is_over.wait(pause * number / count)
        with QueryableStateClient(f"http://127.0.0.1:{PORT}", TOKEN) as client:
            at = number
            due = time.perf_counter()
            while not self._is_over.is_set():
                at = (at * 48_271 + 11) % KEYS
                began = time.perf_counter()
                client.get(at, name="counts")
                self.seconds.append(time.perf_counter() - began)
                due += pause
                self._is_over.wait(max(0.0, due - time.perf_counter()))

    def __enter__(self) -> Clients:
        for thread in self._threads:
            thread.start()
        return self

    def __exit__(self, *error: object) -> None:
        self._is_over.set()
        for thread in self._threads:
            thread.join()


@contextmanager
def process(*words: str, log: Path) -> Iterator[subprocess.Popen[bytes]]:
    """A process that does not outlive the block, nor do its children."""
    environment = {**os.environ, "PENSTOCK_TOKEN": TOKEN}
    with log.open("wb") as stream:
        started = subprocess.Popen(words, stdout=stream, stderr=stream, env=environment)
    try:
        yield started
    finally:
        family = psutil.Process(started.pid).children(recursive=True) if started.poll() is None else []
        for each in [*family, psutil.Process(started.pid)] if started.poll() is None else []:
            each.kill()
        started.wait(30)


def phase(progress: Progress, seconds: float) -> float:
    """Records a second of the versions that were sealed in a while."""
    began, before = progress.now()
    time.sleep(seconds)
    ended, after = progress.now()
    return (after - before) / max(ended - began, 1e-9)


def measure(engine: str, rounds: int, seconds: float, rate: float) -> dict[str, Any]:
    """Take turns, and tell what came out."""
    with tempfile.TemporaryDirectory(prefix="penstock-queries-") as folder:
        checkpoint = f"{folder}/checkpoint"
        job_words = (sys.executable, "-m", "benchmarks.queries", "--job", checkpoint, "--engine", engine)
        server_words = (sys.executable, "-m", "penstock", "query-server", checkpoint, "--port", str(PORT))
        with process(*job_words, log=Path(folder) / "job.log"):
            _wait_for(checkpoint)
            with process(*server_words, log=Path(folder) / "server.log") as server:
                return _turns(Progress(checkpoint), server, rounds, seconds, rate)


def _turns(
    progress: Progress, server: subprocess.Popen[bytes], rounds: int, seconds: float, rate: float
) -> dict[str, Any]:
    _wait_for_server()
    found: list[dict[str, float]] = []
    latencies: list[float] = []
    for _ in range(rounds):
        server.send_signal(signal.SIGSTOP)
        without = phase(progress, seconds)
        server.send_signal(signal.SIGCONT)
        spent = _cpu_seconds(server.pid)
        with Clients(CLIENTS, rate) as clients:
            with_clients = phase(progress, seconds)
        spent = _cpu_seconds(server.pid) - spent
        latencies += clients.seconds
        found.append({"without": without, "with": with_clients, "server_cpu": spent / seconds})
        print(
            f"{without:>12,.0f} {with_clients:>12,.0f} records/s  {with_clients / without:.3f}  "
            f"{len(clients.seconds) / seconds:,.0f} reads/s  server {spent / seconds:.1%} of a core",
            flush=True,
        )
    latencies.sort()
    return {
        "rounds": found,
        "ratio": median(each["with"] / each["without"] for each in found),
        "reads": len(latencies),
        "p50_ms": latencies[len(latencies) // 2] * 1000,
        "p99_ms": latencies[int(len(latencies) * 0.99)] * 1000,
        "server_cpu": median(each["server_cpu"] for each in found),
        "load": os.getloadavg()[0],
    }


def _cpu_seconds(pid: int) -> float:
    times = psutil.Process(pid).cpu_times()
    return float(times.user + times.system)


def _wait_for(checkpoint: str) -> None:
    until = time.monotonic() + _START_SECONDS
    directory = CheckpointDirectory(checkpoint)
    while len(directory.seal_files()) < 2 or max(directory.seal_files()) < 5:
        if time.monotonic() > until:
            raise SystemExit("the job does not start")
        time.sleep(0.2)


def _wait_for_server() -> None:
    until = time.monotonic() + _START_SECONDS
    with QueryableStateClient(f"http://127.0.0.1:{PORT}", TOKEN) as client:
        while True:
            try:
                client.get(1, name="counts")
                return
            except Exception:
                if time.monotonic() > until:
                    raise
                time.sleep(0.2)


def main() -> None:
    """Measure, or be the job that is measured."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--engine", default="spark", choices=("spark", "in-process"))
    parser.add_argument("--rounds", type=int, default=ROUNDS)
    parser.add_argument("--seconds", type=float, default=PHASE_SECONDS)
    parser.add_argument("--rate", type=float, default=READS_PER_SECOND, help="reads a second of each client")
    parser.add_argument("--job", metavar="CHECKPOINT", help=argparse.SUPPRESS)
    parser.add_argument("--write", action="store_true", help="write benchmarks/results/queries.json")
    given = parser.parse_args()
    if given.job:
        run_job(given.job, given.engine)
        return
    found = measure(given.engine, given.rounds, given.seconds, given.rate)
    print(
        f"throughput with {CLIENTS} clients: {found['ratio']:.1%} of that without; reads {found['p50_ms']:.2f} ms, "
        f"p99 {found['p99_ms']:.2f} ms; load of the machine {found['load']:.1f}"
    )
    if given.write:
        head = results.heading(parallelism=2, rounds=given.rounds)
        results.write("queries", {**head, "engine": given.engine, "clients": CLIENTS, "rate": given.rate, **found})


if __name__ == "__main__":
    main()
