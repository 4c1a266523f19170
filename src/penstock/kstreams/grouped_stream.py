"""Grouped streams: count, reduce, aggregate, with or without windows."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any, overload

from penstock.errors import StreamsError
from penstock.kstreams.cogrouped_stream import CogroupedKStream
from penstock.kstreams.functions import checked_function, count_one, zero
from penstock.kstreams.grouping import AGGREGATE, REDUCE, GroupedRecords, Name, split_options
from penstock.kstreams.options import Materialized
from penstock.kstreams.table import KTable, table_store
from penstock.kstreams.windowed_streams import SessionWindowedKStream, TimeWindowedKStream
from penstock.runtime.operators.kstreams.aggregations import StreamAggregate, StreamReduce
from penstock.vocabulary.kstreams.serdes import Serdes
from penstock.vocabulary.kstreams.windows import SessionWindows, SlidingWindows, TimeWindows, UnlimitedWindows

AnyWindows = TimeWindows | UnlimitedWindows | SlidingWindows | SessionWindows


class KGroupedStream(GroupedRecords):
    """Records grouped by key. Records without key or value do not count."""

    def count(self, named: Name | Materialized = None, materialized: Materialized | None = None) -> KTable:
        """How many records each key has had."""
        named, given = split_options(named, materialized)
        options = given or Materialized()
        store_name = self.store_name(options, AGGREGATE, uses_number=given is not None)
        processor = StreamAggregate(store_name, zero, count_one)
        serde = options.value_serde or Serdes.Long()
        return self._keyed_table(named, AGGREGATE, options.with_value_serde(serde), store_name, processor)

    def reduce(
        self,
        reducer: Callable[[Any, Any], Any],
        named: Name | Materialized = None,
        materialized: Materialized | None = None,
    ) -> KTable:
        """Fold the values of a key: `reducer(aggregate, value)`; the first value is the first aggregate."""
        named, given = split_options(named, materialized)
        options = given or Materialized()
        store_name = self.store_name(options, REDUCE)
        processor = StreamReduce(store_name, checked_function(reducer, "reduce"))
        serde = options.value_serde or self.value_serde
        return self._keyed_table(named, REDUCE, options.with_value_serde(serde), store_name, processor)

    def aggregate(
        self,
        initializer: Callable[[], Any],
        aggregator: Callable[[Any, Any, Any], Any],
        named: Name | Materialized = None,
        materialized: Materialized | None = None,
    ) -> KTable:
        """Fold the values of a key: `aggregator(key, value, aggregate)`, beginning with `initializer()`."""
        named, given = split_options(named, materialized)
        options = given or Materialized()
        store_name = self.store_name(options, AGGREGATE)
        checked_function(initializer, "aggregate")
        processor = StreamAggregate(store_name, initializer, checked_function(aggregator, "aggregate"))
        return self._keyed_table(named, AGGREGATE, options, store_name, processor)

    def _keyed_table(self, named: Name, prefix: str, options: Materialized, store_name: str, processor: Any) -> KTable:
        key_serde = options.key_serde or self.key_serde
        builder = table_store(options, store_name).with_serdes(key_serde, options.value_serde)
        return self.table(
            named,
            prefix,
            options,
            store_name,
            processor=processor,
            builder=builder,
            key_serde=key_serde,
            value_serde=options.value_serde,
        )

    @overload
    def windowed_by(self, windows: TimeWindows | UnlimitedWindows | SlidingWindows) -> TimeWindowedKStream: ...
    @overload
    def windowed_by(self, windows: SessionWindows) -> SessionWindowedKStream: ...
    def windowed_by(self, windows: AnyWindows) -> TimeWindowedKStream | SessionWindowedKStream:
        """Aggregate in windows: `TimeWindows`, `SlidingWindows`, `SessionWindows` or `UnlimitedWindows`."""
        if isinstance(windows, SessionWindows):
            return SessionWindowedKStream(self, windows)
        if isinstance(windows, TimeWindows | UnlimitedWindows | SlidingWindows):
            return TimeWindowedKStream(self, windows)
        raise StreamsError(f"windowed_by() needs TimeWindows, SlidingWindows or SessionWindows, got {windows!r}.")

    def cogroup(self, aggregator: Callable[[Any, Any, Any], Any]) -> CogroupedKStream:
        """Aggregate several grouped streams into one table, each by a function of its own."""
        return CogroupedKStream(self.construction).cogroup(self, aggregator)
