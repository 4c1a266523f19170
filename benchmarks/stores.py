"""`python -m benchmarks.stores [rows ...]`: what an operation on each state backend costs, and what a commit costs.

Runs in this process, without Spark.
"""

from __future__ import annotations

import random
import sys
import tempfile
import time
from collections.abc import Callable

sys.path.insert(0, __file__.rpartition("/benchmarks/")[0])

from pyarrow import fs

from penstock.state.backends import BACKENDS, open_store
from penstock.state.versions import EMPTY, StateVersion, SubtaskState

ROWS = (10_000, 100_000, 1_000_000)
VALUE_BYTES = 100
OPERATIONS = 100_000


def key_of(number: int) -> bytes:
    return b"key" + number.to_bytes(8, "big")


def seconds(work: Callable[[], object]) -> float:
    started = time.perf_counter()
    work()
    return time.perf_counter() - started


def operations(backend: str, root: str) -> dict[str, float]:
    """Microseconds for each operation, on a store that holds as many rows as there are operations."""
    noise = random.Random(1)
    keys = [key_of(number) for number in range(OPERATIONS)]
    noise.shuffle(keys)
    values = [noise.randbytes(VALUE_BYTES) for _ in keys]
    store = open_store(backend, f"{root}/{backend}")
    put, found = store.put, {}

    def measure(name: str, count: int, work: Callable[[], object]) -> None:
        found[name] = seconds(work) / count * 1e6

    measure("put", OPERATIONS, lambda: [put(key, value) for key, value in zip(keys, values, strict=True)])
    measure("commit", 1, lambda: store.commit(b"one"))
    measure("close", 1, store.close)
    reopened = []
    measure("open", 1, lambda: reopened.append(open_store(backend, f"{root}/{backend}")))
    (store,) = reopened
    get = store.get
    measure("get", OPERATIONS, lambda: [get(key) for key in keys])
    measure("get absent", OPERATIONS, lambda: [get(key + b"x") for key in keys])
    measure("scan row", OPERATIONS, lambda: sum(1 for _ in store.scan(b"")))
    measure("scan start", 10_000, lambda: [next(store.scan(key)) for key in keys[:10_000]])
    store.close()
    return found


def opened(backend: str, root: str, base: StateVersion) -> SubtaskState:
    local_path = f"{root}/{backend}-local"
    return SubtaskState.open(fs.LocalFileSystem(), f"{root}/checkpoint", base, local_path=local_path, backend=backend)


def batch(backend: str, root: str, base: StateVersion, keys: range, noise: random.Random) -> tuple[StateVersion, str]:
    """Touch keys in a batch of its own; returns the version and a line of bytes and milliseconds."""
    states: list[SubtaskState] = []
    opening = seconds(lambda: states.append(opened(backend, root, base)))
    (state,) = states
    put = state.store.put
    values = [noise.randbytes(VALUE_BYTES) for _ in keys]
    writing = seconds(lambda: [put(key_of(number), value) for number, value in zip(keys, values, strict=True)])
    versions: list[StateVersion] = []
    committing = seconds(lambda: versions.append(state.commit()))
    written = versions[0].files[-1].bytes
    times = " ".join(f"{name} {taken * 1e3:8.1f}" for name, taken in
                     (("open", opening), ("put", writing), ("commit", committing)))  # fmt: skip
    return versions[0], f"{written / 1024:10.0f} KB   {times} ms"


def commits(backend: str, root: str, rows: int) -> None:
    noise = random.Random(1)
    version, line = batch(backend, root, EMPTY, range(rows), noise)
    print(f"{backend:8} {rows:9,} rows, all new    {line}")
    for label, keys in (("1 % touched", range(0, rows, 100)), ("all touched", range(rows))):
        version, line = batch(backend, root, version, keys, noise)
        print(f"{backend:8} {rows:9,} rows, {label} {line}")


def main(arguments: list[str]) -> int:
    """Measure and print."""
    print(f"microseconds, {OPERATIONS:,} rows of {VALUE_BYTES} bytes in random order")
    for backend in BACKENDS:
        with tempfile.TemporaryDirectory() as root:
            measured = operations(backend, root)
        print(f"{backend:8}", "  ".join(f"{name} {cost:.2f}" for name, cost in measured.items()))
    for rows in [int(text) for text in arguments] or ROWS:
        for backend in BACKENDS:
            with tempfile.TemporaryDirectory() as root:
                commits(backend, root, rows)
    return 0


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
