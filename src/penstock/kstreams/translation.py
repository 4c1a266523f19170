"""From a topology to Penstock's graph: Kafka sources, an operator for each sub-topology, one Kafka sink.

Topics between sub-topologies become keyed exchanges. Sub-topologies that feed each other, as those of a join by foreign
key do, share an operator that runs in one subtask.
"""

from __future__ import annotations

import zlib
from dataclasses import dataclass
from operator import itemgetter
from typing import Any, NamedTuple

from penstock.connectors.kafka.decoding import KafkaRecord, KafkaRecordDeserializationSchema
from penstock.connectors.kafka.records import KafkaProducerRecord, KafkaRecordSerializationSchema
from penstock.datastream.stream import DataStream, add_operator
from penstock.graph.nodes import Edge, Exchange, Partitioning
from penstock.kstreams.partitioning import Partitions
from penstock.kstreams.queries import StorePlace
from penstock.kstreams.topology import Topology
from penstock.runtime.operators.kstreams.operator import TopologyOperator, side_tag
from penstock.runtime.operators.kstreams.routing import Departure, Route, task_keys
from penstock.vocabulary.kstreams.records import Headers
from penstock.vocabulary.kstreams.topology_nodes import SinkNode, SourceNode, TopologyPart

MAX_PARALLELISM = 128


class ArrivalSchema(KafkaRecordDeserializationSchema[Any]):
    """Makes records of a topic what tasks of a part take: one for the task of its partition, or one for each task."""

    def __init__(self, source: SourceNode, tasks: list[int], *, is_global: bool) -> None:
        """Take the keys of the tasks, by partition; records of global tables go to all of them."""
        self._name = source.name
        self._tasks = tasks
        self._is_global = is_global
        assert source.key_serde is not None and source.value_serde is not None, "checked when the application starts"
        self._key_of = source.key_serde.deserialize
        self._value_of = source.value_serde.deserialize

    def deserialize(self, record: KafkaRecord) -> Any:
        """The arrivals of a record."""
        timestamp = -1 if record.timestamp is None else record.timestamp
        origin = (record.topic, record.partition, record.offset)
        return self.arrivals(record.key, record.value, timestamp, record.headers, origin)

    def arrivals(
        self, key: bytes | None, value: bytes | None, timestamp: int, headers: Headers, origin: tuple[str, int, int]
    ) -> list[tuple[Any, ...]]:
        """What tasks get of a record; plain tuples, which cost less than named ones."""
        rest = (self._name, self._key_of(key), self._value_of(value), timestamp, headers, *origin)
        if self._is_global:
            return [(task, *rest) for task in self._tasks]
        return [(self._tasks[origin[1] % len(self._tasks)], *rest)]


class DepartureSchema(KafkaRecordSerializationSchema):
    """Makes messages of departures, whatever topic they are for."""

    def to_record(self, value: Departure, timestamp: int | None, /) -> KafkaProducerRecord:
        """The message of a departure."""
        topic, key, data, moment, headers, partition = value
        return KafkaProducerRecord(topic, data, key, headers, None if partition < 0 else partition, moment)


@dataclass(frozen=True)
class Application:
    """What a translation needs to know of an application."""

    application_id: str
    configs: dict[str, Any]
    partitions: dict[str, int]


class Reading(NamedTuple):
    """A source of a sub-topology, and how its records become arrivals."""

    part: int
    source: SourceNode
    schema: ArrivalSchema


