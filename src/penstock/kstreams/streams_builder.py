"""The start of an application: which topics are streams, tables and global tables."""

from __future__ import annotations

import re
from collections.abc import Iterable
from typing import Any

from penstock.errors import StreamsError
from penstock.kstreams.construction import SOURCE, Construction
from penstock.kstreams.global_table import GlobalKTable
from penstock.kstreams.naming import given_name
from penstock.kstreams.options import Consumed, Materialized
from penstock.kstreams.stream import KStream
from penstock.kstreams.table import TABLE_SOURCE, KTable, table_store
from penstock.kstreams.topology import Topology
from penstock.runtime.operators.kstreams.tables import TableSource
from penstock.vocabulary.kstreams.stores import StoreBuilder


class StreamsBuilder:
    """Builds a topology with streams and tables.

    >>> from penstock.kstreams import Consumed, Serdes
    >>> builder = StreamsBuilder()
    >>> words = builder.stream("words", Consumed.with_(Serdes.String(), Serdes.String()))
    >>> words.filter(lambda key, word: word != "").to("clean-words")
    >>> print(builder.build().describe())
    Topologies:
       Sub-topology: 0
        Source: KSTREAM-SOURCE-0000000000 (topics: [words])
          --> KSTREAM-FILTER-0000000001
        Processor: KSTREAM-FILTER-0000000001 (stores: [])
          --> KSTREAM-SINK-0000000002
          <-- KSTREAM-SOURCE-0000000000
        Sink: KSTREAM-SINK-0000000002 (topic: clean-words)
          <-- KSTREAM-FILTER-0000000001
    <BLANKLINE>
    <BLANKLINE>
    """

    def __init__(self) -> None:
        self._construction = Construction()

    def stream(self, topics: str | Iterable[str] | re.Pattern[str], consumed: Consumed | None = None) -> KStream:
        """A stream of one or more topics; a compiled pattern stands for all topics with such a name."""
        consumed = consumed or Consumed()
        pattern = topics if isinstance(topics, re.Pattern) else None
        listed = [topics] if isinstance(topics, str) else [] if pattern else list(topics)  # type: ignore[arg-type]
        if not listed and pattern is None:
            raise StreamsError("StreamsBuilder.stream() needs a topic, several topics, or a compiled pattern.")
        name = self._construction.names.or_processor(consumed.name, SOURCE)
        merged = _MergedSource(name, listed, pattern, consumed)
        self._construction.add(merged.write)
        return KStream(
            self._construction, name, consumed.key_serde, consumed.value_serde, source_nodes=frozenset({name})
        )

    def table(self, topic: str, consumed: Consumed | None = None, materialized: Materialized | None = None) -> KTable:
        """A table of a topic: the last value of each key. With a `Materialized` name it can be queried."""
        consumed, materialized = consumed or Consumed(), materialized or Materialized()
        construction, source = self._construction, self._table_source(topic, consumed, materialized)

        def write(topology: Topology) -> None:
            topology.add_source(source.source_name, topic, **_reading(consumed))
            topology.add_dsl_processor(source.name, source.processor, (source.source_name,))
            if source.processor.queryable_name is not None:
                topology.add_state_store(source.store, source.name)

        construction.add(write)
        return KTable(
            construction,
            source.name,
            source.processor,
            source.store.key_serde,
            source.store.value_serde,
            source_nodes=frozenset({source.source_name}),
        )

    def global_table(
        self, topic: str, consumed: Consumed | None = None, materialized: Materialized | None = None
    ) -> GlobalKTable:
        """A table of which every task has all rows, so that streams can be joined with it by any key."""
        consumed, materialized = consumed or Consumed(), materialized or Materialized()
        source = self._table_source(topic, consumed, materialized)
        source.processor.materialize()

        def write(topology: Topology) -> None:
            topology.add_global_store(
                source.store, source.source_name, topic, source.name, source.processor, **_reading(consumed)
            )

        self._construction.add(write)
        return GlobalKTable(source.processor, materialized.name)

    def add_state_store(self, builder: StoreBuilder) -> StreamsBuilder:
        """Add a store that processors of `process` may name."""
        self._construction.add(lambda topology: topology.add_state_store(builder))
        return self

    def add_global_store(
        self, builder: StoreBuilder, topic: str, consumed: Consumed | None, supplier: Any
    ) -> StreamsBuilder:
        """Add a store that every task has all of, filled from a topic by a processor of the user."""
        consumed, names = consumed or Consumed(), self._construction.names
        source, processor = names.processor(SOURCE), names.processor(TABLE_SOURCE)
        self._construction.add(
            lambda topology: topology.add_global_store(
                builder, source, topic, processor, supplier, **_reading(consumed)
            )
        )
        return self

    def build(self, config: dict[str, Any] | None = None) -> Topology:
        """The topology of all streams and tables so far."""
        return self._construction.build()

    def _table_source(self, topic: str, consumed: Consumed, materialized: Materialized) -> _TableSource:
        if not isinstance(topic, str) or not topic:
            raise StreamsError(f"A table needs the name of one topic, got {topic!r}.")
        names, given = self._construction.names, given_name(consumed.name)
        # Kafka Streams names the store, the source and the table in this order.
        store_name = materialized.name or names.store(f"{topic}-")
        source_name = names.with_suffix(given, "-source", SOURCE)
        name = names.or_processor(given, TABLE_SOURCE)
        processor = TableSource(store_name, materialized.name)
        store = table_store(materialized, store_name).with_serdes(consumed.key_serde, consumed.value_serde)
        return _TableSource(name, source_name, processor, store)


class _TableSource:
    """Names, processor and store of a table that is read from a topic."""

    def __init__(self, name: str, source_name: str, processor: TableSource, store: StoreBuilder) -> None:
        self.name = name
        self.source_name = source_name
        self.processor = processor
        self.store = store


def _reading(consumed: Consumed) -> dict[str, Any]:
    return {
        "key_serde": consumed.key_serde,
        "value_serde": consumed.value_serde,
        "timestamp_extractor": consumed.timestamp_extractor,
        "offset_reset": consumed.offset_reset,
    }


class _MergedSource:
    """A source of topics. Streams of the same topics share one, which later steps know by either name."""

    def __init__(self, name: str, topics: list[str], pattern: re.Pattern[str] | None, consumed: Consumed) -> None:
        self._name = name
        self._topics = topics
        self._pattern = pattern
        self._consumed = consumed

    def write(self, topology: Topology) -> None:
        held = topology.source_of(self._topics[0]) if self._topics else None
        if held is not None and set(held.topics) == set(self._topics):
            topology.add_other_name(self._name, held.name)
            return
        topology.add_source(self._name, *self._topics, pattern=self._pattern, **_reading(self._consumed))
