"""The description of a topology, in the words and the order of Kafka Streams."""

from __future__ import annotations

from collections.abc import Callable
from typing import TYPE_CHECKING

from penstock.kstreams.java_sets import TreeSet, hash_order
from penstock.vocabulary.kstreams.topology_nodes import ProcessorNode, SinkNode, SourceNode

if TYPE_CHECKING:
    from penstock.kstreams.topology import Topology


class TopologyDescription:
    """What a topology is made of; its text is that of Kafka Streams."""

    def __init__(self, topology: Topology) -> None:
        self._nodes = dict(topology.nodes)
        self._groups = topology.groups()
        self._globals = dict(topology.global_sources)

    def subtopologies(self) -> list[list[str]]:
        """Names of the nodes of each sub-topology."""
        return [list(names) for names in self._groups]

    def __str__(self) -> str:
        """The text that Kafka Streams prints."""
        text = "Topologies:\n "
        for number, names in enumerate(self._groups):
            text += "  " + (self._global_text(number, names) or self._text(number, names))
        return text

    __repr__ = __str__

    def _global_text(self, number: int, names: list[str]) -> str | None:
        source = next((name for name in names if name in self._globals), None)
        if source is None:
            return None
        processor = next(name for name in names if name != source)
        node = self._nodes[source]
        assert isinstance(node, SourceNode)
        return (
            f"Sub-topology: {number} for global store (will not generate tasks)\n"
            f"    Source: {source} (topics: [{', '.join(node.topics)}])\n      --> {processor}\n"
            f"    Processor: {processor} (stores: [{self._globals[source]}])\n      --> none\n      <-- {source}\n"
        )

    def _text(self, number: int, names: list[str]) -> str:
        links = _Links(names, self._parents)
        ordered = sorted(names, key=lambda name: (-links.sizes[name], name))
        lines = "".join(f"    {self._node_text(name, links)}\n" for name in ordered)
        return f"Sub-topology: {number}\n{lines}\n"

    def _parents(self, name: str) -> tuple[str, ...]:
        node = self._nodes[name]
        return () if isinstance(node, SourceNode) else node.parents

    def _node_text(self, name: str, links: _Links) -> str:
        node = self._nodes[name]
        after = ", ".join(links.after[name].items()) or "none"
        before = ", ".join(links.before[name].items()) or "none"
        if isinstance(node, SourceNode):
            topics = f"[{', '.join(node.topics)}]" if node.pattern is None else node.pattern.pattern
            return f"Source: {name} (topics: {topics})\n      --> {after}"
        if isinstance(node, SinkNode):
            topic = f"topic: {node.topic}" if isinstance(node.topic, str) else f"extractor class: {node.topic}"
            return f"Sink: {name} ({topic})\n      <-- {before}"
        assert isinstance(node, ProcessorNode)
        stores = ", ".join(hash_order(node.stores))
        return f"Processor: {name} (stores: [{stores}])\n      --> {after}\n      <-- {before}"


class _Links:
    """What is before and after each node, and how many paths lead on from it: the order of the text."""

    def __init__(self, names: list[str], parents_of: Callable[[str], tuple[str, ...]]) -> None:
        self.sizes = dict.fromkeys(names, 1)
        self.before = {name: TreeSet(self._compare) for name in names}
        self.after = {name: TreeSet(self._compare) for name in names}
        for name in hash_order(names):
            for parent in parents_of(name):
                self.before[name].add(parent)
                self.after[parent].add(name)
                self._grow(parent, self.sizes[name])

    def _grow(self, name: str, size: int) -> None:
        self.sizes[name] += size
        for parent in self.before[name].items():
            self._grow(parent, size)

    def _compare(self, first: str, second: str) -> int:
        if first == second:
            return 0
        by_size = self.sizes[second] - self.sizes[first]
        return by_size or (-1 if first < second else 1)
