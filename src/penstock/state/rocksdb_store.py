"""State store in a RocksDB directory on a local disk.

Writes are kept in memory until the commit, which is one atomic batch. If they outgrow a bound they go to RocksDB
before it; from then until the commit the directory has no tag, so that a kill in between costs what it holds. RocksDB's
own log is off: a kill can only lose the newest writes, in the reverse order of writing, and with them the tag.
"""

from __future__ import annotations

import os
import shutil
import time
from collections.abc import Callable, Iterator
from contextlib import suppress
from itertools import islice
from typing import Any, TypeVar

from penstock.errors import StateError
from penstock.state.local_store import DamagedStoreError, LocalStore
from penstock.state.memory_store import MemoryStore

try:
    from rocksdict import BlockBasedOptions, Cache, Options, Rdict, WriteBatch, WriteOptions
except ImportError as error:
    raise StateError(
        "The state backend 'rocksdb' needs the package rocksdict here: pip install 'penstock[rocksdb]'."
    ) from error

# Keys of entries have at least one byte.
_TAG_KEY = b""
_FIRST_CHUNK = 16
_LAST_CHUNK = 512
_MOST_PENDING_ENTRIES = 100_000
_MOST_PENDING_BYTES = 16 * 2**20
_WRITE_BUFFER_BYTES = 16 * 2**20
_CACHE_BYTES = 32 * 2**20
_BLOOM_BITS = 10
_LOCK_PATIENCE_S = 30.0
_DAMAGED_FILE = "DAMAGED"

Entry = tuple[bytes, bytes]
T = TypeVar("T")


