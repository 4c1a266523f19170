"""The contract of `LocalStore`, held by every backend: tags, what a close forgets, kills, and damaged files."""

from __future__ import annotations

import io
import pickle
import random
import signal
import subprocess
import sys
from collections.abc import Callable
from contextlib import suppress
from pathlib import Path

import pytest

from penstock.errors import StateError
from penstock.state import lmdb_store, rocksdb_store
from penstock.state.backends import BACKENDS, open_store, store_class
from penstock.state.local_store import DamagedStoreError, LocalStore
from penstock.state.versions import StateVersion
from tests.contract.state import killed_writer

every_backend = pytest.mark.parametrize("backend", BACKENDS)
on_disk = pytest.mark.parametrize("backend", ["lmdb", "rocksdb"])
Opener = Callable[[], LocalStore]


@pytest.fixture
def reopen(backend: str, tmp_path: Path) -> Opener:
    return lambda: open_store(backend, str(tmp_path / "deep" / "store"))


def content(store: LocalStore) -> dict[bytes, bytes]:
    return dict(store.scan(b""))


@every_backend
def test_a_commit_is_found_with_its_tag_and_later_writes_are_not(reopen: Opener) -> None:
    with reopen() as store:
        assert (store.tag, content(store)) == (None, {})
        store.put(b"a", b"1")
        store.commit(b"one")
        assert store.tag == b"one"
    with reopen() as store:
        assert (store.tag, content(store)) == (b"one", {b"a": b"1"})
        store.put(b"a", b"2")
        store.put(b"b", b"2")
        store.commit(b"two")
        store.delete(b"a")
        store.commit(b"three")
    with reopen() as store:
        assert (store.tag, content(store)) == (b"three", {b"b": b"2"})
        store.put(b"b", b"lost")
    with reopen() as store:
        # What was not committed is gone; a backend may lose the rest with it, but then it says so by the tag.
        assert (store.tag, content(store)) in [(b"three", {b"b": b"2"}), (None, {})]


@every_backend
def test_clear_leaves_nothing_and_a_second_close_is_fine(reopen: Opener) -> None:
    with reopen() as store:
        store.put(b"a", b"1")
        store.commit(b"one")
        store.clear()
        assert content(store) == {}
        store.put(b"b", b"2")
        assert content(store) == {b"b": b"2"}
        store.commit(b"two")
        store.close()
    with reopen() as store:
        assert (store.tag, content(store)) == (b"two", {b"b": b"2"})


@every_backend
def test_an_unchanged_store_is_found_again(reopen: Opener) -> None:
    with reopen() as store:
        store.put(b"a", b"1")
        store.commit(b"one")
    for _ in range(2):
        with reopen() as store:
            assert (store.tag, store.get(b"a")) == (b"one", b"1")


@every_backend
def test_stores_at_two_paths_have_nothing_in_common(backend: str, tmp_path: Path) -> None:
    with open_store(backend, str(tmp_path / "1")) as first, open_store(backend, str(tmp_path / "2")) as second:
        first.put(b"a", b"1")
        first.commit(b"one")
        assert (second.tag, content(second)) == (None, {})


