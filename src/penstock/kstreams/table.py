"""Tables: the last value of each key, and what can be made of them."""

from __future__ import annotations

from collections.abc import Callable
from typing import TYPE_CHECKING, Any

from penstock.errors import StreamsError
from penstock.kstreams.construction import Construction
from penstock.kstreams.foreign_key_join import join_by_foreign_key
from penstock.kstreams.functions import Swapped, checked_function, value_mapper
from penstock.kstreams.naming import Named
from penstock.kstreams.options import Grouped, Materialized
from penstock.kstreams.suppressed import Suppressed
from penstock.kstreams.topology import Topology
from penstock.runtime.operators.kstreams.aggregations import TableRegroup
from penstock.runtime.operators.kstreams.dsl_processor import TableProcessor
from penstock.runtime.operators.kstreams.suppress import TableSuppress
from penstock.runtime.operators.kstreams.table_joins import TableJoinMerge, TableTableJoin
from penstock.runtime.operators.kstreams.tables import (
    TableFilter,
    TableMapValues,
    TableToStream,
    TableTransformValues,
)
from penstock.vocabulary.kstreams.serdes import Serde
from penstock.vocabulary.kstreams.stores import StoreBuilder, StoreSupplier

if TYPE_CHECKING:
    from penstock.kstreams.grouped_table import KGroupedTable
    from penstock.kstreams.stream import KStream

Name = Named | str | None
TABLE_SOURCE = "KTABLE-SOURCE-"


def table_store(options: Materialized, name: str) -> StoreBuilder:
    """The store of a table."""
    return StoreBuilder(StoreSupplier(name, "key_value", True), options.key_serde, options.value_serde)


