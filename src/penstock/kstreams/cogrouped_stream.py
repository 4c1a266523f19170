"""Cogrouped streams: several grouped streams fold into one table, each by a function of its own."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

from penstock.errors import StreamsError
from penstock.kstreams.construction import Construction
from penstock.kstreams.functions import checked_function
from penstock.kstreams.grouping import GroupedRecords, Name, split_options
from penstock.kstreams.options import Materialized
from penstock.kstreams.table import KTable, table_store
from penstock.kstreams.windowed_streams import (
    Windows,
    session_store,
    time_windowed_processor,
    window_store,
    windowed_serde,
)
from penstock.runtime.operators.kstreams.aggregations import CogroupMerge, StreamAggregate
from penstock.runtime.operators.kstreams.sessions import SessionAggregate
from penstock.vocabulary.kstreams.serdes import Serde
from penstock.vocabulary.kstreams.stores import StoreBuilder
from penstock.vocabulary.kstreams.windows import EmitStrategy, SessionWindows

_AGGREGATE, _MERGE = "COGROUPKSTREAM-AGGREGATE-", "COGROUPKSTREAM-MERGE-"
Aggregator = Callable[[Any, Any, Any], Any]


class CogroupedKStream:
    """Grouped streams with their aggregators."""

    def __init__(self, construction: Construction, groups: tuple[tuple[GroupedRecords, Aggregator], ...] = ()) -> None:
        self.construction = construction
        self.groups = groups

    def cogroup(self, grouped: GroupedRecords, aggregator: Aggregator) -> CogroupedKStream:
        """Add a grouped stream: `aggregator(key, value, aggregate)` folds its values in."""
        return CogroupedKStream(self.construction, (*self.groups, (grouped, checked_function(aggregator, "cogroup"))))

    def aggregate(
        self,
        initializer: Callable[[], Any],
        named: Name | Materialized = None,
        materialized: Materialized | None = None,
    ) -> KTable:
        """Make the table; the first aggregate of a key is `initializer()`."""
        named, given = split_options(named, materialized)
        options, store_name = self.prepared(given)
        key_serde = options.key_serde or self.key_serde()
        builder = table_store(options, store_name).with_serdes(key_serde, options.value_serde)
        return self.table(
            named,
            store_name,
            builder,
            lambda aggregator: StreamAggregate(store_name, initializer, aggregator),
            serdes=(key_serde, options.value_serde),
        )

    def windowed_by(self, windows: Windows | SessionWindows) -> WindowedCogroupedKStream:
        """Aggregate in windows."""
        return WindowedCogroupedKStream(self, windows)

    def prepared(self, given: Materialized | None) -> tuple[Materialized, str]:
        """Options, and the name of the store."""
        options = given or Materialized()
        return options, options.name or self.construction.names.store(_AGGREGATE)

    def key_serde(self) -> Serde | None:
        """The first serde of keys that a group has."""
        return next((group.key_serde for group, _ in self.groups if group.key_serde is not None), None)

    def table(
        self,
        named: Name,
        store_name: str,
        builder: StoreBuilder,
        processor_of: Callable[[Aggregator], Any],
        *,
        serdes: tuple[Serde | None, Serde | None],
        grace_ms: int | None = None,
    ) -> KTable:
        """Add an aggregation for each stream, all with one store, and bring them together."""
        names = self.construction.names
        parents = [(group.parent(store_name), aggregator) for group, aggregator in self.groups]
        processors, nodes = [], []
        sources: frozenset[str] = frozenset()
        for number, ((parent, parent_sources), aggregator) in enumerate(parents):
            processors.append(processor_of(aggregator))
            nodes.append(names.with_suffix(named, f"-cogroup-agg-{number}", _AGGREGATE))
            self.construction.add_processor(nodes[-1], processors[-1], [parent])
            self.construction.add_store(builder, nodes[-1])
            sources |= parent_sources
        self.construction.note_joined(sources)
        name = names.with_suffix(named, "-cogroup-merge", _MERGE)
        merge = CogroupMerge(processors, store_name)
        self.construction.add_processor(name, merge, nodes)
        return KTable(self.construction, name, merge, *serdes, source_nodes=sources, grace_ms=grace_ms)


class WindowedCogroupedKStream:
    """Cogrouped streams in windows."""

    def __init__(self, cogrouped: CogroupedKStream, windows: Windows | SessionWindows) -> None:
        self._cogrouped = cogrouped
        self._windows = windows

    def aggregate(
        self,
        initializer: Callable[[], Any],
        session_merger: Any = None,
        named: Name | Materialized = None,
        materialized: Materialized | None = None,
    ) -> KTable:
        """Make the table; sessions need `session_merger(key, first, second)` as well."""
        if isinstance(session_merger, Materialized | str):
            named, session_merger = session_merger, None
        named, given = split_options(named, materialized)
        if isinstance(self._windows, SessionWindows) and not callable(session_merger):
            raise StreamsError("aggregate() of cogrouped sessions needs a function that merges two aggregates.")
        options, store_name = self._cogrouped.prepared(given)
        windows, update = self._windows, EmitStrategy.ON_WINDOW_UPDATE
        key_serde = options.key_serde or self._cogrouped.key_serde()
        if isinstance(windows, SessionWindows):
            builder = session_store(options, windows, store_name)
            grace = windows.grace_ms + windows.gap_ms
        else:
            builder, grace = window_store(options, windows, store_name), windows.grace_period_ms()

        def processor_of(aggregator: Aggregator) -> Any:
            if isinstance(windows, SessionWindows):
                return SessionAggregate(windows, store_name, initializer, aggregator, session_merger, update)
            return time_windowed_processor(windows, store_name, initializer, aggregator, update)

        return self._cogrouped.table(
            named,
            store_name,
            builder.with_serdes(key_serde, None),
            processor_of,
            serdes=(windowed_serde(key_serde, windows), options.value_serde),
            grace_ms=grace,
        )
