"""What all streams and tables of one builder add to: steps that write the topology when it is built."""

from __future__ import annotations

import re
from collections.abc import Callable, Iterable
from typing import Any

from penstock.kstreams.naming import NameCounter
from penstock.kstreams.topology import Topology
from penstock.runtime.operators.kstreams.stateless import StreamFilter, everything
from penstock.vocabulary.kstreams.processors import StreamPartitioner
from penstock.vocabulary.kstreams.serdes import Serde
from penstock.vocabulary.kstreams.stores import StoreBuilder

_GENERATED = re.compile(r"KSTREAM.*-[0-9]{10}")
SUFFIX = "-repartition"
SOURCE, SINK, FILTER = "KSTREAM-SOURCE-", "KSTREAM-SINK-", "KSTREAM-FILTER-"


class Construction:
    """Names, and the steps of a topology in the order they were said.

    A table learns only later whether it needs a store, so nothing is written before `build`.
    """

    def __init__(self) -> None:
        self.names = NameCounter()
        self._steps: list[Callable[[Topology], Any]] = []

    def add(self, step: Callable[[Topology], Any]) -> None:
        """Write something when the topology is built."""
        self._steps.append(step)

    def add_processor(
        self, name: str, processor: Any, parents: Iterable[str], stores: Callable[[], Iterable[str]] | None = None
    ) -> None:
        """Add a processor of the DSL; which stores of others it reads is asked when all is known."""
        above = tuple(parents)

        def write(topology: Topology) -> None:
            topology.add_dsl_processor(name, processor, above)
            topology.connect_processor_and_state_stores(name, *(stores() if stores is not None else ()))

        self.add(write)

    def note_joined(self, source_nodes: frozenset[str]) -> None:
        """Note sources whose topics must have the same number of partitions."""
        self.add(lambda topology: topology.joined_sources.append(source_nodes))

    def add_store(self, builder: StoreBuilder, *processors: str) -> None:
        """Add a store, connected to processors."""
        self.add(lambda topology: topology.add_state_store(builder, *processors))

    def add_repartition(
        self,
        parent: str,
        prefix: str,
        key_serde: Serde | None,
        value_serde: Serde | None,
        *,
        partitions: int | None = None,
        partitioner: StreamPartitioner | None = None,
    ) -> str:
        """Send records through a topic of the topology's own, so that each key is in one task; its source's name."""
        topic = prefix if prefix.endswith(SUFFIX) else prefix + SUFFIX
        sink, passing, source = (self.names.processor(each) for each in (SINK, FILTER, SOURCE))
        if not _GENERATED.fullmatch(prefix):
            sink, source, passing = f"{topic}-sink", f"{topic}-source", f"{topic}-filter"

        def write(topology: Topology) -> None:
            if source in topology.nodes:  # two aggregations of one named group share the topic
                return
            topology.add_internal_topic(topic, partitions)
            topology.add_dsl_processor(passing, StreamFilter(everything), (parent,))
            topology.add_sink(
                sink, topic, passing, key_serde=key_serde, value_serde=value_serde, partitioner=partitioner
            )
            topology.add_source(source, topic, key_serde=key_serde, value_serde=value_serde)

        self.add(write)
        return source

    def add_topic(
        self,
        topic: str,
        sink: str,
        source: str,
        parents: Iterable[str],
        key_serde: Serde | None,
        partitioner: StreamPartitioner | None = None,
    ) -> None:
        """Send what has no serde through a topic of the topology's own."""
        above = tuple(parents)

        def write(topology: Topology) -> None:
            topology.add_internal_topic(topic)
            topology.add_sink(sink, topic, *above, key_serde=key_serde, partitioner=partitioner)
            topology.add_source(source, topic, key_serde=key_serde)

        self.add(write)

    def build(self) -> Topology:
        """Write everything."""
        topology = Topology()
        for step in self._steps:
            step(topology)
        return topology
