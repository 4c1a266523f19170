"""The one interface every state store has: ordered bytes to bytes."""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections.abc import Iterator


class OrderedStore(ABC):
    """An ordered map of bytes to bytes. Keys have at least one byte and sort as bytes do.

    Reads see the store's own writes. Iterators tolerate writes made while they run: they read ahead a bounded
    chunk, then seek anew just after the last key they gave. So a change behind the position is never seen, a
    change inside the chunk already read may be missed, and a change further ahead is seen.
    """

    @abstractmethod
    def get(self, key: bytes) -> bytes | None:
        """Return the value of `key`, or None when it is absent."""

    @abstractmethod
    def put(self, key: bytes, value: bytes) -> None:
        """Set the value of `key`."""

    def put_many(self, entries: list[tuple[bytes, bytes]]) -> None:
        """Set the values of many keys; faster in the order of the keys."""
        for key, value in entries:
            self.put(key, value)

    @abstractmethod
    def delete(self, key: bytes) -> bool:
        """Remove `key`, absent or not, and tell whether it was there."""

    @abstractmethod
    def range(self, start: bytes, stop: bytes | None) -> Iterator[tuple[bytes, bytes]]:
        """Iterate over entries with start <= key < stop, in order; a stop of None means to the end."""

    def scan(self, prefix: bytes) -> Iterator[tuple[bytes, bytes]]:
        """Iterate over the entries whose key starts with `prefix`, in order; an empty prefix gives all."""
        return self.range(prefix, prefix_end(prefix))


def prefix_end(prefix: bytes) -> bytes | None:
    """Return the first key after all that start with `prefix`, or None when there is none."""
    stem = prefix.rstrip(b"\xff")
    return stem[:-1] + bytes([stem[-1] + 1]) if stem else None
