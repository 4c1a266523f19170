"""The matrix of resuming: which cells there are, how one is run, and what its output must be.

A cell is a job that is left in the middle and gone on with, on one backend, with a change of parallelism:

| | savepoint | checkpoint |
|---|---|---|
| clean stop | `stop_with_savepoint` without drain; another job starts from the savepoint | `cancel`; see below |
| SIGKILL | a savepoint is taken, the job goes on, and is killed batches later; another job starts from the savepoint | killed in the middle; see below |

From a checkpoint, a job of the same parallelism is started again on its directory; one of another parallelism starts
in a directory of its own with that of the first as `execution.state-recovery.path`.

The output of both runs together is that of one run, every line once. One cell needs a rule: what a job publishes
between its savepoint and its death is not taken back by starting from the savepoint, in Flink as here, and comes again
from the new job. Who goes back to a savepoint discards it, and so does the check: the output that was published when
the savepoint was taken and that of the second run make the whole; what is discarded must be right in itself.
"""  # noqa: E501 - a table

from __future__ import annotations

import json
from collections.abc import Callable
from dataclasses import dataclass, replace
from itertools import product
from pathlib import Path

from tests.spark.jobs import resuming
from tests.spark.jobs.deaths import DRIVER_MOMENTS
from tests.spark.jobs.resuming import Order

BACKENDS = ("heap", "lmdb", "rocksdb")
CHANGES = ((2, 2), (2, 4), (4, 2), (5, 3))
CLEAN, SIGKILL = "clean stop", "SIGKILL"
SAVEPOINT, CHECKPOINT = "savepoint", "checkpoint"
_LEAVES = {
    (CLEAN, SAVEPOINT): "with savepoint",
    (CLEAN, CHECKPOINT): "cancelled",
    (SIGKILL, SAVEPOINT): "killed after savepoint",
    (SIGKILL, CHECKPOINT): "killed",
}
# The second run has nothing to be cut for.
_AT_ONCE = 10_000


@dataclass(frozen=True)
class Cell:
    """One cell; `moment` is when a killed process dies."""

    backend: str
    before: int
    after: int
    stop: str
    origin: str
    moment: str

    def __str__(self) -> str:
        death = f" {self.moment}" if self.stop == SIGKILL else ""
        return f"{self.backend}, {self.before} to {self.after}, {self.stop}{death}, {self.origin}"


def all_cells() -> list[Cell]:
    """Every cell; the moments of death take turns, so that each meets every backend."""
    cells = product(BACKENDS, CHANGES, (CLEAN, SIGKILL), (SAVEPOINT, CHECKPOINT))
    return [
        Cell(backend, before, after, stop, origin, DRIVER_MOMENTS[(number // 2 + number % 2) % len(DRIVER_MOMENTS)])
        for number, (backend, (before, after), stop, origin) in enumerate(cells)
    ]


def check(cell: Cell, first: Order, leave: Callable[[Order], None], go_on: Callable[[Order], None]) -> None:
    """Run a cell and compare. `first` says where and on what; `leave` runs the order of the first run, in a process
    of its own where that is to be killed, `go_on` that of the second.
    """
    moment = (cell.moment, first.death[1])
    leaves = _LEAVES[cell.stop, cell.origin]
    leave(replace(first, backend=cell.backend, parallelism=cell.before, leaves=leaves, death=moment))
    left = resuming.output_files(first.folder)
    expected = resuming.expected()
    assert _is_part(resuming.lines_of(left), expected), f"{cell}: the first run published something wrong"
    assert len(resuming.lines_of(left)) < len(expected), f"{cell}: nothing was left to be done"
    go_on(_second(cell, first))
    kept = _published_at_savepoint(first) if leaves == "killed after savepoint" else left
    found = resuming.lines_of(kept | (resuming.output_files(first.folder) - left))
    assert found == expected, f"{cell}: {_difference(found, expected)}"


def _second(cell: Cell, first: Order) -> Order:
    if cell.origin == SAVEPOINT:
        path: str | None = Path(first.path("savepoint-path")).read_text()
    else:
        path = None if cell.before == cell.after else first.path(first.checkpoint)
    checkpoint = first.checkpoint if path is None else "second"
    return replace(
        first,
        backend=cell.backend,
        parallelism=cell.after,
        checkpoint=checkpoint,
        recovery=path,
        leaves="at the end",
        max_records=_AT_ONCE,
    )


def _published_at_savepoint(first: Order) -> set[str]:
    return set(json.loads(Path(first.path("published-at-savepoint")).read_text()))


def _is_part(some: list[str], whole: list[str]) -> bool:
    return len(set(some)) == len(some) and set(some) <= set(whole)


def _difference(found: list[str], expected: list[str]) -> str:
    missing, surplus = sorted(set(expected) - set(found)), sorted(set(found) - set(expected))
    twice = len(found) - len(set(found))
    return f"{len(missing)} lines missing {missing[:3]}, {len(surplus)} wrong {surplus[:3]}, {twice} there twice"
