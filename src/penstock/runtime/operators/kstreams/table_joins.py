"""Joins of two tables by their common key. A change of either side makes a change of the result."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

from penstock.runtime.operators.kstreams.dsl_processor import Getter, TableProcessor
from penstock.runtime.operators.kstreams.task import NodeContext
from penstock.vocabulary.kstreams.records import NO_TIMESTAMP, Change, Record, ValueAndTimestamp

Joiner = Callable[[Any, Any], Any]


class TableTableJoin(TableProcessor):
    """One side of a join: `this` is the table whose changes come in, `other` the one that is looked up.

    A value of the result needs a value of each side that is `required`: of both in an inner join, of the left one in a
    left join, of either in an outer join. `joiner` takes the value of this side first.
    """

    def __init__(
        self, this: TableProcessor, other: TableProcessor, joiner: Joiner, *, needs_this: bool, needs_other: bool
    ) -> None:
        self._this = this
        self._other = other
        self._joiner = joiner
        self._needs_this = needs_this
        self._needs_other = needs_other

    def enable_sending_old_values(self, *, force: bool) -> bool:
        """Both tables must tell."""
        self._this.enable_sending_old_values(force=True)
        self._other.enable_sending_old_values(force=True)
        self.sends_old_values = True
        return True

    def store_names(self) -> tuple[str, ...]:
        """The stores of both tables."""
        return self._this.store_names() + self._other.store_names()

    def open(self) -> None:
        """Find the other table."""
        self._get = self._other.getter(self.context)

    def process(self, record: Record) -> None:
        """Join a change with the other side's value of the moment."""
        if record.key is None:
            self.context.drop()
            return
        change = record.value
        held = self._get(record.key)
        other = None if held is None else held[0]
        if other is None and (self._needs_other or (change.new is None and change.old is None)):
            return
        timestamp = record.timestamp if held is None else max(record.timestamp, held[1])
        new = self._joined(change.new, other)
        old = self._joined(change.old, other) if self.sends_old_values else None
        self.emit(Record(record.key, Change(new, old), timestamp, record.headers))

    def _joined(self, this: Any, other: Any) -> Any:
        if this is None and (self._needs_this or other is None):
            return None
        return self._joiner(this, other)

    def getter(self, context: NodeContext) -> Getter:
        """Join what both tables have."""
        this_get, other_get = self._this.getter(context), self._other.getter(context)

        def get(key: Any) -> ValueAndTimestamp | None:
            this, other = this_get(key), other_get(key)
            value = self._joined(None if this is None else this[0], None if other is None else other[0])
            if value is None or (other is None and self._needs_other):
                return None
            return ValueAndTimestamp(value, max(each[1] if each else NO_TIMESTAMP for each in (this, other)))

        return get


class TableJoinMerge(TableProcessor):
    """Where the two sides of a join come together; in a store if it has a name."""

    def __init__(self, this: TableTableJoin, other: TableTableJoin, queryable_name: str | None) -> None:
        self._this = this
        self._other = other
        self.queryable_name = queryable_name

    def enable_sending_old_values(self, *, force: bool) -> bool:
        """Both sides send old values."""
        self._this.enable_sending_old_values(force=True)
        self._other.enable_sending_old_values(force=True)
        self.sends_old_values = True
        return True

    def store_names(self) -> tuple[str, ...]:
        """The own store, or those of the tables."""
        return super().store_names() if self.queryable_name is not None else self._this.store_names()

    def getter(self, context: NodeContext) -> Getter:
        """Look up in the own store, or join."""
        return super().getter(context) if self.queryable_name is not None else self._this.getter(context)

    def open(self) -> None:
        """Get the store."""
        self._store = None if self.queryable_name is None else self.context.get_state_store(self.queryable_name)

    def process(self, record: Record) -> None:
        """Store and forward a change."""
        change = record.value
        if self._store is not None:
            held = None if change.new is None else ValueAndTimestamp(change.new, record.timestamp)
            self._store.put(record.key, held)
        self.emit(record if self.sends_old_values else record.with_value(Change(change.new, None)))
