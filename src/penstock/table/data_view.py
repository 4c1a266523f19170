"""`ListView` and `MapView`: lists and maps in accumulators of user aggregate functions."""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections.abc import Callable, Iterable, Iterator
from typing import Any, Generic, TypeVar

__all__ = ["DataView", "ListView", "MapView"]

T = TypeVar("T")
K = TypeVar("K")
V = TypeVar("V")


class DataView(ABC):
    """A collection in an accumulator."""

    @abstractmethod
    def clear(self) -> None:
        """Remove all there is."""


class ListView(DataView, Generic[T]):
    """A list."""

    def __init__(self) -> None:
        """An empty list."""
        self._list: list[T] = []

    def get(self) -> Iterable[T]:
        """The elements."""
        return self._list

    def add(self, value: T) -> None:
        """Add an element."""
        self._list.append(value)

    def add_all(self, values: list[T]) -> None:
        """Add several elements."""
        self._list.extend(values)

    def clear(self) -> None:
        """Remove all elements."""
        self._list = []

    def __eq__(self, other: Any) -> bool:
        return isinstance(other, ListView) and list(self.get()) == list(other.get())

    __hash__ = None  # type: ignore[assignment]

    def __iter__(self) -> Iterator[T]:
        return iter(self.get())


class MapView(DataView, Generic[K, V]):
    """A map; what iterates over it can remove the entry it gave last."""

    def __init__(self) -> None:
        """An empty map."""
        self._dict: dict[K, V] = {}

    def get(self, key: K) -> V | None:
        """The value of a key, or None."""
        return self._dict.get(key)

    def put(self, key: K, value: V) -> None:
        """Set the value of a key."""
        self._dict[key] = value

    def put_all(self, dict_value: dict[K, V]) -> None:
        """Set the values of several keys."""
        self._dict.update(dict_value)

    def remove(self, key: K) -> None:
        """Remove a key; one that is not there is fine."""
        self._dict.pop(key, None)

    def contains(self, key: K) -> bool:
        """Whether there is a key."""
        return key in self._dict

    def items(self) -> Iterable[tuple[K, V]]:
        """The keys with their values."""
        return _Removing(self._dict, lambda pair: pair)

    def keys(self) -> Iterable[K]:
        """The keys."""
        return _Removing(self._dict, lambda pair: pair[0])

    def values(self) -> Iterable[V]:
        """The values."""
        return _Removing(self._dict, lambda pair: pair[1])

    def is_empty(self) -> bool:
        """Whether there is no key."""
        return not self._dict

    def clear(self) -> None:
        """Remove all keys."""
        self._dict.clear()

    def __eq__(self, other: Any) -> bool:
        return isinstance(other, MapView) and self._dict == other._dict

    __hash__ = None  # type: ignore[assignment]

    def __getitem__(self, key: K) -> V | None:
        return self.get(key)

    def __setitem__(self, key: K, value: V) -> None:
        self.put(key, value)

    def __delitem__(self, key: K) -> None:
        self.remove(key)

    def __contains__(self, key: K) -> bool:
        return self.contains(key)

    def __iter__(self) -> Iterator[K]:
        return iter(self.keys())


class _Removing(Iterator[Any]):
    """Iterates over what a map held when it began, so that entries may be removed meanwhile."""

    def __init__(self, entries: dict[Any, Any], shown: Callable[[tuple[Any, Any]], Any]) -> None:
        self._entries = entries
        self._shown = shown
        self._remaining = iter(list(entries.items()))
        self._last: Any = None

    def __next__(self) -> Any:
        pair = next(self._remaining)
        self._last = pair[0]
        return self._shown(pair)

    def remove(self) -> None:
        """Remove the entry that was given last."""
        self._entries.pop(self._last, None)
