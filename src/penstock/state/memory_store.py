"""State store on the heap of the process."""

from __future__ import annotations

from collections.abc import ItemsView, Iterator, Mapping
from itertools import islice

from sortedcontainers import SortedList

from penstock.state.store import OrderedStore

_CHUNK = 256


class MemoryStore(OrderedStore):
    """A dict with an order that is brought up to date only when somebody iterates."""

    def __init__(self, entries: Mapping[bytes, bytes] | None = None) -> None:
        """Start with a copy of `entries`."""
        self.restore(entries or {})

    def get(self, key: bytes) -> bytes | None:
        """Return the value of `key`, or None when it is absent."""
        return self._entries.get(key)

    def put(self, key: bytes, value: bytes) -> None:
        """Set the value of `key`."""
        if key not in self._entries:
            if key in self._gone:
                self._gone.discard(key)
            else:
                self._new.add(key)
        self._entries[key] = value

    def delete(self, key: bytes) -> bool:
        """Remove `key`, absent or not, and tell whether it was there."""
        if self._entries.pop(key, None) is None:
            return False
        if key in self._new:
            self._new.discard(key)
        else:
            self._gone.add(key)
        return True

    def range(self, start: bytes, stop: bytes | None) -> Iterator[tuple[bytes, bytes]]:
        """Iterate over entries with start <= key < stop, in order."""
        while True:
            self._sort()
            keys = list(islice(self._order.irange(start, stop, inclusive=(True, False)), _CHUNK))
            # Keys deleted since the chunk was read are skipped, as a seek would.
            for key in keys:
                value = self._entries.get(key)
                if value is not None:
                    yield key, value
            if len(keys) < _CHUNK:
                return
            start = keys[-1] + b"\x00"

    def items(self) -> ItemsView[bytes, bytes]:
        """Return all entries, in no order."""
        return self._entries.items()

    def snapshot(self) -> dict[bytes, bytes]:
        """Return a copy of all entries."""
        return dict(self._entries)

    def restore(self, entries: Mapping[bytes, bytes]) -> None:
        """Hold exactly `entries`, copied."""
        self.adopt(dict(entries))

    def adopt(self, entries: dict[bytes, bytes]) -> None:
        """Hold exactly `entries`, without copying: the caller gives the dict away."""
        self._entries = entries
        self._order: SortedList[bytes] = SortedList()
        self._new: set[bytes] = set(self._entries)
        self._gone: set[bytes] = set()

    def __len__(self) -> int:
        """Return the number of entries."""
        return len(self._entries)

    def _sort(self) -> None:
        if len(self._gone) > 1000:
            self._order = SortedList(self._entries)
        else:
            for key in self._gone:
                self._order.remove(key)
            self._order.update(self._new)
        self._gone.clear()
        self._new.clear()
