"""Versions of a subtask's state: any history of commits, aborts and lost local files equals a dict."""

from __future__ import annotations

import pickle
import tempfile
from pathlib import Path

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from pyarrow import fs

from penstock.errors import CheckpointError, StateError
from penstock.state import heap_store
from penstock.state.backends import BACKENDS, DEFAULT_BACKEND
from penstock.state.lmdb_store import LmdbStore
from penstock.state.memory_store import MemoryStore
from penstock.state.tracked_store import TrackedStore
from penstock.state.versions import EMPTY, StateVersion, SubtaskState

LOCAL = fs.LocalFileSystem()


def open_state(root: Path, base: StateVersion, local: str | None = "local", snapshot_after: int = 20) -> SubtaskState:
    """`local` is the name of a local store; one that starts with a backend's name is of that backend."""
    local_path = None if local is None else f"{root}/{local}"
    backend = next((each for each in BACKENDS if (local or "").startswith(each)), DEFAULT_BACKEND)
    return SubtaskState.open(
        LOCAL, f"{root}/checkpoint", base, local_path=local_path, backend=backend, snapshot_after=snapshot_after
    )


def write(
    root: Path, base: StateVersion, entries: dict[bytes, bytes | None], local: str | None = "local"
) -> StateVersion:
    with open_state(root, base, local) as state:
        for key, value in entries.items():
            if value is None:
                state.store.delete(key)
            else:
                state.store.put(key, value)
        return state.commit()


def content(root: Path, base: StateVersion, local: str | None = "local") -> dict[bytes, bytes]:
    with open_state(root, base, local) as state:
        return dict(state.store.scan(b""))


keys = st.sampled_from([b"a", b"b", b"c", b"d" * 600])
changes = st.dictionaries(keys, st.one_of(st.none(), st.binary(max_size=3)), max_size=4)
steps = st.lists(
    st.tuples(
        changes,
        st.sampled_from(["commit", "commit", "abort", "fork"]),
        st.sampled_from(["lmdb-1", "lmdb-2", "heap-1", "heap-2", None]),
    ),
    max_size=10,
)


@settings(max_examples=30)
@given(steps=steps, snapshot_after=st.integers(1, 4))
def test_any_history_equals_a_dict(
    steps: list[tuple[dict[bytes, bytes | None], str, str | None]], snapshot_after: int
) -> None:
    with tempfile.TemporaryDirectory() as folder:
        root = Path(folder)
        version, model = EMPTY, dict[bytes, bytes]()
        for entries, end, local in steps:
            with open_state(root, version, local, snapshot_after) as state:
                assert dict(state.store.scan(b"")) == model
                after = dict(model)
                for key, value in entries.items():
                    if value is None:
                        state.store.delete(key)
                        after.pop(key, None)
                    else:
                        state.store.put(key, value)
                        after[key] = value
                assert dict(state.store.scan(b"")) == after
                if end == "abort":
                    continue
                committed = state.commit()
            # A fork is a commit that the coordinator never learned of: the local store is ahead on a dead branch.
            if end == "commit":
                version, model = committed, after
        for local in ("lmdb-1", "lmdb-2", "lmdb-3", "heap-1", "heap-2", None):
            assert content(root, version, local) == model
        assert sum(not file.is_snapshot for file in version.files) <= snapshot_after


def test_unchanged_state_keeps_its_version(tmp_path: Path) -> None:
    version = write(tmp_path, EMPTY, {b"a": b"1"})
    assert write(tmp_path, version, {}) is version
    assert write(tmp_path, version, {b"absent": None}) is version


@pytest.mark.parametrize("backend", BACKENDS)
def test_fresh_lagging_and_lost_local_stores(tmp_path: Path, backend: str) -> None:
    one, two, three = (f"{backend}-{number}" for number in (1, 2, 3))
    first = write(tmp_path, EMPTY, {b"a": b"1"}, one)
    content(tmp_path, first, two)
    second = write(tmp_path, first, {b"b": b"2"}, one)
    with open_state(tmp_path, second, one) as state:
        assert not state.rebuilt
    # The snapshot is not needed to bring the lagging store up to date, so only the change file may be read.
    (snapshot,) = (tmp_path / "checkpoint").glob("*.snapshot")
    hidden = snapshot.rename(tmp_path / "hidden")
    with open_state(tmp_path, second, two) as state:
        assert state.rebuilt
        assert dict(state.store.scan(b"")) == {b"a": b"1", b"b": b"2"}
    with open_state(tmp_path, second, two) as state:
        assert not state.rebuilt
    with pytest.raises(CheckpointError, match="missing"):
        open_state(tmp_path, second, three)
    hidden.rename(snapshot)
    with open_state(tmp_path, second, three) as state:
        assert state.rebuilt


