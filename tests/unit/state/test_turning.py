"""Versions that end while their state stays open: each is written with what it had, whatever comes after."""

from __future__ import annotations

import tempfile
import threading
from pathlib import Path

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from pyarrow import fs

from penstock.common import Types
from penstock.errors import StateError
from penstock.state.keyed import KeyedStateBackend
from penstock.state.memory_store import MemoryStore
from penstock.state.versions import EMPTY, StateVersion, SubtaskState
from penstock.vocabulary.state import ListStateDescriptor, ValueStateDescriptor

BACKENDS = ("lmdb", "heap", "rocksdb")
Changes = dict[bytes, bytes | None]


def opened(root: Path, base: StateVersion, backend: str, snapshot_after: int = 20) -> SubtaskState:
    return SubtaskState.open(
        fs.LocalFileSystem(),
        f"{root}/checkpoint",
        base,
        local_path=f"{root}/{backend}",
        backend=backend,
        snapshot_after=snapshot_after,
    )


def put(state: SubtaskState, changes: Changes) -> None:
    for key, value in changes.items():
        if value is None:
            state.store.delete(key)
        else:
            state.store.put(key, value)


def content(root: Path, version: StateVersion) -> dict[bytes, bytes]:
    """What a machine finds that has nothing but the files."""
    with SubtaskState.open(fs.LocalFileSystem(), f"{root}/checkpoint", version, local_path=None) as state:
        return dict(state.store.scan(b""))


def after(model: dict[bytes, bytes], changes: Changes) -> dict[bytes, bytes]:
    merged = {**model, **changes}
    return {key: value for key, value in merged.items() if value is not None}


changes = st.dictionaries(
    st.sampled_from([b"a", b"b", b"c", b"d" * 600]), st.one_of(st.none(), st.binary(max_size=3)), max_size=4
)


@pytest.mark.parametrize("backend", BACKENDS)
@settings(max_examples=25, deadline=None)
@given(steps=st.lists(st.tuples(changes, changes), min_size=1, max_size=6), snapshot_after=st.integers(1, 3))
def test_a_version_has_what_was_there_when_it_ended(
    backend: str, steps: list[tuple[Changes, Changes]], snapshot_after: int
) -> None:
    with tempfile.TemporaryDirectory() as folder:
        root = Path(folder)
        model: dict[bytes, bytes] = {}
        with opened(root, EMPTY, backend, snapshot_after=snapshot_after) as state:
            for before, behind in steps:
                put(state, before)
                model = after(model, before)
                write = state.turn()
                expected = dict(model)
                put(state, behind)
                model = after(model, behind)
                assert content(root, write()) == expected
                assert dict(state.store.scan(b"")) == model
            last = state.commit()
        assert content(root, last) == model


@pytest.mark.parametrize("backend", BACKENDS)
def test_a_version_is_written_in_another_thread_while_the_next_one_goes_on(tmp_path: Path, backend: str) -> None:
    entries: Changes = {b"%05d" % number: b"first" for number in range(5_000)}
    versions: list[StateVersion] = []
    with opened(tmp_path, EMPTY, backend) as state:
        put(state, entries)
        write = state.turn()
        thread = threading.Thread(target=lambda: versions.append(write()))
        thread.start()
        put(state, dict.fromkeys(entries, b"second"))
        thread.join()
        assert content(tmp_path, versions[0]) == entries
        assert set(dict(state.store.scan(b"")).values()) == {b"second"}


@pytest.mark.parametrize("backend", BACKENDS)
def test_a_local_store_that_is_ahead_of_the_files_is_built_anew(tmp_path: Path, backend: str) -> None:
    with opened(tmp_path, EMPTY, backend) as state:
        put(state, {b"a": b"1"})
        sealed = state.turn()()
        put(state, {b"a": b"2", b"b": b"2"})
        state.turn()  # the process dies before its files are there
    with opened(tmp_path, sealed, backend) as state:
        assert dict(state.store.scan(b"")) == {b"a": b"1"}
        assert state.rebuilt


def test_a_local_store_of_the_last_turn_is_used_again(tmp_path: Path) -> None:
    with opened(tmp_path, EMPTY, "lmdb") as state:
        put(state, {b"a": b"1"})
        version = state.turn()()
        put(state, {b"a": b"2"})
    with opened(tmp_path, version, "lmdb") as state:
        assert dict(state.store.scan(b"")) == {b"a": b"1"}
        assert not state.rebuilt


def test_nothing_is_written_where_nothing_changed(tmp_path: Path) -> None:
    with opened(tmp_path, EMPTY, "lmdb") as state:
        put(state, {b"a": b"1"})
        first = state.turn()()
        assert state.turn()() is first
    assert len(list((tmp_path / "checkpoint").iterdir())) == 1


def test_a_version_must_be_written_before_the_next_one_ends(tmp_path: Path) -> None:
    with opened(tmp_path, EMPTY, "lmdb") as state:
        put(state, {b"a": b"1"})
        write = state.turn()
        put(state, {b"a": b"2"})
        with pytest.raises(StateError, match="not written yet"):
            state.turn()
        write()
        state.turn()()


def test_a_version_that_could_not_be_written_leaves_no_part_files(tmp_path: Path) -> None:
    with opened(tmp_path, EMPTY, "lmdb") as state:
        put(state, {b"a": b"1"})
        state.turn()()
        state._tracked._max_entries = 1
        put(state, {b"b": b"1", b"c": b"1"})
        write = state.turn()
        assert list(tmp_path.glob("penstock-changes-*"))
        (tmp_path / "checkpoint").rename(tmp_path / "gone")
        (tmp_path / "checkpoint").write_text("no folder")
        with pytest.raises(Exception, match="checkpoint"):
            write()
        assert not list(tmp_path.glob("penstock-changes-*"))


# Keyed state on top of it


class CountingStore(MemoryStore):
    """Knows how often it was asked for a value."""

    reads = 0

    def get(self, key: bytes) -> bytes | None:
        """Count."""
        self.reads += 1
        return super().get(key)


def test_values_stay_in_memory_when_the_next_version_begins() -> None:
    backend, store = KeyedStateBackend(8), CountingStore()
    backend.bind(store, 1)
    value = backend.get_value_state(ValueStateDescriptor("value", Types.INT()))
    backend.set_key("a")
    value.update(1)
    backend.end_version(1)
    backend.go_on(2)
    reads = store.reads
    backend.set_key("a")
    assert value.value() == 1
    assert store.reads == reads
    value.update(2)
    backend.end_version(1)
    backend.bind(MemoryStore(store.snapshot()), 3)
    backend.set_key("a")
    assert value.value() == 2


def test_a_list_that_grows_in_every_version_does_not_get_a_row_for_each() -> None:
    backend, store = KeyedStateBackend(8), MemoryStore()
    backend.bind(store, 0)
    items = backend.get_list_state(ListStateDescriptor("items", Types.INT()))
    for version in range(1, 101):
        backend.set_key("a")
        items.add(version)
        assert items.get() == list(range(1, version + 1))
        backend.end_version(1)
        backend.go_on(version)
    assert len(store) < 30
