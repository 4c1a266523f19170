"""A task: the nodes of a sub-topology for one partition. A record goes through all of them before the next one."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any, Protocol

from penstock.common.own_copies import own_copy
from penstock.common.time import to_millis
from penstock.errors import StreamsError
from penstock.runtime.operators.kstreams.stores import make_store
from penstock.state.keyed import KeyedStateBackend
from penstock.vocabulary.kstreams.processors import Cancellable, FixedKeyProcessor, ProcessorContext, PunctuationType
from penstock.vocabulary.kstreams.records import NO_TIMESTAMP, Record, RecordMetadata
from penstock.vocabulary.kstreams.topology_nodes import ProcessorNode, SinkNode, SourceNode, TopologyPart
from penstock.vocabulary.window.durations import Length

Forward = Callable[[Record], None]


class TaskHost(Protocol):
    """What runs a task: it has the stores and the clock, and takes what sinks are given."""

    application_id: str
    configs: dict[str, Any]

    def now_ms(self) -> int:
        """The clock."""

    def send(self, sink: SinkNode, topic: str, record: Record) -> None:
        """Write a record to a topic."""

    def dropped(self) -> None:
        """Count a record that was dropped: its key or value is null, or its window has closed."""


class Schedule(Cancellable):
    """A punctuator and when it is called next."""

    def __init__(self, kind: PunctuationType, next_ms: int, interval_ms: int, call: Callable[[int], None]) -> None:
        self.kind = kind
        self.next_ms = next_ms
        self.is_cancelled = False
        self._interval_ms = interval_ms
        self._call = call

    def cancel(self) -> None:
        """Call the punctuator no more."""
        self.is_cancelled = True

    def punctuate(self, now_ms: int) -> bool:
        """Call the punctuator if it is due; times that were missed are not made up for."""
        if self.is_cancelled or self.next_ms > now_ms:
            return False
        self._call(now_ms)
        missed = (now_ms - self.next_ms) // self._interval_ms
        self.next_ms += (missed + 1) * self._interval_ms
        return True


class NodeContext(ProcessorContext):
    """The context of one processor in one task. Penstock's own processors use `emit` and `memory` as well."""

    def __init__(self, task: Task, node: ProcessorNode) -> None:
        self._task = task
        self.node = node
        self.emit: Forward = _nowhere
        self._children: dict[str, Forward] = {}

    def connect(self, children: dict[str, Forward]) -> None:
        """Say where forwarded records go."""
        self._children = children
        if len(children) == 1:
            self.emit = next(iter(children.values()))
        elif children:
            self.emit = _to_each(list(children.values()))

    def emit_to(self, child_name: str) -> Forward:
        """What takes records for one child."""
        return self._children[child_name]

    def memory(self, name: str) -> dict[str, Any]:
        """Small values that last: they are the task's, and saved with its state."""
        return self._task.memory(name)

    def own(self, value: Any) -> Any:
        """A copy of a value that user code may change."""
        return own_copy(value)

    def drop(self) -> None:
        """Count a dropped record."""
        self._task.host.dropped()

    def set_metadata(self, metadata: RecordMetadata | None) -> None:
        """Say which record is worked on, for records that waited."""
        self._task.metadata = metadata

    def forward(self, record: Record, child_name: str | None = None) -> None:
        """Give a record to all children, or to one of them."""
        if not isinstance(record, Record):
            raise StreamsError(f"Processor {self.node.name!r} forwards {record!r}; make it a Record first.")
        if child_name is None:
            self.emit(record)
        elif child_name in self._children:
            self._children[child_name](record)
        else:
            known = ", ".join(self._children) or "none"
            raise StreamsError(f"Processor {self.node.name!r} has no child {child_name!r}; its children: {known}.")

    def get_state_store(self, name: str) -> Any:
        """The store of a name that the processor is connected to."""
        if name not in self.node.stores and name not in self._task.part.global_stores:
            known = ", ".join(self.node.stores) or "none"
            raise StreamsError(
                f"Processor {self.node.name!r} is not connected to the store {name!r} (connected: {known}); "
                "name the store where the processor is added."
            )
        return self._task.store(name)

    def schedule(
        self, interval: Length, punctuation_type: PunctuationType, punctuator: Callable[[int], None]
    ) -> Cancellable:
        """Call `punctuator(timestamp)` again and again."""
        interval_ms = to_millis(interval)
        if interval_ms < 1:
            raise StreamsError(f"Processor {self.node.name!r}: an interval must be at least 1 ms, got {interval!r}.")
        return self._task.add_schedule(punctuation_type, interval_ms, punctuator)

    def record_metadata(self) -> RecordMetadata | None:
        """Where the current record was read; None in punctuators."""
        return self._task.metadata

    def current_stream_time_ms(self) -> int:
        """The highest timestamp that the task has seen."""
        return self._task.stream_time

    def current_system_time_ms(self) -> int:
        """The clock."""
        return self._task.host.now_ms()

    def application_id(self) -> str:
        """The application's id."""
        return self._task.host.application_id

    def task_id(self) -> str:
        """Number of the sub-topology and of the partition."""
        return f"{self._task.part.number}_{self._task.partition}"

    def app_configs(self) -> dict[str, Any]:
        """The configuration of the application."""
        return self._task.host.configs


class FixedKeyContext(NodeContext):
    """The context of a processor that must leave keys alone."""

    current: Any = None

    def forward(self, record: Record, child_name: str | None = None) -> None:
        """Give a record to the children, if it has the key of the record that came in."""
        if record.key != self.current:
            raise StreamsError(
                f"Processor {self.node.name!r} forwards the key {record.key!r} for a record of key {self.current!r}; "
                "process_values() keeps keys, use process() to change them."
            )
        super().forward(record, child_name)