def test_local_store_of_an_earlier_boot_is_not_trusted(tmp_path: Path) -> None:
    version = write(tmp_path, EMPTY, {b"a": b"1"})
    (tmp_path / "local" / "boot_id").write_text("another boot")
    with open_state(tmp_path, version) as state:
        assert state.rebuilt
        assert state.store.get(b"a") == b"1"


def test_large_changes_bring_an_early_snapshot(tmp_path: Path) -> None:
    version = write(tmp_path, EMPTY, {b"a": b"1"}, None)
    noise = bytes(range(256)) * 4
    lengths = []
    for round_number in range(8):
        entries = {
            n.to_bytes(2, "big"): bytes((b * (n + round_number + 1) + n * n) % 251 for b in noise) for n in range(200)
        }
        version = write(tmp_path, version, entries, None)
        lengths.append(len(version.files))
    assert 1 in lengths
    assert len(content(tmp_path, version, None)) == 201


def test_exception_aborts_and_a_state_is_used_once(tmp_path: Path) -> None:
    version = write(tmp_path, EMPTY, {b"a": b"1"})
    with pytest.raises(RuntimeError), open_state(tmp_path, version) as state:
        state.store.put(b"a", b"2")
        raise RuntimeError
    assert content(tmp_path, version) == {b"a": b"1"}
    with pytest.raises(StateError, match="open it again"):
        state.commit()


def test_versions_pickle_and_name_their_files(tmp_path: Path) -> None:
    first = write(tmp_path, EMPTY, {b"a": b"1"})
    second = write(tmp_path, first, {b"a": b"2"})
    assert pickle.loads(pickle.dumps(second)) == second
    assert [file.version_id for file in second.files] == [first.id, second.id]
    assert {file.name for file in second.files} == {file.name for file in (tmp_path / "checkpoint").iterdir()}


@settings(max_examples=40)
@given(writes=st.lists(st.tuples(keys, st.one_of(st.none(), st.binary(max_size=2))), max_size=30))
def test_spilled_changes_merge_with_the_last_value(writes: list[tuple[bytes, bytes | None]]) -> None:
    store = TrackedStore(MemoryStore({b"a": b"old", b"b": b"old"}), max_entries=2)
    expected: dict[bytes, bytes | None] = {}
    present = {b"a", b"b"}
    for key, value in writes:
        if value is not None:
            store.put(key, value)
            expected[key] = value
            present.add(key)
        elif store.delete(key):
            assert key in present
            present.remove(key)
            expected[key] = None
    assert list(store.changes()) == sorted(expected.items())
    assert store.has_changes == bool(expected)
    store.forget()
    assert not store.has_changes


def test_where_all_is_written_only_that_there_are_changes_is_remembered(tmp_path: Path) -> None:
    inner = MemoryStore({b"a": b"old"})
    store = TrackedStore(inner, str(tmp_path), keeps_changes=False, max_entries=1)
    assert not store.delete(b"b") and not store.has_changes
    for change in (lambda: store.put(b"b", b"1"), lambda: store.put_many([(b"c", b"2")]), lambda: store.delete(b"a")):
        change()
        assert store.has_changes
        store.forget()
        assert not store.has_changes
    assert inner.snapshot() == {b"b": b"1", b"c": b"2"}
    assert list(tmp_path.iterdir()) == []


def test_part_files_go_beside_the_local_store_and_away_again(tmp_path: Path) -> None:
    store = TrackedStore(MemoryStore(), str(tmp_path), max_bytes=1000)
    store.put(b"k", b"v" * 2000)
    assert len(list(tmp_path.glob("*/part-*"))) == 1
    store.forget()
    assert list(tmp_path.iterdir()) == []


def test_an_lmdb_that_is_full_says_what_to_do(tmp_path: Path) -> None:
    with LmdbStore.open(str(tmp_path), 2**20) as store, pytest.raises(StateError, match="raise the map size"):
        store.put(b"b", b"x" * 2**21)


def test_the_heap_keeps_a_bounded_number_of_entries(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(heap_store, "_MOST_KEPT_ENTRIES", 5)
    versions = {name: write(tmp_path, EMPTY, {b"a": b"1", b"b": b"2"}, name) for name in ("heap-1", "heap-2", "heap-3")}
    rebuilt = {}
    for name, version in reversed(versions.items()):
        with open_state(tmp_path, version, name) as state:
            rebuilt[name] = state.rebuilt
    assert rebuilt == {"heap-3": False, "heap-2": False, "heap-1": True}
