"""One subtask of a vertex: its chained operators, valves and writers, driven batch by batch.

Knows nothing of Spark: it is handed rows, positions or values, a clock and a way to open its state, and hands back
rows and a report.
"""

from __future__ import annotations

import contextlib
from collections.abc import Callable, Iterator, Mapping
from dataclasses import dataclass, field
from functools import partial
from typing import Any, Protocol

from penstock.common.constants import MAX_WATERMARK, MIN_WATERMARK
from penstock.connectors.sink import Hold
from penstock.errors import StateError
from penstock.graph.plan import Vertex
from penstock.runtime import rows
from penstock.runtime.calls import CallRunners
from penstock.runtime.context import OperatorContext
from penstock.runtime.exchange import ExchangeWriter, RowEmitter, create_writer
from penstock.runtime.layouts import Layout
from penstock.runtime.operators import PartitionedSourceOperator, SourceOperator, StreamOperator
from penstock.runtime.report import Report, SubtaskEntry, decode_inline, encode_inline
from penstock.runtime.rows import ExchangeRow, Values
from penstock.runtime.source_tasks import SourceTask
from penstock.runtime.typed_output import create_output
from penstock.runtime.valve import InputValve, combine
from penstock.state.declarations import Declared, SchemasByRole
from penstock.state.keyed import KeyedStateBackend
from penstock.state.store import OrderedStore
from penstock.state.timers import InternalTimers
from penstock.state.versions import StateVersion, WriteVersion

END_SEQ = 1 << 40
"""First sequence number of a task that ends a source: behind all data of the same batch."""


@dataclass(frozen=True)
class TaskSettings:
    """What is the same for all subtasks of a job attempt."""

    job_id: str
    attempt: int
    started_ms: int
    job_parameters: dict[str, str] = field(default_factory=dict)
    watermark_every_records: int = 50_000
    is_batch_mode: bool = False
    staging: str = ""
    shares_objects: bool = False
    is_endless: bool = False
    hold: Hold = field(default_factory=Hold)


class OpenedState(Protocol):
    """Keyed state opened at a version, to be committed as the next one or aborted."""

    store: OrderedStore

    def commit(self) -> StateVersion:
        """Make what was written the next version."""

    def turn(self) -> WriteVersion:
        """Make what was written the next version and go on; the result writes its files, before the next turn."""

    def abort(self) -> None:
        """Forget what was written."""


