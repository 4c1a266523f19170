"""Test harnesses: run one operator of one subtask by hand.

The operator runs in the very `Subtask` that Spark's tasks use, on an in-memory store behind the same interface.
"""

from __future__ import annotations

import pickle
from collections.abc import Callable, Iterable, Sequence
from dataclasses import dataclass
from types import TracebackType
from typing import Any, Self

import cloudpickle

from penstock.asynchronous import LoopCallRunner
from penstock.common.watermark_strategy import Watermark
from penstock.engine.in_process.clock import ManualClock
from penstock.errors import StateError
from penstock.graph.nodes import Role
from penstock.graph.plan import ChainedOperator, InEdge, Vertex
from penstock.keys.codec import encode_key
from penstock.keys.groups import check_parallelism, key_group, subtask_of
from penstock.runtime import rows
from penstock.runtime.operators import KeyedProcessOperator, ProcessOperator, StreamOperator
from penstock.runtime.report import SubtaskEntry, decode_inline, encode_inline
from penstock.runtime.rows import ExchangeRow, Timestamps
from penstock.runtime.subtask import Subtask, TaskSettings
from penstock.state.memory_store import MemoryStore
from penstock.state.operator_state import rescaled
from penstock.state.rescaling import rows_of_subtask
from penstock.state.store import OrderedStore
from penstock.state.timers import EVENT, PROCESSING
from penstock.state.versions import EMPTY, StateVersion, WriteVersion
from penstock.vocabulary.output_tag import OutputTag

_UPSTREAM, _VERTEX = 0, 1
_OPERATOR_UID = "operator"


@dataclass(frozen=True)
class StreamRecord:
    """An emitted value with its timestamp (None if it has none)."""

    value: Any
    timestamp: int | None = None


@dataclass(frozen=True)
class HarnessSnapshot:
    """The whole state of an operator's subtask: keyed state and timers as rows, the rest inline."""

    rows: dict[bytes, bytes]
    inline: bytes | None
    watermark: int
    version: int

    @staticmethod
    def rescaled(
        snapshots: list[HarnessSnapshot], parallelism: int, max_parallelism: int = 128
    ) -> list[HarnessSnapshot]:
        """The snapshots of all subtasks of an operator, in their order, dealt out to another number of subtasks.

        Event time goes on from the slowest of them: keys come together whose timers another one had not reached.
        """
        if not snapshots:
            raise StateError("rescaled() needs the snapshots of all subtasks, got none")
        check_parallelism(parallelism, max_parallelism)
        everything = [entry for snapshot in snapshots for entry in snapshot.rows.items()]
        slowest = min(snapshots, key=lambda snapshot: snapshot.watermark)
        inline = _rescaled_inline([snapshot.inline for snapshot in snapshots], parallelism, snapshots.index(slowest))
        version = max(snapshot.version for snapshot in snapshots)
        return [
            HarnessSnapshot(
                dict(rows_of_subtask(everything, subtask, parallelism, max_parallelism)),
                inline[subtask],
                slowest.watermark,
                version,
            )
            for subtask in range(parallelism)
        ]


def _rescaled_inline(inline: list[bytes | None], parallelism: int, slowest: int) -> list[bytes | None]:
    """What is not in rows: valves and watermarks of the slowest subtask, operator state dealt out."""
    if inline[slowest] is None:
        return [None] * parallelism
    found = list(map(decode_inline, inline))
    dealt = {
        uid: rescaled([each["operators"].get(uid) for each in found], parallelism, slowest)
        for uid in found[slowest]["operators"]
    }
    return [
        encode_inline(**{**found[slowest], "operators": {uid: shares[subtask] for uid, shares in dealt.items()}})
        for subtask in range(parallelism)
    ]


class _HeapState:
    """State in memory that is neither loaded nor saved: the harness holds the store."""

    def __init__(self, store: MemoryStore) -> None:
        self.store: OrderedStore = store

    def commit(self) -> StateVersion:
        return EMPTY

    def turn(self) -> WriteVersion:
        raise AssertionError("a harness has no continuous mode")

    def abort(self) -> None:
        raise AssertionError("a harness cannot abort")


