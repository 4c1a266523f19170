"""Which local stores there are, by name."""

from __future__ import annotations

from collections.abc import Callable

from penstock.errors import StateError
from penstock.state.heap_store import HeapStore
from penstock.state.lmdb_store import LmdbStore
from penstock.state.local_store import DamagedStoreError, LocalStore

DEFAULT_BACKEND = "lmdb"


def _rocksdb() -> type[LocalStore]:
    # Imported when it is chosen: the package behind it is optional.
    from penstock.state.rocksdb_store import RocksDbStore

    return RocksDbStore


_STORES: dict[str, Callable[[], type[LocalStore]]] = {
    "heap": lambda: HeapStore,
    "lmdb": lambda: LmdbStore,
    "rocksdb": _rocksdb,
}
BACKENDS = tuple(_STORES)


def open_store(backend: str, path: str | None) -> LocalStore:
    """Open the store of a backend at a path, anew if it is damaged; without a path: on the heap, kept by nobody."""
    if path is None:
        return HeapStore()
    kind = store_class(backend)
    try:
        return kind.open(path)
    except DamagedStoreError:
        kind.erase(path)
        return kind.open(path)


def store_class(backend: str) -> type[LocalStore]:
    """Return the class of a backend's stores."""
    if backend not in _STORES:
        raise StateError(f"There is no state backend {backend!r}: choose one of {', '.join(BACKENDS)}.")
    return _STORES[backend]()
