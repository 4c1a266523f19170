"""Operators of tables: the source of a table, filter, map_values, transform_values, and the way to a stream."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

from penstock.runtime.operators.kstreams.dsl_processor import DslProcessor, Getter, TableProcessor
from penstock.runtime.operators.kstreams.stores import value_of
from penstock.runtime.operators.kstreams.task import NodeContext
from penstock.vocabulary.kstreams.records import Change, Record, ValueAndTimestamp


class TableSource(TableProcessor):
    """Makes a table of records: the last value of each key. It has a store only if somebody needs one."""

    def __init__(self, store_name: str, queryable_name: str | None) -> None:
        self.store_name = store_name
        self.queryable_name = queryable_name

    def materialize(self) -> None:
        """Keep the table in a store."""
        self.queryable_name = self.store_name

    def enable_sending_old_values(self, *, force: bool) -> bool:
        """Send old values, which takes a store."""
        if self.queryable_name is None and not force:
            return False
        self.materialize()
        self.sends_old_values = True
        return True

    def store_names(self) -> tuple[str, ...]:
        """Its own store, which there must be from now on."""
        self.materialize()
        return (self.store_name,)

    def open(self) -> None:
        """Get the store."""
        self._store = None if self.queryable_name is None else self.context.get_state_store(self.queryable_name)

    def process(self, record: Record) -> None:
        """Update the table."""
        key, value = record.key, record.value
        if key is None:
            self.context.drop()
            return
        old = None
        if self._store is not None:
            old = value_of(self._store.get(key)) if self.sends_old_values else None
            self._store.put(key, None if value is None else ValueAndTimestamp(value, record.timestamp))
        self.emit(Record(key, Change(value, old), record.timestamp, record.headers))


class TableToStream(DslProcessor):
    """Forwards the new values of a table."""

    def process(self, record: Record) -> None:
        """Take the new value out."""
        self.emit(Record(record.key, record.value.new, record.timestamp, record.headers))


class _DerivedTable(TableProcessor):
    """A table made from another one, key by key; in a store of its own only if it has a name."""

    def __init__(self, parent: TableProcessor, queryable_name: str | None) -> None:
        self.parent = parent
        self.queryable_name = queryable_name

    def enable_sending_old_values(self, *, force: bool) -> bool:
        """Old values come from the own store, or from the parent."""
        if self.queryable_name is not None or self.parent.enable_sending_old_values(force=force):
            self.sends_old_values = True
        return self.sends_old_values

    def store_names(self) -> tuple[str, ...]:
        """The own store, or those of the parent."""
        return (self.queryable_name,) if self.queryable_name is not None else self.parent.store_names()

    def getter(self, context: NodeContext) -> Getter:
        """Look up in the own store, or compute from what the parent has."""
        if self.queryable_name is not None:
            return super().getter(context)
        parent, derived = self.parent.getter(context), self.derived

        def get(key: Any) -> ValueAndTimestamp | None:
            held = parent(key)
            value = None if held is None else derived(key, held[0])
            return None if value is None or held is None else ValueAndTimestamp(value, held[1])

        return get

    def derived(self, key: Any, value: Any) -> Any:
        """The value of a key that has one in the parent."""
        raise AssertionError(f"{type(self).__name__} derives nothing")

    def open(self) -> None:
        """Get the store."""
        self._store = None if self.queryable_name is None else self.context.get_state_store(self.queryable_name)

    def old_value(self, key: Any, change: Change) -> Any:
        """The old value to send, or None."""
        if not self.sends_old_values:
            return None
        if self._store is not None:
            return value_of(self._store.get(key))
        return None if change.old is None else self.derived(key, change.old)

    def update(self, record: Record, new: Any, old: Any) -> None:
        """Store and forward a change."""
        if self._store is not None:
            self._store.put(record.key, None if new is None else ValueAndTimestamp(new, record.timestamp))
        self.emit(Record(record.key, Change(new, old), record.timestamp, record.headers))


class TableFilter(_DerivedTable):
    """A table of the entries for which a predicate holds, or does not hold; others are deletions."""

    def __init__(
        self,
        parent: TableProcessor,
        predicate: Callable[[Any, Any], bool],
        queryable_name: str | None,
        *,
        is_negated: bool = False,
    ) -> None:
        super().__init__(parent, queryable_name)
        self._predicate = predicate
        self._is_negated = is_negated
        # With old values there is no need to delete what was never let through.
        self.sends_old_values = parent.enable_sending_old_values(force=False)

    def derived(self, key: Any, value: Any) -> Any:
        """The value, if it passes."""
        return value if bool(self._predicate(key, value)) is not self._is_negated else None

    def process(self, record: Record) -> None:
        """Filter a change."""
        change = record.value
        new = None if change.new is None else self.derived(record.key, change.new)
        old = self.old_value(record.key, change)
        if self.sends_old_values and new is None and old is None:
            return
        self.update(record, new, old)


class TableMapValues(_DerivedTable):
    """A table of mapped values."""

    def __init__(self, parent: TableProcessor, mapper: Callable[[Any, Any], Any], queryable_name: str | None) -> None:
        super().__init__(parent, queryable_name)
        self._mapper = mapper

    def derived(self, key: Any, value: Any) -> Any:
        """The mapped value."""
        return self._mapper(key, value)

    def process(self, record: Record) -> None:
        """Map a change; deletions stay deletions."""
        change = record.value
        new = None if change.new is None else self._mapper(record.key, change.new)
        self.update(record, new, self.old_value(record.key, change))


class TableTransformValues(_DerivedTable):
    """A table of values that a transformer with stores makes; looked up, they are made again."""

    def __init__(self, parent: TableProcessor, make: Callable[[], Any], queryable_name: str | None) -> None:
        super().__init__(parent, queryable_name)
        self._make = make

    def open(self) -> None:
        """Make and open the transformer."""
        super().open()
        self._transformer = self._make()
        if hasattr(self._transformer, "init"):
            self._transformer.init(self.context)

    def derived(self, key: Any, value: Any) -> Any:
        """The transformed value."""
        return self._transformer.transform(key, value)

    def getter(self, context: NodeContext) -> Getter:
        """Look up in the own store, or transform what the parent has, by a transformer of its own."""
        if self.queryable_name is not None:
            return super().getter(context)
        own = self.get()
        own.context = context
        own._transformer = self._make()
        if hasattr(own._transformer, "init"):
            own._transformer.init(context)
        return _DerivedTable.getter(own, context)

    def process(self, record: Record) -> None:
        """Transform a change."""
        new = self.derived(record.key, record.value.new)
        self.update(record, new, self.old_value(record.key, record.value))
