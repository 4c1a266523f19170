"""State stores as processors see them, and the descriptions that they are made from."""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections.abc import Iterator
from dataclasses import dataclass, field, replace
from typing import Any

from penstock.errors import StreamsError
from penstock.vocabulary.kstreams.records import KeyValue, Windowed
from penstock.vocabulary.kstreams.serdes import Serde
from penstock.vocabulary.kstreams.windows import millis
from penstock.vocabulary.window.durations import Length


class ReadOnlyKeyValueStore(ABC):
    """A store of one value for each key."""

    @abstractmethod
    def get(self, key: Any) -> Any:
        """The value of a key, or None."""

    @abstractmethod
    def range(self, from_key: Any, to_key: Any) -> Iterator[KeyValue]:
        """Entries between two keys, both included, ordered by the bytes of the keys; None leaves a side open."""

    @abstractmethod
    def all(self) -> Iterator[KeyValue]:
        """All entries, ordered by the bytes of the keys."""

    def reverse_all(self) -> Iterator[KeyValue]:
        """All entries in the opposite order."""
        return iter(list(self.all())[::-1])

    def reverse_range(self, from_key: Any, to_key: Any) -> Iterator[KeyValue]:
        """Entries between two keys in the opposite order."""
        return iter(list(self.range(from_key, to_key))[::-1])

    def approximate_num_entries(self) -> int:
        """How many entries there are."""
        return sum(1 for _ in self.all())


class KeyValueStore(ReadOnlyKeyValueStore):
    """A key-value store that can be changed. None as a value removes the key."""

    @abstractmethod
    def put(self, key: Any, value: Any) -> None:
        """Set the value of a key."""

    def put_if_absent(self, key: Any, value: Any) -> Any:
        """Set the value of a key that has none, and return the value it had."""
        found = self.get(key)
        if found is None:
            self.put(key, value)
        return found

    def put_all(self, entries: list[tuple[Any, Any]]) -> None:
        """Set several values."""
        for key, value in entries:
            self.put(key, value)

    def delete(self, key: Any) -> Any:
        """Remove a key, and return the value it had."""
        found = self.get(key)
        self.put(key, None)
        return found


class ReadOnlyWindowStore(ABC):
    """A store of values by key and start of a window."""

    @abstractmethod
    def fetch(self, key: Any, time: int, time_to: int | None = None) -> Any:
        """The value of one window; with two times, pairs of start and value between them, both included."""

    @abstractmethod
    def fetch_all(self, time_from: int, time_to: int) -> Iterator[KeyValue]:
        """Pairs of windowed key and value of all keys between two times."""

    @abstractmethod
    def all(self) -> Iterator[KeyValue]:
        """Pairs of windowed key and value of all windows that are kept."""


class WindowStore(ReadOnlyWindowStore):
    """A window store that can be changed."""

    @abstractmethod
    def put(self, key: Any, value: Any, window_start: int) -> None:
        """Set the value of a window; None removes it."""


class ReadOnlySessionStore(ABC):
    """A store of values by key and session."""

    @abstractmethod
    def fetch(self, key: Any) -> Iterator[KeyValue]:
        """Pairs of windowed key and value of the sessions of a key."""

    @abstractmethod
    def fetch_session(self, key: Any, start: int, end: int) -> Any:
        """The value of one session, or None."""

    @abstractmethod
    def find_sessions(self, key: Any, earliest_end: int, latest_start: int) -> Iterator[KeyValue]:
        """Sessions of a key that end at or after one time and start at or before another."""


class SessionStore(ReadOnlySessionStore):
    """A session store that can be changed."""

    @abstractmethod
    def put(self, session_key: Windowed, aggregate: Any) -> None:
        """Set the value of a session; None removes it."""

    @abstractmethod
    def remove(self, session_key: Windowed) -> None:
        """Remove a session."""


@dataclass(frozen=True)
class StoreSupplier:
    """Which kind of store there is to be: made by the methods of `Stores`."""

    name: str
    kind: str
    is_timestamped: bool = False
    retention_ms: int = 0
    window_size_ms: int = 0
    has_duplicates: bool = False