class _Tap(StreamOperator):
    """Behind the operator, one for each output: keeps what reaches it in the list of the harness."""

    def __init__(self) -> None:
        self.kept: list[StreamRecord | Watermark] = []

    def process_block(self, values: list[Any], timestamps: Timestamps, keys: list[Any] | None) -> None:
        """Keep records."""
        stamps = timestamps if timestamps is not None else [None] * len(values)
        self.kept.extend(StreamRecord(value, stamp) for value, stamp in zip(values, stamps, strict=True))

    def on_watermark(self, watermark: int) -> None:
        """Keep the watermark."""
        self.kept.append(Watermark(watermark))

    def on_status(self, is_idle: bool) -> None:
        """Idleness is no output."""

    def on_end(self) -> None:
        """The end is no output."""


Key = Callable[[Any], Any]


class SubtaskHarness:
    """What all harnesses share: life, clock, output and snapshots. Each of them says which inputs it can be fed by.

    `keys` has an entry for each input: what selects its keys, or None where it is not keyed.
    """

    def __init__(
        self,
        operator: StreamOperator,
        keys: Sequence[Key | None],
        *,
        side_outputs: Iterable[OutputTag] = (),
        parallelism: int = 1,
        subtask: int = 0,
        max_parallelism: int = 128,
        processing_time: int = 0,
        job_parameters: dict[str, str] | None = None,
    ) -> None:
        self.clock = ManualClock(processing_time)
        self._keys = keys
        self._tags = {tag.tag_id: index for index, tag in enumerate(side_outputs, start=2)}
        self._plan = cloudpickle.dumps(self._vertex(operator, parallelism, max_parallelism))
        self._number = subtask
        self._settings = TaskSettings("harness", 0, processing_time, job_parameters or {})
        self._store = MemoryStore()
        self._version = 0
        self._entry = SubtaskEntry()
        self._subtask: Subtask | None = None

    def _vertex(self, operator: StreamOperator, parallelism: int, max_parallelism: int) -> Vertex:
        name = type(getattr(operator, "function", operator)).__name__
        taps = [ChainedOperator("output", "output", _Tap(), 0, None, Role.OPERATOR)]
        taps += [ChainedOperator(f"side {tag}", tag, _Tap(), 0, tag, Role.OPERATOR) for tag in self._tags]
        head = ChainedOperator(_OPERATOR_UID, name, operator, None, None, Role.OPERATOR)
        inputs = tuple([InEdge(_UPSTREAM, index, index, 1, False, False) for index in range(len(self._keys))])
        return Vertex(_VERTEX, _OPERATOR_UID, name, 1, parallelism, max_parallelism, (head, *taps), (), inputs)

    # ---- life ----

    def open(self) -> Self:
        """Open the operator; done by `with`."""
        vertex: Vertex = pickle.loads(self._plan)
        self._subtask = Subtask(vertex, self._number, self._settings, self.clock, LoopCallRunner)
        self._begin()
        return self

    def close(self) -> None:
        """Close the user's function; done by `with`."""
        if self._subtask is not None:
            subtask, self._subtask = self._subtask, None
            subtask.close()

    def __enter__(self) -> Self:
        return self.open()

    def __exit__(self, kind: type[BaseException] | None, error: BaseException | None, tb: TracebackType | None) -> None:
        self.close()

    def _begin(self) -> None:
        self._running().begin(self._version, f"try-{self._version}", self._entry, lambda: _HeapState(self._store))

    def _running(self) -> Subtask:
        if self._subtask is None:
            raise StateError("the harness is not open: use it in a `with` block")
        return self._subtask

    # ---- what comes in ----

    def set_processing_time(self, now_ms: int) -> None:
        """Set processing time; due timers fire."""
        self.clock.set(now_ms)
        self._running().on_processing_time(now_ms)

    def _owns(self, key: Any) -> bool:
        vertex = self._running().vertex
        group = key_group(encode_key(key), vertex.max_parallelism)
        return subtask_of(group, vertex.parallelism, vertex.max_parallelism) == self._number

    def _feed_elements(self, index: int, elements: Iterable[tuple[Any, int | None]]) -> None:
        """Feed records to an input as one block; one of another subtask is refused: a job would not bring it here."""
        pairs = list(elements)
        values = [value for value, _ in pairs]
        stamps: Timestamps = [stamp for _, stamp in pairs]
        if all(stamp is None for _, stamp in pairs):
            stamps = None
        select = self._keys[index]
        keys = None if select is None else [select(value) for value in values]
        for key in keys or ():
            if not self._owns(key):
                raise StateError(f"key {key!r} belongs to another subtask; ask owns(key) before feeding a record")
        self._feed(index, rows.DATA, rows.encode_block(values, stamps, keys))

    def _feed_watermark(self, index: int, watermark: int | Watermark) -> None:
        timestamp = watermark if isinstance(watermark, int) else watermark.timestamp
        self._feed(index, rows.WATERMARK, rows.encode_number(timestamp))

    def _feed_status(self, index: int, is_idle: bool) -> None:
        self._feed(index, rows.STATUS, rows.IDLE if is_idle else rows.ACTIVE)

    def _feed_end(self, index: int) -> None:
        self._feed(index, rows.END, b"")

    def _feed(self, index: int, kind: int, payload: bytes) -> None:
        src = rows.channel(_UPSTREAM, index, 0)
        self._running().process(ExchangeRow(self._number, _VERTEX, index, src, 0, kind, payload))

    # ---- what comes out ----

    def output(self) -> list[StreamRecord]:
        """Records of the main output so far, with timestamps."""
        return [item for item in self.output_with_watermarks() if isinstance(item, StreamRecord)]

    def output_values(self) -> list[Any]:
        """Values of the main output so far."""
        return [record.value for record in self.output()]

    def output_with_watermarks(self) -> list[StreamRecord | Watermark]:
        """Records and watermarks of the main output, in their order."""
        return list(self._tap(1).kept)

    def side_output(self, tag: OutputTag) -> list[StreamRecord]:
        """Records of a side output so far; it must have been named when the harness was made."""
        if tag.tag_id not in self._tags:
            raise StateError(f"side output {tag.tag_id!r} is not read: name it in side_outputs=[...]")
        return [item for item in self._tap(self._tags[tag.tag_id]).kept if isinstance(item, StreamRecord)]

    def side_output_values(self, tag: OutputTag) -> list[Any]:
        """Values of a side output so far."""
        return [record.value for record in self.side_output(tag)]

    def clear_output(self) -> None:
        """Discard the output so far."""
        for index in range(1, 2 + len(self._tags)):
            self._tap(index).kept.clear()

    def _tap(self, index: int) -> _Tap:
        tap = self._running().vertex.operators[index].operator
        assert isinstance(tap, _Tap)
        return tap

    @property
    def current_watermark(self) -> int:
        """Event time of the operator."""
        return self._running().head.watermark

    def late_records_dropped(self) -> int:
        """How many records came too late for their windows and were dropped, by the metric of the operator."""
        return int(self._running().head.context.metrics.values().get("numLateRecordsDropped", 0))

    # ---- snapshots ----

    def snapshot(self) -> HarnessSnapshot:
        """End the batch and return a snapshot; the harness can continue."""
        subtask = self._running()
        self._entry = subtask.finish().entry
        self._version += 1
        taken = HarnessSnapshot(self._store.snapshot(), self._entry.inline, self._entry.watermark, self._version)
        self._begin()
        return taken

    def restore(self, snapshot: HarnessSnapshot) -> None:
        """Restore a snapshot; call it before the harness is opened."""
        if self._subtask is not None:
            raise StateError("restore() must be called before the harness is opened")
        self._store = MemoryStore(snapshot.rows)
        self._entry = SubtaskEntry(EMPTY, snapshot.inline, None, snapshot.watermark)
        self._version = snapshot.version


