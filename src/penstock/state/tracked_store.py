"""A store that remembers which entries were changed.

Changes are kept in memory up to a bound; past it they go, sorted, to a part file on the local disk.
"""

from __future__ import annotations

import heapq
import os
import shutil
import tempfile
from collections.abc import Iterable, Iterator
from dataclasses import dataclass
from operator import itemgetter

from pyarrow import fs

from penstock.state.files import Change, read_entries, write_entries
from penstock.state.store import OrderedStore

_MAX_ENTRIES = 500_000
_MAX_BYTES = 64 * 2**20
# What a dict entry and the headers of two bytes objects take, so that many small entries count for what they are.
_ENTRY_OVERHEAD = 150
_PIECE = 4096


@dataclass(frozen=True)
class TakenChanges:
    """Changes that were taken out of a store; their part files are deleted by `forget`."""

    in_memory: dict[bytes, bytes | None]
    parts: tuple[str, ...] = ()
    folder: str | None = None

    def in_order(self) -> Iterator[Change]:
        """Iterate over the changed keys in order, each once with its last value, None when deleted."""
        memory = sorted(self.in_memory.items())
        if not self.parts:
            return iter(memory)
        filesystem = fs.LocalFileSystem()
        sources: list[Iterable[Change]] = [read_entries(filesystem, part) for part in self.parts]
        return _last_of_each([*sources, memory])

    def forget(self) -> None:
        """Delete the part files."""
        if self.folder is not None:
            shutil.rmtree(self.folder, ignore_errors=True)


class TrackedStore(OrderedStore):
    """Passes everything on to an inner store and remembers the last value of each changed key."""

    def __init__(
        self,
        inner: OrderedStore,
        spill_parent: str | None = None,
        *,
        keeps_changes: bool = True,
        max_entries: int | None = None,
        max_bytes: int | None = None,
    ) -> None:
        """Wrap `inner`; part files go to a new directory in `spill_parent`, or where temporary files go.

        Without `keeps_changes` only whether there were any is remembered: for whoever writes all entries anyway.
        """
        self._inner = inner
        self._spill_parent = spill_parent
        self._max_entries = _MAX_ENTRIES if max_entries is None else max_entries
        self._max_bytes = _MAX_BYTES if max_bytes is None else max_bytes
        self._keeps_changes = keeps_changes
        self._has_changed = False
        self._changes: dict[bytes, bytes | None] = {}
        self._bytes = 0
        self._folder: str | None = None
        self._parts: list[str] = []
        self.get = inner.get  # type: ignore[method-assign]  # reads are not tracked: spare them a call

    @property
    def has_changes(self) -> bool:
        """Tell whether anything was written."""
        return self._has_changed

    def get(self, key: bytes) -> bytes | None:
        """Return the value of `key`, or None when it is absent."""
        return self._inner.get(key)

    def put(self, key: bytes, value: bytes) -> None:
        """Set the value of `key`."""
        self._inner.put(key, value)
        self._has_changed = True
        if self._keeps_changes:
            self._changes[key] = value
            self._bytes += len(key) + len(value) + _ENTRY_OVERHEAD
            if self._bytes > self._max_bytes or len(self._changes) > self._max_entries:
                self._spill()

    def put_many(self, entries: list[tuple[bytes, bytes]]) -> None:
        """Set the values of many keys."""
        # In pieces, so that what is remembered stays bounded.
        for first in range(0, len(entries), _PIECE):
            piece = entries[first : first + _PIECE]
            self._inner.put_many(piece)
            self._has_changed = True
            if not self._keeps_changes:
                continue
            self._changes.update(piece)
            self._bytes += sum([len(key) + len(value) for key, value in piece]) + len(piece) * _ENTRY_OVERHEAD
            if self._bytes > self._max_bytes or len(self._changes) > self._max_entries:
                self._spill()

    def delete(self, key: bytes) -> bool:
        """Remove `key`, absent or not, and tell whether it was there."""
        if not self._inner.delete(key):
            return False
        self._has_changed = True
        if self._keeps_changes:
            self._changes[key] = None
            self._bytes += len(key) + _ENTRY_OVERHEAD
            if self._bytes > self._max_bytes or len(self._changes) > self._max_entries:
                self._spill()
        return True

    def range(self, start: bytes, stop: bytes | None) -> Iterator[tuple[bytes, bytes]]:
        """Iterate over entries with start <= key < stop, in order."""
        return self._inner.range(start, stop)

    def changes(self) -> Iterator[Change]:
        """Iterate over the changed keys in order, each once with its last value, None when deleted."""
        assert self._keeps_changes, "only whether there are changes was asked for"
        return TakenChanges(self._changes, tuple(self._parts)).in_order()

    def take_changes(self) -> TakenChanges:
        """Take out the changes so far, and keep those from now on."""
        taken = TakenChanges(self._changes, tuple(self._parts), self._folder)
        self._changes, self._parts, self._folder = {}, [], None
        self._bytes = 0
        self._has_changed = False
        self._keeps_changes = True
        return taken

    def forget(self) -> None:
        """Forget the changes and delete their part files."""
        self.take_changes().forget()

    def _spill(self) -> None:
        if self._folder is None:
            self._folder = tempfile.mkdtemp(prefix="penstock-changes-", dir=self._spill_parent)
        path = os.path.join(self._folder, f"part-{len(self._parts)}")
        write_entries(fs.LocalFileSystem(), path, sorted(self._changes.items()))
        self._parts.append(path)
        self._changes.clear()
        self._bytes = 0


def _last_of_each(sources: list[Iterable[Change]]) -> Iterator[Change]:
    # merge() is stable: of equal keys, the one from the later source comes later.
    last: Change | None = None
    for entry in heapq.merge(*sources, key=itemgetter(0)):
        if last is not None and last[0] != entry[0]:
            yield last
        last = entry
    if last is not None:
        yield last
