"""What a checkpoint costs in time and bytes, against the size of the state and the share of keys that a batch touches.

One subtask in this process, on the local disk, without Spark. `python -m benchmarks.checkpoints`.
"""

from __future__ import annotations

import os
import random
import shutil
import sys
import tempfile
import time
from collections.abc import Callable, Iterable
from dataclasses import asdict, dataclass, field
from pathlib import Path
from typing import TypeVar

from rich.console import Console
from rich.table import Table

sys.path.insert(0, __file__.rpartition("/benchmarks/")[0])

from benchmarks import results
from penstock.checkpoint import CheckpointDirectory, Seal
from penstock.runtime.report import SubtaskEntry
from penstock.state.versions import EMPTY, StateVersion, SubtaskState

KEYS = (10_000, 100_000, 1_000_000)
SHARES = (0.001, 0.01, 0.1, 1.0)
VALUE_BYTES = 100
GROWTH_KEYS = 100_000
GROWTH_BATCHES = 50
# What one touched key in a hundred may cost of the bytes of the whole state, and a directory of its first half.
BYTES_LIMIT = 0.02
GROWTH_LIMIT = 1.1

T = TypeVar("T")


def timed(work: Callable[[], T]) -> tuple[T, float]:
    """What some work gives, and its milliseconds."""
    started = time.perf_counter()
    result = work()
    return result, (time.perf_counter() - started) * 1000


@dataclass
class Subtask:
    """The state of one subtask, checkpointed into a directory of its own; `cost` has the last batch's milliseconds."""

    root: str
    backend: str
    state: StateVersion = EMPTY
    version: int = -1
    cost: dict[str, float] = field(default_factory=dict)
    noise: random.Random = field(default_factory=lambda: random.Random(1))

    def __post_init__(self) -> None:
        self.directory = CheckpointDirectory(f"{self.root}/checkpoint")
        self.directory.adopt("benchmark", {"vertices": []})
        self.directory.take_over()

    def open(self, *, snapshot_after: int = 20) -> SubtaskState:
        return SubtaskState.open(
            self.directory.filesystem,
            self.directory.state_path("state", 0),
            self.state,
            local_path=f"{self.root}/local/{self.backend}",
            backend=self.backend,
            snapshot_after=snapshot_after,
        )

    def batch(self, keys: Iterable[int], *, snapshot_after: int = 20) -> int:
        """Touch some keys and take a checkpoint; returns the bytes that were written."""
        rows = [(b"key" + key.to_bytes(8, "big"), self.noise.randbytes(VALUE_BYTES)) for key in keys]
        opened, self.cost["open"] = timed(lambda: self.open(snapshot_after=snapshot_after))
        put = opened.store.put
        _, self.cost["put"] = timed(lambda: [put(key, value) for key, value in rows])
        self.state, self.cost["files"] = timed(opened.commit)
        self.version += 1
        seal = Seal(self.version, {("state", 0): SubtaskEntry(self.state)})
        _, self.cost["seal"] = timed(lambda: self.directory.write_seal(seal))
        newest = Path(f"{self.directory.path}/penstock/seals/{self.version:020d}.seal")
        return self.state.files[-1].bytes + newest.stat().st_size

    def reopened_ms(self) -> float:
        """How long it takes to open the newest version."""
        opened, cost = timed(self.open)
        opened.abort()
        return cost

    def forget_local_store(self) -> None:
        """As after a move to another machine."""
        shutil.rmtree(f"{self.root}/local", ignore_errors=True)
        if self.backend == "heap":
            # Heap stores live in the process; what it kept of this path is of no use for another folder.
            os.rename(self.root, f"{self.root}-moved")
            self.root += "-moved"
            self.directory = CheckpointDirectory(f"{self.root}/checkpoint")


@dataclass(frozen=True)
class OnePercent:
    """What a checkpoint cost when one key in a hundred was touched, and a restore of all without a local store."""

    backend: str
    keys: int
    share_of_bytes: float
    ms: float
    restore_ms: float


