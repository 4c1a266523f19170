"""What is done with many keys or rows together gives what it gives one by one."""

from __future__ import annotations

from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from penstock.common import Types
from penstock.common.composite_types import FrozenListTypeInfo
from penstock.datastream.state import MapStateDescriptor, ValueStateDescriptor
from penstock.errors import KeyEncodingError
from penstock.keys.codec import encode_key, encode_keys
from penstock.keys.groups import key_group, key_groups
from penstock.state.hashable_keys import hashable_of
from penstock.state.keyed import KeyedStateBackend
from penstock.state.lmdb_store import LmdbStore
from penstock.state.memory_store import MemoryStore
from penstock.state.tracked_store import TrackedStore

KEYS = st.one_of(st.integers(-(2**70), 2**70), st.text(max_size=5), st.booleans(), st.none(), st.floats())


@given(keys=st.one_of(st.lists(KEYS), st.lists(st.integers(-(2**63), 2**63)), st.lists(st.text(max_size=300))))
def test_keys_have_the_same_bytes_and_groups(keys: list[Any]) -> None:
    codes = encode_keys(keys)
    assert codes == [encode_key(key) for key in keys]
    for limit in (1, 128, 32768):
        assert key_groups(codes, limit) == [key_group(code, limit) for code in codes]


def test_a_key_without_bytes_is_refused_among_others() -> None:
    with pytest.raises(KeyEncodingError):
        encode_keys([1, object()])


@pytest.mark.parametrize("long_key", [False, True])
def test_rows_put_together_are_there_and_tracked(tmp_path: Any, long_key: bool) -> None:
    entries = [(number.to_bytes(4, "big"), b"v" * (number % 50)) for number in range(9_000)]
    if long_key:
        entries.append((b"x" * 600, b"long"))
    with LmdbStore.open(str(tmp_path / "store")) as store:
        tracked = TrackedStore(store, str(tmp_path), max_entries=5_000)
        tracked.put(entries[0][0], b"old")
        tracked.put_many(entries)
        assert list(store.scan(b"")) == sorted(entries)
        assert list(tracked.changes()) == sorted(entries)
        tracked.forget()


def counted(backend: KeyedStateBackend, state: Any, keys: list[Any]) -> list[int]:
    """A running count of each key, in one block."""
    results = []
    for _ in backend.walk(keys):
        state.update((state.value() or 0) + 1)
        results.append(state.value())
    return results


@pytest.mark.parametrize("cache_limit", [0, 10, 100_000])
def test_blocks_of_new_keys_count_as_keys_one_by_one(cache_limit: int) -> None:
    backend = KeyedStateBackend(128, cache_limit)
    state = backend.get_value_state(ValueStateDescriptor("count", Types.LONG()))
    store = MemoryStore()
    wanted: dict[Any, int] = {}
    for version in range(4):
        backend.bind(store, version)
        for first in range(0, 300, 100):
            keys = [*range(first, first + 150), "text", (first, "pair")][version % 2 :]
            expected = []
            for key in keys:
                wanted[key] = wanted.get(key, 0) + 1
                expected.append(wanted[key])
            assert counted(backend, state, keys) == expected
        backend.end_batch(0)
        backend.unbind()


def test_states_that_are_not_used_are_not_read_ahead() -> None:
    rows: list[bytes] = []

    class Reads(MemoryStore):
        def get(self, key: bytes) -> bytes | None:
            rows.append(key)
            return super().get(key)

    backend, store = KeyedStateBackend(128), Reads()
    used = backend.get_value_state(ValueStateDescriptor("used", Types.LONG()))
    backend.get_value_state(ValueStateDescriptor("unused", Types.LONG()))
    backend.bind(store, 0)
    for first in range(0, 400, 100):
        assert counted(backend, used, list(range(first, first + 100))) == [1] * 100
    backend.end_batch(0)
    backend.bind(store, 1)
    rows.clear()
    for first in range(0, 400, 100):
        assert counted(backend, used, list(range(first, first + 100))) == [2] * 100
    assert len(rows) == len(set(rows)) == 400


def test_an_entry_of_a_map_that_is_put_again_is_cached_once() -> None:
    backend = KeyedStateBackend(128)
    state = backend.get_map_state(MapStateDescriptor("map", Types.LONG(), Types.LONG()))
    backend.bind(MemoryStore(), 0)
    backend.set_key("a")
    for number in range(100):
        state.put(number % 2, number)
    assert backend.cached == 3  # the map and its two entries


@pytest.mark.parametrize("is_trusted", [False, True])
@pytest.mark.parametrize("names", [["a", "ä", "", "b"], [5, -1, 0, 2**63 - 1]], ids=["texts", "numbers"])
def test_entries_of_a_map_that_are_held_together_are_those_of_each(names: list[Any], is_trusted: bool) -> None:
    stores = MemoryStore(), MemoryStore()
    for is_many, store in zip((False, True), stores, strict=True):
        backend = KeyedStateBackend(128)
        kind = Types.STRING() if isinstance(names[0], str) else Types.LONG()
        state = backend.get_map_state(MapStateDescriptor("map", kind, Types.LONG()))
        if is_trusted:
            state.trust()
        for version, part in enumerate((names[:2], names[1:3], names)):
            backend.bind(store, version)
            backend.set_key("k")
            held = state.held_of(part) if is_many else [state.held(each) for each in part]
            made = {name: (value or 0) + 1 + version for name, value in zip(part, held, strict=True)}
            if is_many:
                state.hold_all(made, are_all=version == 0)
            else:
                for name, value in made.items():
                    state.hold(name, value)
            state.remove(names[0])
            assert [state.held(each) for each in names[1:3]] == state.held_of(names[1:3])
            assert dict(state.items()) == {name: state.get(name) for name in names if state.contains(name)}
            backend.end_batch(0)
            backend.unbind()
    assert stores[0].snapshot() == stores[1].snapshot() != {}


