"""Grouped tables: aggregates that follow the changes of a table."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

from penstock.kstreams.construction import SINK, SOURCE, Construction
from penstock.kstreams.functions import checked_function, count_one, uncount_one, zero
from penstock.kstreams.grouping import Name, split_options
from penstock.kstreams.options import Grouped, Materialized
from penstock.kstreams.table import KTable, table_store
from penstock.runtime.operators.kstreams.aggregations import TableAggregate, TableReduce
from penstock.vocabulary.kstreams.serdes import Serde, Serdes

_AGGREGATE, _REDUCE = "KTABLE-AGGREGATE-", "KTABLE-REDUCE-"


class KGroupedTable:
    """A table grouped by another key. A change is subtracted where it was and added where it is."""

    def __init__(self, construction: Construction, name: str, options: Grouped) -> None:
        self._construction = construction
        self._name = name
        self._grouped = options

    def count(self, named: Name | Materialized = None, materialized: Materialized | None = None) -> KTable:
        """How many entries each group has."""
        named, given = split_options(named, materialized)
        options = given or Materialized()
        serde = options.value_serde or Serdes.Long()
        return self._table(
            named, _AGGREGATE, options, serde, lambda store: TableAggregate(store, zero, count_one, uncount_one)
        )

    def reduce(
        self,
        adder: Callable[[Any, Any], Any],
        subtractor: Callable[[Any, Any], Any],
        named: Name | Materialized = None,
        materialized: Materialized | None = None,
    ) -> KTable:
        """Fold values: `adder(aggregate, value)` adds one, `subtractor(aggregate, value)` takes one back."""
        named, given = split_options(named, materialized)
        options = given or Materialized()
        checked_function(adder, "reduce")
        checked_function(subtractor, "reduce")
        serde = options.value_serde or self._grouped.value_serde
        return self._table(named, _REDUCE, options, serde, lambda store: TableReduce(store, adder, subtractor))

    def aggregate(
        self,
        initializer: Callable[[], Any],
        adder: Callable[[Any, Any, Any], Any],
        subtractor: Callable[[Any, Any, Any], Any],
        named: Name | Materialized = None,
        materialized: Materialized | None = None,
    ) -> KTable:
        """Fold values: `adder(key, value, aggregate)` and `subtractor(key, value, aggregate)`."""
        named, given = split_options(named, materialized)
        options = given or Materialized()
        for function in (initializer, adder, subtractor):
            checked_function(function, "aggregate")
        return self._table(
            named,
            _AGGREGATE,
            options,
            options.value_serde,
            lambda store: TableAggregate(store, initializer, adder, subtractor),
        )

    def _table(
        self,
        named: Name,
        prefix: str,
        options: Materialized,
        value_serde: Serde | None,
        processor_of: Callable[[str], Any],
    ) -> KTable:
        construction, names = self._construction, self._construction.names
        store_name = options.name or names.store(_AGGREGATE)  # also that of reduce
        sink = names.with_suffix(named, "-sink", SINK)
        source = names.with_suffix(named, "-source", SOURCE)
        name = names.or_processor(named, prefix)
        key_serde = options.key_serde or self._grouped.key_serde
        topic = f"{self._grouped.name or store_name}-repartition"
        construction.add_topic(topic, sink, source, [self._name], self._grouped.key_serde)
        processor = processor_of(store_name)
        construction.add_processor(name, processor, [source])
        construction.add_store(table_store(options, store_name).with_serdes(key_serde, value_serde), name)
        return KTable(construction, name, processor, key_serde, value_serde, source_nodes=frozenset({source}))
