"""Grouped streams in windows: count, reduce and aggregate for each key and window."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

from penstock.errors import StreamsError
from penstock.kstreams.functions import FromReducer, add_counts, checked_function, count_one, nothing, zero
from penstock.kstreams.grouping import AGGREGATE, REDUCE, GroupedRecords, Name, split_options
from penstock.kstreams.options import Materialized
from penstock.kstreams.table import KTable
from penstock.runtime.operators.kstreams.sessions import SessionAggregate
from penstock.runtime.operators.kstreams.windowed import SlidingWindowedAggregate, TimeWindowedAggregate
from penstock.vocabulary.kstreams.serdes import Serde, Serdes, WindowedSerdes
from penstock.vocabulary.kstreams.stores import StoreBuilder, StoreSupplier
from penstock.vocabulary.kstreams.windows import (
    EmitStrategy,
    SessionWindows,
    SlidingWindows,
    TimeWindows,
    UnlimitedWindows,
    retention_of,
)

Windows = TimeWindows | UnlimitedWindows | SlidingWindows


def checked_retention(options: Materialized, windows: Windows | SessionWindows, store_name: str) -> int:
    """How long windows are kept: as long as records can change them, or as long as was asked for."""
    needed = retention_of(windows)
    wanted = options.retention_ms
    if wanted is None:
        return needed if options.supplier is None else options.supplier.retention_ms
    if wanted < needed:
        raise StreamsError(
            f"Store {store_name!r} is to keep windows for {wanted} ms, but windows and their grace period take "
            f"{needed} ms; keep them at least that long."
        )
    return wanted


def window_store(options: Materialized, windows: Windows, store_name: str) -> StoreBuilder:
    """The store of windows of time."""
    size = windows.time_difference_ms if isinstance(windows, SlidingWindows) else windows.size()
    retention = checked_retention(options, windows, store_name)
    supplier = StoreSupplier(store_name, "window", True, retention_ms=retention, window_size_ms=size)
    return StoreBuilder(supplier, options.key_serde, options.value_serde)


def session_store(options: Materialized, windows: SessionWindows, store_name: str) -> StoreBuilder:
    """The store of sessions."""
    supplier = StoreSupplier(store_name, "session", retention_ms=checked_retention(options, windows, store_name))
    return StoreBuilder(supplier, options.key_serde, options.value_serde)


def windowed_serde(inner: Serde | None, windows: Windows | SessionWindows) -> Serde | None:
    """The serde of windowed keys."""
    if inner is None:
        return None
    if isinstance(windows, SessionWindows):
        return WindowedSerdes.session_windowed_serde_from(inner)
    size = windows.time_difference_ms if isinstance(windows, SlidingWindows) else windows.size()
    return WindowedSerdes.time_windowed_serde_from(inner, size)


def time_windowed_processor(
    windows: Windows, store_name: str, initializer: Any, aggregator: Any, strategy: EmitStrategy
) -> TimeWindowedAggregate | SlidingWindowedAggregate:
    """The processor for windows of a kind."""
    if isinstance(windows, SlidingWindows):
        return SlidingWindowedAggregate(windows, store_name, initializer, aggregator, strategy)
    return TimeWindowedAggregate(windows, store_name, initializer, aggregator, strategy)


class TimeWindowedKStream:
    """A grouped stream in tumbling, hopping, sliding or unlimited windows."""

    def __init__(
        self, grouped: GroupedRecords, windows: Windows, strategy: EmitStrategy = EmitStrategy.ON_WINDOW_UPDATE
    ) -> None:
        self._grouped = grouped
        self._windows = windows
        self._strategy = strategy

    def emit_strategy(self, strategy: EmitStrategy) -> TimeWindowedKStream:
        """Say when results are emitted."""
        if strategy is EmitStrategy.ON_WINDOW_CLOSE and isinstance(self._windows, UnlimitedWindows):
            raise StreamsError("Unlimited windows never close; emit them on update.")
        return TimeWindowedKStream(self._grouped, self._windows, strategy)

    def count(self, named: Name | Materialized = None, materialized: Materialized | None = None) -> KTable:
        """How many records each key and window has had."""
        named, given = split_options(named, materialized)
        options = given or Materialized()
        store_name = self._grouped.store_name(options, AGGREGATE, uses_number=given is not None)
        options = options.with_value_serde(options.value_serde or Serdes.Long())
        return self._table(named, AGGREGATE, options, store_name, zero, count_one)

    def reduce(
        self,
        reducer: Callable[[Any, Any], Any],
        named: Name | Materialized = None,
        materialized: Materialized | None = None,
    ) -> KTable:
        """Fold the values of a key and window: `reducer(aggregate, value)`."""
        named, given = split_options(named, materialized)
        options = given or Materialized()
        store_name = self._grouped.store_name(options, REDUCE)
        options = options.with_value_serde(options.value_serde or self._grouped.value_serde)
        aggregator = FromReducer(checked_function(reducer, "reduce"))
        return self._table(named, REDUCE, options, store_name, nothing, aggregator)

    def aggregate(
        self,
        initializer: Callable[[], Any],
        aggregator: Callable[[Any, Any, Any], Any],
        named: Name | Materialized = None,
        materialized: Materialized | None = None,
    ) -> KTable:
        """Fold the values of a key and window: `aggregator(key, value, aggregate)`."""
        named, given = split_options(named, materialized)
        options = given or Materialized()
        store_name = self._grouped.store_name(options, AGGREGATE)
        checked_function(initializer, "aggregate")
        return self._table(
            named, AGGREGATE, options, store_name, initializer, checked_function(aggregator, "aggregate")
        )

    def _table(
        self, named: Name, prefix: str, options: Materialized, store_name: str, initializer: Any, aggregator: Any
    ) -> KTable:
        key_serde = options.key_serde or self._grouped.key_serde
        return self._grouped.table(
            named,
            prefix,
            options,
            store_name,
            processor=time_windowed_processor(self._windows, store_name, initializer, aggregator, self._strategy),
            builder=window_store(options, self._windows, store_name).with_serdes(key_serde, None),
            key_serde=windowed_serde(key_serde, self._windows),
            value_serde=options.value_serde,
            grace_ms=self._windows.grace_period_ms(),
        )


class SessionWindowedKStream:
    """A grouped stream in sessions."""

    def __init__(
        self,
        grouped: GroupedRecords,
        windows: SessionWindows,
        strategy: EmitStrategy = EmitStrategy.ON_WINDOW_UPDATE,
    ) -> None:
        self._grouped = grouped
        self._windows = windows
        self._strategy = strategy

    def emit_strategy(self, strategy: EmitStrategy) -> SessionWindowedKStream:
        """Say when results are emitted."""
        return SessionWindowedKStream(self._grouped, self._windows, strategy)

    def count(self, named: Name | Materialized = None, materialized: Materialized | None = None) -> KTable:
        """How many records each session has."""
        named, given = split_options(named, materialized)
        options = given or Materialized()
        store_name = self._grouped.store_name(options, AGGREGATE, uses_number=given is not None)
        options = options.with_value_serde(options.value_serde or Serdes.Long())
        return self._table(named, AGGREGATE, options, store_name, (zero, count_one, add_counts))

    def reduce(
        self,
        reducer: Callable[[Any, Any], Any],
        named: Name | Materialized = None,
        materialized: Materialized | None = None,
    ) -> KTable:
        """Fold the values of a session: `reducer(aggregate, value)`."""
        named, given = split_options(named, materialized)
        options = given or Materialized()
        store_name = self._grouped.store_name(options, REDUCE)
        options = options.with_value_serde(options.value_serde or self._grouped.value_serde)
        folding = FromReducer(checked_function(reducer, "reduce"))
        return self._table(named, REDUCE, options, store_name, (nothing, folding, folding.merge))

    def aggregate(
        self,
        initializer: Callable[[], Any],
        aggregator: Callable[[Any, Any, Any], Any],
        session_merger: Callable[[Any, Any, Any], Any],
        named: Name | Materialized = None,
        materialized: Materialized | None = None,
    ) -> KTable:
        """Fold the values of a session; `session_merger(key, first, second)` merges aggregates of two sessions."""
        named, given = split_options(named, materialized)
        options = given or Materialized()
        store_name = self._grouped.store_name(options, AGGREGATE)
        for function in (initializer, aggregator, session_merger):
            checked_function(function, "aggregate")
        return self._table(named, AGGREGATE, options, store_name, (initializer, aggregator, session_merger))

    def _table(
        self, named: Name, prefix: str, options: Materialized, store_name: str, functions: tuple[Any, Any, Any]
    ) -> KTable:
        key_serde = options.key_serde or self._grouped.key_serde
        return self._grouped.table(
            named,
            prefix,
            options,
            store_name,
            processor=SessionAggregate(self._windows, store_name, *functions, self._strategy),
            builder=session_store(options, self._windows, store_name).with_serdes(key_serde, None),
            key_serde=windowed_serde(key_serde, self._windows),
            value_serde=options.value_serde,
            grace_ms=self._windows.grace_ms + self._windows.gap_ms,
        )
