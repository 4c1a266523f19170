"""A process that writes version after version of a state and is killed at a random moment; a program for the tests."""

from __future__ import annotations

import os
import pickle
import random
import signal
import sys
import threading
import time

from pyarrow import fs

from penstock.state.versions import EMPTY, StateVersion, SubtaskState

KEYS = 3000
VERSIONS_BEFORE = 4


def opened(backend: str, root: str, version: StateVersion) -> SubtaskState:
    return SubtaskState.open(
        fs.LocalFileSystem(),
        f"{root}/checkpoint",
        version,
        local_path=f"{root}/local",
        backend=backend,
        snapshot_after=3,
    )


def rows(number: int) -> dict[bytes, bytes]:
    """What a version holds: its number, under every key."""
    return {key.to_bytes(2, "big"): number.to_bytes(4, "big") for key in range(KEYS)}


def write_for_ever(backend: str, root: str) -> None:
    """Tell each version when it is written."""
    version = EMPTY
    number = 0
    started = time.monotonic()
    while True:
        with opened(backend, root, version) as state:
            for key, value in rows(number).items():
                state.store.put(key, value)
            version = state.commit()
        sys.stdout.buffer.write(pickle.dumps((number, version)))
        sys.stdout.buffer.flush()
        number += 1
        if number == VERSIONS_BEFORE:
            one = (time.monotonic() - started) / VERSIONS_BEFORE
            threading.Timer(one * 2 * random.random(), os.kill, (os.getpid(), signal.SIGKILL)).start()


if __name__ == "__main__":
    write_for_ever(*sys.argv[1:])
