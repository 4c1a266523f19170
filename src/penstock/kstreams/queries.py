"""Interactive queries: the stores of an application, read from the replica of its checkpoint directory.

Answers are of the newest sealed version, which is one of all tasks; they can be had while the application is down, too.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator
from dataclasses import dataclass, replace
from typing import Any, TypeVar

from penstock.errors import StreamsError
from penstock.keys.codec import encode_key
from penstock.keys.groups import key_group, subtask_of
from penstock.kstreams.test_stores import PlainValues, PlainWindows
from penstock.queryable import Replica
from penstock.queryable.content import OperatorInfo
from penstock.queryable.store import StoreView, part_prefix
from penstock.runtime.operators.kstreams.operator import MEMORIES
from penstock.runtime.operators.kstreams.stores import make_store
from penstock.state.keyed import KeyedStateBackend
from penstock.state.store import OrderedStore, prefix_end
from penstock.vocabulary.kstreams.records import KeyValue
from penstock.vocabulary.kstreams.serdes import key_bytes
from penstock.vocabulary.kstreams.stores import (
    ReadOnlyKeyValueStore,
    ReadOnlySessionStore,
    ReadOnlyWindowStore,
    StoreBuilder,
)
from penstock.vocabulary.state import MapStateDescriptor

T = TypeVar("T")


@dataclass(frozen=True)
class QueryableStoreType:
    """Which kind of store is asked for, and whether values come with their timestamps."""

    kind: str
    is_timestamped: bool = False


class QueryableStoreTypes:
    """The kinds of stores that can be asked for."""

    @staticmethod
    def key_value_store() -> QueryableStoreType:
        """A key-value store, of plain values."""
        return QueryableStoreType("key_value")

    @staticmethod
    def timestamped_key_value_store() -> QueryableStoreType:
        """A key-value store, of `ValueAndTimestamp`."""
        return QueryableStoreType("key_value", True)

    @staticmethod
    def window_store() -> QueryableStoreType:
        """A window store, of plain values."""
        return QueryableStoreType("window")

    @staticmethod
    def timestamped_window_store() -> QueryableStoreType:
        """A window store, of `ValueAndTimestamp`."""
        return QueryableStoreType("window", True)

    @staticmethod
    def session_store() -> QueryableStoreType:
        """A session store."""
        return QueryableStoreType("session")


@dataclass(frozen=True)
class StoreQueryParameters:
    """Which store is asked for, of one partition or of all."""

    name: str
    type: QueryableStoreType
    partition: int | None = None

    @staticmethod
    def from_name_and_type(store_name: str, store_type: QueryableStoreType) -> StoreQueryParameters:
        """Ask for a store by name."""
        return StoreQueryParameters(store_name, store_type)

    def with_partition(self, partition: int) -> StoreQueryParameters:
        """The same for one partition."""
        return replace(self, partition=partition)

    def enable_stale_stores(self) -> StoreQueryParameters:
        """Taken for compatibility: answers are of the newest sealed version, wherever tasks run."""
        return self


@dataclass(frozen=True)
class StorePlace:
    """Where a store is: the operator that has it, and the keys of its tasks by partition."""

    operator: str
    tasks: list[int]
    builder: StoreBuilder


class _PartOfReplica(OrderedStore):
    """The rows of one subtask in a replica; they can only be read."""

    def __init__(self, view: StoreView, prefix: bytes) -> None:
        self._view = view
        self._prefix = prefix

    def get(self, key: bytes) -> bytes | None:
        return self._view.get(self._prefix + key)

    def put(self, key: bytes, value: bytes) -> None:
        """Reading a state that this subtask has no rows of notes its id, which nobody needs here."""

    def delete(self, key: bytes) -> bool:
        raise AssertionError("a replica is not written")

    def range(self, start: bytes, stop: bytes | None) -> Iterator[tuple[bytes, bytes]]:
        end = prefix_end(self._prefix) if stop is None else self._prefix + stop
        for key, value in self._view.range(self._prefix + start, end):
            yield key[len(self._prefix) :], value


class StoreReader:
    """Reads a store of an application in a replica: the same stores as in tasks, on rows of the replica."""

    def __init__(self, replica: Replica, place: StorePlace, parameters: StoreQueryParameters) -> None:
        tasks = place.tasks
        if parameters.partition is not None and not 0 <= parameters.partition < len(tasks):
            raise StreamsError(f"Store {place.builder.name!r} has partitions 0 to {len(tasks) - 1}.")
        self._replica = replica
        self._place = place
        self._tasks = tasks if parameters.partition is None else [tasks[parameters.partition]]
        self._is_plain = place.builder.supplier.is_timestamped and not parameters.type.is_timestamped

    def each(self, ask: Callable[[Any], T]) -> list[T]:
        """What the store of each task answers, all of one version."""
        self._replica.refresh()
        with self._replica.reading() as (view, content):
            operator = content.find_operator(self._place.operator)
            return [ask(self._store(view, operator, task)) for task in self._tasks]

    def sorted_entries(self, entries: list[list[KeyValue]]) -> Iterator[KeyValue]:
        """Entries of all tasks, ordered by the bytes of their keys."""
        serde = self._place.builder.key_serde
        together = [entry for each in entries for entry in each]
        return iter(sorted(together, key=lambda entry: key_bytes(entry.key, serde)))

    def _store(self, view: StoreView, operator: OperatorInfo, task: int) -> Any:
        group = key_group(encode_key(task), operator.max_parallelism)
        subtask = subtask_of(group, operator.parallelism, operator.max_parallelism)
        backend = KeyedStateBackend(operator.max_parallelism, operator_index=int.from_bytes(operator.number, "big"))
        memories = backend.get_map_state(MapStateDescriptor(MEMORIES))
        builder = self._place.builder
        memory: dict[str, Any] = {}
        store = make_store(backend, builder, memory)
        backend.bind(_PartOfReplica(view, part_prefix(operator.vertex, subtask)), 0)
        backend.set_key(task)
        memory.update(memories.get(f"store {builder.name}") or {})
        if not self._is_plain:
            return store
        return PlainValues(store) if builder.supplier.kind == "key_value" else PlainWindows(store)


class QueriedKeyValueStore(ReadOnlyKeyValueStore):
    """A key-value store of an application."""

    def __init__(self, reader: StoreReader) -> None:
        self._reader = reader

    def get(self, key: Any) -> Any:
        """The value of a key, or None."""
        return next((found for found in self._reader.each(lambda store: store.get(key)) if found is not None), None)

    def range(self, from_key: Any, to_key: Any) -> Iterator[KeyValue]:
        """Entries between two keys, both included."""
        return self._reader.sorted_entries(self._reader.each(lambda store: list(store.range(from_key, to_key))))

    def all(self) -> Iterator[KeyValue]:
        """All entries."""
        return self._reader.sorted_entries(self._reader.each(lambda store: list(store.all())))


class QueriedWindowStore(ReadOnlyWindowStore):
    """A window store of an application."""

    def __init__(self, reader: StoreReader) -> None:
        self._reader = reader

    def fetch(self, key: Any, time: int, time_to: int | None = None) -> Any:
        """The value of one window; with two times, pairs of start and value between them, both included."""
        if time_to is None:
            found = self._reader.each(lambda store: store.fetch(key, time))
            return next((each for each in found if each is not None), None)
        pairs = self._reader.each(lambda store: list(store.fetch(key, time, time_to)))
        return iter(sorted((pair for each in pairs for pair in each), key=lambda pair: pair[0]))

    def fetch_all(self, time_from: int, time_to: int) -> Iterator[KeyValue]:
        """Pairs of windowed key and value of all keys between two times."""
        found = self._reader.each(lambda store: list(store.fetch_all(time_from, time_to)))
        return iter([entry for each in found for entry in each])

    def all(self) -> Iterator[KeyValue]:
        """Pairs of windowed key and value of all windows that are kept."""
        found = self._reader.each(lambda store: list(store.all()))
        return iter([entry for each in found for entry in each])


class QueriedSessionStore(ReadOnlySessionStore):
    """A session store of an application."""

    def __init__(self, reader: StoreReader) -> None:
        self._reader = reader

    def fetch(self, key: Any) -> Iterator[KeyValue]:
        """Pairs of windowed key and value of the sessions of a key."""
        found = self._reader.each(lambda store: list(store.fetch(key)))
        return iter([entry for each in found for entry in each])

    def fetch_session(self, key: Any, start: int, end: int) -> Any:
        """The value of one session, or None."""
        found = self._reader.each(lambda store: store.fetch_session(key, start, end))
        return next((each for each in found if each is not None), None)

    def find_sessions(self, key: Any, earliest_end: int, latest_start: int) -> Iterator[KeyValue]:
        """Sessions of a key that end at or after one time and start at or before another."""
        found = self._reader.each(lambda store: list(store.find_sessions(key, earliest_end, latest_start)))
        return iter([entry for each in found for entry in each])


_KINDS: dict[str, Callable[[StoreReader], Any]] = {
    "key_value": QueriedKeyValueStore,
    "window": QueriedWindowStore,
    "session": QueriedSessionStore,
}


def queried_store(replica: Replica, places: dict[str, StorePlace], parameters: StoreQueryParameters) -> Any:
    """The store that is asked for, as something that can be read."""
    place = places.get(parameters.name)
    if place is None:
        known = ", ".join(sorted(places)) or "none"
        raise StreamsError(f"The application has no state store {parameters.name!r}; its stores: {known}.")
    kind = place.builder.supplier.kind
    if kind != parameters.type.kind:
        raise StreamsError(f"Store {parameters.name!r} is a {kind} store, not a {parameters.type.kind} store.")
    return _KINDS[kind](StoreReader(replica, place, parameters))
