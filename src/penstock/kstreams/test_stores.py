"""Stores of tables as plain values: without the timestamps that tables keep with them."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

from penstock.vocabulary.kstreams.records import KeyValue, ValueAndTimestamp
from penstock.vocabulary.kstreams.stores import KeyValueStore, WindowStore


def _plain(held: Any) -> Any:
    return None if held is None else held[0]


class PlainValues(KeyValueStore):
    """A store of a table, as plain values. What is put gets the timestamp -1, as in Kafka Streams' tests."""

    def __init__(self, store: KeyValueStore) -> None:
        self._store = store

    def get(self, key: Any) -> Any:
        """The value of a key, or None."""
        return _plain(self._store.get(key))

    def put(self, key: Any, value: Any) -> None:
        """Set the value of a key."""
        self._store.put(key, None if value is None else ValueAndTimestamp(value, -1))

    def range(self, from_key: Any, to_key: Any) -> Iterator[KeyValue]:
        """Entries between two keys, both included."""
        return (KeyValue(key, held[0]) for key, held in self._store.range(from_key, to_key))

    def all(self) -> Iterator[KeyValue]:
        """All entries."""
        return (KeyValue(key, held[0]) for key, held in self._store.all())


class PlainWindows(WindowStore):
    """A store of windows, as plain values."""

    def __init__(self, store: WindowStore) -> None:
        self._store = store

    def put(self, key: Any, value: Any, window_start: int) -> None:
        """Set the value of a window."""
        self._store.put(key, None if value is None else ValueAndTimestamp(value, -1), window_start)

    def fetch(self, key: Any, time: int, time_to: int | None = None) -> Any:
        """The value of one window; with two times, pairs of start and value between them."""
        if time_to is None:
            return _plain(self._store.fetch(key, time))
        return ((start, held[0]) for start, held in self._store.fetch(key, time, time_to))

    def fetch_all(self, time_from: int, time_to: int) -> Iterator[KeyValue]:
        """Pairs of windowed key and value of all keys between two times."""
        return (KeyValue(key, held[0]) for key, held in self._store.fetch_all(time_from, time_to))

    def all(self) -> Iterator[KeyValue]:
        """Pairs of windowed key and value of all windows that are kept."""
        return (KeyValue(key, held[0]) for key, held in self._store.all())