class Translation:
    """Builds the graph of one topology."""

    def __init__(self, topology: Topology, application: Application, environment: Any) -> None:
        self._topology = topology
        self._application = application
        self._environment = environment
        self._parts = topology.parts()
        self._partitions = Partitions(topology, self._parts, application.partitions)
        self._tasks = {
            part.number: task_keys(part.number, self._partitions.of_part[part.number], MAX_PARALLELISM)
            for part in self._parts
        }
        self._inputs: dict[int, list[Edge]] = {part.number: [] for part in self._parts}
        self._widths: set[int] = set()

    def store_places(self) -> dict[str, StorePlace]:
        """Where each store is. A global table is in all tasks of its readers, so any of them will do."""
        places: dict[str, StorePlace] = {}
        for group in self._in_order():
            for part in group:
                for name, builder in part.stores.items():
                    tasks = self._tasks[part.number]
                    is_global = name in self._topology.global_stores()
                    places[name] = StorePlace(_uid(group), tasks[:1] if is_global else tasks, builder)
        return places

    def readings(self) -> list[Reading]:
        """What has to be read from Kafka. A global table is read once for each sub-topology."""
        return [
            Reading(part.number, node, self._schema(part, node))
            for part in self._parts
            for node in part.nodes
            if isinstance(node, SourceNode) and not node.is_internal
        ]

    def _schema(self, part: TopologyPart, source: SourceNode) -> ArrivalSchema:
        is_global = source.name in self._topology.global_sources
        return ArrivalSchema(source, self._tasks[part.number], is_global=is_global)

    def build(self, streams: list[tuple[Reading, DataStream]]) -> DataStream | None:
        """Add operators behind the streams of what is read; the stream of what goes to Kafka."""
        for reading, stream in streams:
            self._inputs[reading.part] += stream.edges_with(self._keyed())
        results: list[Edge] = []
        for group in self._in_order():
            stream = self._add(group)
            results += stream.edges
            for number in self._readers(group):
                self._inputs[number].append(Edge(stream.edges[0].source_id, self._keyed(), side_tag(number)))
        return self._in_order_of_tasks(DataStream(self._environment, tuple(results))) if results else None

    def _in_order_of_tasks(self, results: DataStream) -> DataStream:
        """What one task writes to a partition must stay in its order, however many subtasks the sink has."""
        if len(self._widths) == 1:
            return results  # the sink has as many subtasks, and each gets the records of one
        return results.partition_custom(_subtask_of_lane, _lane)

    def sink_parallelism(self) -> int:
        """How many subtasks write to Kafka."""
        return max(self._widths)

    @staticmethod
    def _keyed() -> Partitioning:
        return Partitioning(Exchange.KEYED, itemgetter(0))

    def _readers(self, group: list[TopologyPart]) -> list[int]:
        own = {part.number for part in group}
        found = {self._partitions.reader(topic).number for part in group for topic in _topics_written(part)}
        return sorted(found - own)

    def _add(self, group: list[TopologyPart]) -> DataStream:
        numbers = [part.number for part in group]
        name = "KStreams " + ", ".join(map(str, numbers))
        places = {key: (number, at) for number in numbers for at, key in enumerate(self._tasks[number])}
        operator = TopologyOperator(
            group,
            places,
            self._routes(group),
            self._application.partitions,
            self._application.application_id,
            self._application.configs,
        )
        edges = tuple(edge for number in numbers for edge in self._inputs[number])
        settings: dict[str, Any] = {"uid": _uid(group), "max_parallelism": MAX_PARALLELISM}
        if len(group) > 1:
            settings["is_single"] = True
            settings["parallelism"] = 1
        else:
            limit = self._partitions.of_part[numbers[0]]
            settings["parallelism"] = min(limit, self._environment.get_parallelism())
        self._widths.add(settings["parallelism"])
        return add_operator(self._environment, name, operator, edges, None, is_checked=False, **settings)

    def _routes(self, group: list[TopologyPart]) -> dict[str, Route]:
        routes = {}
        for part in group:
            for topic in _topics_written(part):
                reader = self._partitions.reader(topic)
                source = next(node for node in reader.nodes if isinstance(node, SourceNode) and topic in node.topics)
                routes[topic] = Route(reader.number, source.name, self._tasks[reader.number], source.key_serde)
        return routes

    def _in_order(self) -> list[list[TopologyPart]]:
        """Parts in the order of their topics; those that feed each other together."""
        after = {
            part.number: {self._partitions.reader(topic).number for topic in _topics_written(part)}
            for part in self._parts
        }
        reach = {number: _reachable(number, after) for number in after}
        groups: list[list[TopologyPart]] = []
        placed: set[int] = set()
        for part in self._parts:
            if part.number not in placed:
                group = [
                    other
                    for other in self._parts
                    if other is part or (other.number in reach[part.number] and part.number in reach[other.number])
                ]
                groups.append(group)
                placed |= {other.number for other in group}
        return _sorted(groups, reach)


def _uid(group: list[TopologyPart]) -> str:
    return f"kstreams-{group[0].number}"


def _reachable(start: int, after: dict[int, set[int]]) -> set[int]:
    found: set[int] = set()
    wanted = list(after[start])
    while wanted:
        number = wanted.pop()
        if number not in found:
            found.add(number)
            wanted += after[number]
    return found


def _sorted(groups: list[list[TopologyPart]], reach: dict[int, set[int]]) -> list[list[TopologyPart]]:
    done: list[list[TopologyPart]] = []
    left = list(groups)
    while left:
        ready = next(
            group
            for group in left
            if not any(group[0].number in reach[other[0].number] for other in left if other is not group)
        )
        left.remove(ready)
        done.append(ready)
    return done


def _topics_written(part: TopologyPart) -> list[str]:
    sinks = [node for node in part.nodes if isinstance(node, SinkNode) and node.is_internal]
    return sorted({sink.topic for sink in sinks if isinstance(sink.topic, str)})


def _lane(departure: Departure) -> bytes:
    """What keeps its order: a partition, or the records of a key where the producer chooses the partition."""
    place = departure.key or b"" if departure.partition < 0 else b"%d" % departure.partition
    return departure.topic.encode() + b"/" + place


def _subtask_of_lane(lane: bytes, count: int) -> int:
    return zlib.crc32(lane) % count