@on_disk
def test_writes_that_outgrow_memory_are_all_or_nothing(
    backend: str, reopen: Opener, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(lmdb_store, "_MOST_CHANGED_BYTES", 20 * 4096)
    monkeypatch.setattr(rocksdb_store, "_MOST_PENDING_ENTRIES", 50)
    rows = {str(number).encode(): b"v" * 500 for number in range(1000)}
    with reopen() as store:
        store.put(b"old", b"1")
        store.commit(b"old")
        for key, value in rows.items():
            store.put(key, value)
        assert content(store) == {b"old": b"1"} | rows
    with reopen() as store:
        assert (store.tag, content(store)) == (None, {})
        for key, value in rows.items():
            store.put(key, value)
        for key in list(rows)[:300]:
            assert store.delete(key)
        store.commit(b"new")
    with reopen() as store:
        assert (store.tag, content(store)) == (b"new", dict(list(rows.items())[300:]))


# Damage


def damaged(path: Path, how: str) -> None:
    """Damage the largest file of a store, which holds its entries."""
    file = max(
        (each for each in path.rglob("*") if each.suffix in (".mdb", ".sst")), key=lambda each: each.stat().st_size
    )
    whole = file.read_bytes()
    if how == "missing":
        file.unlink()
    else:
        file.write_bytes({"garbage": b"\x07" * len(whole), "truncated": whole[: len(whole) // 2], "empty": b""}[how])


@on_disk
@pytest.mark.parametrize("how", ["garbage", "truncated", "empty", "missing"])
def test_a_store_that_is_damaged_when_it_is_opened_is_replaced(
    backend: str, reopen: Opener, tmp_path: Path, how: str
) -> None:
    with reopen() as store:
        for number in range(2000):
            store.put(str(number).encode(), b"v" * 100)
        store.commit(b"one")
    damaged(tmp_path, how)
    with reopen() as store:
        assert (store.tag, content(store)) == (None, {})
        store.put(b"a", b"1")
        store.commit(b"two")
    with reopen() as store:
        assert (store.tag, content(store)) == (b"two", {b"a": b"1"})


def test_damage_that_rocksdb_meets_while_reading_is_named_and_the_store_replaced(tmp_path: Path) -> None:
    noise = random.Random(1)
    with open_store("rocksdb", str(tmp_path)) as store:
        for number in range(2000):
            store.put(str(number).encode(), noise.randbytes(100))
        store.commit(b"one")
    file = next(tmp_path.glob("*.sst"))
    data = bytearray(file.read_bytes())
    for place in range(len(data) // 4, len(data) // 2, 100):
        data[place] ^= 0xFF
    file.write_bytes(data)
    with open_store("rocksdb", str(tmp_path)) as store:
        assert store.tag == b"one"
        with pytest.raises(DamagedStoreError, match="rebuilt from the checkpoint when the task is run again"):
            content(store)
    with open_store("rocksdb", str(tmp_path)) as store:
        assert (store.tag, content(store)) == (None, {})


def test_a_rocksdb_that_another_has_open_is_left_alone(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(rocksdb_store, "_LOCK_PATIENCE_S", 0.0)
    with open_store("rocksdb", str(tmp_path)) as store:
        store.put(b"a", b"1")
        store.commit(b"one")
        with pytest.raises(StateError, match="in use by another process"):
            open_store("rocksdb", str(tmp_path))
        assert store.get(b"a") == b"1"
    with pytest.raises(StateError, match="used after it was closed"):
        store.get(b"b")


def test_an_unknown_backend_is_refused() -> None:
    with pytest.raises(StateError, match=r"no state backend 'tape': choose one of heap, lmdb, rocksdb"):
        store_class("tape")


# Kills
@on_disk
def test_a_kill_at_any_moment_leaves_the_old_version_or_the_new(backend: str, tmp_path: Path) -> None:
    command = [sys.executable, "-m", killed_writer.__name__, backend, str(tmp_path)]
    done = subprocess.run(command, stdout=subprocess.PIPE, cwd=Path(__file__).parents[3], check=False)
    assert done.returncode == -signal.SIGKILL
    number, version = every_told(done.stdout)[-1]
    with open_store(backend, f"{tmp_path}/local") as store:
        held = next(iter(content(store).values()), None)
        assert (held is None) == (store.tag is None)
        assert content(store) == ({} if held is None else killed_writer.rows(int.from_bytes(held, "big")))
    with killed_writer.opened(backend, str(tmp_path), version) as state:
        assert dict(state.store.scan(b"")) == killed_writer.rows(number)


def every_told(output: bytes) -> list[tuple[int, StateVersion]]:
    stream, told = io.BytesIO(output), []
    with suppress(EOFError, pickle.UnpicklingError):
        while True:
            told.append(pickle.load(stream))
    return told
