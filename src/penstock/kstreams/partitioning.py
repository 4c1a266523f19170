"""How many partitions the topics and sub-topologies of an application have."""

from __future__ import annotations

from penstock.errors import StreamsError
from penstock.kstreams.topology import Topology
from penstock.vocabulary.kstreams.topology_nodes import SinkNode, SourceNode, TopologyPart


class Partitions:
    """Numbers of partitions: of topics in Kafka, as they are; of topics between sub-topologies, as they must be."""

    def __init__(self, topology: Topology, parts: list[TopologyPart], known: dict[str, int]) -> None:
        """Take the numbers of partitions of the topics that are read from Kafka."""
        self._topology = topology
        self._known = known
        self._readers = {topic: part for part in parts for topic in _topics_read(part)}
        self._check_joined()
        self.of_part = {part.number: self._read_from_kafka(part) for part in parts}
        # What a sub-topology writes for another one has as many partitions as it has itself, unless it was told.
        for _ in parts:
            for part in parts:
                self._pass_on(part)
        for part in parts:
            self.of_part[part.number] = max(1, self.of_part[part.number])

    def reader(self, topic: str) -> TopologyPart:
        """The part that reads a topic of the topology's own."""
        return self._readers[topic]

    def _read_from_kafka(self, part: TopologyPart) -> int:
        sources = [node for node in part.nodes if isinstance(node, SourceNode)]
        counts = [
            self._known[topic]
            for source in sources
            if not source.is_internal and source.name not in self._topology.global_sources
            for topic in source.topics or [topic for topic in self._known if source.reads(topic)]
        ]
        return max(counts, default=0)

    def _pass_on(self, part: TopologyPart) -> None:
        for node in part.nodes:
            if isinstance(node, SinkNode) and node.is_internal and isinstance(node.topic, str):
                reader = self._readers[node.topic].number
                wanted = self._topology.internal_topics[node.topic]
                if self._read_from_kafka(self._readers[node.topic]) == 0:
                    self.of_part[reader] = wanted or max(self.of_part[reader], self.of_part[part.number])

    def _check_joined(self) -> None:
        for names in self._topology.joined_sources:
            sources = [self._topology.nodes[self._topology.resolved(name)] for name in sorted(names)]
            counts = {
                topic: self._known[topic]
                for source in sources
                if isinstance(source, SourceNode) and not source.is_internal
                for topic in source.topics
            }
            if len(set(counts.values())) > 1:
                told = ", ".join(f"{topic!r} has {count}" for topic, count in sorted(counts.items()))
                raise StreamsError(
                    f"Topics that are joined must have the same number of partitions, but {told}; repartition one of "
                    "the streams with repartition(Repartitioned.number_of_partitions(...))."
                )


def _topics_read(part: TopologyPart) -> list[str]:
    sources = [node for node in part.nodes if isinstance(node, SourceNode) and node.is_internal]
    return [topic for source in sources for topic in source.topics]