def _nowhere(record: Record) -> None:
    """A node without children: what it forwards is dropped."""


def _to_each(children: list[Forward]) -> Forward:
    def emit(record: Record) -> None:
        for child in children:
            child(record)

    return emit


class Task:
    """The processors of a part of a topology, for one partition."""

    def __init__(self, part: TopologyPart, partition: int, host: TaskHost, backend: KeyedStateBackend) -> None:
        self.part = part
        self.partition = partition
        self.host = host
        self.metadata: RecordMetadata | None = None
        self.memories: dict[str, dict[str, Any]] = {}
        self._schedules: list[Schedule] = []
        self._processors: list[Any] = []
        self._sources: dict[str, Forward] = {}
        self._time = self.memory("task")
        self._backend = backend
        self._stores: dict[str, Any] = {}

    def open(self) -> None:
        """Make the processors and connect them; parents are opened before their children."""
        entries: dict[str, Forward] = {}
        contexts: dict[str, NodeContext] = {}
        children: dict[str, dict[str, Forward]] = {node.name: {} for node in self.part.nodes}
        for node in self.part.nodes:
            if isinstance(node, SourceNode):
                continue
            entries[node.name] = self._entry(node, contexts)
            for parent in node.parents:
                children[parent][node.name] = entries[node.name]
        for name, context in contexts.items():
            context.connect(children[name])
        for node in self.part.nodes:
            if isinstance(node, SourceNode):
                self._sources[node.name] = _to_each(list(children[node.name].values()))
        for processor, context in zip(self._processors, contexts.values(), strict=True):
            processor.init(context)

    def _entry(self, node: ProcessorNode | SinkNode, contexts: dict[str, NodeContext]) -> Forward:
        if isinstance(node, SinkNode):
            return self._sink_entry(node)
        processor = node.supplier.get()
        self._processors.append(processor)
        if not isinstance(processor, FixedKeyProcessor):
            contexts[node.name] = NodeContext(self, node)
            process: Forward = processor.process
            return process
        context = contexts[node.name] = FixedKeyContext(self, node)

        def process_with_key(record: Record) -> None:
            context.current = record.key
            processor.process(record)

        return process_with_key

    def _sink_entry(self, sink: SinkNode) -> Forward:
        send, topic = self.host.send, sink.topic
        if isinstance(topic, str):
            return lambda record: send(sink, topic, record)
        return lambda record: send(sink, sink.topic_of(record.key, record.value, self.metadata), record)

    def close(self) -> None:
        """Close the processors."""
        while self._processors:
            self._processors.pop().close()

    def store(self, name: str) -> Any:
        """The store of a name, made when it is first asked for."""
        if name not in self._stores:
            self._stores[name] = make_store(self._backend, self.part.stores[name], self.memory(f"store {name}"))
        return self._stores[name]

    def memory(self, name: str) -> dict[str, Any]:
        """A dict that is saved with the state of the task."""
        return self.memories.setdefault(name, {})

    def recall(self, saved: dict[str, dict[str, Any]]) -> None:
        """Go on from memories that were saved; processors hold the dicts, so these stay."""
        for name in {*self.memories, *saved}:
            memory = self.memory(name)
            memory.clear()
            memory.update(saved.get(name, {}))
        for number, schedule in enumerate(self._schedules):
            schedule.next_ms = self.memory("punctuators").get(str(number), schedule.next_ms)

    def saved(self) -> dict[str, dict[str, Any]]:
        """The memories to save."""
        if self._schedules:
            self.memory("punctuators").update({str(at): each.next_ms for at, each in enumerate(self._schedules)})
        return {name: dict(memory) for name, memory in self.memories.items() if memory}

    @property
    def stream_time(self) -> int:
        """The highest timestamp of a record so far."""
        return int(self._time.get("stream_time", NO_TIMESTAMP))

    def process(self, source_name: str, record: Record, metadata: RecordMetadata) -> None:
        """Send a record through the topology, then call punctuators whose stream time has come."""
        if record.timestamp > self._time.get("stream_time", NO_TIMESTAMP):
            self._time["stream_time"] = record.timestamp
        self.metadata = metadata
        self._sources[source_name](record)
        if self._schedules:
            self._punctuate(PunctuationType.STREAM_TIME, self.stream_time)

    def update_global(self, source_name: str, record: Record, metadata: RecordMetadata) -> None:
        """Send a record into a global table: it has no part in the time of the task."""
        self.metadata = metadata
        self._sources[source_name](record)

    def punctuate_wall_clock(self, now_ms: int) -> bool:
        """Call punctuators whose clock time has come."""
        return bool(self._schedules) and self._punctuate(PunctuationType.WALL_CLOCK_TIME, now_ms)

    def next_wall_clock_ms(self) -> int | None:
        """When the next punctuator of the clock is due."""
        wall_clock = PunctuationType.WALL_CLOCK_TIME
        return min(
            (each.next_ms for each in self._schedules if each.kind is wall_clock and not each.is_cancelled),
            default=None,
        )

    def _punctuate(self, kind: PunctuationType, now_ms: int) -> bool:
        self.metadata = None
        due = [each for each in self._schedules if each.kind is kind]
        return any([each.punctuate(now_ms) for each in due])

    def add_schedule(self, kind: PunctuationType, interval_ms: int, call: Callable[[int], None]) -> Schedule:
        """Add a punctuator. Stream time begins at 0, so the first record is a reason to punctuate."""
        first = 0 if kind is PunctuationType.STREAM_TIME else self.host.now_ms() + interval_ms
        schedule = Schedule(kind, first, interval_ms, call)
        self._schedules.append(schedule)
        return schedule
