"""State store in an LMDB directory on a local disk.

Nothing is forced to disk. LMDB keeps changed pages in memory until the commit; if they outgrow a bound they are
committed before it, without a tag, so that a kill in between costs what the directory holds. Rows are
as `penstock.state.lmdb_rows` says.
"""

from __future__ import annotations

import os
from collections.abc import Iterator
from contextlib import suppress
from typing import Any

import lmdb

from penstock.errors import StateError
from penstock.state.lmdb_rows import DIRECT_BYTES, Entry, packed_value, read_range, stored_key, unpacked
from penstock.state.local_store import DamagedStoreError, LocalStore

DEFAULT_MAP_SIZE = 64 * 2**30
_PAGE_BYTES = 4096
_MOST_CHANGED_BYTES = 64 * 2**20
_PIECE = 4096
_TAG = b"tag"
_BOOT_FILE = "boot_id"
_BOOT_SOURCE = "/proc/sys/kernel/random/boot_id"

_DAMAGE = (lmdb.InvalidError, lmdb.CorruptedError, lmdb.VersionMismatchError, lmdb.PageNotFoundError)


class LmdbStore(LocalStore):
    """An LMDB directory with a write transaction that is always open; other processes may read meanwhile."""

    def __init__(self, environment: Any, path: str) -> None:
        """Take over an open LMDB environment; use `open`."""
        self._environment = environment
        self._path = path
        self._closed = False
        self._meta = environment.open_db(b"meta")
        self._data = environment.open_db(b"data")
        self._begin()

    @classmethod
    def open(cls, path: str, map_size: int = DEFAULT_MAP_SIZE) -> LmdbStore:
        """Open or create the store in a directory; a directory left by an earlier boot of the machine is emptied."""
        forget_earlier_boot(path)
        try:
            store = cls._open_files(path, map_size)
        except _DAMAGE as error:
            raise DamagedStoreError(f"Local state in {path} cannot be opened ({error}).") from None
        if store.tag is None:
            store.clear()  # what a process left that was killed or gave up between two commits
        return store

    @classmethod
    def _open_files(cls, path: str, map_size: int) -> LmdbStore:
        environment = lmdb.open(
            path,
            map_size=map_size,
            max_dbs=2,
            sync=False,
            metasync=False,
            readahead=False,
            meminit=False,
            mode=0o600,
        )
        try:
            _check_length(environment, path)
            return cls(environment, path)
        except BaseException:
            environment.close()
            raise

    @classmethod
    def erase(cls, path: str) -> None:
        """Delete the files of a store that nobody has open; other files of the directory stay."""
        for name in ("data.mdb", "lock.mdb", _BOOT_FILE):
            with suppress(FileNotFoundError):
                os.remove(os.path.join(path, name))

    def _begin(self) -> None:
        self._transaction = self._environment.begin(db=self._data, write=True)
        self._cursor = self._transaction.cursor()
        tag = self._transaction.get(_TAG, db=self._meta)
        self.tag: bytes | None = tag
        self._room = _MOST_CHANGED_BYTES

    def get(self, key: bytes) -> bytes | None:
        """Return the value of `key`, or None when it is absent."""
        try:
            if len(key) <= DIRECT_BYTES:
                value: bytes | None = self._transaction.get(key)
                return value
            packed = self._transaction.get(stored_key(key))
            return None if packed is None else unpacked(packed)[1]
        except _DAMAGE as error:
            raise self._condemned(error) from None

    def put(self, key: bytes, value: bytes) -> None:
        """Set the value of `key`."""
        try:
            if len(key) <= DIRECT_BYTES:
                self._transaction.put(key, value)
            else:
                self._transaction.put(stored_key(key), packed_value(key, value))
        except lmdb.MapFullError:
            raise self._full() from None
        except _DAMAGE as error:
            raise self._condemned(error) from None
        self._room -= _PAGE_BYTES + len(value)
        if self._room < 0:
            self._make_room()

    def put_many(self, entries: list[Entry]) -> None:
        """Set the values of many keys."""
        if max([len(key) for key, _ in entries], default=0) > DIRECT_BYTES:
            super().put_many(entries)
            return
        for first in range(0, len(entries), _PIECE):
            piece = entries[first : first + _PIECE]
            try:
                self._cursor.putmulti(piece)
            except lmdb.MapFullError:
                raise self._full() from None
            except _DAMAGE as error:
                raise self._condemned(error) from None
            self._room -= len(piece) * _PAGE_BYTES + sum([len(value) for _, value in piece])
            if self._room < 0:
                self._make_room()

    def delete(self, key: bytes) -> bool:
        """Remove `key`, absent or not, and tell whether it was there."""
        try:
            was_there: bool = self._transaction.delete(key if len(key) <= DIRECT_BYTES else stored_key(key))
        except lmdb.MapFullError:
            raise self._full() from None
        except _DAMAGE as error:
            raise self._condemned(error) from None
        self._room -= _PAGE_BYTES
        if self._room < 0:
            self._make_room()
        return was_there

    def range(self, start: bytes, stop: bytes | None) -> Iterator[Entry]:
        """Iterate over entries with start <= key < stop, in order."""
        try:
            yield from read_range(lambda: self._cursor, start, stop)
        except _DAMAGE as error:
            raise self._condemned(error) from None

    def clear(self) -> None:
        """Remove all entries."""
        self._transaction.drop(self._data, delete=False)

    def commit(self, tag: bytes) -> None:
        """Make all writes and the tag the state that the next opening finds, and go on writing."""
        self._transaction.put(_TAG, tag, db=self._meta)
        self._transaction.commit()
        self._begin()

    def frozen(self) -> Iterator[Entry]:
        """Return all entries as they were committed last, in order: readers of LMDB do not see what is written."""
        return self._read_all(self._environment.begin(db=self._data))

    def _read_all(self, transaction: Any) -> Iterator[Entry]:
        try:
            cursor = transaction.cursor()
            yield from read_range(lambda: cursor, b"", None)
        except _DAMAGE as error:
            raise self._condemned(error) from None
        finally:
            transaction.abort()

    def close(self) -> None:
        """Forget all writes since the last commit and let go of the directory; a second call is fine."""
        if not self._closed:
            self._closed = True
            self._transaction.abort()
            self._environment.close()

    def _make_room(self) -> None:
        """Let go of changed pages if there may be too many of them; there are no more than the store has."""
        self._room = _MOST_CHANGED_BYTES
        pages = self._transaction.stat(self._data)
        total = pages["branch_pages"] + pages["leaf_pages"] + pages["overflow_pages"]
        if total * pages["psize"] > _MOST_CHANGED_BYTES:
            self._transaction.delete(_TAG, db=self._meta)
            self._transaction.commit()
            self._begin()

    def _condemned(self, error: Exception) -> DamagedStoreError:
        """Have the next opening start anew, and say so."""
        with suppress(FileNotFoundError):
            os.remove(os.path.join(self._path, _BOOT_FILE))
        return DamagedStoreError(
            f"Local state in {self._path} is damaged ({error}): it will be rebuilt from the checkpoint when the task "
            "is run again."
        )

    def _full(self) -> StateError:
        limit = self._environment.info()["map_size"]
        return StateError(f"Local state exceeded its limit of {limit} bytes: raise the map size of the state backend.")


def _check_length(environment: Any, path: str) -> None:
    # Reading a page beyond the end of a truncated file would kill the process with SIGBUS.
    needed = environment.stat()["psize"] * (environment.info()["last_pgno"] + 1)
    if os.path.getsize(os.path.join(path, "data.mdb")) < needed:
        raise lmdb.CorruptedError(f"{path} is shorter than its pages")


def forget_earlier_boot(path: str) -> None:
    """Empty a directory that was written before the machine was started last, and have it made."""
    # Nothing is synced, so after a crash of the machine the tag may be on disk without the pages it speaks of.
    boot = _read_text(_BOOT_SOURCE)
    marker = os.path.join(path, _BOOT_FILE)
    if _read_text(marker) == boot:
        os.makedirs(path, exist_ok=True)
        return
    LmdbStore.erase(path)
    os.makedirs(path, exist_ok=True)
    with open(marker, "w", encoding="ascii") as file:
        file.write(boot)


def _read_text(path: str) -> str:
    try:
        with open(path, encoding="ascii") as file:
            return file.read()
    except (OSError, ValueError):
        return ""
