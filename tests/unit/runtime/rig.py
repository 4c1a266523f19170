"""One subtask of a chain of operators under a manual clock: fed by hand, its output read back in order.

A batch is begun when it is needed; `next_batch` ends it and goes on as another process would.
"""

from __future__ import annotations

import pickle
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import cloudpickle
from pyarrow import fs

from penstock.graph.nodes import Role
from penstock.graph.plan import ChainedOperator, InEdge, Vertex
from penstock.runtime import rows
from penstock.runtime.columns import ColumnBlock, encode_columns
from penstock.runtime.operators import SourceOperator, StreamOperator
from penstock.runtime.report import Report, SubtaskEntry
from penstock.runtime.rows import ExchangeRow, Timestamps
from penstock.runtime.source_tasks import SourceTask
from penstock.runtime.subtask import Subtask, TaskSettings
from penstock.state.versions import SubtaskState

UPSTREAM = 1
ME = 2
Event = tuple[Any, ...]


class Tap(StreamOperator):
    """The last of a chain: keeps what reaches it, records as (value, timestamp)."""

    def __init__(self) -> None:
        self.events: list[Event] = []

    def process_block(self, values: list[Any], timestamps: Timestamps, keys: list[Any] | None) -> None:
        self.events += zip(values, timestamps or [None] * len(values), strict=True)

    def on_watermark(self, watermark: int) -> None:
        self.events.append(("watermark", watermark))

    def on_status(self, is_idle: bool) -> None:
        self.events.append(("idle",) if is_idle else ("active",))

    def on_end(self) -> None:
        self.events.append(("end",))


@dataclass
class ManualClock:
    """Stands still until it is set."""

    now_ms: int = 0

    def __call__(self) -> int:
        return self.now_ms


class Rig:
    """Drives one subtask; `key` makes its input keyed, `tags` are side outputs of the last operator that are read."""

    def __init__(
        self,
        directory: Path,
        *operators: StreamOperator,
        key: Callable[[Any], Any] | None = None,
        tags: Sequence[str] = (),
        channels: int = 1,
        is_ephemeral: bool = False,
        **settings: Any,
    ) -> None:
        self.clock = ManualClock()
        self.report: Report | None = None
        # Ephemeral input: the tasks of the sender that have something for the next batch.
        self.senders: set[int] = set()
        self._key = key
        self._is_ephemeral = is_ephemeral
        self._tags: list[str | None] = [None, *tags]
        self._folder = str(directory)
        self._settings = TaskSettings("job", 0, settings.pop("started_ms", 0), **settings)
        self._pickled = cloudpickle.dumps(_vertex(operators, self._tags, channels, is_ephemeral))
        self._entry = SubtaskEntry()
        self._version = -1
        self._is_running = False
        self.subtask = self._copy()

    def _copy(self) -> Subtask:
        vertex: Vertex = pickle.loads(self._pickled)
        return Subtask(vertex, 0, self._settings, self.clock)

    # What comes in

    def process(self, *values: Any, at: Sequence[int | None] | int | None = None, channel: int = 0) -> None:
        """Feed a block; `at` is one timestamp for all, one for each, or none."""
        stamps = None if at is None else [at] * len(values) if isinstance(at, int) else list(at)
        keys = None if self._key is None else [self._key(value) for value in values]
        self._feed(channel, rows.DATA, rows.encode_block(list(values), stamps, keys))

    def feed_columns(self, block: ColumnBlock, at: Any = None, channel: int = 0) -> None:
        """Feed a block of columns; `at` is an array of timestamps, or none."""
        self._feed(channel, rows.DATA, encode_columns(block, at, None))

    def watermark(self, watermark: int, channel: int = 0) -> None:
        self._feed(channel, rows.WATERMARK, rows.encode_number(watermark))

    def idle(self, channel: int = 0, *, is_idle: bool = True) -> None:
        self._feed(channel, rows.STATUS, rows.IDLE if is_idle else rows.ACTIVE)

    def end(self, channel: int = 0) -> None:
        self._feed(channel, rows.END, b"")

    def set_clock(self, now_ms: int) -> None:
        """Let time pass and the operators see it."""
        self.clock.now_ms = now_ms
        self._running().on_processing_time(now_ms)

    def read(self, start: int, stop: int) -> None:
        """Source vertices: read positions of the split."""
        self._running().read_split(start, stop)

    def read_partitions(self, task: SourceTask) -> None:
        """Source vertices: read ranges of partitions."""
        for _ in self._running().read_partitions(task):
            pass

    def end_source(self) -> None:
        self._running().end_source()

    def _feed(self, channel: int, kind: int, payload: bytes) -> None:
        src = rows.channel(UPSTREAM, 0, channel)
        self._running().process(ExchangeRow(0, ME, 0, src, 0, kind, payload))

    # Batches

    def _running(self) -> Subtask:
        if not self._is_running:
            self._version += 1
            senders = {UPSTREAM: self.senders} if self._is_ephemeral else {}
            self.subtask.begin(self._version, f"try-{self._version}", self._entry, self._open_state, ephemeral=senders)
            self._is_running = True
        return self.subtask

    def _open_state(self) -> SubtaskState:
        return SubtaskState.open(fs.LocalFileSystem(), self._folder, self._entry.state, local_path=None)

    def finish(self) -> Report:
        """End the batch; the next one goes on from it in the same process."""
        self.report = self._running().finish()
        self._is_running = False
        self._entry = self.report.entry
        return self.report

    def next_batch(self) -> None:
        """End the batch; the next one goes on in another process, which has nothing but what was saved."""
        unread = [tap.events for tap in self._taps()]
        self.finish()
        self.subtask = self._copy()
        for tap, events in zip(self._taps(), unread, strict=True):
            tap.events = events

    def abort(self) -> None:
        """Fail the batch: the next one starts where this one did."""
        self.subtask.abort()
        self._is_running = False
        self._version -= 1
        self.subtask = self._copy()

    # What comes out

    def _taps(self) -> list[Tap]:
        return [chained.operator for chained in self.subtask.vertex.operators[-len(self._tags) :]]

    def take(self, tag: str | None = None) -> list[Event]:
        """What came out of the main or a side output since the last call, in order."""
        tap = self._taps()[self._tags.index(tag)]
        taken, tap.events = tap.events, []
        return taken

    def records(self, tag: str | None = None) -> list[Event]:
        """As `take`, but (value, timestamp) pairs only."""
        return [event for event in self.take(tag) if event[0] != "watermark" and len(event) == 2]

    def values(self, tag: str | None = None) -> list[Any]:
        """As `take`, but values only."""
        return [value for value, _ in self.records(tag)]


def _vertex(
    operators: Sequence[StreamOperator], tags: Sequence[str | None], channels: int, is_ephemeral: bool
) -> Vertex:
    chain = [
        ChainedOperator(
            f"uid-{index}",
            f"operator-{index}",
            operator,
            None if index == 0 else index - 1,
            None,
            Role.SOURCE if isinstance(operator, SourceOperator) else Role.OPERATOR,
        )
        for index, operator in enumerate(operators)
    ]
    last = len(chain) - 1
    taps = [ChainedOperator(f"tap-{tag}", "tap", Tap(), last, tag, Role.OPERATOR) for tag in tags]
    is_source = chain[0].role is Role.SOURCE
    inputs = () if is_source else (InEdge(UPSTREAM, 0, 0, channels, is_ephemeral, False),)
    return Vertex(ME, "uid-0", "rig", 1, 1, 128, (*chain, *taps), (), inputs)
