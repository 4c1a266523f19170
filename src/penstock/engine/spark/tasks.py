"""What runs inside Spark tasks: exchange rows in, exchange rows out; the semantics are the runtime's.

A failure of user code is sent to the driver as a row instead of being raised: raising would make Spark run the task
again three times, and the user read a Java stack.
"""

from __future__ import annotations

import os
import pickle
import tempfile
import uuid
from collections.abc import Callable, Iterator

import pyarrow as pa
from pyspark import TaskContext

from penstock.checkpoint import CheckpointDirectory, Seal
from penstock.connectors.frame_source import batch_to_values
from penstock.engine.spark.rows_arrow import from_batch, in_batches
from penstock.engine.spark.shipping import ShippedPlan, clock_ms, forget, subtask_of
from penstock.errors import CheckpointError
from penstock.runtime import rows
from penstock.runtime.failure import OperatorFailure
from penstock.runtime.operators import SourceOperator
from penstock.runtime.rows import ExchangeRow
from penstock.runtime.subtask import END_SEQ, Subtask
from penstock.state.versions import SubtaskState

Batches = Iterator[pa.RecordBatch]


class _Batch:
    """One batch as a task sees it: its version, and what the version before left."""

    def __init__(self, plan: ShippedPlan) -> None:
        context = TaskContext.get()
        assert context is not None
        self.partition = context.partitionId()
        # Spark numbers batches from 0; the version of a batch is its number, and the one before it is sealed.
        self.version = int(context.getLocalProperty("streaming.sql.batchId") or 0)
        self.attempt = uuid.uuid4().hex[:12]
        self._plan = plan
        self._directory = CheckpointDirectory(plan.checkpoint_uri)

    def previous(self) -> Seal:
        """The seal this batch starts from."""
        seal = self._directory.read_seal(self.version - 1)
        if seal is None:
            raise CheckpointError(
                f"checkpoint {self._plan.checkpoint_uri} has no seal of version {self.version - 1}, which Spark's log "
                "says is done: files were removed, or the executors do not see the same directory as the driver"
            )
        return seal

    def open_state(self, subtask: Subtask, seal: Seal) -> SubtaskState:
        """The keyed state of a subtask at the version before this one."""
        uid, number = subtask.vertex.uid, subtask.subtask
        local = None if self._plan.state_backend == "heap" else _local_path(self._plan, subtask)
        return SubtaskState.open(
            self._directory.filesystem,
            self._directory.state_path(uid, number),
            seal.entry(uid, number).state,
            local_path=local,
        )


def _local_path(plan: ShippedPlan, subtask: Subtask) -> str:
    """Spark's own scratch directory of this executor: private to it, and removed with it."""
    scratch = os.environ.get("SPARK_LOCAL_DIRS", "").split(",")[0] or tempfile.gettempdir()
    return os.path.join(scratch, "penstock", plan.settings.job_id, f"{subtask.vertex.id}-{subtask.subtask}")


def _run(subtask: Subtask, work: Callable[[Subtask], Iterator[None]]) -> Iterator[ExchangeRow]:
    """Drive a subtask through one batch, giving out its rows as they come.

    `work` begins the batch, feeds the subtask and yields wherever rows may be given out.
    """
    try:
        for _ in work(subtask):
            yield from subtask.take_rows()
        report = subtask.finish()
        yield from subtask.take_rows()
        yield _to_driver(rows.REPORT, rows.dumps(report))
        if report.entry.has_ended:
            subtask.close()
            forget(subtask.vertex.id, subtask.subtask)
    except OperatorFailure as failure:
        _give_up(subtask)
        yield _to_driver(rows.FAILURE, pickle.dumps(failure))
    except BaseException:
        _give_up(subtask)
        raise


def _give_up(subtask: Subtask) -> None:
    forget(subtask.vertex.id, subtask.subtask)
    subtask.abort()


def _to_driver(kind: int, payload: bytes) -> ExchangeRow:
    return ExchangeRow(0, rows.DRIVER, 0, 0, 0, kind, payload)


def _make_subtask(plan: ShippedPlan, vertex: int, number: int) -> Subtask | ExchangeRow:
    try:
        return subtask_of(plan, vertex, number)
    except OperatorFailure as failure:  # open() of a user function raised
        return _to_driver(rows.FAILURE, pickle.dumps(failure))


def run_native_sources(plan: ShippedPlan, batches: Batches) -> Batches:
    """Level 0 for sources that Penstock reads itself: each input row names a split and a range of it."""
    batch = _Batch(plan)
    for table in batches:
        for info in table.column(0).to_pylist():
            yield from in_batches(_native_rows(plan, batch, pickle.loads(info)))