class KeyedAccess(SubtaskHarness):
    """Timers and state of the harness of a keyed operator."""

    def owns(self, key: Any) -> bool:
        """Whether records with this key go to this subtask; with parallelism 1 all do."""
        return self._owns(key)

    def num_event_time_timers(self) -> int:
        """How many event-time timers are set."""
        return self._timer_count(EVENT)

    def num_processing_time_timers(self) -> int:
        """How many processing-time timers are set."""
        return self._timer_count(PROCESSING)

    def num_keyed_state_entries(self) -> int:
        """How many pairs of key and state have something in them."""
        backend = self._running().head.context.backend
        assert backend is not None
        return backend.count_entries()

    def state(self, key: Any, name: str) -> Any:
        """Return the state of a key: a value, a list, a dict, or the result of a reducing or aggregating state."""
        backend = self._running().head.context.backend
        assert backend is not None
        backend.set_key(key)
        held: Any = backend.state(name)
        if held.kind == "value":
            return held.value()
        if held.kind == "map":
            return dict(held.items())
        return list(held.get()) if held.kind == "list" else held.get()

    def _timer_count(self, domain: int) -> int:
        context = self._running().head.context
        assert context.backend is not None and context.timers is not None
        context.backend.write()  # operators may keep what they have to wait for to themselves until the end of a batch
        return context.timers.count(domain)


