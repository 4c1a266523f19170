"""The contract of `OrderedStore`, held by every store."""

from __future__ import annotations

import atexit
import functools
import tempfile
from collections.abc import Iterator
from contextlib import contextmanager

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from penstock.state import rocksdb_store
from penstock.state.heap_store import HeapStore
from penstock.state.lmdb_store import LmdbStore
from penstock.state.memory_store import MemoryStore
from penstock.state.rocksdb_store import RocksDbStore
from penstock.state.store import OrderedStore, prefix_end
from penstock.state.tracked_store import TrackedStore

# RocksDB with writes that go to its files in the middle of a test, and with writes that wait for the commit.
PENDING = {"rocksdb": 5, "rocksdb pending": 100_000}
KINDS = ["memory", "heap", "lmdb", "tracked", *PENDING]


@contextmanager
def open_store(kind: str) -> Iterator[OrderedStore]:
    if kind == "memory":
        yield MemoryStore()
    elif kind == "heap":
        yield HeapStore()
    elif kind == "tracked":
        tracked = TrackedStore(MemoryStore(), max_entries=3)
        yield tracked
        tracked.forget()
    elif kind in PENDING:
        store = emptied(shared_rocksdb())
        with pytest.MonkeyPatch.context() as patch:
            patch.setattr(rocksdb_store, "_MOST_PENDING_ENTRIES", PENDING[kind])
            yield store
    else:
        with tempfile.TemporaryDirectory() as folder, LmdbStore.open(folder, 2**26) as lmdb:
            yield lmdb


@functools.cache
def shared_rocksdb() -> RocksDbStore:
    """One for all tests: opening one takes longer than a test."""
    store = RocksDbStore.open(tempfile.mkdtemp(prefix="penstock-contract-"))
    atexit.register(RocksDbStore.erase, store.path)
    atexit.register(store.close)
    return store


def emptied(store: RocksDbStore) -> RocksDbStore:
    for key, _ in list(store.scan(b"")):
        store.delete(key)
    store.commit(b"empty")
    return store


def key_strategy() -> st.SearchStrategy[bytes]:
    short = st.binary(min_size=1, max_size=3)
    stem = st.sampled_from([b"", b"x" * 470, b"x" * 478, b"x" * 479, b"x" * 480, b"x" * 600, b"\xff" * 600])
    return st.builds(lambda stem, tail: stem + tail, stem, st.one_of(short, st.sampled_from([b"a", b"b", b"\xff"])))


keys = key_strategy()
operations = st.lists(
    st.one_of(
        st.tuples(st.just("put"), keys, st.binary(max_size=4)),
        st.tuples(st.just("delete"), keys, st.just(b"")),
        st.tuples(st.just("range"), keys, keys),
        st.tuples(st.just("scan"), st.one_of(st.just(b""), keys), st.just(b"")),
    ),
    max_size=60,
)


def model_range(model: dict[bytes, bytes], start: bytes, stop: bytes | None) -> list[tuple[bytes, bytes]]:
    return sorted((key, value) for key, value in model.items() if start <= key and (stop is None or key < stop))


@pytest.mark.parametrize("kind", KINDS)
@settings(max_examples=30, deadline=None)
@given(operations=operations)
def test_store_is_an_ordered_dict(kind: str, operations: list[tuple[str, bytes, bytes]]) -> None:
    model: dict[bytes, bytes] = {}
    with open_store(kind) as store:
        for name, first, second in operations:
            if name == "put":
                store.put(first, second)
                model[first] = second
            elif name == "delete":
                assert store.delete(first) == (model.pop(first, None) is not None)
            elif name == "range":
                assert list(store.range(first, second)) == model_range(model, first, second)
            else:
                assert list(store.scan(first)) == [
                    item for item in model_range(model, first, None) if item[0].startswith(first)
                ]
            assert store.get(first or b"none") == model.get(first or b"none")
        assert list(store.range(b"", None)) == sorted(model.items())


@pytest.mark.parametrize("kind", KINDS)
@pytest.mark.parametrize("stem", [b"k", b"k" * 500])
def test_deleting_what_a_scan_gives_leaves_nothing(kind: str, stem: bytes) -> None:
    with open_store(kind) as store:
        for number in range(1000):
            store.put(stem + number.to_bytes(2, "big"), b"v")
        given_keys = []
        for key, _ in store.scan(stem):
            store.delete(key)
            given_keys.append(key)
        assert given_keys == [stem + number.to_bytes(2, "big") for number in range(1000)]
        assert list(store.scan(stem)) == []


@pytest.mark.parametrize("kind", KINDS)
def test_scan_sees_writes_beyond_what_it_read_ahead_and_none_behind(kind: str) -> None:
    with open_store(kind) as store:
        for number in range(0, 4000, 2):
            store.put(number.to_bytes(2, "big"), b"old")
        rows = store.scan(b"")
        first = next(rows)[0]
        store.put((3999).to_bytes(2, "big"), b"new")
        store.put(b"\x00", b"behind")
        rest = list(rows)
        assert first == b"\x00\x00"
        assert rest[-1] == ((3999).to_bytes(2, "big"), b"new")
        assert (b"\x00", b"behind") not in rest
        assert len(rest) == 2000


@pytest.mark.parametrize("kind", KINDS)
def test_two_scans_at_once_do_not_disturb_each_other(kind: str) -> None:
    with open_store(kind) as store:
        for number in range(600):
            store.put(number.to_bytes(2, "big"), b"")
        pairs = list(zip(store.scan(b""), store.scan(b""), strict=True))
        assert len(pairs) == 600
        assert all(left == right for left, right in pairs)


@given(prefix=st.binary(max_size=3), key=st.binary(max_size=4))
def test_prefix_end_bounds_exactly_the_keys_with_the_prefix(prefix: bytes, key: bytes) -> None:
    end = prefix_end(prefix)
    assert key.startswith(prefix) == (key >= prefix and (end is None or key < end))


@pytest.mark.parametrize("kind", KINDS)
def test_key_deleted_and_put_again_between_scans_is_there_once(kind: str) -> None:
    with open_store(kind) as store:
        for value in (b"1", b"2"):
            store.put(b"k", value)
            assert list(store.scan(b"")) == [(b"k", value)]
            store.delete(b"k")
            store.put(b"k", value)
            assert list(store.scan(b"")) == [(b"k", value)]
            store.delete(b"k")
        assert list(store.scan(b"")) == []
