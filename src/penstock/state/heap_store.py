"""State store on the heap that its process keeps from batch to batch.

A store that was written to and not committed is dropped: its version is read again from the checkpoint directory.
"""

from __future__ import annotations

from collections import OrderedDict
from collections.abc import Iterator
from typing import Self

from penstock.state.local_store import LocalStore
from penstock.state.memory_store import MemoryStore

# Another process may have gone on with a subtask, so what is kept here may be of no more use: it must be bounded.
_MOST_KEPT_ENTRIES = 1_000_000

_kept: OrderedDict[str, HeapStore] = OrderedDict()


class HeapStore(MemoryStore, LocalStore):
    """A dict in order, and its tag. A path is only the name under which this process keeps it; "" keeps nothing."""

    def __init__(self, path: str = "") -> None:
        """Start empty; use `open`."""
        super().__init__()
        self.tag: bytes | None = None
        self._path = path
        self._is_open = True
        self._is_committed = True

    @classmethod
    def open(cls, path: str) -> Self:
        """Take the store that this process kept under a path, or an empty one."""
        found = _kept.pop(path, None)
        if found is None:
            return cls(path)
        assert isinstance(found, cls)
        found._is_open = True
        return found

    @classmethod
    def erase(cls, path: str) -> None:
        """Drop what is kept under a path."""
        _kept.pop(path, None)

    def put(self, key: bytes, value: bytes) -> None:
        """Set the value of `key`."""
        self._is_committed = False
        super().put(key, value)

    def delete(self, key: bytes) -> bool:
        """Remove `key`, absent or not, and tell whether it was there."""
        self._is_committed = False
        return super().delete(key)

    def clear(self) -> None:
        """Remove all entries."""
        self._is_committed = False
        self.adopt({})

    def commit(self, tag: bytes) -> None:
        """Make all writes and the tag the state that the next opening finds, and go on writing."""
        self.tag = tag
        self._is_committed = True

    def frozen(self) -> Iterator[tuple[bytes, bytes]]:
        """Return all entries as they are now, in order."""
        return _in_order(self.snapshot())

    def close(self) -> None:
        """Keep the store for the next opening if nothing was written since the last commit."""
        if not self._is_open:
            return
        self._is_open = False
        if self._path and self._is_committed and self.tag is not None:
            _keep(self._path, self)


def _in_order(entries: dict[bytes, bytes]) -> Iterator[tuple[bytes, bytes]]:
    yield from sorted(entries.items())  # when it is read first, which is in the other thread


def _keep(path: str, store: HeapStore) -> None:
    _kept[path] = store
    total = sum(map(len, _kept.values()))
    while total > _MOST_KEPT_ENTRIES:
        _, oldest = _kept.popitem(last=False)
        total -= len(oldest)
