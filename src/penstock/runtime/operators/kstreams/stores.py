"""State stores on keyed state. The key is the task: a partition of a sub-topology has its own rows of each store."""

from __future__ import annotations

from collections.abc import Iterator
from functools import partial
from typing import Any

from penstock.common.own_copies import ATOMS
from penstock.keys.codec import encode_key
from penstock.runtime.operators.kstreams.change_buffer import ChangeBuffer
from penstock.runtime.operators.kstreams.rows_by_time import RowsByTime, span_width
from penstock.runtime.operators.kstreams.stored_values import (
    given_key,
    given_pair,
    owned,
    stored_key,
    stored_value,
)
from penstock.state.keyed import VOID_NAMESPACE, KeyedStateBackend
from penstock.vocabulary.kstreams.records import NO_TIMESTAMP, KeyValue, ValueAndTimestamp, Window, Windowed
from penstock.vocabulary.kstreams.serdes import Serde, key_bytes
from penstock.vocabulary.kstreams.stores import KeyValueStore, SessionStore, StoreBuilder, WindowStore
from penstock.vocabulary.kstreams.windows import FOREVER
from penstock.vocabulary.state import MapStateDescriptor

_SEGMENT_MIN_MS = 60_000


class KeyedKeyValueStore(KeyValueStore):
    """A key-value store; that of a table holds `ValueAndTimestamp`."""

    def __init__(self, backend: KeyedStateBackend, name: str, key_serde: Serde | None, *, is_timestamped: bool) -> None:
        self.name = name
        self._serde = key_serde
        self._map = backend.get_map_state(MapStateDescriptor(name))
        self._given = given_pair if is_timestamped else owned

    def get(self, key: Any) -> Any:
        """The value of a key, or None."""
        return self._given(self._map.held(key if key.__class__ in ATOMS else stored_key(key)))

    def put(self, key: Any, value: Any) -> None:
        """Set the value of a key; None removes it."""
        if value is None:
            self._map.remove(stored_key(key))
        else:
            self._map.hold(key if key.__class__ in ATOMS else stored_key(key), stored_value(value))

    def range(self, from_key: Any, to_key: Any) -> Iterator[KeyValue]:
        """Entries between two keys, both included."""
        low = None if from_key is None else key_bytes(from_key, self._serde)
        high = None if to_key is None else key_bytes(to_key, self._serde)
        for entry in self.all():
            code = key_bytes(entry.key, self._serde)
            if (low is None or code >= low) and (high is None or code <= high):
                yield entry

    def all(self) -> Iterator[KeyValue]:
        """All entries, in the order of their keys' bytes."""
        entries = [KeyValue(given_key(key), self._given(value)) for key, value in self._map.held_items()]
        entries.sort(key=lambda entry: key_bytes(entry.key, self._serde))
        return iter(entries)


class SubscriptionStore:
    """Who is interested in a foreign key: what was subscribed, by foreign key and primary key."""

    def __init__(self, backend: KeyedStateBackend, name: str, key_serde: Serde | None) -> None:
        self._backend = backend
        self._serde = key_serde
        self._map = backend.get_map_state(MapStateDescriptor(name))

    def put(self, foreign_key: Any, primary_key: Any, value: Any) -> None:
        """Set a subscription; None removes it."""
        self._backend.set_namespace(encode_key(foreign_key))
        if value is None:
            self._map.remove(primary_key)
        else:
            self._map.put(primary_key, value)
        self._backend.set_namespace(VOID_NAMESPACE)

    def of(self, foreign_key: Any) -> list[tuple[Any, Any]]:
        """Primary keys and subscriptions of a foreign key, ordered by the bytes of the primary keys."""
        self._backend.set_namespace(encode_key(foreign_key))
        found = list(self._map.items())
        self._backend.set_namespace(VOID_NAMESPACE)
        return sorted(found, key=lambda entry: key_bytes(entry[0], self._serde))


