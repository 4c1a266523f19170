"""What versions cost: memory for state larger than it, bytes for small changes, and a directory that stops growing."""

from __future__ import annotations

import os
import random
import subprocess
import sys
from pathlib import Path

import pytest
from pyarrow import fs

from penstock.checkpoint import CheckpointDirectory, Seal
from penstock.engine.spark.log_repair import SparkLogs
from penstock.runtime.report import SubtaskEntry
from penstock.state.versions import EMPTY, StateVersion, SubtaskState
from tests.unit.state import large_state

LOCAL = fs.LocalFileSystem()


@pytest.mark.slow
@pytest.mark.skipif(not os.path.exists("/proc/self/status"), reason="this system does not tell what a process holds")
@pytest.mark.parametrize("backend", ["lmdb", "rocksdb"])
def test_state_may_be_several_times_larger_than_memory(backend: str, tmp_path: Path) -> None:
    command = [sys.executable, "-m", large_state.__name__, backend, str(tmp_path)]
    done = subprocess.run(command, capture_output=True, text=True, cwd=Path(__file__).parents[3], check=True)
    size, growth = map(int, done.stdout.split())
    assert growth < size / 2.5


def opened(root: Path, base: StateVersion, snapshot_after: int = 20) -> SubtaskState:
    return SubtaskState.open(
        LOCAL, f"{root}/checkpoint", base, local_path=f"{root}/local", snapshot_after=snapshot_after
    )


def changed(root: Path, base: StateVersion, keys: range, noise: random.Random) -> StateVersion:
    with opened(root, base) as state:
        for number in keys:
            state.store.put(number.to_bytes(4, "big"), noise.randbytes(100))
        return state.commit()


@pytest.mark.parametrize("every", [100, 10])
def test_a_batch_writes_bytes_in_proportion_to_what_it_touches(tmp_path: Path, every: int) -> None:
    noise = random.Random(1)
    first = changed(tmp_path, EMPTY, range(20_000), noise)
    second = changed(tmp_path, first, range(0, 20_000, every), noise)
    (snapshot,), (*_, change) = first.files, second.files
    assert second.files == (snapshot, change), "nothing was written again"
    written = [path.stat().st_size for path in (tmp_path / "checkpoint").iterdir()]
    assert sorted(written) == [change.bytes, snapshot.bytes]
    assert 0.9 / every < change.bytes / snapshot.bytes < 1.3 / every


def size_of(folder: Path) -> int:
    return sum(path.stat().st_size for path in folder.rglob("*") if path.is_file())


def test_constant_state_stops_growing_on_disk(tmp_path: Path) -> None:
    directory = CheckpointDirectory(str(tmp_path / "directory"))
    directory.adopt("job", {"vertices": []})
    directory.take_over(SparkLogs())
    noise, state_version = random.Random(1), EMPTY
    checkpoint_sizes, local_sizes = [], []
    for version in range(60):
        state = SubtaskState.open(
            LOCAL, directory.state_path("u", 0), state_version, local_path=f"{tmp_path}/local", snapshot_after=4
        )
        for _ in range(40):
            state.store.put(noise.randrange(300).to_bytes(4, "big"), noise.randbytes(100))
        state_version = state.commit()
        directory.write_seal(Seal(version, {("u", 0): SubtaskEntry(state_version)}))
        checkpoint_sizes.append(size_of(tmp_path / "directory"))
        local_sizes.append(size_of(tmp_path / "local"))
    for sizes in (checkpoint_sizes, local_sizes):
        assert max(sizes[30:]) <= 1.1 * max(sizes[:30])
    # Two chains at most: the one that retained versions still name, and the one that goes on.
    assert max(checkpoint_sizes) < 300 * 110 * 5
