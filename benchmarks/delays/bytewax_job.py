"""The jobs in Bytewax: one process, the mode in which it is quickest."""

from __future__ import annotations

import os
import shutil
import sys
import tempfile
import threading
import time
from datetime import UTC, datetime, timedelta
from pathlib import Path
from typing import Any

import bytewax.operators as op
import bytewax.operators.windowing as win
from bytewax.connectors.kafka import KafkaSink, KafkaSinkMessage, KafkaSource
from bytewax.dataflow import Dataflow
from bytewax.inputs import FixedPartitionedSource, StatefulSourcePartition
from bytewax.operators.windowing import EventClock, TumblingWindower
from bytewax.outputs import DynamicSink, StatelessSinkPartition
from bytewax.recovery import RecoveryConfig, init_db_dir
from bytewax.testing import cluster_main
from confluent_kafka import OFFSET_END

from benchmarks.delays.marks import TOPIC_IN, TOPIC_OUT, WINDOW_MS, DelayTask, Marks, key_of, let_run, other_key
from benchmarks.peers.reporting import end_with_the_parent

ALIGNED = datetime(2026, 1, 1, tzinfo=UTC)
PAUSE = timedelta(milliseconds=1)


class DuePart(StatefulSourcePartition):
    """All records, when they are due; ends after the time of the task."""

    def __init__(self, task: DelayTask) -> None:
        self.task, self.next, self.began_ms = task, 0, time.time_ns() / 1e6
        self.awake: datetime | None = None

    def next_batch(self) -> list[tuple[str, float]]:
        """What is due by now."""
        passed = time.time_ns() / 1e6 - self.began_ms
        if passed > self.task.seconds * 1000:
            raise StopIteration
        due = int(passed * self.task.rate / 1000)
        numbers, self.next = range(self.next, due), due
        self.awake = None if numbers else datetime.now(UTC) + PAUSE
        step, keys = 1000 / self.task.rate, self.task.keys
        return [(str(key_of(n, keys)), self.began_ms + n * step) for n in numbers]

    def next_awake(self) -> datetime | None:
        """Soon, if nothing was due."""
        return self.awake

    def snapshot(self) -> int:
        """Where it stands."""
        return self.next


class DueSource(FixedPartitionedSource):
    """One partition."""

    def __init__(self, task: DelayTask) -> None:
        self.task = task

    def list_parts(self) -> list[str]:
        """Its name."""
        return ["due"]

    def build_part(self, step_id: str, for_part: str, resume_state: int | None) -> DuePart:
        """The partition."""
        return DuePart(self.task)


class NotingPart(StatelessSinkPartition):
    """Notes the delay of every result."""

    def __init__(self, folder: str) -> None:
        self.marks = Marks(folder)

    def write_batch(self, items: list[float]) -> None:
        """Note."""
        for due_ms in items:
            self.marks.note(due_ms)


class Noting(DynamicSink):
    """The only output."""

    def __init__(self, folder: str) -> None:
        self.folder = folder

    def build(self, step_id: str, worker_index: int, worker_count: int) -> NotingPart:
        """The sink of a worker."""
        return NotingPart(self.folder)


def counted(state: int | None, due_ms: float) -> tuple[int, tuple[float, int]]:
    """A running count, with the time that the record was due."""
    count = (state or 0) + 1
    return count, (due_ms, count)


def results(stream: Any, task: DelayTask) -> Any:
    """When each result was due."""
    if task.job == "window":
        clock = EventClock(
            lambda due_ms: datetime.fromtimestamp(due_ms / 1000, UTC), wait_for_system_duration=timedelta(0)
        )
        length = timedelta(milliseconds=WINDOW_MS)
        windower = TumblingWindower(align_to=ALIGNED, length=length)
        counts = win.fold_window(
            "window", stream, clock, windower, lambda: (0.0, 0), lambda c, due: (due, c[1] + 1), lambda a, b: max(a, b)
        )
        return op.map("due", counts.down, lambda item: (item[1][1][0] // WINDOW_MS + 1) * WINDOW_MS)
    counts = op.stateful_map("count", stream, counted)
    if task.job == "count_two":
        keys = task.keys
        moved = op.map("move", counts, lambda item: (str(other_key(int(item[0]), keys)), item[1][0]))
        counts = op.stateful_map("count_again", moved, counted)
    return op.map("due", counts, lambda item: item[1][0])


def from_topic_to_topic(flow: Dataflow, task: DelayTask) -> None:
    """Count by key between two topics; the results are read outside."""
    brokers = [task.servers]
    source = KafkaSource(brokers, [TOPIC_IN], starting_offset=OFFSET_END, batch_size=1_000)
    records = op.map("split", op.input("in", flow, source), lambda message: tuple(message.value.decode().split(",")))
    counts = op.stateful_map("count", records, counted)
    made = op.map("text", counts, lambda item: KafkaSinkMessage(None, f"{item[0]},{item[1][0]},{item[1][1]}".encode()))
    op.output("out", made, KafkaSink(brokers, TOPIC_OUT, add_config={"linger.ms": "0"}))


def main(task: DelayTask) -> None:
    """Run for the time that is asked for."""
    flow = Dataflow("delays")
    if task.job == "kafka":
        from_topic_to_topic(flow, task)
        end = threading.Timer(0, lambda: (let_run(task.folder, task.seconds), os._exit(0)))
        end.daemon = True
        end.start()
    else:
        op.output("out", results(op.input("in", flow, DueSource(task)), task), Noting(task.folder))
    folder = Path(tempfile.mkdtemp(prefix="bytewax-"))
    try:
        init_db_dir(folder, 1)
        interval = timedelta(milliseconds=task.checkpoint_ms)
        cluster_main(flow, [], 0, recovery_config=RecoveryConfig(str(folder)), epoch_interval=interval)
    finally:
        shutil.rmtree(folder, ignore_errors=True)


if __name__ == "__main__":
    end_with_the_parent()
    main(DelayTask.from_words(sys.argv[1:]))
