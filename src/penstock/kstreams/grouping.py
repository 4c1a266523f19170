"""What grouped streams share: the repartition, and the way from an aggregation to a table."""

from __future__ import annotations

from typing import Any

from penstock.kstreams.construction import Construction
from penstock.kstreams.naming import Named
from penstock.kstreams.options import Materialized
from penstock.kstreams.table import KTable
from penstock.vocabulary.kstreams.serdes import Serde
from penstock.vocabulary.kstreams.stores import StoreBuilder

Name = Named | str | None
REDUCE, AGGREGATE = "KSTREAM-REDUCE-", "KSTREAM-AGGREGATE-"


def split_options(named: Any, materialized: Any) -> tuple[Name, Materialized | None]:
    """A name and a Materialized, in whichever place they were given."""
    if isinstance(named, Materialized):
        return materialized, named
    return named, materialized


class GroupedRecords:
    """Records grouped by key, and where they come from. One named group is repartitioned once."""

    def __init__(
        self,
        construction: Construction,
        name: str,
        key_serde: Serde | None,
        value_serde: Serde | None,
        *,
        source_nodes: frozenset[str],
        needs_repartition: bool,
        repartition_name: str | None,
    ) -> None:
        self.construction = construction
        self.name = name
        self.key_serde = key_serde
        self.value_serde = value_serde
        self.source_nodes = source_nodes
        self.needs_repartition = needs_repartition
        self._repartition_name = repartition_name

    def parent(self, store_name: str) -> tuple[str, frozenset[str]]:
        """The node that an aggregation reads, repartitioned if it must be, and its sources."""
        if not self.needs_repartition:
            return self.name, self.source_nodes
        prefix = self._repartition_name or store_name
        source = self.construction.add_repartition(self.name, prefix, self.key_serde, self.value_serde)
        return source, frozenset({source})

    def store_name(self, options: Materialized, prefix: str, *, uses_number: bool = False) -> str:
        """The name of the store; Kafka Streams uses a number up when `count` is given a Materialized without name."""
        if options.name is None and uses_number:
            self.construction.names.store(prefix)
        return options.name or self.construction.names.store(prefix)

    def table(
        self,
        named: Name,
        prefix: str,
        options: Materialized,
        store_name: str,
        *,
        processor: Any,
        builder: StoreBuilder,
        key_serde: Serde | None,
        value_serde: Serde | None,
        grace_ms: int | None = None,
    ) -> KTable:
        """Add an aggregation with its store."""
        name = self.construction.names.or_processor(named, prefix)
        parent, sources = self.parent(store_name)
        self.construction.add_processor(name, processor, [parent])
        self.construction.add_store(builder, name)
        return KTable(
            self.construction, name, processor, key_serde, value_serde, source_nodes=sources, grace_ms=grace_ms
        )
