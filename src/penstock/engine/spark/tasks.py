"""What runs inside Spark tasks: Arrow batches in and out; the order of things within a batch is the runtime's."""

from __future__ import annotations

import uuid
from collections.abc import Iterator

import pyarrow as pa
from pyspark import TaskContext

from penstock.checkpoint import CheckpointDirectory, Seal
from penstock.connectors.frame_source import FrameSource, batch_to_block
from penstock.engine.spark.local_stores import local_path
from penstock.engine.spark.rows_arrow import from_batch, in_batches
from penstock.engine.spark.shipping import ShippedPlan, clock_of, forget, subtask_of
from penstock.engine.spark.startup.worker_garbage import keep_collections_short
from penstock.errors import CheckpointError
from penstock.runtime.batch_run import frame_rows, is_due, source_rows, vertex_rows
from penstock.runtime.report import SubtaskEntry
from penstock.runtime.rows import ExchangeRow, Values
from penstock.runtime.source_tasks import SourceTask
from penstock.runtime.subtask import Subtask
from penstock.state.versions import SubtaskState

Batches = Iterator[pa.RecordBatch]
Here = dict[int, tuple[str, int]]
"""Vertices of a level: id -> uid and parallelism."""


class SparkHost:
    """What `batch_run` asks of an engine, for one batch in one task."""

    def __init__(self, plan: ShippedPlan) -> None:
        keep_collections_short()
        context = TaskContext.get()
        batch = None if context is None else context.getLocalProperty("streaming.sql.batchId")
        assert context is not None and batch is not None, "not in a task of a streaming query"
        self.partition = context.partitionId()
        # Spark numbers batches from 0; the version of a batch is its number, and the one before it is sealed.
        self.version = int(batch)
        self.attempt = uuid.uuid4().hex[:12]
        self.now_ms = clock_of(plan)
        self._plan = plan
        self._directory = CheckpointDirectory(plan.checkpoint_uri)
        self._seal: Seal | None = None

    def subtask(self, vertex: int, number: int) -> Subtask:
        """This process's copy of a subtask."""
        return subtask_of(self._plan, vertex, number)

    def forget(self, subtask: Subtask) -> None:
        """Drop a subtask."""
        forget(subtask.vertex.id, subtask.subtask)

    def entry(self, vertex_uid: str, number: int) -> SubtaskEntry:
        """What the version before left of a subtask."""
        return self._previous().entry(vertex_uid, number)

    def open_state(self, subtask: Subtask) -> SubtaskState:
        """The keyed state of a subtask at the version before this one."""
        uid, number = subtask.vertex.uid, subtask.subtask
        return SubtaskState.open(
            self._directory.filesystem,
            self._directory.state_path(uid, number),
            self.entry(uid, number).state,
            local_path=local_path(self._plan, subtask),
            backend=self._plan.state_backend,
        )

    def _previous(self) -> Seal:
        if self._seal is None:
            self._seal = self._directory.read_seal(self.version - 1)
        if self._seal is None:
            raise CheckpointError(
                f"checkpoint {self._plan.checkpoint_uri} has no seal of version {self.version - 1}, which Spark's log "
                "says is done: files were removed, or the executors do not see the same directory as the driver"
            )
        return self._seal


def run_native_sources(plan: ShippedPlan, group: list[SourceTask]) -> Batches:
    """Level 0 for sources that Penstock reads itself: each task names a split or partitions, and ranges of them."""
    host = SparkHost(plan)
    for task in group:
        yield from in_batches(source_rows(host, task))


def run_frame_source(plan: ShippedPlan, vertex: int, source: FrameSource, batches: Batches) -> Batches:
    """Level 0 for a source that Spark reads: rows of the frame become values, or stay columns."""
    first = next(batches, None)
    if first is None:
        return  # an empty partition says nothing, also not of the watermark
    host = SparkHost(plan)

    def blocks() -> Iterator[Values]:
        table: pa.RecordBatch | None = first
        while table is not None:
            yield batch_to_block(table, source.row_format)
            table = next(batches, None)

    yield from in_batches(frame_rows(host, vertex, host.partition, blocks()))
    _exhaust(batches)


def run_level(plan: ShippedPlan, here: Here, ephemeral: set[int], batches: Batches) -> Batches:
    """A level: rows of its vertices are worked on, rows of later levels pass undecoded."""
    waiting: dict[int, list[ExchangeRow]] = {vertex: [] for vertex in here}
    for table in batches:
        mine, others = _split(table, here)
        for row in mine:
            waiting[row.vertex].append(row)
        if others is not None:
            yield others
    yield from in_batches(_level_rows(SparkHost(plan), here, ephemeral, waiting))


def _split(table: pa.RecordBatch, here: Here) -> tuple[list[ExchangeRow], pa.RecordBatch | None]:
    is_mine = [vertex in here for vertex in table.column(1).to_pylist()]
    if all(is_mine):
        return from_batch(table), None
    if not any(is_mine):
        return [], table
    return from_batch(table.filter(pa.array(is_mine))), table.filter(pa.array([not mine for mine in is_mine]))


def _level_rows(
    host: SparkHost, here: Here, ephemeral: set[int], waiting: dict[int, list[ExchangeRow]]
) -> Iterator[ExchangeRow]:
    number = host.partition
    for vertex, (uid, parallelism) in here.items():
        rows = waiting.pop(vertex)
        if number < parallelism and (rows or is_due(host, uid, number)):
            # Whatever order the shuffle delivered, a replay must see the rows in the same one.
            rows.sort(key=lambda row: (row.seq, row.src))
            yield from vertex_rows(host, vertex, number, rows, ephemeral)


def _exhaust(batches: Batches) -> None:
    """Read what is left of the input: Spark expects a task to take all of it, also after a failure."""
    for _ in batches:
        pass