class KTable:
    """A table that changes: each update replaces the value of a key, and None deletes it."""

    def __init__(
        self,
        construction: Construction,
        name: str,
        processor: TableProcessor,
        key_serde: Serde | None,
        value_serde: Serde | None,
        *,
        source_nodes: frozenset[str],
        grace_ms: int | None = None,
    ) -> None:
        self.construction = construction
        self.name = name
        self.processor = processor
        self.key_serde = key_serde
        self.value_serde = value_serde
        self.source_nodes = source_nodes
        self.grace_ms = grace_ms

    def queryable_store_name(self) -> str | None:
        """The name of the store it is kept in, or None."""
        return self.processor.queryable_name

    def filter(
        self, predicate: Callable[[Any, Any], bool], named: Any = None, materialized: Materialized | None = None
    ) -> KTable:
        """Keep entries for which `predicate(key, value)` holds; others are deleted."""
        return self._filtered(predicate, named, materialized, is_negated=False)

    def filter_not(
        self, predicate: Callable[[Any, Any], bool], named: Any = None, materialized: Materialized | None = None
    ) -> KTable:
        """Keep entries for which `predicate(key, value)` does not hold."""
        return self._filtered(predicate, named, materialized, is_negated=True)

    def _filtered(self, predicate: Any, named: Any, materialized: Any, *, is_negated: bool) -> KTable:
        named, options = _options(named, materialized)
        prefix = "KTABLE-FILTER-"
        store = self._given_store(options, prefix)
        checked = checked_function(predicate, "filter")
        processor = TableFilter(self.processor, checked, None if store is None else store.name, is_negated=is_negated)
        name = self.construction.names.or_processor(named, prefix)
        value_serde = (options.value_serde if options else None) or self.value_serde
        return self._derived(name, processor, store, options, value_serde)

    def map_values(
        self, mapper: Callable[..., Any], named: Any = None, materialized: Materialized | None = None
    ) -> KTable:
        """Make new values: `mapper(value)` or `mapper(key, value)`."""
        named, options = _options(named, materialized)
        prefix = "KTABLE-MAPVALUES-"
        store = self._given_store(options, prefix)
        processor = TableMapValues(
            self.processor, value_mapper(mapper, "map_values"), None if store is None else store.name
        )
        name = self.construction.names.or_processor(named, prefix)
        return self._derived(name, processor, store, options, options.value_serde if options else None)

    def transform_values(
        self, supplier: Any, *state_store_names: str, named: Name = None, materialized: Materialized | None = None
    ) -> KTable:
        """Make new values by a transformer with stores: `transform(key, value)`."""
        checked_function(supplier, "transform_values")
        store = (
            None if materialized is None or materialized.name is None else table_store(materialized, materialized.name)
        )
        processor = TableTransformValues(self.processor, supplier, None if store is None else store.name)
        name = self.construction.names.or_processor(named, "KTABLE-TRANSFORMVALUES-")
        made = self._derived(name, processor, store, materialized, materialized.value_serde if materialized else None)
        if state_store_names:
            self.construction.add(
                lambda topology: topology.connect_processor_and_state_stores(name, *state_store_names)
            )
        return made

    def _given_store(self, options: Materialized | None, prefix: str) -> StoreBuilder | None:
        if options is None:
            return None
        if options.name is None:
            self.construction.names.store(prefix)  # Kafka Streams uses up a number here
            return None
        return table_store(options, options.name).with_serdes(self.key_serde, None)

    def _derived(
        self,
        name: str,
        processor: TableProcessor,
        store: StoreBuilder | None,
        options: Materialized | None,
        value_serde: Serde | None,
    ) -> KTable:
        self.construction.add_processor(name, processor, [self.name])
        if store is not None:
            self.construction.add_store(store, name)
        key_serde = (options.key_serde if options else None) or self.key_serde
        return KTable(
            self.construction,
            name,
            processor,
            key_serde,
            value_serde,
            source_nodes=self.source_nodes,
            grace_ms=self.grace_ms,
        )

    def to_stream(self, mapper: Any = None, named: Name = None) -> KStream:
        """The updates as a stream; with `mapper(key, value)` they get another key."""
        from penstock.kstreams.stream import KStream

        if isinstance(mapper, Named | str):
            mapper, named = None, mapper
        name = self.construction.names.or_processor(named, "KTABLE-TOSTREAM-")
        self.construction.add_processor(name, TableToStream(), [self.name])
        stream = KStream(self.construction, name, self.key_serde, self.value_serde, source_nodes=self.source_nodes)
        return stream if mapper is None else stream.select_key(mapper)

    def group_by(
        self, selector: Callable[[Any, Any], tuple[Any, Any]], grouped: Grouped | None = None
    ) -> KGroupedTable:
        """Group entries by another key: `selector(key, value)` gives the new key and value."""
        from penstock.kstreams.grouped_table import KGroupedTable

        options = grouped or Grouped()
        name = self.construction.names.or_processor(options.name, "KTABLE-SELECT-")
        self.processor.enable_sending_old_values(force=True)
        self.construction.add_processor(name, TableRegroup(checked_function(selector, "group_by")), [self.name])
        return KGroupedTable(self.construction, name, options)

    def suppress(self, suppressed: Suppressed) -> KTable:
        """Hold updates back: for a time, or until their window has closed."""
        if not isinstance(suppressed, Suppressed):
            raise StreamsError(f"suppress() needs Suppressed.until_..., got {suppressed!r}.")
        if suppressed.is_final and self.grace_ms is None:
            raise StreamsError("suppress() until windows close needs a windowed table, but this one has no windows.")
        name = suppressed.name or self.construction.names.processor("KTABLE-SUPPRESS-")
        # The buffer must know what there was before the changes that wait.
        self.processor.enable_sending_old_values(force=True)
        store_name = (
            f"{suppressed.name}-store" if suppressed.name else self.construction.names.store("KTABLE-SUPPRESS-")
        )
        wait = self.grace_ms if suppressed.wait_ms is None else suppressed.wait_ms
        assert wait is not None
        processor = TableSuppress(self.processor, store_name, wait, suppressed.limits, is_final=suppressed.is_final)
        builder = StoreBuilder(StoreSupplier(store_name, "buffer"), self.key_serde, self.value_serde)
        return self._derived(name, processor, builder, None, self.value_serde)

    # ---- joins ----

    def join(self, other: KTable, *arguments: Any, **options: Any) -> KTable:
        """Join with a table by the common key, or by a foreign key.

        - by key: `join(other, joiner, named=None, materialized=None)`
        - by foreign key: `join(other, foreign_key_extractor, joiner, table_joined=None, materialized=None)`
        """
        return self._join("join", other, arguments, options, keeps=(False, False))

    def left_join(self, other: KTable, *arguments: Any, **options: Any) -> KTable:
        """Join as `join` does, but keep keys of this table that the other one lacks, joined with None."""
        return self._join("left_join", other, arguments, options, keeps=(True, False))

    def outer_join(
        self, other: KTable, joiner: Callable[[Any, Any], Any], named: Any = None, materialized: Any = None
    ) -> KTable:
        """Join with a table by the common key, and keep keys of either, joined with None."""
        return self._join_by_key("outer_join", other, joiner, named, materialized, keeps=(True, True))

    def _join(self, method: str, other: Any, arguments: Any, options: Any, keeps: tuple[bool, bool]) -> KTable:
        if not isinstance(other, KTable):
            raise StreamsError(f"{method}() of a table needs a KTable, got {other!r}.")
        by_foreign_key = (len(arguments) > 1 and callable(arguments[1])) or "foreign_key_extractor" in options
        if by_foreign_key:
            return join_by_foreign_key(self, other, *arguments, **options, is_left=keeps[0], method=method)
        return self._join_by_key(method, other, *arguments, **options, keeps=keeps)

    def _join_by_key(
        self,
        method: str,
        other: KTable,
        joiner: Callable[[Any, Any], Any],
        named: Any = None,
        materialized: Materialized | None = None,
        *,
        keeps: tuple[bool, bool],
    ) -> KTable:
        named, options = _options(named, materialized)
        checked, names = checked_function(joiner, method), self.construction.names
        store_name = None if options is None else options.name or names.store("KTABLE-MERGE-")
        merge_name = names.or_processor(named, "KTABLE-MERGE-")
        if keeps[0]:
            self.processor.enable_sending_old_values(force=True)
        if keeps[1]:
            other.processor.enable_sending_old_values(force=True)
        this_join = TableTableJoin(
            self.processor, other.processor, checked, needs_this=not keeps[1], needs_other=not keeps[0]
        )
        other_join = TableTableJoin(
            other.processor, self.processor, Swapped(checked), needs_this=not keeps[0], needs_other=not keeps[1]
        )
        this_name = names.with_suffix(named, "-join-this", "KTABLE-JOINTHIS-")
        other_name = names.with_suffix(named, "-join-other", "KTABLE-JOINOTHER-")
        merge = TableJoinMerge(this_join, other_join, store_name)
        self_stores, other_stores = self.processor.store_names(), other.processor.store_names()
        key_serde = (options.key_serde if options else None) or self.key_serde

        def write(topology: Topology) -> None:
            topology.add_dsl_processor(this_name, this_join, (self.name,))
            topology.add_dsl_processor(other_name, other_join, (other.name,))
            topology.add_dsl_processor(merge_name, merge, (this_name, other_name))
            topology.connect_processor_and_state_stores(this_name, *other_stores)
            topology.connect_processor_and_state_stores(other_name, *self_stores)
            if options is not None and store_name is not None:
                topology.add_state_store(table_store(options, store_name).with_serdes(key_serde, None), merge_name)

        self.construction.add(write)
        self.construction.note_joined(self.source_nodes | other.source_nodes)
        return KTable(
            self.construction,
            merge_name,
            merge,
            key_serde,
            options.value_serde if options else None,
            source_nodes=self.source_nodes | other.source_nodes,
            grace_ms=_longest(self.grace_ms, other.grace_ms),
        )


def _longest(first: int | None, second: int | None) -> int | None:
    return max((each for each in (first, second) if each is not None), default=None)


def _options(named: Any, materialized: Any) -> tuple[Name, Materialized | None]:
    if isinstance(named, Materialized):
        return materialized, named
    return named, materialized
