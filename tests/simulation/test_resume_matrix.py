"""The resume matrix in process; kills are real: SIGKILL of a process that runs the job on real files.

A quarter of the cells always, all of them in the soak run.
"""

from __future__ import annotations

import os
import shutil
import subprocess
from pathlib import Path

import pytest

from tests.spark.jobs import resuming
from tests.spark.jobs.resume_matrix import CHANGES, SIGKILL, Cell, all_cells, check
from tests.spark.jobs.resuming import Order

ROOT = Path(__file__).resolve().parents[2]
SIGKILLED = -9


def run_and_see_it_die(order: Order) -> None:
    """Run the order in a process of its own, which must kill itself."""
    surroundings = {**os.environ, "PYTHONPATH": os.pathsep.join([str(ROOT), str(ROOT / "src")])}
    try:
        done = subprocess.run(order.arguments(), env=surroundings, capture_output=True, text=True, timeout=120)
    finally:
        note = Path(order.path("scratch-path"))
        if note.exists():
            shutil.rmtree(note.read_text(), ignore_errors=True)
    assert done.returncode == SIGKILLED, done.stderr


def some_cells() -> list[Cell]:
    """Every backend meets every change of parallelism and every pair of a way to stop and an origin."""
    cells = all_cells()
    pairs = 4
    groups = [cells[start : start + pairs] for start in range(0, len(cells), pairs)]
    return [group[(number + number // len(CHANGES)) % pairs] for number, group in enumerate(groups)]


def run_cell(tmp_path: Path, cell: Cell) -> None:
    leave = run_and_see_it_die if cell.stop == SIGKILL else resuming.run
    check(cell, Order(str(tmp_path), cell.backend, cell.before, "first"), leave, resuming.run)


@pytest.mark.slow
@pytest.mark.turns(3)
@pytest.mark.parametrize("cell", some_cells(), ids=str)
def test_a_job_goes_on_from_wherever_it_was_left(tmp_path: Path, cell: Cell) -> None:
    run_cell(tmp_path, cell)


@pytest.mark.soak
@pytest.mark.parametrize("cell", all_cells(), ids=str)
def test_every_cell(tmp_path: Path, cell: Cell) -> None:
    run_cell(tmp_path, cell)