def _native_rows(plan: ShippedPlan, batch: _Batch, task: dict[str, int]) -> Iterator[ExchangeRow]:
    if not task:
        return
    subtask = _make_subtask(plan, task["vertex"], task["split"])
    if isinstance(subtask, ExchangeRow):
        yield subtask
        return
    seal = batch.previous()

    def work(subtask: Subtask) -> Iterator[None]:
        entry = seal.entry(subtask.vertex.uid, subtask.subtask)
        # Spark reads the data of an ephemeral source in other tasks: the end and idleness come behind all of it.
        first_seq = END_SEQ if subtask.vertex.is_ephemeral else 0
        subtask.begin(batch.version, batch.attempt, entry, lambda: batch.open_state(subtask, seal), first_seq=first_seq)
        if task["stop"] > task["start"]:
            yield from _read_in_pieces(subtask, task["start"], task["stop"])
        if task["ends"]:
            subtask.end_source()
        yield

    yield from _run(subtask, work)


def _read_in_pieces(subtask: Subtask, start: int, stop: int) -> Iterator[None]:
    """Read a range piece by piece, so that rows leave while the rest is being read."""
    piece = 50_000
    for first in range(start, stop, piece):
        subtask.read_split(first, min(first + piece, stop))
        yield


def run_frame_source(plan: ShippedPlan, vertex: int, batches: Batches) -> Batches:
    """Level 0 for a source that Spark reads: rows of the frame become values."""
    batch = _Batch(plan)
    first = next(batches, None)
    if first is None:
        return
    subtask = _make_subtask(plan, vertex, batch.partition)
    if isinstance(subtask, ExchangeRow):
        yield from in_batches([subtask])
        return
    head = subtask.head
    assert isinstance(head, SourceOperator)
    row_format = head.source.row_format  # type: ignore[attr-defined]
    seal = batch.previous()

    def work(subtask: Subtask) -> Iterator[None]:
        entry = seal.entry(subtask.vertex.uid, 0)
        subtask.begin(batch.version, batch.attempt, entry, lambda: batch.open_state(subtask, seal))
        table: pa.RecordBatch | None = first
        while table is not None:
            subtask.receive_values(batch_to_values(table, row_format))
            yield
            table = next(batches, None)

    yield from in_batches(_run(subtask, work))
    _exhaust(batches)


def run_level(plan: ShippedPlan, here: dict[int, tuple[str, int]], ephemeral: set[int], batches: Batches) -> Batches:
    """A level: rows of its vertices are worked on, rows of later levels pass undecoded.

    `here` gives uid and parallelism of the vertices of this level.
    """
    batch = _Batch(plan)
    waiting: dict[int, list[ExchangeRow]] = {vertex: [] for vertex in here}
    for table in batches:
        mine, others = _split(table, here)
        for row in mine:
            waiting[row.vertex].append(row)
        if others is not None:
            yield others
    yield from in_batches(_level_rows(plan, batch, here, ephemeral, waiting))


def _split(table: pa.RecordBatch, here: dict[int, tuple[str, int]]) -> tuple[list[ExchangeRow], pa.RecordBatch | None]:
    is_mine = [vertex in here for vertex in table.column(1).to_pylist()]
    if all(is_mine):
        return from_batch(table), None
    if not any(is_mine):
        return [], table
    return from_batch(table.filter(pa.array(is_mine))), table.filter(pa.array([not mine for mine in is_mine]))


def _level_rows(
    plan: ShippedPlan,
    batch: _Batch,
    here: dict[int, tuple[str, int]],
    ephemeral: set[int],
    waiting: dict[int, list[ExchangeRow]],
) -> Iterator[ExchangeRow]:
    seal: Seal | None = None
    for vertex, (uid, parallelism) in here.items():
        if batch.partition >= parallelism:
            continue
        if not waiting[vertex] and seal is None:
            seal = batch.previous()
        if waiting[vertex] or (seal is not None and _is_due(seal, uid, batch.partition)):
            seal = seal or batch.previous()
            yield from _vertex_rows(plan, batch, seal, vertex, waiting.pop(vertex), ephemeral)


def _is_due(seal: Seal, uid: str, subtask: int) -> bool:
    deadline = seal.entry(uid, subtask).deadline
    return deadline is not None and deadline <= clock_ms()


def _vertex_rows(
    plan: ShippedPlan, batch: _Batch, seal: Seal, vertex: int, waiting: list[ExchangeRow], ephemeral: set[int]
) -> Iterator[ExchangeRow]:
    subtask = _make_subtask(plan, vertex, batch.partition)
    if isinstance(subtask, ExchangeRow):
        yield subtask
        return
    # Whatever order the shuffle delivered, a replay must see the rows in the same one.
    waiting.sort(key=lambda row: (row.seq, row.src))
    senders: dict[int, set[int]] = {sender: set() for sender in ephemeral}
    for row in waiting:
        sender, _, number = rows.sender_of(row.src)
        if sender in senders:
            senders[sender].add(number)

    def work(subtask: Subtask) -> Iterator[None]:
        entry = seal.entry(subtask.vertex.uid, subtask.subtask)
        opener = lambda: batch.open_state(subtask, seal)  # noqa: E731
        subtask.begin(batch.version, batch.attempt, entry, opener, ephemeral=senders)
        waiting.reverse()
        while waiting:
            subtask.process(waiting.pop())
            yield

    yield from _run(subtask, work)


def _exhaust(batches: Batches) -> None:
    """Read what is left of the input: Spark expects a task to take all of it, also after a failure."""
    for _ in batches:
        pass
