"""Aggregations without windows: of grouped streams and of grouped tables."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

from penstock.errors import StreamsError
from penstock.runtime.operators.kstreams.dsl_processor import DslProcessor, TableProcessor
from penstock.runtime.operators.kstreams.stores import value_of
from penstock.vocabulary.kstreams.records import Change, Record, ValueAndTimestamp

Initializer = Callable[[], Any]
Aggregator = Callable[[Any, Any, Any], Any]


class _Aggregate(TableProcessor):
    """A table of aggregates: always in a store."""

    def __init__(self, store_name: str) -> None:
        self.store_name = store_name
        self.queryable_name = store_name

    def enable_sending_old_values(self, *, force: bool) -> bool:
        """The store has them."""
        self.sends_old_values = True
        return True

    def open(self) -> None:
        """Get the store."""
        self._store = self.context.get_state_store(self.store_name)

    def update(self, record: Record, new: Any, old: Any, timestamp: int) -> None:
        """Store and forward an aggregate."""
        self._store.put(record.key, None if new is None else ValueAndTimestamp(new, timestamp))
        change = Change(new, old if self.sends_old_values else None)
        self.emit(Record(record.key, change, timestamp, record.headers))


class StreamAggregate(_Aggregate):
    """Folds the values of a key into an aggregate. Records without key or value are dropped."""

    def __init__(self, store_name: str, initializer: Initializer, aggregator: Aggregator) -> None:
        super().__init__(store_name)
        self._initializer = initializer
        self._aggregator = aggregator

    def process(self, record: Record) -> None:
        """Fold a value in."""
        key, value, timestamp = record.key, record.value, record.timestamp
        if key is None or value is None:
            self.context.drop()
            return
        held = self._store.get(key)
        if held is None:
            old = self._initializer()
        else:
            old = held[0]
            timestamp = max(timestamp, held[1])
        # The function may change what it is given, and the old value may be needed as it was.
        given = value_of(self._store.get(key)) if self.sends_old_values and held is not None else old
        self.update(record, self._aggregator(key, value, given), old, timestamp)


class StreamReduce(_Aggregate):
    """Folds the values of a key into one of the same type."""

    def __init__(self, store_name: str, reducer: Callable[[Any, Any], Any]) -> None:
        super().__init__(store_name)
        self._reducer = reducer

    def process(self, record: Record) -> None:
        """Fold a value in."""
        key, value = record.key, record.value
        if key is None or value is None:
            self.context.drop()
            return
        held = self._store.get(key)
        if held is None:
            self.update(record, value, None, record.timestamp)
            return
        given = value_of(self._store.get(key)) if self.sends_old_values else held[0]
        self.update(record, self._reducer(given, value), held[0], max(record.timestamp, held[1]))


class TableRegroup(DslProcessor):
    """Gives changes of a table another key: the old pair is to be subtracted, the new one to be added."""

    def __init__(self, selector: Callable[[Any, Any], tuple[Any, Any]]) -> None:
        self._selector = selector

    def process(self, record: Record) -> None:
        """Forward one change, or one for each key."""
        if record.key is None:
            raise StreamsError("A table that is grouped must have keys, but a record has none.")
        change = record.value
        new, old = self._pair(record.key, change.new), self._pair(record.key, change.old)
        if new is not None and old is not None and new[0] == old[0]:
            self.emit(record.with_key(old[0]).with_value(Change(new[1], old[1])))
            return
        if old is not None:
            self.emit(record.with_key(old[0]).with_value(Change(None, old[1])))
        if new is not None:
            self.emit(record.with_key(new[0]).with_value(Change(new[1], None)))

    def _pair(self, key: Any, value: Any) -> tuple[Any, Any] | None:
        if value is None:
            return None
        pair = self._selector(key, value)
        if not isinstance(pair, tuple) or len(pair) != 2:
            raise StreamsError(f"The function of KTable.group_by() must give a pair (key, value), but gave {pair!r}.")
        return None if pair[0] is None or pair[1] is None else pair


class TableAggregate(_Aggregate):
    """Adds new values of a grouped table to an aggregate, and subtracts old ones."""

    def __init__(self, store_name: str, initializer: Initializer, adder: Aggregator, subtractor: Aggregator) -> None:
        super().__init__(store_name)
        self._initializer = initializer
        self._adder = adder
        self._subtractor = subtractor

    def process(self, record: Record) -> None:
        """Subtract the old value, add the new one."""
        key, change, timestamp = record.key, record.value, record.timestamp
        held = self._store.get(key)
        aggregate = value_of(held)
        old = value_of(self._store.get(key)) if self.sends_old_values else None
        if change.old is not None and aggregate is not None:
            aggregate = self._subtractor(key, change.old, aggregate)
            timestamp = max(timestamp, held[1])
        if change.new is not None:
            if aggregate is None:
                aggregate = self._initializer()
            aggregate = self._adder(key, change.new, aggregate)
            timestamp = timestamp if held is None else max(timestamp, held[1])
        self.update(record, aggregate, old, timestamp)


class TableReduce(_Aggregate):
    """Adds new values of a grouped table to a value of the same type, and subtracts old ones."""

    def __init__(
        self, store_name: str, adder: Callable[[Any, Any], Any], subtractor: Callable[[Any, Any], Any]
    ) -> None:
        super().__init__(store_name)
        self._adder = adder
        self._subtractor = subtractor

    def process(self, record: Record) -> None:
        """Subtract the old value, add the new one."""
        change, timestamp = record.value, record.timestamp
        held = self._store.get(record.key)
        reduced = value_of(held)
        old = value_of(self._store.get(record.key)) if self.sends_old_values else None
        if change.old is not None and reduced is not None:
            reduced = self._subtractor(reduced, change.old)
            timestamp = max(timestamp, held[1])
        if change.new is not None:
            if reduced is None:
                reduced = change.new
            else:
                reduced = self._adder(reduced, change.new)
                timestamp = max(timestamp, held[1])
        self.update(record, reduced, old, timestamp)


class CogroupMerge(TableProcessor):
    """The table that several aggregations of one store make together."""

    def __init__(self, parents: list[TableProcessor], store_name: str) -> None:
        self.parents = parents
        self.queryable_name = store_name

    def enable_sending_old_values(self, *, force: bool) -> bool:
        """All of them send old values."""
        for parent in self.parents:
            parent.enable_sending_old_values(force=force)
        return True

    def getter(self, context: Any) -> Any:
        """Look up in the common store."""
        return self.parents[0].getter(context)

    def process(self, record: Record) -> None:
        """Forward it."""
        self.emit(record)
