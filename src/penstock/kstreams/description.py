"""The description of a topology, in the words and the order of Kafka Streams."""

from __future__ import annotations

from typing import TYPE_CHECKING

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
        sizes = self._sizes(names)
        ordered = sorted(names, key=lambda name: (-sizes[name], name))
        return (
            f"Sub-topology: {number}\n" + "".join(f"    {self._node_text(name, ordered)}\n" for name in ordered) + "\n"
        )

    def _sizes(self, names: list[str]) -> dict[str, int]:
        """How many paths lead on from each node: the order of the text."""
        sizes = dict.fromkeys(names, 0)

        def grow(name: str) -> None:
            sizes[name] += 1
            for parent in self._parents(name):
                grow(parent)

        for name in names:
            grow(name)
        return sizes

    def _parents(self, name: str) -> tuple[str, ...]:
        node = self._nodes[name]
        return () if isinstance(node, SourceNode) else node.parents

    def _node_text(self, name: str, ordered: list[str]) -> str:
        node = self._nodes[name]
        after = ", ".join(each for each in ordered if name in self._parents(each)) or "none"
        before = ", ".join(each for each in ordered if each in self._parents(name)) or "none"
        if isinstance(node, SourceNode):
            topics = f"[{', '.join(node.topics)}]" if node.pattern is None else node.pattern.pattern
            return f"Source: {name} (topics: {topics})\n      --> {after}"
        if isinstance(node, SinkNode):
            topic = f"topic: {node.topic}" if isinstance(node.topic, str) else f"extractor class: {node.topic}"
            return f"Sink: {name} ({topic})\n      <-- {before}"
        assert isinstance(node, ProcessorNode)
        return f"Processor: {name} (stores: [{', '.join(node.stores)}])\n      --> {after}\n      <-- {before}"
