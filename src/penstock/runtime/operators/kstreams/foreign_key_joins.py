"""The join of two tables by a foreign key.

Each row of the left table subscribes to its foreign key, in the task of that key; the answers come back to the task of
the row. An answer that was made for a value which is no longer that of the row is dropped.
"""

from __future__ import annotations

import enum
from collections.abc import Callable
from typing import Any, NamedTuple

from penstock.runtime.operators.kstreams.dsl_processor import DslProcessor, TableProcessor
from penstock.vocabulary.kstreams.records import Record, ValueAndTimestamp
from penstock.vocabulary.kstreams.serdes import Serde


class Instruction(enum.IntEnum):
    """What the other side is to do with a subscription."""

    DELETE_KEY_NO_PROPAGATE = 0
    DELETE_KEY_AND_PROPAGATE = 1
    PROPAGATE_NULL_IF_NO_FK_VAL_AVAILABLE = 2
    PROPAGATE_ONLY_IF_FK_VAL_AVAILABLE = 3


class Subscription(NamedTuple):
    """A row's interest in a foreign key; `mark` tells the row's value, `partition` where the row lives."""

    mark: Any
    instruction: int
    primary_key: Any
    partition: int


class Response(NamedTuple):
    """The foreign table's value for a subscription."""

    mark: Any
    foreign_value: Any
    partition: int


def mark_of(value: Any, serde: Serde | None) -> Any:
    """What tells one value from another: its bytes, or itself where there is no serde."""
    return value if serde is None else serde.serialize(value)


class SubscriptionSend(DslProcessor):
    """Turns changes of the left table into subscriptions."""

    def __init__(self, extractor: Callable[[Any, Any], Any], value_serde: Serde | None, *, is_left: bool) -> None:
        self._extractor = extractor
        self._serde = value_serde
        self._is_left = is_left

    def process(self, record: Record) -> None:
        """Subscribe to the new foreign key, and leave the old one."""
        change, key = record.value, record.key
        old = None if change.old is None else self._extractor(key, change.old)
        new = None if change.new is None else self._extractor(key, change.new)
        if self._is_left:
            self._for_left_join(record, old, new)
        else:
            self._for_inner_join(record, old, new)

    def _for_left_join(self, record: Record, old: Any, new: Any) -> None:
        """Every change needs an answer; that of a row without foreign key has the key None, and is not kept."""
        change = record.value
        if change.old is None and change.new is None:
            return
        if old is not None and old != new:
            self._send(record, old, Instruction.DELETE_KEY_NO_PROPAGATE)
        self._send(record, new, Instruction.PROPAGATE_NULL_IF_NO_FK_VAL_AVAILABLE)

    def _for_inner_join(self, record: Record, old: Any, new: Any) -> None:
        if new is None:
            if record.value.new is not None:
                self.context.drop()
            if old is not None:
                self._send(record, old, Instruction.DELETE_KEY_AND_PROPAGATE)
        elif old is None or old == new:
            self._send(record, new, Instruction.PROPAGATE_ONLY_IF_FK_VAL_AVAILABLE)
        else:
            # Only the new foreign key answers: with None, if it has no row, because the old one may have had one.
            self._send(record, old, Instruction.DELETE_KEY_NO_PROPAGATE)
            self._send(record, new, Instruction.PROPAGATE_NULL_IF_NO_FK_VAL_AVAILABLE)

    def _send(self, record: Record, foreign_key: Any, instruction: Instruction) -> None:
        value = record.value.new
        mark = None if value is None else mark_of(value, self._serde)
        metadata = self.context.record_metadata()
        partition = 0 if metadata is None else metadata.partition
        self.emit(record.with_key(foreign_key).with_value(Subscription(mark, int(instruction), record.key, partition)))


class SubscriptionReceive(DslProcessor):
    """Keeps subscriptions by foreign key, and passes them on to the lookup."""

    def __init__(self, store_name: str) -> None:
        self._store_name = store_name

    def open(self) -> None:
        """Get the store."""
        self._store = self.context.get_state_store(self._store_name)

    def process(self, record: Record) -> None:
        """Keep or remove a subscription."""
        subscription = Subscription(*record.value)
        instruction = Instruction(subscription.instruction)
        if record.key is None:
            if instruction is not Instruction.PROPAGATE_NULL_IF_NO_FK_VAL_AVAILABLE:
                self.context.drop()
                return
        elif instruction in (Instruction.DELETE_KEY_AND_PROPAGATE, Instruction.DELETE_KEY_NO_PROPAGATE):
            self._store.put(record.key, subscription.primary_key, None)
        else:
            self._store.put(record.key, subscription.primary_key, tuple(subscription))
        self.emit(record)


class SubscriptionLookup(DslProcessor):
    """Answers a subscription with the foreign table's value of the moment."""

    def __init__(self, foreign_table: TableProcessor) -> None:
        self._table = foreign_table

    def open(self) -> None:
        """Find the table."""
        self._get = self._table.getter(self.context)

    def process(self, record: Record) -> None:
        """Look the foreign key up."""
        subscription = Subscription(*record.value)
        held: ValueAndTimestamp | None = None if record.key is None else self._get(record.key)
        instruction = Instruction(subscription.instruction)
        if instruction is Instruction.DELETE_KEY_NO_PROPAGATE:
            return
        if held is None and instruction is Instruction.PROPAGATE_ONLY_IF_FK_VAL_AVAILABLE:
            return
        is_deleted = instruction is Instruction.DELETE_KEY_AND_PROPAGATE
        value = None if held is None or is_deleted else held[0]
        timestamp = record.timestamp if held is None else max(record.timestamp, held[1])
        response = Response(subscription.mark, value, subscription.partition)
        self.emit(Record(subscription.primary_key, response, timestamp, record.headers))


class ForeignTableUpdate(DslProcessor):
    """Tells all subscribers of a foreign key of its new value."""

    def __init__(self, store_name: str) -> None:
        self._store_name = store_name

    def open(self) -> None:
        """Get the subscriptions."""
        self._store = self.context.get_state_store(self._store_name)

    def process(self, record: Record) -> None:
        """Answer each subscription."""
        if record.key is None:
            self.context.drop()
            return
        for primary_key, held in self._store.of(record.key):
            subscription = Subscription(*held)
            response = Response(subscription.mark, record.value.new, subscription.partition)
            self.emit(Record(primary_key, response, record.timestamp, record.headers))


class ResponseJoin(DslProcessor):
    """Joins an answer with the row it is for, unless that row has changed since."""

    def __init__(
        self, table: TableProcessor, joiner: Callable[[Any, Any], Any], value_serde: Serde | None, *, is_left: bool
    ) -> None:
        self._table = table
        self._joiner = joiner
        self._serde = value_serde
        self._is_left = is_left

    def open(self) -> None:
        """Find the left table."""
        self._get = self._table.getter(self.context)

    def process(self, record: Record) -> None:
        """Join, if the answer is for the value the row has now."""
        response = Response(*record.value)
        held = self._get(record.key)
        value = None if held is None else held[0]
        if (None if held is None else mark_of(value, self._serde)) != response.mark:
            self.context.drop()
            return
        if response.foreign_value is None and (not self._is_left or held is None):
            self.emit(record.with_value(None))
        else:
            self.emit(record.with_value(self._joiner(value, response.foreign_value)))