class Subtask:
    """Runs one subtask. Made once in a worker process and used for every batch that lands there.

    `vertex` must be a copy of its own (freshly unpickled): its operators become the running ones.
    """

    def __init__(
        self,
        vertex: Vertex,
        subtask: int,
        settings: TaskSettings,
        clock: Callable[[], int],
        calls: CallRunners | None = None,
    ) -> None:
        self.vertex = vertex
        self.subtask = subtask
        self._clock = clock
        self._calls = calls
        self._rows: list[ExchangeRow] = []
        self._emitter = RowEmitter(vertex.id, subtask, self._keep)
        self._state: OpenedState | None = None
        self._stored_schemas: dict[str, dict[str, SchemasByRole]] = {}
        self._valves: list[InputValve] = []
        self._timed_valves: list[InputValve] = []
        self._watermark = MIN_WATERMARK
        self._is_idle = False
        self._has_ended = False
        self._writers: list[ExchangeWriter] = []
        self._told: dict[str, dict[str, float]] = {}
        self._contexts = [self._context(index, settings) for index in range(len(vertex.operators))]
        self._operators: list[StreamOperator] = [chained.operator for chained in vertex.operators]
        self._to_close = list(self._operators)
        self._connect(settings.shares_objects)

    @property
    def head(self) -> StreamOperator:
        """The first operator of the chain."""
        return self._operators[0]

    @property
    def head_uid(self) -> str:
        """The uid of the first operator."""
        return self.vertex.operators[0].uid

    def declared_states(self) -> Declared:
        """The keyed states that functions asked for when they were opened, by operator uid."""
        return {
            context.uid: context.backend.declarations() for context in self._contexts if context.backend is not None
        }

    def _pickled_states(self) -> dict[str, list[str]]:
        found: dict[str, list[str]] = {}
        for operator, context in zip(self._operators, self._contexts, strict=True):
            names: list[str] = [] if operator.checkpointed is None else operator.checkpointed.pickled_states()
            if context.backend is not None and context.user_states:
                declared = context.backend.declarations()
                names += [name for name in sorted(context.user_states & declared.keys()) if declared[name].pickled()]
            found |= {context.uid: names} if names else {}
        return found

    def _keep(self, row: ExchangeRow) -> None:
        self._rows.append(row)

    def _context(self, index: int, settings: TaskSettings) -> OperatorContext:
        chained = self.vertex.operators[index]
        backend = timers = None
        if chained.operator.is_keyed:
            backend = KeyedStateBackend(
                self.vertex.max_parallelism,
                operator_index=index,
                clock=self._clock,
                shares_objects=settings.shares_objects,
            )
            timers = InternalTimers(backend)
        return OperatorContext(
            job_id=settings.job_id,
            name=chained.name,
            uid=chained.uid,
            subtask=self.subtask,
            parallelism=self.vertex.parallelism,
            max_parallelism=self.vertex.max_parallelism,
            attempt=settings.attempt,
            clock=self._clock,
            started_ms=settings.started_ms,
            job_parameters=settings.job_parameters,
            watermark_every_records=settings.watermark_every_records,
            is_batch_mode=settings.is_batch_mode,
            backend=backend,
            timers=timers,
            calls=self._calls,
            staging=settings.staging,
            shares_objects=settings.shares_objects,
            is_endless=settings.is_endless,
            hold=settings.hold,
            offer_watermark=self._taker_of_offers(),
        )

    def _taker_of_offers(self) -> Callable[[int], None] | None:
        head = self.vertex.operators[0].operator
        return head.offer if isinstance(head, SourceOperator) and head.takes_offers else None

    def _connect(self, shares_objects: bool) -> None:
        """Wire outputs and open from the last operator to the first, so that what is fed is ready before its feeder."""
        outputs = [
            create_output(
                chained.checked_type, chained.side_types, chained.operator.failure, shares_objects=shares_objects
            )
            for chained in self.vertex.operators
        ]
        for index, chained in enumerate(self.vertex.operators):
            if chained.parent is not None:
                outputs[chained.parent].add_chained(chained.tag, self._operators[index])
        for edge in self.vertex.outputs:
            sender = self.vertex.operators[edge.operator]
            writer = create_writer(edge, self.subtask, self.vertex.parallelism, self._emitter, sender.name, sender.uid)
            outputs[edge.operator].add_writer(edge.tag, writer)
            self._writers.append(writer)
        for operator, context, output in reversed(list(zip(self._operators, self._contexts, outputs, strict=True))):
            operator.setup(context, output)

    def begin(
        self,
        version: int,
        attempt: str,
        entry: SubtaskEntry,
        open_state: Callable[[], OpenedState],
        *,
        ephemeral: dict[int, set[int]] | None = None,
        first_seq: int = 0,
    ) -> None:
        """Start a batch from what the previous one left. `ephemeral`: senders that have other subtasks every time.

        State that `turn` has left open is gone on with and not opened.
        """
        self._entry = entry
        self._ephemeral = ephemeral or {}
        self._rows = []
        self._emitter.begin_batch(first_seq)
        inline = decode_inline(entry.inline)
        self._begin_inputs(inline["valves"], entry)
        self._begin_state(version, open_state)
        for writer in self._writers:
            writer.begin_batch(version)
        # From the last to the first, as they are opened: what is fed is ready before its feeder.
        for operator, context in reversed(list(zip(self._operators, self._contexts, strict=True))):
            operator.watermark = inline["watermarks"].get(context.uid, MIN_WATERMARK)
            operator.records_in = operator.row_records = 0
            operator.output.records_out = operator.output.side_records_out = 0
            if entry.inline is not None and operator.is_keyed:
                self._adopt_layout(operator, inline["layouts"].get(context.uid))
            operator.start_batch(version, attempt, inline["operators"].get(context.uid))

    def _adopt_layout(self, operator: StreamOperator, written: Layout | None) -> None:
        if written == operator.layout():
            return
        # Refused before the job starts, as a rule; not where nobody could ask, as with a seal that was damaged then.
        reason = None if written is None else operator.layout_refusal(written)
        if reason is not None:
            raise operator.failure(StateError(f"cannot resume from the state: {reason}"), "opening its state")
        operator.guarded(
            partial(operator.adopt_layout, written), "restoring state that was written with other settings"
        )

    def _begin_inputs(self, plain: list[Any] | None, entry: SubtaskEntry) -> None:
        self._has_ended = entry.has_ended
        self._watermark = entry.watermark
        if plain is not None:
            valves = [InputValve.from_plain(each) for each in plain]
        else:
            indexes = sorted({edge.input_index for edge in self.vertex.inputs})
            valves = [
                InputValve.for_edges([e for e in self.vertex.inputs if e.input_index == index], self.subtask)
                for index in indexes
            ]
        timeless = self.head.timeless_inputs
        self._valves = valves
        self._timed_valves = timed = [valve for index, valve in enumerate(valves) if index not in timeless]
        self._is_idle = bool(timed) and all(valve.is_idle for valve in timed)
        for edge in self.vertex.inputs:
            if edge.is_ephemeral:
                self._valves[edge.input_index].begin_batch(edge.sender, self._ephemeral.get(edge.source, set()))

    def _begin_state(self, version: int, open_state: Callable[[], OpenedState]) -> None:
        if not any(context.backend is not None for context in self._contexts):
            return
        is_open, self._state = self._state is not None, self._state or open_state()
        for operator, context in zip(self._operators, self._contexts, strict=True):
            if context.backend is not None and is_open:
                context.backend.go_on(version)
            elif context.backend is not None:
                operator.guarded(partial(context.backend.bind, self._state.store, version), "opening its state")

    def process(self, row: ExchangeRow) -> None:
        """Take one row of the exchange."""
        if row.kind == rows.DATA:
            block = rows.decode_block(row.payload)
            receive = self.head.receive_second if row.input else self.head.receive
            receive(block.values, block.timestamps, block.keys)
            self.on_processing_time(self._clock())
            return
        valve = self._valves[row.input]
        vertex, edge, number = rows.sender_of(row.src)
        sender = (vertex, edge)
        if row.kind == rows.WATERMARK:
            valve.on_watermark(sender, number, rows.decode_number(row.payload))
        elif row.kind == rows.STATUS:
            valve.on_status(sender, number, row.payload == rows.IDLE)
        elif row.kind == rows.END:
            valve.on_end(sender, number, whole_sender=vertex in self._ephemeral)
        self._advance(valve)

    def _advance(self, valve: InputValve) -> None:
        has_advanced = valve.advance() and any(valve is timed for timed in self._timed_valves)
        watermark, is_idle = combine(self._timed_valves, valve if has_advanced else None)
        # What the watermark sets off comes from an active channel: becoming active is told before, idle after.
        if self._is_idle and not is_idle:
            self.head.on_status(False)
        if watermark > self._watermark:
            self._watermark = watermark
            self.head.on_watermark(watermark)
        if is_idle and not self._is_idle:
            self.head.on_status(True)
        self._is_idle = is_idle
        if not self._has_ended and all(each.has_ended() for each in self._valves):
            self._has_ended = True
            self.head.on_end()

    def on_processing_time(self, now_ms: int) -> None:
        """Let every operator of the chain see the clock."""
        for operator in self._operators:
            operator.on_processing_time(now_ms)

    def on_interval(self, now_ms: int) -> None:
        """Continuous mode: let operators emit what the clock asks for, such as periodic watermarks."""
        if not self._has_ended:
            for operator in self._operators:
                operator.on_interval(now_ms)

    def flush(self) -> None:
        """Continuous mode: send what waits for more records in the same block."""
        for writer in self._writers:
            writer.flush()

    def next_deadline(self) -> int | None:
        """The processing time at which an operator wants to see the clock; None if none does."""
        if self._has_ended:
            return None
        deadlines = [operator.next_deadline() for operator in self._operators]
        return min((each for each in deadlines if each is not None), default=None)

    @property
    def has_ended(self) -> bool:
        """Whether all input has ended."""
        return self._has_ended

    def read_split(self, start: int, stop: int) -> None:
        """Source vertices: read a range of this subtask's split."""
        assert isinstance(self.head, SourceOperator)
        self.head.read_split(self.subtask, self.vertex.parallelism, start, stop)

    def read_partitions(self, task: SourceTask) -> Iterator[None]:
        """Source vertices: read ranges of this subtask's partitions."""
        assert isinstance(self.head, PartitionedSourceOperator)
        self.head.note_lags(task.lags, task.pending)
        self.head.watermarks.has_unread = task.has_unread
        return self.head.read_partitions(task.ranges or ())

    def arrived(self, positions: Mapping[str, int]) -> dict[str, int] | None:
        """Source vertices: how far partitions of this subtask can be read without waiting, if its reader knows."""
        assert isinstance(self.head, PartitionedSourceOperator)
        return self.head.arrived(positions)

    def pause_splits(self, names: tuple[str, ...]) -> None:
        """Source vertices: these splits, and no others, are not read for now."""
        assert isinstance(self.head, SourceOperator)
        self.head.pause(names)

    def split_times(self) -> dict[str, tuple[int, bool]]:
        """Source vertices: the watermark of each split that has not ended, and whether it is idle."""
        assert isinstance(self.head, SourceOperator)
        return {} if self._has_ended else self.head.split_times(self.head.snapshot(), self.subtask)

    def receive_values(self, values: Values) -> None:
        """Source vertices: take values that Spark has read."""
        self.head.receive(values, None, None)

    def end_source(self) -> None:
        """Source vertices: nothing will come any more."""
        self._has_ended = True
        self.head.on_end()

    def take_rows(self) -> list[ExchangeRow]:
        """The rows emitted since the last call."""
        taken, self._rows = self._rows, []
        return taken

    def finish(self) -> Report:
        """End the batch: fire what is due, flush, write the state's new version, and report."""
        deadline = self._come_to_an_end()
        return self._report(self._commit_state(), deadline)

    def turn(self) -> tuple[Report, WriteVersion | None]:
        """End the batch and keep the state open for the next one.

        If there is keyed state, what else is returned writes its version: the one in the report is that before.
        """
        deadline = self._come_to_an_end()
        self._write_states(KeyedStateBackend.end_version)
        write = None if self._state is None else self._state.turn()
        return self._report(self._entry.state, deadline), write

    def _come_to_an_end(self) -> int | None:
        """Fire what is due and flush; returns when the clock is to be seen next."""
        now = self._clock()
        if not self._has_ended:
            self.on_processing_time(now)
        for operator in self._operators:
            operator.end_batch(now, self._has_ended)
        for writer in self._writers:
            writer.flush()
        return self.next_deadline()

    def _report(self, state: StateVersion, deadline: int | None) -> Report:
        entry = SubtaskEntry(
            state=state,
            inline=self._inline(),
            deadline=deadline,
            watermark=MAX_WATERMARK if self._has_ended else max(self._watermark, self._source_watermark()),
            has_ended=self._has_ended,
        )
        committables = {
            context.uid: operator.committables()
            for operator, context in zip(self._operators, self._contexts, strict=True)
            if operator.committables()
        }
        combined_by = {context.uid: context.metrics.combined_by() for context in self._contexts}
        pickled = self._pickled_states()
        described = {each.uid: each.backend.described() for each in self._contexts if each.backend is not None}
        figures = (self._metrics(), combined_by, pickled)
        mistakes = self._likely_mistakes()
        return Report(self.vertex.uid, self.subtask, entry, committables, *figures, described, mistakes)

    def _likely_mistakes(self) -> dict[str, list[str]]:
        found = {
            context.uid: [*operator.suspicions, *operator.output.misnamed_sides()]
            for operator, context in zip(self._operators, self._contexts, strict=True)
            if operator.suspicions or operator.output.unread_sides
        }
        return {uid: sentences for uid, sentences in found.items() if sentences}

    def _source_watermark(self) -> int:
        return self.head.watermark if self.vertex.is_source else MIN_WATERMARK

    def _commit_state(self) -> StateVersion:
        if self._state is None:
            return self._entry.state
        self._write_states(KeyedStateBackend.end_batch)
        for context in self._contexts:
            if context.backend is not None:
                context.backend.unbind()
        state, self._state = self._state, None
        return state.commit()

    def _write_states(self, write: Callable[[KeyedStateBackend, int], None]) -> None:
        for operator, context in zip(self._operators, self._contexts, strict=True):
            if context.backend is not None:
                operator.guarded(partial(write, context.backend, operator.records_in), "writing its state")
                self._stored_schemas[context.uid] = context.backend.stored_schemas()

    def _inline(self) -> bytes:
        for edge in self.vertex.inputs:
            if edge.is_ephemeral:
                self._valves[edge.input_index].end_batch(edge.sender)
        pairs = list(zip(self._operators, self._contexts, strict=True))
        return encode_inline(
            valves=[valve.to_plain() for valve in self._valves] or None,
            operators={context.uid: operator.take_snapshot() for operator, context in pairs},
            watermarks={context.uid: operator.watermark for operator, context in pairs},
            schemas=self._stored_schemas,
            layouts={context.uid: layout for operator, context in pairs if (layout := operator.layout())},
        )

    def _metrics(self) -> dict[str, dict[str, float]]:
        return {
            context.uid: {
                "records_in": operator.records_in,
                "records_out": operator.output.records_out,
                "side_records_out": operator.output.side_records_out,
                **operator.records_by_form(),
                **self._increments(context),
            }
            for operator, context in zip(self._operators, self._contexts, strict=True)
        }

    def _increments(self, context: OperatorContext) -> dict[str, float]:
        """The user's metrics: they live as long as this process, so sums are told as what was added since last time."""
        values, combined_by = context.metrics.values(), context.metrics.combined_by()
        told, self._told[context.uid] = self._told.get(context.uid, {}), values
        return {name: value if name in combined_by else value - told.get(name, 0) for name, value in values.items()}

    def abort(self) -> None:
        """The batch failed here: nothing of it may stay behind, as far as operators can undo what they did."""
        state, self._state = self._state, None
        if state is not None:
            state.abort()
        for operator in self._operators:
            with contextlib.suppress(Exception):  # what made the batch fail is told; the others are to be undone too
                operator.abort()

    def close(self) -> None:
        """Close user functions, each once; called again after one raised, it goes on with the next."""
        while self._to_close:
            self._to_close.pop(0).close()
