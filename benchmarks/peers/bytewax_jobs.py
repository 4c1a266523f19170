"""The jobs in Bytewax. With two processes it makes a cluster on loopback, Bytewax's own way to use two cores.

Bytewax has no join on time and no event-time timers, so those jobs are not here.
"""

from __future__ import annotations

import json
import shutil
import socket
import subprocess
import sys
import tempfile
from collections.abc import Callable
from datetime import UTC, datetime, timedelta
from pathlib import Path
from typing import Any

import bytewax.operators as op
import bytewax.operators.windowing as win
from bytewax.dataflow import Dataflow
from bytewax.inputs import FixedPartitionedSource, StatefulSourcePartition
from bytewax.operators.windowing import EventClock, SessionWindower, SlidingWindower, TumblingWindower
from bytewax.outputs import DynamicSink, StatelessSinkPartition
from bytewax.recovery import RecoveryConfig, init_db_dir
from bytewax.testing import TestingSink, cluster_main

from benchmarks.peers import reporting
from benchmarks.peers.drawn import PERIOD, drawn_keys

BATCH = 5_000
WAIT_S = 10
SKEW = 50_000
"""Records by which one process may be ahead of another: Bytewax keeps no watermarks of its inputs, it only waits."""
BEGIN = datetime(2026, 1, 1, tzinfo=UTC)