@dataclass(frozen=True)
class StoreBuilder:
    """A store to be made, with its serdes. Logging and caching settings are taken and have no effect."""

    supplier: StoreSupplier
    key_serde: Serde | None = None
    value_serde: Serde | None = None
    settings: dict[str, Any] = field(default_factory=dict, compare=False)

    @property
    def name(self) -> str:
        """The store's name."""
        return self.supplier.name

    def with_caching_enabled(self) -> StoreBuilder:
        """Taken for compatibility: every update is forwarded, whatever is said here."""
        return self

    def with_caching_disabled(self) -> StoreBuilder:
        """What Penstock does anyway."""
        return self

    def with_logging_enabled(self, config: dict[str, str] | None = None) -> StoreBuilder:
        """Taken for compatibility: checkpoints keep the store, there is no changelog topic."""
        return self

    def with_logging_disabled(self) -> StoreBuilder:
        """Taken for compatibility: checkpoints keep the store all the same."""
        return self

    def build(self) -> StoreBuilder:
        """The description itself; a task makes the store."""
        return self

    def with_serdes(self, key_serde: Serde | None, value_serde: Serde | None) -> StoreBuilder:
        """Fill in serdes that were left open."""
        return replace(
            self,
            key_serde=self.key_serde if self.key_serde is not None else key_serde,
            value_serde=self.value_serde if self.value_serde is not None else value_serde,
        )


def _named(name: str) -> str:
    if not isinstance(name, str) or not name:
        raise StreamsError(f"A state store needs a name, got {name!r}.")
    return name


class Stores:
    """Makes descriptions of stores. All stores are kept in Penstock's state, whatever the name says."""

    @staticmethod
    def persistent_key_value_store(name: str) -> StoreSupplier:
        """A key-value store."""
        return StoreSupplier(_named(name), "key_value")

    in_memory_key_value_store = persistent_key_value_store
    lru_map = persistent_key_value_store

    @staticmethod
    def persistent_timestamped_key_value_store(name: str) -> StoreSupplier:
        """A key-value store of values with timestamps."""
        return StoreSupplier(_named(name), "key_value", is_timestamped=True)

    @staticmethod
    def persistent_window_store(
        name: str, retention_period: Length, window_size: Length, retain_duplicates: bool = False
    ) -> StoreSupplier:
        """A store of windows that are kept for a time."""
        retention = millis(retention_period, f"window store {name!r}", "retention period")
        size = millis(window_size, f"window store {name!r}", "window size")
        if size > retention:
            raise StreamsError(f"Window store {name!r}: the retention of {retention} ms is shorter than a window.")
        supplier = StoreSupplier(_named(name), "window", retention_ms=retention, window_size_ms=size)
        return replace(supplier, has_duplicates=retain_duplicates)

    in_memory_window_store = persistent_window_store

    @staticmethod
    def persistent_timestamped_window_store(
        name: str, retention_period: Length, window_size: Length, retain_duplicates: bool = False
    ) -> StoreSupplier:
        """A store of windows, of values with timestamps."""
        plain = Stores.persistent_window_store(name, retention_period, window_size, retain_duplicates)
        return replace(plain, is_timestamped=True)

    @staticmethod
    def persistent_session_store(name: str, retention_period: Length) -> StoreSupplier:
        """A store of sessions that are kept for a time."""
        retention = millis(retention_period, f"session store {name!r}", "retention period")
        return StoreSupplier(_named(name), "session", retention_ms=retention)

    in_memory_session_store = persistent_session_store

    @staticmethod
    def key_value_store_builder(
        supplier: StoreSupplier, key_serde: Serde | None = None, value_serde: Serde | None = None
    ) -> StoreBuilder:
        """Build a key-value store."""
        return StoreBuilder(supplier, key_serde, value_serde)

    @staticmethod
    def timestamped_key_value_store_builder(
        supplier: StoreSupplier, key_serde: Serde | None = None, value_serde: Serde | None = None
    ) -> StoreBuilder:
        """Build a key-value store of `ValueAndTimestamp`."""
        return StoreBuilder(replace(supplier, is_timestamped=True), key_serde, value_serde)

    @staticmethod
    def window_store_builder(
        supplier: StoreSupplier, key_serde: Serde | None = None, value_serde: Serde | None = None
    ) -> StoreBuilder:
        """Build a window store."""
        return StoreBuilder(supplier, key_serde, value_serde)

    @staticmethod
    def timestamped_window_store_builder(
        supplier: StoreSupplier, key_serde: Serde | None = None, value_serde: Serde | None = None
    ) -> StoreBuilder:
        """Build a window store of `ValueAndTimestamp`."""
        return StoreBuilder(replace(supplier, is_timestamped=True), key_serde, value_serde)

    @staticmethod
    def session_store_builder(
        supplier: StoreSupplier, key_serde: Serde | None = None, value_serde: Serde | None = None
    ) -> StoreBuilder:
        """Build a session store."""
        return StoreBuilder(supplier, key_serde, value_serde)
