"""The store of a replica: the rows of one sealed version of a job in an LMDB directory, replaced as a whole.

A version is written in one transaction, so that whoever reads sees all of a version or all of the one before. Rows of
all subtasks share the directory: their keys begin with four bytes, the number of the vertex and of the subtask.
"""

from __future__ import annotations

import fcntl
import json
import os
import time
from collections.abc import Iterable, Iterator
from contextlib import contextmanager, suppress
from typing import Any

import lmdb

from penstock.errors import StateError
from penstock.state.files import Change
from penstock.state.lmdb_rows import Entry, read_range, read_row, write_row
from penstock.state.lmdb_store import DEFAULT_MAP_SIZE, forget_earlier_boot
from penstock.state.store import prefix_end

PART_BYTES = 4
_CONTENT, _HELD = b"content", b"held "
_MOST_READERS = 1024
_PIECE = 500


def part_prefix(vertex: int, subtask: int) -> bytes:
    """What the keys of a subtask's rows begin with."""
    return vertex.to_bytes(2, "big") + subtask.to_bytes(2, "big")


class StoreView:
    """The rows of one version; what is written meanwhile is not seen."""

    def __init__(self, transaction: Any, data: Any, meta: Any) -> None:
        """Use `ReplicaStore.view`."""
        self._transaction = transaction
        self._data = data
        self._meta = meta

    def content(self) -> bytes | None:
        """What was said of the version when it was written; None if there is none yet."""
        found: bytes | None = self._transaction.get(_CONTENT, db=self._meta)
        return found

    def get(self, key: bytes) -> bytes | None:
        """Return the value of a row, or None."""
        return read_row(self._transaction, key)

    def range(self, start: bytes, stop: bytes | None) -> Iterator[Entry]:
        """Iterate over rows with start <= key < stop, in order."""
        cursor = self._transaction.cursor(self._data)
        return read_range(lambda: cursor, start, stop)

    def scan(self, prefix: bytes) -> Iterator[Entry]:
        """Iterate over the rows whose key begins with a prefix, in order."""
        return self.range(prefix, prefix_end(prefix))


class VersionWriter(StoreView):
    """Replaces the version that the store holds; nothing is seen of it before all is written."""

    def held(self) -> dict[bytes, str]:
        """Which state of each subtask is held, by the prefix of its rows."""
        found = {}
        cursor = self._transaction.cursor(self._meta)
        if cursor.set_range(_HELD):
            for key, value in cursor:
                if not key.startswith(_HELD):
                    break
                found[key[len(_HELD) :]] = value.decode()
        return found

    def hold(self, prefix: bytes, state_id: str | None) -> None:
        """Note which state of a subtask is held now; None for none."""
        if state_id is None:
            self._transaction.delete(_HELD + prefix, db=self._meta)
        else:
            self._transaction.put(_HELD + prefix, state_id.encode(), db=self._meta)

    def change(self, prefix: bytes, changes: Iterable[Change]) -> None:
        """Apply changes to the rows of a subtask."""
        for count, (key, value) in enumerate(changes):
            write_row(self._transaction, prefix + key, value)
            _let_others_run(count)

    def replace(self, prefix: bytes, entries: Iterable[Change]) -> None:
        """Make entries all that there is of a subtask; in order, only what differs is written."""
        held = self.scan(prefix)
        there = next(held, None)
        last = b""
        for count, (bare, value) in enumerate(entries):
            key = prefix + bare
            if key < last:
                # Not written by a store in order: what is there cannot be compared as it goes.
                raise UnorderedEntriesError
            last = key
            while there is not None and there[0] < key:
                write_row(self._transaction, there[0], None)
                there = next(held, None)
            if there is not None and there[0] == key:
                if there[1] != value:
                    write_row(self._transaction, key, value)
                there = next(held, None)
            else:
                write_row(self._transaction, key, value)
            _let_others_run(count)
        while there is not None:
            write_row(self._transaction, there[0], None)
            there = next(held, None)

    def clear(self, prefix: bytes) -> None:
        """Remove all rows of a subtask."""
        for count, (key, _) in enumerate(self.scan(prefix)):
            write_row(self._transaction, key, None)
            _let_others_run(count)

    def finish(self, content: dict[str, Any]) -> None:
        """Say what the version is."""
        self._transaction.put(_CONTENT, json.dumps(content).encode(), db=self._meta)


class UnorderedEntriesError(Exception):
    """Entries of a snapshot do not come in the order of their keys."""


class ReplicaStore:
    """A directory on a local disk that one replica writes, and any number of threads read."""

    def __init__(self, path: str, map_size: int = DEFAULT_MAP_SIZE) -> None:
        """Open or make the store; another process that has it open makes this a `StateError`."""
        os.makedirs(path, exist_ok=True)
        self._lock = _locked(path)
        try:
            forget_earlier_boot(path)
            self._environment = _opened(path, map_size)
        except BaseException:
            os.close(self._lock)
            raise
        self.path = path
        self._meta = self._environment.open_db(b"meta")
        self._data = self._environment.open_db(b"data")

    @contextmanager
    def view(self) -> Iterator[StoreView]:
        """The version that is held now, unchanged for as long as the block lasts."""
        with self._environment.begin(db=self._data, buffers=False) as transaction:
            yield StoreView(transaction, self._data, self._meta)

    @contextmanager
    def writing(self) -> Iterator[VersionWriter]:
        """Replace the version; an error leaves the store as it was."""
        try:
            with self._environment.begin(db=self._data, write=True) as transaction:
                yield VersionWriter(transaction, self._data, self._meta)
        except lmdb.MapFullError:
            limit = self._environment.info()["map_size"]
            raise StateError(f"the replica in {self.path} outgrew its limit of {limit} bytes") from None

    def close(self) -> None:
        """Let go of the directory; nobody may read any more."""
        self._environment.close()
        with suppress(OSError):
            os.close(self._lock)


def _opened(path: str, map_size: int) -> Any:
    options: dict[str, Any] = {"sync": False, "metasync": False, "readahead": False, "meminit": False, "mode": 0o600}
    try:
        return lmdb.open(path, map_size=map_size, max_dbs=2, max_readers=_MOST_READERS, **options)
    except lmdb.Error:
        # Only a copy, and one that can be made again.
        for name in ("data.mdb", "lock.mdb"):
            with suppress(FileNotFoundError):
                os.remove(os.path.join(path, name))
        return lmdb.open(path, map_size=map_size, max_dbs=2, max_readers=_MOST_READERS, **options)


def _locked(path: str) -> int:
    descriptor = os.open(os.path.join(path, "replica.lock"), os.O_RDWR | os.O_CREAT, 0o600)
    try:
        fcntl.flock(descriptor, fcntl.LOCK_EX | fcntl.LOCK_NB)
    except OSError:
        os.close(descriptor)
        raise StateError(f"{path} is the store of another replica that runs: choose another directory") from None
    return descriptor


def _let_others_run(count: int) -> None:
    """Give threads that answer queries their turn: Python's own turns are longer than a read takes."""
    if count % _PIECE == _PIECE - 1:
        time.sleep(0)