class Numbers(StatefulSourcePartition):
    """Every so many-th record, in blocks."""

    def __init__(self, first: int, stop: int, step: int, task: reporting.Task) -> None:
        self.next, self.stop, self.step, self.rate = first, stop, step, task.rate
        self.keys = drawn_keys(task.keys, task.zipf, as_text=True)

    def next_batch(self) -> list[tuple[str, int]]:
        """Records of the next block."""
        if self.next >= self.stop:
            raise StopIteration
        numbers = range(self.next, min(self.next + BATCH * self.step, self.stop), self.step)
        self.next = numbers[-1] + self.step
        keys, rate = self.keys, self.rate
        return [(keys[n % PERIOD], n * 1000 // rate) for n in numbers]

    def snapshot(self) -> int:
        """Where it stands."""
        return self.next


class NumbersSource(FixedPartitionedSource):
    """One partition for each process."""

    def __init__(self, records: int, parts: int, task: reporting.Task) -> None:
        self.records, self.parts, self.task = records, parts, task

    def list_parts(self) -> list[str]:
        """Names of the partitions."""
        return [str(part) for part in range(self.parts)]

    def build_part(self, step_id: str, for_part: str, resume_state: int | None) -> Numbers:
        """A partition."""
        return Numbers(int(for_part), self.records, self.parts, self.task)


class Nowhere(StatelessSinkPartition):
    """Takes whole blocks and forgets them."""

    def write_batch(self, items: list[Any]) -> None:
        """Forget a block."""


class Discard(DynamicSink):
    """No output."""

    def build(self, step_id: str, worker_index: int, worker_count: int) -> Nowhere:
        """A sink of one worker."""
        return Nowhere()


def counted(state: int | None, value: int) -> tuple[int, int]:
    """A running count."""
    count = (state or 0) + 1
    return count, count


def build(task: reporting.Task, records: int, sink: Any) -> Dataflow:
    """The flow of a job."""
    flow = Dataflow("benchmark")
    stream = op.input("in", flow, NumbersSource(records, task.options["processes"], task))
    op.output("out", JOBS[task.job](stream, task), sink)
    return flow


def map_filter(stream: Any, task: reporting.Task) -> Any:
    """Two lambdas."""
    stream = op.map("map", stream, lambda v: (v[0], v[1] + 1))
    return op.filter("filter", stream, lambda v: v[1] % 2 == 0)


def count(stream: Any, task: reporting.Task) -> Any:
    """A running count by key."""
    return op.stateful_map("count", stream, counted)


def windows(windower: Any) -> Callable[[Any, reporting.Task], Any]:
    """Counts by key and window."""

    def build_windows(stream: Any, task: reporting.Task) -> Any:
        # Its clock goes on while a program computes: without a wait, records of a busy process count as late.
        wait = timedelta(seconds=WAIT_S + (task.options["processes"] - 1) * SKEW / task.rate)
        clock = EventClock(lambda t: BEGIN + timedelta(milliseconds=t), wait_for_system_duration=wait)
        counts = win.fold_window(
            "window", stream, clock, windower, lambda: 0, lambda count, _: count + 1, lambda a, b: a + b
        )
        return counts.down

    return build_windows


JOBS: dict[str, Callable[[Any, reporting.Task], Any]] = {
    "map_filter": map_filter,
    "count": count,
    "tumbling": windows(TumblingWindower(align_to=BEGIN, length=timedelta(seconds=reporting.WINDOW_S))),
    "sliding": windows(
        SlidingWindower(align_to=BEGIN, length=timedelta(seconds=reporting.SLIDING_S), offset=timedelta(seconds=1))
    ),
    "session": windows(SessionWindower(gap=timedelta(seconds=reporting.SESSION_GAP_S))),
}


def run(task: reporting.Task, records: int) -> list[Any] | None:
    """Run a job in one process, or in the first of several."""
    drawn_keys(task.keys, task.zipf, as_text=True)
    processes = task.options["processes"]
    addresses = [f"127.0.0.1:{port}" for port in free_ports(processes)] if processes > 1 else []
    others = [
        subprocess.Popen([sys.executable, "-m", __spec__.name, "--join", *arguments], stdout=subprocess.DEVNULL)
        for arguments in ([task.as_json(), str(records), str(number), *addresses] for number in range(1, processes))
    ]
    results = run_process(task, records, 0, addresses)
    for number, other in enumerate(others, 1):
        if other.wait() != 0:
            raise RuntimeError(f"process {other.args} of the cluster ended with {other.returncode}")
        results += json.loads(_results_file(task, number).read_text())
    return results if task.collect else None


def run_process(task: reporting.Task, records: int, process: int, addresses: list[str]) -> list[Any]:
    """The share of one process, and its results if they are asked for."""
    results: list[Any] = []
    sink = TestingSink(results) if task.collect else Discard()
    settings: dict[str, Any] = {}
    folder = Path(tempfile.mkdtemp(prefix="bytewax-"))
    try:
        if task.checkpoint_ms:
            init_db_dir(folder, 1)
            settings["recovery_config"] = RecoveryConfig(str(folder))
            settings["epoch_interval"] = timedelta(milliseconds=task.checkpoint_ms)
        cluster_main(build(task, records, sink), addresses, process, **settings)
    finally:
        shutil.rmtree(folder, ignore_errors=True)
    return [comparable(task, found) for found in results]


def _results_file(task: reporting.Task, process: int) -> Path:
    return Path(f"{task.report}.{process}")


def comparable(task: reporting.Task, found: Any) -> list[int]:
    """A result as numbers: key and value."""
    value = found[1][1] if task.job in ("tumbling", "sliding", "session") else found[1]
    return [int(found[0]), value]


def free_ports(wanted: int) -> list[int]:
    """Ports nobody listens on."""
    sockets = [socket.socket() for _ in range(wanted)]
    for each in sockets:
        each.bind(("127.0.0.1", 0))
    ports = [each.getsockname()[1] for each in sockets]
    for each in sockets:
        each.close()
    return ports


def join(arguments: list[str]) -> None:
    """Be another process of a cluster."""
    reporting.end_with_the_parent()
    text, records, process, *addresses = arguments
    task = reporting.Task(**json.loads(text))
    drawn_keys(task.keys, task.zipf, as_text=True)
    results = run_process(task, int(records), int(process), addresses)
    _results_file(task, int(process)).write_text(json.dumps(results))


if __name__ == "__main__":
    if sys.argv[1] == "--join":
        join(sys.argv[2:])
    else:
        reporting.serve(run, sys.argv[1:])