def _costs(table: Table, backend: str, keys: int) -> OnePercent:
    """Rows of the table for one backend and size."""
    share_of_bytes = ms = 0.0
    with tempfile.TemporaryDirectory(prefix="penstock-bench-") as root:
        subtask = Subtask(f"{root}/job", backend)
        whole = subtask.batch(range(keys))
        _add(table, subtask, keys, "all, at first", whole, whole)
        for share in SHARES:
            touched = subtask.noise.sample(range(keys), int(keys * share))
            written = subtask.batch(touched)
            _add(table, subtask, keys, f"{share:.1%}", written, whole)
            if share == 0.01:
                share_of_bytes, ms = written / whole, sum(subtask.cost.values())
        warm = subtask.reopened_ms()
        subtask.forget_local_store()
        cold = subtask.reopened_ms()
        table.add_row(backend, f"{keys:,}", "restore, cold", "", "", "", f"{cold:,.0f}", "")
        table.add_row(backend, f"{keys:,}", "restore, warm", "", "", "", f"{warm:,.1f}", "")
        written = subtask.batch([0], snapshot_after=0)
        _add(table, subtask, keys, "snapshot", written, whole)
    table.add_section()
    return OnePercent(backend, keys, share_of_bytes, ms, cold)


def _add(table: Table, subtask: Subtask, keys: int, what: str, written: int, whole: int) -> None:
    cost = subtask.cost
    table.add_row(
        subtask.backend,
        f"{keys:,}",
        what,
        f"{written / 1024:,.0f}",
        f"{written / whole:.2%}",
        f"{cost['put']:,.1f}",
        f"{cost['files']:,.1f}",
        f"{cost['seal']:,.1f}",
    )


def _directory_sizes() -> list[int]:
    """Bytes of a checkpoint directory after each batch that touches one key in a hundred."""
    sizes = []
    with tempfile.TemporaryDirectory(prefix="penstock-bench-") as root:
        subtask = Subtask(f"{root}/job", "lmdb")
        subtask.batch(range(GROWTH_KEYS))
        for _ in range(GROWTH_BATCHES):
            subtask.batch(subtask.noise.sample(range(GROWTH_KEYS), GROWTH_KEYS // 100))
            files = Path(subtask.directory.path).rglob("*")
            sizes.append(sum(path.stat().st_size for path in files if path.is_file()))
    return sizes


def main(scale: float = 1.0) -> int:
    """Measure and print; exits with 1 if small changes cost too many bytes, or the directory goes on growing."""
    console = Console(width=max(Console().width, 100))
    table = Table(
        title="Checkpoints of one subtask, rows of 100 random bytes",
        caption="Milliseconds: put = the batch's writes; files = change file or snapshot, and commit of the store; "
        "seal = one for the whole job; restore = opening, cold from five files, warm with a local store that is "
        "up to date. Bytes: file and seal, also as a share of those of the first snapshot.",
    )
    for column in ("store", "keys", "touched", "KB", "of all", "put", "files", "seal"):
        table.add_column(column, justify="left" if column in ("store", "touched") else "right")
    sizes = [int(keys * scale) for keys in KEYS]
    _costs(Table(), "lmdb", 1_000)  # the first one pays for what all share
    costs = [_costs(table, "lmdb", keys) for keys in sizes]
    costs += [_costs(table, backend, sizes[1]) for backend in ("rocksdb", "heap")]
    console.print(table)
    if scale == 1:
        results.write("checkpoints", {**results.heading(parallelism=1, rounds=1), "costs": [asdict(c) for c in costs]})
    directory = _directory_sizes()
    half = GROWTH_BATCHES // 2
    grown = max(directory[half:]) / max(directory[:half])
    console.print(
        f"Directory, {GROWTH_KEYS:,} keys, 1 % of them touched in each batch: "
        + ", ".join(f"{directory[n - 1] / 2**20:.1f} MB after {n}" for n in range(10, GROWTH_BATCHES + 1, 10))
        + f"; largest of batches {half + 1} to {GROWTH_BATCHES} is {grown:.2f} of the largest before"
        f" (limit {GROWTH_LIMIT})"
    )
    share = max(cost.share_of_bytes for cost in costs)
    console.print(f"1 % of the keys cost at most {share:.2%} of the bytes (limit {BYTES_LIMIT:.0%})")
    return 0 if share <= BYTES_LIMIT and grown <= GROWTH_LIMIT else 1


if __name__ == "__main__":
    sys.exit(main())