class UnjoinedRecords:
    """Records of an outer join of streams that found no partner yet: by time, side and key, each several times."""

    def __init__(self, backend: KeyedStateBackend, builder: StoreBuilder) -> None:
        def code_of(sided: tuple[int, Any]) -> bytes:
            return bytes([sided[0]]) + key_bytes(sided[1], builder.key_serde)

        width = span_width(builder.supplier.retention_ms)
        self._rows = RowsByTime(backend, builder.name, width, code_of)

    def add(self, time: int, side: int, key: Any, value: Any) -> None:
        """Add a record; sides are 1 for the left one and 0 for the right one, which is their order."""
        held = self._rows.get((side, key), time, 0) or []
        self._rows.put((side, key), time, 0, [*held, value])

    def remove(self, time: int, side: int, key: Any) -> None:
        """Forget the records of a time, side and key."""
        if self._rows.get((side, key), time, 0) is not None:
            self._rows.remove((side, key), time, 0)

    def entries(self) -> Iterator[tuple[int, int, Any, list[Any]]]:
        """Time, side, key and values of all records, in their order."""
        for (side, key), time, _, values in self._rows.all_rows(0, FOREVER // 2):
            yield time, side, key, values

    def drop_before(self, time: int) -> None:
        """Forget times before one, of which nothing is left."""
        self._rows.drop_before(time)


class Retention:
    """What a windowed store keeps: Kafka drops rows by segments, and hides rows that are older than the retention."""

    def __init__(self, retention_ms: int, memory: dict[str, Any]) -> None:
        self.retention_ms = retention_ms
        self._segment_ms = max(retention_ms // 2, _SEGMENT_MIN_MS)
        self._memory = memory

    @property
    def observed(self) -> int:
        """The highest time that was put."""
        return int(self._memory.get("observed", NO_TIMESTAMP))

    def takes(self, time: int) -> bool:
        """Note a time that is put, and tell whether its segment is still kept."""
        observed = max(self.observed, time)
        self._memory["observed"] = observed
        return time >= self.first_kept()

    def first_kept(self) -> int:
        """The earliest time that is still kept: the start of a segment."""
        return max(0, self.observed - self.retention_ms) // self._segment_ms * self._segment_ms

    def first_visible(self, time_from: int) -> int:
        """The earliest time a fetch may see."""
        return max(time_from, self.observed - self.retention_ms + 1)


class _TimedStore:
    """What window and session stores share: rows by time, and which of them are kept."""

    def __init__(self, backend: KeyedStateBackend, builder: StoreBuilder, memory: dict[str, Any]) -> None:
        supplier = builder.supplier
        self.name = supplier.name
        self._memory = memory
        width = span_width(min(supplier.retention_ms, FOREVER // 4))
        order = partial(key_bytes, serde=builder.key_serde)
        self._rows = RowsByTime(backend, supplier.name, width, order, is_timestamped=supplier.is_timestamped)
        self._kept = Retention(supplier.retention_ms, memory)
        self.forgets_on_put = True

    def forget_expired(self) -> None:
        """Forget segments that are no longer kept."""
        limit = self._kept.first_kept()
        if limit > self._memory.get("forgotten", 0):
            self._memory["forgotten"] = limit
            self._rows.drop_before(limit)


class KeyedWindowStore(_TimedStore, WindowStore):
    """A window store. With duplicates, each put adds a row: that is how the joins of streams keep records."""

    def __init__(self, backend: KeyedStateBackend, builder: StoreBuilder, memory: dict[str, Any]) -> None:
        super().__init__(backend, builder, memory)
        self._size = builder.supplier.window_size_ms
        self._has_duplicates = builder.supplier.has_duplicates

    def put(self, key: Any, value: Any, window_start: int) -> None:
        """Set the value of a window; None removes it, except where there are duplicates."""
        if (value is None and self._has_duplicates) or not self._kept.takes(window_start):
            return
        if value is None:
            self._rows.remove(key, window_start, 0)
        else:
            self._rows.put(key, window_start, self._next_number(), value)
        if self.forgets_on_put:
            self.forget_expired()

    def _next_number(self) -> int:
        if not self._has_duplicates:
            return 0
        number = self._memory["number"] = int(self._memory.get("number", 0)) + 1
        return number

    def fetch(self, key: Any, time: int, time_to: int | None = None) -> Any:
        """The value of one window; with two times, pairs of start and value between them, both included."""
        if time_to is None:
            return self._rows.get(key, time, 0) if time >= self._kept.first_visible(0) else None
        return iter(self._pairs(key, time, time_to))

    def _pairs(self, key: Any, time_from: int, time_to: int) -> list[tuple[int, Any]]:
        first = self._kept.first_visible(time_from)
        return [(time, value) for time, _, value in self._rows.rows(key, first, time_to)] if first <= time_to else []

    def backward_fetch(self, key: Any, time_from: int, time_to: int) -> Iterator[tuple[int, Any]]:
        """Pairs of start and value between two times, the latest first."""
        return iter(self._pairs(key, time_from, time_to)[::-1])

    def fetch_all(self, time_from: int, time_to: int) -> Iterator[KeyValue]:
        """Pairs of windowed key and value of all keys between two times."""
        for key, time, _, value in self._rows.all_rows(self._kept.first_visible(time_from), time_to):
            yield KeyValue(Windowed(key, Window(time, time + self._size)), value)

    def all(self) -> Iterator[KeyValue]:
        """Pairs of windowed key and value of all windows that are kept."""
        return self.fetch_all(0, FOREVER // 2)

    def closed(self, start_from: int, start_to: int) -> list[KeyValue]:
        """Windows that start between two times, also those that no fetch sees any more; forgets what is expired."""
        found = [
            KeyValue(Windowed(key, Window(time, time + self._size)), value)
            for key, time, _, value in self._rows.all_rows(start_from, start_to)
        ]
        self.forget_expired()
        return found


class KeyedSessionStore(_TimedStore, SessionStore):
    """A session store: rows by the end of the session."""

    def put(self, session_key: Windowed, aggregate: Any) -> None:
        """Set the value of a session; None removes it."""
        window = session_key.window
        if not self._kept.takes(window.end):
            return
        if aggregate is None:
            self._rows.remove(session_key.key, window.end, window.start)
        else:
            self._rows.put(session_key.key, window.end, window.start, aggregate)
        if self.forgets_on_put:
            self.forget_expired()

    def remove(self, session_key: Windowed) -> None:
        """Remove a session."""
        self.put(session_key, None)

    def fetch(self, key: Any) -> Iterator[KeyValue]:
        """Pairs of windowed key and value of the sessions of a key."""
        return self.find_sessions(key, 0, FOREVER // 2)

    def fetch_session(self, key: Any, start: int, end: int) -> Any:
        """The value of one session, or None."""
        return self._rows.get(key, end, start) if end >= self._kept.first_visible(0) else None

    def find_sessions(self, key: Any, earliest_end: int, latest_start: int) -> Iterator[KeyValue]:
        """Sessions of a key that end at or after one time and start at or before another, by end and start."""
        first = self._kept.first_visible(max(0, earliest_end))
        found = self._rows.rows(key, first, FOREVER // 2)
        return iter(
            [KeyValue(Windowed(key, Window(start, end)), value) for end, start, value in found if start <= latest_start]
        )

    def closed(self, end_from: int, end_to: int) -> list[KeyValue]:
        """Sessions that end between two times, also those that no fetch sees any more; forgets what is expired."""
        found = [
            KeyValue(Windowed(key, Window(start, end)), value)
            for key, end, start, value in self._rows.all_rows(end_from, end_to)
        ]
        self.forget_expired()
        return found


def make_store(backend: KeyedStateBackend, builder: StoreBuilder, memory: dict[str, Any]) -> Any:
    """The store of a description, for one task; `memory` is saved with the task's state."""
    kind = builder.supplier.kind
    if kind == "window":
        return KeyedWindowStore(backend, builder, memory)
    if kind == "session":
        return KeyedSessionStore(backend, builder, memory)
    if kind == "buffer":
        return ChangeBuffer(backend, builder, memory)
    if kind == "outer_join":
        return UnjoinedRecords(backend, builder)
    if kind == "subscriptions":
        return SubscriptionStore(backend, builder.name, builder.key_serde)
    is_timestamped = builder.supplier.is_timestamped
    return KeyedKeyValueStore(backend, builder.name, builder.key_serde, is_timestamped=is_timestamped)


def value_of(held: ValueAndTimestamp | None) -> Any:
    """The value of an entry that may be absent."""
    return None if held is None else held[0]