class OperatorHarness(SubtaskHarness):
    """Drives an operator with one input. Use it in a `with` block: it opens and closes the user's function.

    `side_outputs` names the side outputs to be read; others are dropped, as they are in a job.

    >>> from penstock.runtime.operators import MapOperator
    >>> with OperatorHarness(MapOperator(lambda value: value * 2)) as harness:
    ...     harness.process_element(21, timestamp=1)
    ...     harness.output()
    [StreamRecord(value=42, timestamp=1)]
    """

    def __init__(self, operator: StreamOperator, *, key: Key | None = None, **settings: Any) -> None:
        super().__init__(operator, [key], **settings)

    def process_element(self, value: Any, timestamp: int | None = None) -> None:
        """Feed one record."""
        self.process_elements([(value, timestamp)])

    def process_elements(self, elements: Iterable[tuple[Any, int | None]]) -> None:
        """Feed records as one block, as the exchange would bring them."""
        self._feed_elements(0, elements)

    def process_watermark(self, watermark: int | Watermark) -> None:
        """Advance event time; due timers fire."""
        self._feed_watermark(0, watermark)

    def process_idle(self, is_idle: bool = True) -> None:
        """Say that the input is idle, or active again."""
        self._feed_status(0, is_idle)

    def end_input(self) -> None:
        """End the input: the maximum watermark, then the end."""
        self._feed_end(0)


class KeyedHarness(KeyedAccess, OperatorHarness):
    """Drives an operator of a keyed stream; `key` selects the key of a record."""

    def __init__(self, operator: StreamOperator, *, key: Key, **settings: Any) -> None:
        super().__init__(operator, key=key, **settings)


class ProcessHarness(OperatorHarness):
    """Drives a ProcessFunction."""

    def __init__(self, function: Any, **settings: Any) -> None:
        super().__init__(ProcessOperator(function), **settings)


class KeyedProcessHarness(KeyedHarness):
    """Drives a KeyedProcessFunction.

    >>> from penstock.datastream import KeyedProcessFunction
    >>> class Remind(KeyedProcessFunction):
    ...     def process_element(self, value, ctx):
    ...         ctx.timer_service().register_event_time_timer(ctx.timestamp() + 10)
    ...     def on_timer(self, timestamp, ctx):
    ...         yield ctx.get_current_key()
    >>> with KeyedProcessHarness(Remind(), key=lambda word: word[0]) as harness:
    ...     harness.process_element("apple", timestamp=5)
    ...     harness.process_watermark(15)
    ...     harness.output()
    [StreamRecord(value='a', timestamp=15)]
    """

    def __init__(self, function: Any, *, key: Key, **settings: Any) -> None:
        super().__init__(KeyedProcessOperator(function), key=key, **settings)