@pytest.mark.parametrize("cache_limit", [0, 3, 100_000])
@pytest.mark.parametrize("keys", [[1, 2, 3], ["a", "b", ""], [("a", 1), ("b", None), ("a", 2)]], ids=str)
def test_values_of_many_keys_are_those_of_each(keys: list[Any], cache_limit: int) -> None:
    store = MemoryStore()
    backend = KeyedStateBackend(128, cache_limit)
    declared = ValueStateDescriptor("pairs", Types.TUPLE([Types.LONG(), Types.STRING()]))
    state = backend.get_value_state(declared)
    backend.bind(store, 1)
    backend.set_key(keys[0])
    state.update((7, "before"))
    addresses = backend.addresses_of(keys)
    assert state.held_of_all(addresses) == [(7, "before"), None, None]
    state.hold_of_all(addresses, [(at, str(at)) for at in range(len(keys))])
    backend.flush()
    one_by_one = []
    for key in keys:
        backend.set_key(key)
        one_by_one.append(state.value())
    assert one_by_one == [(0, "0"), (1, "1"), (2, "2")]


def test_maps_that_are_trusted_have_the_same_bytes() -> None:
    rows = []
    for is_trusted in (False, True):
        store, backend = MemoryStore(), KeyedStateBackend(128)
        state = backend.get_value_state(ValueStateDescriptor("map", Types.MAP(Types.STRING(), Types.LONG())))
        if is_trusted:
            state.trust()
        backend.bind(store, 1)
        for key, value in enumerate([{}, {"a": 1}, {"b": 2, "": -1, "ä": 2**62}]):
            backend.set_key(key)
            state.hold(value)
        backend.flush()
        backend.set_key(2)
        assert state.value() == {"b": 2, "": -1, "ä": 2**62}
        rows.append(list(store.scan(b"")))
    assert rows[0] == rows[1]


def test_values_that_are_trusted_have_the_same_bytes() -> None:
    rows = []
    for is_trusted in (False, True):
        store = MemoryStore()
        backend = KeyedStateBackend(128)
        rows_type = FrozenListTypeInfo(Types.TUPLE([Types.LONG(), Types.STRING(), Types.BOOLEAN()]))
        state = backend.get_value_state(ValueStateDescriptor("rows", Types.TUPLE([rows_type, Types.BOOLEAN()])))
        if is_trusted:
            state.trust()
        backend.bind(store, 1)
        for key, value in enumerate([((), False), (((1, "a", None), (None, None, True)), True)]):
            backend.set_key(key)
            state.hold(value)
        backend.flush()
        backend.set_key(1)
        assert state.value() == (((1, "a", None), (None, None, True)), True)
        rows.append(list(store.scan(b"")))
    assert rows[0] == rows[1]


@pytest.mark.parametrize("cache_limit", [0, 100_000])
@given(
    steps=st.lists(
        st.tuples(
            st.sampled_from(["hold", "remove", "read", "cache", "batch"]),
            st.sampled_from(["a", 2, b"b", ["c"]]),
            st.sampled_from([b"", b"7"]),
            st.integers(-2, 2),
        ),
        max_size=20,
    )
)
def test_a_map_that_is_not_cached_has_what_one_that_is_cached_has(cache_limit: int, steps: list[Any]) -> None:
    stores, found = (MemoryStore(), MemoryStore()), []
    for is_once, store in zip((False, True), stores, strict=True):
        backend = KeyedStateBackend(128, cache_limit)
        state = backend.get_map_state(MapStateDescriptor("map", Types.LONG(), Types.PICKLED_BYTE_ARRAY()))
        backend.bind(store, 0)
        read = []
        for number, (step, key, namespace, entry) in enumerate(steps):
            backend.set_namespace(b"")
            backend.set_key(key)
            backend.set_namespace(namespace)
            if step == "hold":
                (state.hold_once if is_once else state.hold)(entry, number)
            elif step == "remove":
                (state.remove_once if is_once else state.remove)(entry)
            elif step == "read":
                read.append(list(state.items_once() if is_once else state.held_items()))
            elif step == "cache":
                read.append([state.held(entry)])
            else:
                backend.flush()
        found.append(read)
        every = state.all_items(1_000)
        assert every is not None
        assert state.all_items(len(every) - 1) is None
        assert {place[:3] for place in every} == {
            (hashable_of(key), namespace, entry)
            for key, namespace in backend.places("map")
            for entry in entries_of(backend, state, key, namespace)
        }
        backend.flush()
    assert found[0] == found[1]
    assert rows_of(stores[0]) == rows_of(stores[1])


def entries_of(backend: KeyedStateBackend, state: Any, key: Any, namespace: bytes) -> list[Any]:
    backend.set_key(key)
    backend.set_namespace(namespace)
    return list(state.keys())


def rows_of(store: MemoryStore) -> list[tuple[bytes, bytes]]:
    """The rows of keyed state: not those that say which states there are."""
    return list(store.scan(b"\x01"))
