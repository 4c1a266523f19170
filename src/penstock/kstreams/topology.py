"""Topologies: sources, processors, stores and sinks by name, and the sub-topologies they fall into."""

from __future__ import annotations

import re
from collections.abc import Iterable
from dataclasses import replace
from typing import Any

from penstock.errors import StreamsError
from penstock.kstreams.description import TopologyDescription
from penstock.kstreams.functions import SupplierOf
from penstock.vocabulary.kstreams.processors import StreamPartitioner, TimestampExtractor
from penstock.vocabulary.kstreams.serdes import Serde
from penstock.vocabulary.kstreams.stores import StoreBuilder
from penstock.vocabulary.kstreams.topology_nodes import (
    Node,
    ProcessorNode,
    SinkNode,
    SourceNode,
    TopicNameExtractor,
    TopologyPart,
)


class Topology:
    """The nodes of an application. `StreamsBuilder.build()` makes one; it can be made by hand, too."""

    def __init__(self) -> None:
        self.nodes: dict[str, Node] = {}
        self.stores: dict[str, StoreBuilder] = {}
        self.global_sources: dict[str, str] = {}
        self.internal_topics: dict[str, int | None] = {}
        self.joined_sources: list[frozenset[str]] = []
        self._other_names: dict[str, str] = {}

    # ---- the processor API ----

    def add_source(
        self,
        name: str,
        *topics: str,
        key_serde: Serde | None = None,
        value_serde: Serde | None = None,
        timestamp_extractor: TimestampExtractor | None = None,
        offset_reset: str | None = None,
        pattern: re.Pattern[str] | str | None = None,
    ) -> Topology:
        """Read topics; instead of topics there may be a pattern of their names."""
        if bool(topics) == (pattern is not None):
            raise StreamsError(f"Source {name!r} needs either topics or a pattern.")
        for topic in topics:
            reader = self.source_of(topic)
            if reader is not None:
                raise StreamsError(f"Topic {topic!r} is read by source {reader.name!r} already; read it once.")
        compiled = re.compile(pattern) if isinstance(pattern, str) else pattern
        source = SourceNode(name, tuple(topics), compiled, key_serde, value_serde, timestamp_extractor, offset_reset)
        source.is_internal = any(topic in self.internal_topics for topic in topics)
        return self._add(source)

    def add_processor(self, name: str, supplier: Any, *parent_names: str) -> Topology:
        """Run a processor on what its parents forward; `supplier` is its class, or makes one when it is called."""
        self._check_parents(name, parent_names)
        made = SupplierOf(supplier, "add_processor")
        self._add(ProcessorNode(name, made, tuple(parent_names)))
        for builder in made.stores:
            self.add_state_store(builder, name)
        return self

    def add_sink(
        self,
        name: str,
        topic: str | TopicNameExtractor,
        *parent_names: str,
        key_serde: Serde | None = None,
        value_serde: Serde | None = None,
        partitioner: StreamPartitioner | None = None,
    ) -> Topology:
        """Write what the parents forward to a topic, or to the topic that a function names."""
        parent_names = tuple(map(self.resolved, parent_names))
        self._check_parents(name, parent_names)
        sink = SinkNode(name, topic, parent_names, key_serde, value_serde, partitioner)
        sink.is_internal = isinstance(topic, str) and topic in self.internal_topics
        return self._add(sink)

    def add_state_store(self, builder: StoreBuilder, *processor_names: str) -> Topology:
        """Add a store, and connect processors to it."""
        held = self.stores.get(builder.name)
        if held is not None and held != builder:
            raise StreamsError(f"There is a state store {builder.name!r} already; give the other one another name.")
        self.stores[builder.name] = builder
        for name in processor_names:
            self.connect_processor_and_state_stores(name, builder.name)
        return self

    def connect_processor_and_state_stores(self, processor_name: str, *store_names: str) -> Topology:
        """Let a processor use stores."""
        node = self.nodes.get(processor_name)
        if not isinstance(node, ProcessorNode):
            raise StreamsError(f"There is no processor {processor_name!r} to connect stores to.")
        for name in store_names:
            if name not in self.stores:
                raise StreamsError(f"Processor {processor_name!r} uses the store {name!r}, which was not added.")
            if name not in node.stores and name not in self.global_stores():
                node.stores.append(name)
        return self

    def add_global_store(
        self, builder: StoreBuilder, source_name: str, topic: str, processor_name: str, supplier: Any, **options: Any
    ) -> Topology:
        """Add a store that every task has all of, filled from a topic by a processor."""
        self.add_source(source_name, topic, **options)
        self.stores[builder.name] = builder
        self._check_parents(processor_name, (source_name,))
        made = supplier if hasattr(supplier, "open") else SupplierOf(supplier, "add_global_store")
        self._add(ProcessorNode(processor_name, made, (source_name,), [builder.name]))
        self.global_sources[source_name] = builder.name
        return self

    def describe(self) -> TopologyDescription:
        """What `print` shows of the topology: the text of Kafka Streams."""
        return TopologyDescription(self)

    # ---- what the DSL adds ----

    def add_dsl_processor(self, name: str, processor: Any, parents: Iterable[str]) -> None:
        """Add a processor of the DSL, which is its own supplier."""
        above = tuple(dict.fromkeys(self.resolved(parent) for parent in parents))
        self._check_parents(name, above)
        self._add(ProcessorNode(name, processor, above))

    def add_other_name(self, name: str, known: str) -> None:
        """Let a node be known by another name, too: streams of the same topic share one source."""
        self._other_names[name] = known

    def resolved(self, name: str) -> str:
        """The name that a node has here."""
        return self._other_names.get(name, name)

    def add_internal_topic(self, topic: str, partitions: int | None = None) -> None:
        """Note a topic that is the topology's own."""
        self.internal_topics[topic] = partitions

    # ---- what it is made of ----

    def source_of(self, topic: str) -> SourceNode | None:
        """The source that reads a topic."""
        sources = (node for node in self.nodes.values() if isinstance(node, SourceNode))
        return next((source for source in sources if source.reads(topic)), None)

    def global_stores(self) -> frozenset[str]:
        """The names of stores that every task has all of."""
        return frozenset(self.global_sources.values())

    def groups(self) -> list[list[str]]:
        """Names of the nodes of each sub-topology: what is connected by records or by a store."""
        root: dict[str, str] = {name: name for name in self.nodes}

        def find(name: str) -> str:
            while root[name] != name:
                name = root[name]
            return name

        def unite(names: list[str]) -> None:
            for name in names[1:]:
                root[find(name)] = find(names[0])

        users: dict[str, list[str]] = {}
        for node in self.nodes.values():
            if not isinstance(node, SourceNode):
                unite([node.name, *node.parents])
            if isinstance(node, ProcessorNode):
                for store in node.stores:
                    users.setdefault(store, []).append(node.name)
        for names in users.values():
            unite(names)
        groups: dict[str, list[str]] = {}
        for name in self.nodes:
            groups.setdefault(find(name), []).append(name)
        return self._in_order(groups)

    def _in_order(self, groups: dict[str, list[str]]) -> list[list[str]]:
        """Sub-topologies in the order of their first sources, as Kafka numbers them."""
        ordered: list[list[str]] = []
        for node in self.nodes.values():
            if isinstance(node, SourceNode):
                group = next(names for names in groups.values() if node.name in names)
                if group not in ordered:
                    ordered.append(group)
        return ordered

    def parts(self) -> list[TopologyPart]:
        """What tasks run: the sub-topologies, each with the global tables, which every task keeps a copy of."""
        shared = [name for names in self.groups() if self._is_global(names) for name in names]
        parts = []
        for number, names in enumerate(self.groups()):
            if not self._is_global(names):
                parts.append(self._part(number, [*shared, *names]))
        return parts

    def whole(self) -> TopologyPart:
        """All nodes as one part, as a test driver runs them."""
        return self._part(0, list(self.nodes))

    def _is_global(self, names: list[str]) -> bool:
        return any(name in self.global_sources for name in names)

    def _part(self, number: int, names: list[str]) -> TopologyPart:
        nodes = [self.nodes[name] for name in self.nodes if name in set(names)]
        used = {store for node in nodes if isinstance(node, ProcessorNode) for store in node.stores}
        stores = {name: builder for name, builder in self.stores.items() if name in used}
        return TopologyPart(number, nodes, stores, self.global_stores(), frozenset(self.global_sources))

    def _add(self, node: Node) -> Topology:
        if node.name in self.nodes:
            raise StreamsError(f"There is a node {node.name!r} already; names must be unique.")
        self.nodes[node.name] = node
        return self

    def _check_parents(self, name: str, parents: tuple[str, ...]) -> None:
        if not parents:
            raise StreamsError(f"Node {name!r} has no parent; name the node whose records it takes.")
        for parent in parents:
            if parent not in self.nodes:
                raise StreamsError(f"Node {name!r} has the parent {parent!r}, which was not added yet.")
            if isinstance(self.nodes[parent], SinkNode):
                raise StreamsError(f"Node {name!r} has the parent {parent!r}, which is a sink and forwards nothing.")

    def with_default_timestamp_extractor(self, extractor: TimestampExtractor | None) -> None:
        """Fill in the extractor of sources that were given none."""
        for name, node in self.nodes.items():
            if isinstance(node, SourceNode) and not node.is_internal and node.timestamp_extractor is None:
                self.nodes[name] = replace(node, timestamp_extractor=extractor)

    def with_default_serdes(self, key_serde: Serde | None, value_serde: Serde | None) -> None:
        """Fill in serdes of topics that were left open."""
        for name, node in self.nodes.items():
            if not isinstance(node, ProcessorNode) and not node.is_internal:
                self.nodes[name] = replace(
                    node,
                    key_serde=node.key_serde if node.key_serde is not None else key_serde,
                    value_serde=node.value_serde if node.value_serde is not None else value_serde,
                )
