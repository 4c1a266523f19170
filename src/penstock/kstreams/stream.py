"""Streams: what can be done with the records of topics."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

from penstock.errors import StreamsError
from penstock.kstreams.branches import BranchedKStream
from penstock.kstreams.construction import SINK, Construction
from penstock.kstreams.functions import SupplierOf, checked_function, value_joiner, value_mapper
from penstock.kstreams.global_table import GlobalKTable
from penstock.kstreams.grouped_stream import KGroupedStream
from penstock.kstreams.naming import Named, given_name
from penstock.kstreams.options import Grouped, Joined, Materialized, Printed, Produced, Repartitioned, StreamJoined
from penstock.kstreams.stream_stream_join import join_streams
from penstock.kstreams.table import KTable, table_store
from penstock.kstreams.topology import Topology
from penstock.runtime.operators.kstreams import stateless
from penstock.runtime.operators.kstreams.stream_joins import StreamTableJoin
from penstock.runtime.operators.kstreams.tables import TableSource
from penstock.runtime.operators.kstreams.transforming import StreamTransform, StreamTransformValues
from penstock.vocabulary.kstreams.serdes import Serde
from penstock.vocabulary.kstreams.topology_nodes import TopicNameExtractor
from penstock.vocabulary.kstreams.windows import JoinWindows

Name = Named | str | None
KeyValueFunction = Callable[[Any, Any], Any]


class KStream:
    """A stream of records, each for itself. Every method makes a new stream or table; none changes this one."""

    def __init__(
        self,
        construction: Construction,
        name: str,
        key_serde: Serde | None,
        value_serde: Serde | None,
        *,
        source_nodes: frozenset[str],
        needs_repartition: bool = False,
    ) -> None:
        self.construction = construction
        self.name = name
        self.key_serde = key_serde
        self.value_serde = value_serde
        self.source_nodes = source_nodes
        self.needs_repartition = needs_repartition

    def _then(self, prefix: str, named: Name, processor: Any, *, keeps_key: bool, keeps_value: bool) -> KStream:
        name = self.construction.names.or_processor(named, prefix)
        self.construction.add_processor(name, processor, [self.name])
        return KStream(
            self.construction,
            name,
            self.key_serde if keeps_key else None,
            self.value_serde if keeps_key and keeps_value else None,
            source_nodes=self.source_nodes,
            needs_repartition=self.needs_repartition or not keeps_key,
        )

    def same_records(self, name: str) -> KStream:
        """The stream of the same records behind a node of another name."""
        return KStream(
            self.construction,
            name,
            self.key_serde,
            self.value_serde,
            source_nodes=self.source_nodes,
            needs_repartition=self.needs_repartition,
        )

    # ---- one record after the other ----

    def filter(self, predicate: KeyValueFunction, named: Name = None) -> KStream:
        """Keep records for which `predicate(key, value)` holds."""
        processor = stateless.StreamFilter(checked_function(predicate, "filter"))
        return self._then("KSTREAM-FILTER-", named, processor, keeps_key=True, keeps_value=True)

    def filter_not(self, predicate: KeyValueFunction, named: Name = None) -> KStream:
        """Drop records for which `predicate(key, value)` holds."""
        processor = stateless.StreamFilter(checked_function(predicate, "filter_not"), is_negated=True)
        return self._then("KSTREAM-FILTER-", named, processor, keeps_key=True, keeps_value=True)

    def map(self, mapper: KeyValueFunction, named: Name = None) -> KStream:
        """Make a new key and value: `mapper(key, value)` gives a pair. The next keyed operation repartitions."""
        processor = stateless.StreamMap(checked_function(mapper, "map"))
        return self._then("KSTREAM-MAP-", named, processor, keeps_key=False, keeps_value=False)

    def map_values(self, mapper: Callable[..., Any], named: Name = None) -> KStream:
        """Make a new value: `mapper(value)` or `mapper(key, value)`."""
        processor = stateless.StreamMapValues(value_mapper(mapper, "map_values"))
        return self._then("KSTREAM-MAPVALUES-", named, processor, keeps_key=True, keeps_value=False)

    def flat_map(self, mapper: KeyValueFunction, named: Name = None) -> KStream:
        """Make any number of records: `mapper(key, value)` gives pairs."""
        processor = stateless.StreamFlatMap(checked_function(mapper, "flat_map"))
        return self._then("KSTREAM-FLATMAP-", named, processor, keeps_key=False, keeps_value=False)

    def flat_map_values(self, mapper: Callable[..., Any], named: Name = None) -> KStream:
        """Make any number of values: `mapper(value)` or `mapper(key, value)` gives them."""
        processor = stateless.StreamFlatMapValues(value_mapper(mapper, "flat_map_values"))
        return self._then("KSTREAM-FLATMAPVALUES-", named, processor, keeps_key=True, keeps_value=False)

    def select_key(self, mapper: KeyValueFunction, named: Name = None) -> KStream:
        """Give records the key `mapper(key, value)`. The next keyed operation repartitions."""
        processor = stateless.SelectKey(checked_function(mapper, "select_key"))
        made = self._then("KSTREAM-KEY-SELECT-", named, processor, keeps_key=False, keeps_value=True)
        made.value_serde = self.value_serde
        return made

    def peek(self, action: KeyValueFunction, named: Name = None) -> KStream:
        """Show each record to a function, and go on with the same records."""
        processor = stateless.StreamPeek(checked_function(action, "peek"), forwards=True)
        return self._then("KSTREAM-PEEK-", named, processor, keeps_key=True, keeps_value=True)

    def foreach(self, action: KeyValueFunction, named: Name = None) -> None:
        """Call a function with each record."""
        processor = stateless.StreamPeek(checked_function(action, "foreach"), forwards=False)
        self._then("KSTREAM-FOREACH-", named, processor, keeps_key=True, keeps_value=True)

    def print(self, printed: Printed | None = None, named: Name = None) -> None:
        """Print each record as `[label]: key, value`."""
        printed = printed or Printed.to_sys_out()
        name = self.construction.names.or_processor(named, "KSTREAM-PRINTER-")
        processor = stateless.StreamPrint(printed.label or self.name, printed.mapper, printed.writer())
        self.construction.add_processor(name, processor, [self.name])

    def split(self, named: Name = None) -> BranchedKStream:
        """Deal records out to branches: `.branch(predicate)...`, then `default_branch()` or `no_default_branch()`."""
        return BranchedKStream(self, named)

    def branch(self, *predicates: KeyValueFunction) -> list[KStream]:
        """Deal records out to a stream for each predicate; those that fit none are dropped."""
        splitting = self.split()
        for predicate in predicates:
            splitting.branch(predicate)
        return list(splitting.no_default_branch().values())

    def merge(self, other: KStream, named: Name = None) -> KStream:
        """The records of both streams."""
        name = self.construction.names.or_processor(named, "KSTREAM-MERGE-")
        self.construction.add_processor(name, stateless.PassThrough(), [self.name, other.name])
        return KStream(
            self.construction,
            name,
            None,
            None,
            source_nodes=self.source_nodes | other.source_nodes,
            needs_repartition=self.needs_repartition or other.needs_repartition,
        )

    # ---- keys ----

    def repartition(self, repartitioned: Repartitioned | None = None) -> KStream:
        """Send records to the task of their key, by a number of partitions or a function if it is given."""
        options = repartitioned or Repartitioned()
        prefix = options.name or self.construction.names.processor("KSTREAM-REPARTITION-")
        key_serde, value_serde = options.key_serde or self.key_serde, options.value_serde or self.value_serde
        return self._repartitioned(
            prefix, key_serde, value_serde, partitions=options.partitions, partitioner=options.stream_partitioner
        )

    def _repartitioned(
        self, prefix: str, key_serde: Serde | None, value_serde: Serde | None, **options: Any
    ) -> KStream:
        source = self.construction.add_repartition(self.name, prefix, key_serde, value_serde, **options)
        return KStream(self.construction, source, key_serde, value_serde, source_nodes=frozenset({source}))

    def repartitioned_for_join(self, name: str, key_serde: Serde | None, value_serde: Serde | None) -> KStream:
        """The stream as it is to be joined: repartitioned if its keys have changed."""
        if not self.needs_repartition:
            return self
        return self._repartitioned(name, key_serde or self.key_serde, value_serde or self.value_serde)

    def group_by_key(self, grouped: Grouped | None = None) -> KGroupedStream:
        """Group records by their key, to aggregate them."""
        options = grouped or Grouped()
        return KGroupedStream(
            self.construction,
            self.name,
            options.key_serde or self.key_serde,
            options.value_serde or self.value_serde,
            source_nodes=self.source_nodes,
            needs_repartition=self.needs_repartition,
            repartition_name=options.name,
        )

    def group_by(self, key_selector: KeyValueFunction, grouped: Grouped | None = None) -> KGroupedStream:
        """Group records by `key_selector(key, value)`, to aggregate them."""
        options = grouped or Grouped()
        processor = stateless.SelectKey(checked_function(key_selector, "group_by"))
        name = self.construction.names.or_processor(options.name, "KSTREAM-KEY-SELECT-")
        self.construction.add_processor(name, processor, [self.name])
        return KGroupedStream(
            self.construction,
            name,
            options.key_serde,
            options.value_serde or self.value_serde,
            source_nodes=self.source_nodes,
            needs_repartition=True,
            repartition_name=options.name,
        )

    # ---- joins ----

    def join(self, other: KStream | KTable | GlobalKTable, *arguments: Any, **options: Any) -> KStream:
        """Join with a stream, a table or a global table; records without partner are dropped.

        - with a stream: `join(other, joiner, windows, stream_joined=None)`
        - with a table: `join(table, joiner, joined=None)`
        - with a global table: `join(table, key_selector, joiner, named=None)`

        `joiner` takes both values, or the key and both values.
        """
        return self._join("join", other, arguments, options, keeps=(False, False))

    def left_join(self, other: KStream | KTable | GlobalKTable, *arguments: Any, **options: Any) -> KStream:
        """Join as `join` does, but keep records of this stream that find no partner, joined with None."""
        return self._join("left_join", other, arguments, options, keeps=(True, False))

    def outer_join(
        self,
        other: KStream,
        joiner: Callable[..., Any],
        windows: JoinWindows,
        stream_joined: StreamJoined | None = None,
    ) -> KStream:
        """Join with a stream, and keep records of both that find no partner, joined with None."""
        return join_streams(self, other, joiner, windows, stream_joined, keeps=(True, True), method="outer_join")

    def _join(self, method: str, other: Any, arguments: Any, options: Any, keeps: tuple[bool, bool]) -> KStream:
        if isinstance(other, KStream):
            return join_streams(self, other, *arguments, **options, keeps=keeps, method=method)
        if isinstance(other, KTable):
            return self._join_table(method, other, *arguments, **options)
        if isinstance(other, GlobalKTable):
            return self._join_global(method, other, *arguments, **options)
        raise StreamsError(f"{method}() needs a KStream, a KTable or a GlobalKTable, got {other!r}.")

    def _join_table(
        self, method: str, table: KTable, joiner: Callable[..., Any], joined: Joined | None = None
    ) -> KStream:
        options = joined or Joined()
        checked = value_joiner(joiner, method)
        this = self.repartitioned_for_join(options.name or self.name, options.key_serde, options.value_serde)
        prefix = "KSTREAM-LEFTJOIN-" if method == "left_join" else "KSTREAM-JOIN-"
        name = self.construction.names.or_processor(options.name, prefix)
        processor = StreamTableJoin(table.processor, checked, is_left=method == "left_join")
        names = table.processor.store_names()
        self.construction.add_processor(name, processor, [this.name], lambda: names)
        serde, sources = options.key_serde or this.key_serde, this.source_nodes | table.source_nodes
        self.construction.note_joined(sources)
        return KStream(self.construction, name, serde, None, source_nodes=sources)

    def _join_global(
        self,
        method: str,
        table: GlobalKTable,
        key_selector: KeyValueFunction,
        joiner: Callable[..., Any],
        named: Name = None,
    ) -> KStream:
        checked = value_joiner(joiner, method)
        processor = StreamTableJoin(
            table.processor, checked, is_left=method == "left_join", key_of=checked_function(key_selector, method)
        )
        return self._then("KSTREAM-LEFTJOIN-", named, processor, keeps_key=True, keeps_value=False)

    # ---- processors ----

    def process(self, supplier: Any, *state_store_names: str, named: Name = None) -> KStream:
        """Run a processor: its class, or a function that makes one. It may change keys."""
        return self._process("process", "KSTREAM-PROCESSOR-", supplier, state_store_names, named, keeps_key=False)

    def process_values(self, supplier: Any, *state_store_names: str, named: Name = None) -> KStream:
        """Run a processor that keeps the keys."""
        prefix = "KSTREAM-PROCESSVALUES-"
        return self._process("process_values", prefix, supplier, state_store_names, named, keeps_key=True)

    def transform(self, supplier: Any, *state_store_names: str, named: Name = None) -> KStream:
        """Run a transformer: `transform(key, value)` gives a pair, or None for nothing."""
        made = StreamTransform(checked_function(supplier, "transform"))
        return self._process("transform", "KSTREAM-TRANSFORM-", made, state_store_names, named, keeps_key=False)

    def transform_values(self, supplier: Any, *state_store_names: str, named: Name = None) -> KStream:
        """Run a transformer of values: `transform(key, value)` gives the new value."""
        made = StreamTransformValues(checked_function(supplier, "transform_values"))
        prefix = "KSTREAM-TRANSFORMVALUES-"
        return self._process("transform_values", prefix, made, state_store_names, named, keeps_key=True)

    def _process(
        self, method: str, prefix: str, supplier: Any, stores: tuple[str, ...], named: Name, *, keeps_key: bool
    ) -> KStream:
        made = SupplierOf(supplier, method)
        name = given_name(named) or self.construction.names.processor(prefix)
        for builder in made.stores:
            self.construction.add_store(builder)
        names = [*stores, *(builder.name for builder in made.stores)]
        self.construction.add_processor(name, made, [self.name], lambda: names)
        return KStream(
            self.construction,
            name,
            self.key_serde if keeps_key else None,
            None,
            source_nodes=self.source_nodes,
            needs_repartition=self.needs_repartition or not keeps_key,
        )

    # ---- ends ----

    def to(self, topic: str | TopicNameExtractor, produced: Produced | None = None) -> None:
        """Write the records to a topic, or to the topic that `topic(key, value, record_metadata)` names."""
        if not callable(topic) and (not isinstance(topic, str) or not topic):
            raise StreamsError(f"to() needs the name of a topic or a function that gives one, got {topic!r}.")
        options = produced or Produced()
        name = self.construction.names.or_processor(options.name, SINK)
        key_serde, value_serde = options.key_serde or self.key_serde, options.value_serde or self.value_serde

        def write(topology: Topology) -> None:
            topology.add_sink(
                name,
                topic,
                self.name,
                key_serde=key_serde,
                value_serde=value_serde,
                partitioner=options.stream_partitioner,
            )

        self.construction.add(write)

    def to_table(self, named: Name = None, materialized: Materialized | None = None) -> KTable:
        """A table of the last value of each key; a record without value deletes its key."""
        if isinstance(named, Materialized):
            named, materialized = None, named
        options = materialized or Materialized()
        construction = self.construction
        name = construction.names.or_processor(named, "KSTREAM-TOTABLE-")
        store_name = options.name or construction.names.store("KSTREAM-TOTABLE-")
        key_serde, value_serde = options.key_serde or self.key_serde, options.value_serde or self.value_serde
        parent, source_nodes = self.name, self.source_nodes
        if self.needs_repartition:
            parent = construction.add_repartition(self.name, name, key_serde, value_serde)
            source_nodes = frozenset({parent})
        processor = TableSource(store_name, options.name)
        builder = table_store(options, store_name).with_serdes(key_serde, value_serde)

        def write(topology: Topology) -> None:
            topology.add_dsl_processor(name, processor, (parent,))
            if processor.queryable_name is not None:
                topology.add_state_store(builder, name)

        construction.add(write)
        return KTable(construction, name, processor, key_serde, value_serde, source_nodes=source_nodes)
