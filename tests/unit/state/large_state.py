"""A process that writes, reads and rebuilds state larger than the memory it may use; a program for the tests.

The bounds of what is kept in memory are made small, so that a small state is a large one; they work the same way.
"""

from __future__ import annotations

import random
import shutil
import sys

from pyarrow import fs

from penstock.state import files, lmdb_store, tracked_store
from penstock.state.versions import EMPTY, StateVersion, SubtaskState

MEGABYTE = 2**20
ROWS = 12_000
ROW_BYTES = 10 * 1024
BOUND = 2 * MEGABYTE


def anonymous_bytes() -> int:
    """What the process holds in memory that is not a cache of a file."""
    with open("/proc/self/status") as status:
        return 1024 * next(int(line.split()[1]) for line in status if line.startswith("RssAnon"))


class Peak:
    """The largest growth seen."""

    def __init__(self) -> None:
        self._start = anonymous_bytes()
        self.growth = 0

    def look(self) -> None:
        self.growth = max(self.growth, anonymous_bytes() - self._start)


def opened(backend: str, root: str, version: StateVersion) -> SubtaskState:
    local_path = f"{root}/local"
    return SubtaskState.open(
        fs.LocalFileSystem(), f"{root}/checkpoint", version, local_path=local_path, backend=backend
    )


def make_bounds_small(backend: str) -> None:
    tracked_store._MAX_BYTES = BOUND
    files._CHUNK_BYTES = files._WHOLE_READ_BYTES = BOUND
    lmdb_store._MOST_CHANGED_BYTES = BOUND
    if backend == "rocksdb":
        from penstock.state import rocksdb_store

        rocksdb_store._MOST_PENDING_BYTES = rocksdb_store._WRITE_BUFFER_BYTES = rocksdb_store._CACHE_BYTES = BOUND


def main(backend: str, root: str) -> None:
    """Print the size of the state and the largest growth of memory."""
    make_bounds_small(backend)
    with opened(backend, f"{root}/warm", EMPTY) as state:
        state.store.put(b"libraries", b"are loaded, and have their buffers")
        state.commit()
    peak, noise = Peak(), random.Random(1)
    with opened(backend, root, EMPTY) as state:
        for number in range(ROWS):
            state.store.put(number.to_bytes(4, "big"), noise.randbytes(ROW_BYTES))
            if number % 100 == 0:
                peak.look()
        version = state.commit()
    peak.look()
    shutil.rmtree(f"{root}/local")
    with opened(backend, root, version) as state:
        peak.look()
        assert state.rebuilt
        expected = random.Random(1)
        for number, (key, value) in enumerate(state.store.scan(b"")):
            assert (key, value) == (number.to_bytes(4, "big"), expected.randbytes(ROW_BYTES))
            if number % 100 == 0:
                peak.look()
        assert number == ROWS - 1
    print(ROWS * ROW_BYTES, peak.growth)


if __name__ == "__main__":
    main(*sys.argv[1:])
