"""One batch of a job, as seen from inside a task: subtasks are begun, fed, finished, and their rows given out.

Where rows come from and go to, where state files are and which process keeps which subtask is the engine's; it answers
through `BatchHost`.
"""

from __future__ import annotations

import contextlib
import pickle
from collections.abc import Callable, Iterable, Iterator
from typing import Any, Protocol

from penstock.errors import StorageFullError
from penstock.runtime import rows
from penstock.runtime.failure import OperatorFailure
from penstock.runtime.report import BUSY, SubtaskEntry
from penstock.runtime.rows import ExchangeRow, Values
from penstock.runtime.source_tasks import SourceTask
from penstock.runtime.subtask import END_SEQ, OpenedState, Subtask

_PIECE = 50_000
"""How many positions of a split are read before rows are given out."""


class BatchHost(Protocol):
    """What an engine provides for a batch."""

    version: int
    attempt: str

    def subtask(self, vertex: int, number: int) -> Subtask:
        """This process's copy of a subtask; made, and its functions opened, when it is first asked for."""

    def forget(self, subtask: Subtask) -> None:
        """Drop a subtask that failed or ended."""

    def entry(self, vertex_uid: str, number: int) -> SubtaskEntry:
        """What the version before left of a subtask."""

    def open_state(self, subtask: Subtask) -> OpenedState:
        """The keyed state of a subtask at the version before."""

    def now_ms(self) -> int:
        """Processing time."""


def source_rows(host: BatchHost, task: SourceTask) -> Iterator[ExchangeRow]:
    """Read a range of a split or ranges of partitions, or end or look after a source."""

    def work(subtask: Subtask) -> Iterator[None]:
        # An engine reads the data of an ephemeral source in other tasks: its end and idleness come behind all of it.
        first_seq = END_SEQ if subtask.vertex.is_ephemeral else 0
        _begin(host, subtask, subtask.subtask, first_seq=first_seq)
        subtask.pause_splits(task.paused)
        for first in range(task.start, task.stop, _PIECE):
            subtask.read_split(first, min(first + _PIECE, task.stop))
            yield
        if task.ranges is not None:
            yield from subtask.read_partitions(task)
        if task.ends:
            subtask.end_source()
        yield

    return _run(host, task.vertex, task.split, work)


def frame_rows(host: BatchHost, vertex: int, number: int, blocks: Iterator[Values]) -> Iterator[ExchangeRow]:
    """Take blocks of values that the engine has read; the subtasks of such a source go on from one common entry."""

    def work(subtask: Subtask) -> Iterator[None]:
        _begin(host, subtask, 0)
        for values in blocks:
            subtask.receive_values(values)
            yield

    return _run(host, vertex, number, work)


def vertex_rows(
    host: BatchHost, vertex: int, number: int, waiting: list[ExchangeRow], ephemeral: Iterable[int]
) -> Iterator[ExchangeRow]:
    """Work on the rows of one subtask, in the order given; the list is used up."""
    senders: dict[int, set[int]] = {sender: set() for sender in ephemeral}
    for row in waiting:
        sender, _, sending = rows.sender_of(row.src)
        if sender in senders:
            senders[sender].add(sending)

    def work(subtask: Subtask) -> Iterator[None]:
        _begin(host, subtask, subtask.subtask, ephemeral=senders)
        # Timers that came due between the batches fire before the records of this one, as in Flink.
        subtask.on_processing_time(host.now_ms())
        waiting.reverse()
        while waiting:
            subtask.process(waiting.pop())
            yield

    return _run(host, vertex, number, work)


def is_due(host: BatchHost, vertex_uid: str, number: int) -> bool:
    """Whether a subtask wants to run even though no row came for it."""
    deadline = host.entry(vertex_uid, number).deadline
    return deadline is not None and deadline <= host.now_ms()


def _begin(host: BatchHost, subtask: Subtask, entry_of: int, **options: Any) -> None:
    entry = host.entry(subtask.vertex.uid, entry_of)
    subtask.begin(host.version, host.attempt, entry, lambda: host.open_state(subtask), **options)


def _run(host: BatchHost, vertex: int, number: int, work: Callable[[Subtask], Iterator[None]]) -> Iterator[ExchangeRow]:
    """Drive a subtask through one batch, giving out its rows as they come.

    `work` begins the batch, feeds the subtask and yields wherever rows may be given out. A failure of user code becomes
    a row for the driver: raising it would make an engine try the task again for nothing.
    """
    try:
        subtask = host.subtask(vertex, number)
    except OperatorFailure as failure:  # open() of a user function raised
        yield to_driver(rows.FAILURE, pickle.dumps(failure))
        return
    try:
        busy_ms, began_ms = 0, host.now_ms()
        for _ in work(subtask):
            busy_ms += host.now_ms() - began_ms
            yield from subtask.take_rows()
            began_ms = host.now_ms()
        report = subtask.finish()
        report.metrics[subtask.head_uid][BUSY] = busy_ms + host.now_ms() - began_ms
        yield from subtask.take_rows()
        yield to_driver(rows.REPORT, rows.dumps(report))
        if report.entry.has_ended:
            host.forget(subtask)
            subtask.close()
    except (OperatorFailure, StorageFullError) as failure:  # to write again would not find more space either
        _give_up(host, subtask)
        yield to_driver(rows.FAILURE, pickle.dumps(failure))
    except BaseException:
        _give_up(host, subtask)
        raise


def _give_up(host: BatchHost, subtask: Subtask) -> None:
    host.forget(subtask)
    subtask.abort()
    is_closed = False
    while not is_closed:
        with contextlib.suppress(OperatorFailure):  # what made the batch fail matters more
            subtask.close()
            is_closed = True


def to_driver(kind: int, payload: bytes) -> ExchangeRow:
    """A row for the driver itself."""
    return ExchangeRow(0, rows.DRIVER, 0, 0, 0, kind, payload)
