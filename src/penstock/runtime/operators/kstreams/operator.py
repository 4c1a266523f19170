"""The operator that runs sub-topologies: tasks by partition, each with its own part of the keyed state."""

from __future__ import annotations

from typing import Any

from penstock.runtime.operators.kstreams.earliest_first import EarliestFirst
from penstock.runtime.operators.kstreams.routing import Arrival, Departure, Route
from penstock.runtime.operators.kstreams.stores import make_store
from penstock.runtime.operators.kstreams.task import Task
from penstock.runtime.operators.operator import StreamOperator
from penstock.runtime.rows import Timestamps
from penstock.state.keyed import KeyedStateBackend
from penstock.vocabulary.kstreams.records import Record, RecordMetadata
from penstock.vocabulary.kstreams.topology_nodes import SinkNode, SourceNode, TopologyPart
from penstock.vocabulary.state import MapStateDescriptor

MEMORIES = "kstreams/memories"
DROPPED_RECORDS = "dropped_records"


def side_tag(part: int) -> str:
    """The side output that has records for the tasks of a part."""
    return f"sub-topology {part}"


class TopologyOperator(StreamOperator):
    """Runs one sub-topology, or several that feed each other.

    Where a sub-topology reads one topic, records are processed as they come. Where it reads several, those of a batch
    are taken by time, the earliest first, as Kafka Streams does with what it has fetched.
    """

    kind = "kstreams topology"
    state_identity = "TopologyOperator"
    is_keyed = True

    def __init__(
        self,
        parts: list[TopologyPart],
        tasks: dict[int, tuple[int, int]],
        routes: dict[str, Route],
        sink_partitions: dict[str, int],
        application_id: str,
        configs: dict[str, Any],
    ) -> None:
        """Take parts of a topology; `tasks` has part and partition of each task, `routes` the topics between parts."""
        self._parts = {part.number: part for part in parts}
        self._places = tasks
        self._routes = routes
        self._sink_partitions = sink_partitions
        self.application_id = application_id
        self.configs = configs

    # ---- life ----

    def open(self) -> None:
        """Declare the stores; tasks are made when their first record comes."""
        assert self.context.backend is not None
        self._backend: KeyedStateBackend = self.context.backend
        self._memories = self._backend.get_map_state(MapStateDescriptor(MEMORIES))
        for part in self._parts.values():
            for name in _used_stores(part):
                make_store(self._backend, part.stores[name], {})
        self._sources = {
            node.name: node for part in self._parts.values() for node in part.nodes if isinstance(node, SourceNode)
        }
        self._global_sources = frozenset().union(*(part.global_sources for part in self._parts.values()))
        self._tasks: dict[int, Task] = {}
        self._touched: set[int] = set()
        self._waiting: dict[int, EarliestFirst[Arrival]] = {}
        self._has_many = {number: _has_many_topics(part) for number, part in self._parts.items()}
        self._departures: list[Departure] = []
        self._onward: dict[int, list[Arrival]] = {}
        self._looping: list[Arrival] = []
        self._turn = 0
        self._has_clock = False
        self._dropped = self.context.metrics.counter(DROPPED_RECORDS)

    def close(self) -> None:
        """Close the processors."""
        while self._tasks:
            _, task = self._tasks.popitem()
            self.guarded(task.close, "in close()")

    def begin_batch(self, version: int, attempt: str, state: Any) -> None:
        """Forget what another process may have changed since; look for tasks that punctuate by the clock."""
        self._touched.clear()
        self._waiting.clear()
        self._looping.clear()
        saved = state or {}
        self._turn = int(saved.get("turn", 0))
        self._has_clock = bool(saved.get("clock", False))
        if self._has_clock:
            for task in list(self._backend.keys(MEMORIES)):
                self._task(task)

    def snapshot(self) -> Any:
        """Whose turn it is among partitions, and whether there are punctuators of the clock."""
        return {"turn": self._turn, "clock": self._has_clock}

    def end_batch(self, now_ms: int, end_of_input: bool) -> None:
        """Process what waits, save what tasks remember, and emit."""
        self._work()
        for key in sorted(self._touched):
            self._backend.set_key(key)
            held = dict(self._memories.items())
            for name, memory in self._tasks[key].saved().items():
                if held.get(name) != memory:
                    self._memories.put(name, memory)
        self._emit()

    def next_deadline(self) -> int | None:
        """When the next punctuator of the clock is due."""
        if not self._has_clock:
            return None
        due = (self._tasks[key].next_wall_clock_ms() for key in self._touched)
        return min((each for each in due if each is not None), default=None)

    # ---- tasks ----

    def _task(self, key: int) -> Task:
        """A task, with the state that the last batch left, whoever ran it; it becomes the current key."""
        self._backend.set_key(key)
        if key in self._touched:
            return self._tasks[key]
        task = self._tasks.get(key)
        if task is None:
            part, partition = self._places[key]
            task = self._tasks[key] = Task(self._parts[part], partition, self, self._backend)
            task.open()
        task.recall(dict(self._memories.items()))
        self._touched.add(key)
        self._has_clock = self._has_clock or task.next_wall_clock_ms() is not None
        return task

    def now_ms(self) -> int:
        """The clock."""
        return self.context.clock()

    def dropped(self) -> None:
        """Count a dropped record."""
        self._dropped.inc()

    # ---- records ----

    def process_block(self, values: list[Any], timestamps: Timestamps, keys: list[Any] | None) -> None:
        """Process records, or let them wait for those of other topics."""
        for arrival in values:
            if arrival[1] in self._global_sources:
                self._process(arrival)  # ahead of all that waits, as Kafka Streams reads global tables first
            elif self._has_many[self._places[arrival[0]][0]]:
                waiting = self._waiting.get(arrival[0])
                if waiting is None:
                    waiting = self._waiting[arrival[0]] = EarliestFirst(_time_of)
                waiting.put(arrival[6], Arrival(*arrival))
            else:
                self._process(arrival)
        if self._looping:
            self._loop()
        self._emit()

    def on_processing_time(self, now_ms: int) -> None:
        """Call punctuators of the clock that are due."""
        if not self._has_clock:
            return
        for key in sorted(self._touched):
            task = self._tasks[key]
            due = task.next_wall_clock_ms()
            if due is not None and due <= now_ms:
                self._backend.set_key(key)
                self.guarded(lambda task=task: task.punctuate_wall_clock(now_ms), "in a punctuator")  # type: ignore[misc]
        self._loop()

    def _work(self) -> None:
        for waiting in [self._waiting[key] for key in sorted(self._waiting)]:
            while len(waiting):
                self._process(waiting.take())
                if self._looping:
                    self._loop()
        self._waiting.clear()

    def _loop(self) -> None:
        """Process records that parts of this very operator sent each other."""
        while self._looping:
            looping, self._looping = self._looping, []
            for arrival in looping:
                self._process(arrival)

    def _process(self, arrival: Any) -> None:
        key, source_name, record_key, value, timestamp, headers, topic, partition, offset = arrival
        task = self._task(key)
        try:
            extractor = self._sources[source_name].timestamp_extractor
            if extractor is not None:
                timestamp = extractor(Record(record_key, value, timestamp, headers), task.stream_time)
            if timestamp < 0:
                self._dropped.inc()
                return
            record, metadata = Record(record_key, value, timestamp, headers), RecordMetadata(topic, partition, offset)
            if source_name in self._global_sources:
                task.update_global(source_name, record, metadata)
            else:
                task.process(source_name, record, metadata)
        except Exception as error:
            raise self.failure(error, "processing a record", (record_key, value)) from None

    def send(self, sink: SinkNode, topic: str, record: Record) -> None:
        """Send a record to a topic: to Kafka, to another part, or back into this one."""
        route = self._routes.get(topic)
        if route is None:
            self._departures.append(self._departure(sink, topic, record))
            return
        self._turn += 1
        partition = route.partition(sink, topic, record.key, record.value, self._turn)
        arrival = Arrival(
            route.tasks[partition],
            route.source,
            record.key,
            record.value,
            record.timestamp,
            record.headers,
            topic,
            partition,
            self._turn,
        )
        if route.part in self._parts:
            self._looping.append(arrival)
        else:
            self._onward.setdefault(route.part, []).append(arrival)

    def _departure(self, sink: SinkNode, topic: str, record: Record) -> Departure:
        assert sink.key_serde is not None and sink.value_serde is not None, "checked when the application starts"
        partition = -1
        if sink.partitioner is not None:
            chosen = sink.partitioner(topic, record.key, record.value, self._sink_partitions[topic])
            partition = -1 if chosen is None else chosen
        return Departure(
            topic,
            sink.key_serde.serialize(record.key),
            sink.value_serde.serialize(record.value),
            record.timestamp,
            record.headers,
            partition,
        )

    def _emit(self) -> None:
        if self._departures:
            departures, self._departures = self._departures, []
            self.output.emit(departures, [each.timestamp for each in departures])
        if self._onward:
            onward, self._onward = self._onward, {}
            for part, arrivals in onward.items():
                self.output.emit_side(side_tag(part), arrivals, [each.timestamp for each in arrivals])


def _time_of(arrival: Arrival) -> int:
    return arrival.timestamp


def _used_stores(part: TopologyPart) -> list[str]:
    names = {store for node in part.nodes for store in getattr(node, "stores", ())}
    return sorted(names)


def _has_many_topics(part: TopologyPart) -> bool:
    sources = [node for node in part.nodes if isinstance(node, SourceNode)]
    return len(sources) > 1 or any(len(source.topics) != 1 for source in sources)