class RocksDbStore(LocalStore):
    """A RocksDB directory under writes that are not committed yet; one process has it open at a time."""

    def __init__(self, database: Any, path: str) -> None:
        """Take over an open database; use `open`."""
        self._database = database
        self.path = path
        self._is_open = True
        self._forget_pending()
        self.tag: bytes | None = self._guarded(lambda: database.get(_TAG_KEY))

    @classmethod
    def open(cls, path: str) -> RocksDbStore:
        """Open or create the store in a directory; waits a while for another process that has it open."""
        if os.path.exists(os.path.join(path, _DAMAGED_FILE)):
            raise DamagedStoreError(f"Local state in {path} was found to be damaged.")
        store = cls(_open_database(path), path)
        if store.tag is None and next(store.scan(b""), None) is not None:
            # What a process left that was killed or gave up between two commits.
            store.clear()
        return store

    @classmethod
    def erase(cls, path: str) -> None:
        """Delete the directory of a store, which nobody has open."""
        shutil.rmtree(path, ignore_errors=True)

    def get(self, key: bytes) -> bytes | None:
        """Return the value of `key`, or None when it is absent."""
        value = self._written.get(key)
        if value is not None:
            return value
        if key in self._deleted:
            return None
        try:
            stored: bytes | None = self._database.get(key)
            return stored
        except Exception as error:
            raise self._condemned(error) from None

    def put(self, key: bytes, value: bytes) -> None:
        """Set the value of `key`."""
        self._written.put(key, value)
        self._deleted.discard(key)
        self._pending_bytes += len(key) + len(value)
        self._flush_if_large()

    def delete(self, key: bytes) -> bool:
        """Remove `key`, absent or not, and tell whether it was there."""
        if self.get(key) is None:
            return False
        self._written.delete(key)
        self._deleted.add(key)
        self._pending_bytes += len(key)
        self._flush_if_large()
        return True

    def range(self, start: bytes, stop: bytes | None) -> Iterator[Entry]:
        """Iterate over entries with start <= key < stop, in order."""
        size = _FIRST_CHUNK
        position: bytes | None = start or b"\x00"
        while position is not None:
            chunk, position = self._read_chunk(position, stop, size)
            yield from chunk
            size = min(size * 2, _LAST_CHUNK)

    def clear(self) -> None:
        """Remove all entries; the tag goes at once, whether or not a commit follows."""
        self._close_database()
        self.erase(self.path)
        self._database = _open_database(self.path)
        self._forget_pending()
        self.tag = None

    def commit(self, tag: bytes) -> None:
        """Make all writes and the tag the state that the next opening finds, and go on writing."""
        self._flush(tag)
        self.tag = tag

    def close(self) -> None:
        """Forget all writes since the last commit and let go of the directory; a second call is fine."""
        if self._is_open:
            self._is_open = False
            self._close_database()

    def _read_chunk(self, start: bytes, stop: bytes | None, size: int) -> tuple[list[Entry], bytes | None]:
        """Entries from `start` on, and where to go on: None at the end."""
        stored, is_last = self._guarded(lambda: self._read_stored(start, stop, size))
        limit = stop if is_last else stored[-1][0] + b"\x00"
        written = list(islice(self._written.range(start, limit), size))
        if len(written) == size:
            limit, is_last = written[-1][0] + b"\x00", False
        deleted = self._deleted
        merged = {key: value for key, value in stored if key not in deleted and (limit is None or key < limit)}
        merged.update(written)
        return sorted(merged.items()), None if is_last else limit

    def _read_stored(self, start: bytes, stop: bytes | None, size: int) -> tuple[list[Entry], bool]:
        rows = self._database.iter()
        try:
            rows.seek(start)
            found: list[Entry] = []
            while len(found) < size:
                if not rows.valid():
                    rows.status()  # raises if it was damage that ended the rows
                    return found, True
                key = rows.key()
                if stop is not None and key >= stop:
                    return found, True
                found.append((key, rows.value()))
                rows.next()
            return found, False
        finally:
            # An iterator that lives, were it only in a traceback, keeps the directory locked.
            del rows

    def _flush_if_large(self) -> None:
        pending = len(self._written) + len(self._deleted)
        if self._pending_bytes > _MOST_PENDING_BYTES or pending > _MOST_PENDING_ENTRIES:
            self._flush(None)

    def _flush(self, tag: bytes | None) -> None:
        """Give RocksDB all writes in one atomic batch that also sets the tag, or removes it."""
        batch = WriteBatch(raw_mode=True)
        for key in self._deleted:
            batch.delete(key)
        for key, value in self._written.items():
            batch.put(key, value)
        if tag is None:
            batch.delete(_TAG_KEY)
        else:
            batch.put(_TAG_KEY, tag)
        self._guarded(lambda: self._database.write(batch, _unlogged()))
        self._forget_pending()

    def _forget_pending(self) -> None:
        self._written = MemoryStore()
        self._deleted: set[bytes] = set()
        self._pending_bytes = 0

    def _guarded(self, work: Callable[[], T]) -> T:
        try:
            return work()
        except Exception as error:
            raise self._condemned(error) from None

    def _condemned(self, error: Exception) -> StateError:
        """Have the next opening start anew, and say so; a store that was closed is a mistake of the caller's."""
        if not self._is_open:
            return StateError(f"The state store in {self.path} was used after it was closed.")
        with suppress(OSError), open(os.path.join(self.path, _DAMAGED_FILE), "w"):
            pass
        return DamagedStoreError(
            f"Local state in {self.path} cannot be read or written ({error}): it will be rebuilt from the checkpoint "
            "when the task is run again."
        )

    def _close_database(self) -> None:
        with suppress(Exception):  # what could not be written is not committed, or the tag is lost with it
            self._database.close()


def _open_database(path: str) -> Any:
    os.makedirs(path, exist_ok=True)
    give_up = time.monotonic() + _LOCK_PATIENCE_S
    while True:
        try:
            return Rdict(path, _options())
        except Exception as error:
            if "LOCK" not in str(error):
                raise DamagedStoreError(f"Local state in {path} cannot be opened ({error}).") from None
            if time.monotonic() > give_up:
                raise StateError(f"Local state in {path} is in use by another process ({error}).") from None
        time.sleep(0.05)


def _options() -> Any:
    table = BlockBasedOptions()
    table.set_block_cache(Cache(_CACHE_BYTES))
    table.set_cache_index_and_filter_blocks(True)
    table.set_bloom_filter(_BLOOM_BITS, False)
    options = Options(raw_mode=True)
    options.create_if_missing(True)
    options.set_block_based_table_factory(table)
    options.set_write_buffer_size(_WRITE_BUFFER_BYTES)
    options.set_max_background_jobs(2)
    options.set_keep_log_file_num(1)
    options.set_skip_stats_update_on_db_open(True)
    return options


def _unlogged() -> Any:
    options: Any = WriteOptions()  # the package's type stubs take this property for a method
    options.disable_wal = True
    return options
