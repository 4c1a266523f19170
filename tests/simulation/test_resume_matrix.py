"""The resume matrix in process; kills are real: SIGKILL of a process that runs the job on real files.

A quarter of the cells always, all of them in the soak run.
"""

from __future__ import annotations

import os
import shutil
import subprocess
from dataclasses import replace
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


MODES = [
    ("micro-batch", "micro-batch"),
    ("continuous", "continuous"),
    ("micro-batch", "continuous"),
    ("continuous", "micro-batch"),
]
"""The modes of the first run and of the second."""


def run_cell(tmp_path: Path, cell: Cell, modes: tuple[str, str] = MODES[0]) -> None:
    leave = run_and_see_it_die if cell.stop == SIGKILL else resuming.run
    before, after = ({"penstock.execution.mode": mode} for mode in modes)

    def go_on(order: Order) -> None:
        resuming.run(replace(order, settings=after))

    check(cell, Order(str(tmp_path), cell.backend, cell.before, "first", settings=before), leave, go_on)


def cells_by_modes() -> list[tuple[Cell, tuple[str, str]]]:
    """The cells of `some_cells`, with the pairs of modes that have a continuous one in turns."""
    return [(cell, MODES[1 + number % 3]) for number, cell in enumerate(some_cells())]


@pytest.mark.slow
@pytest.mark.parametrize("cell", some_cells(), ids=str)
def test_a_job_goes_on_from_wherever_it_was_left(tmp_path: Path, cell: Cell) -> None:
    run_cell(tmp_path, cell)


@pytest.mark.slow
@pytest.mark.parametrize(("cell", "modes"), cells_by_modes(), ids=str)
def test_a_job_goes_on_in_continuous_mode_and_back(tmp_path: Path, cell: Cell, modes: tuple[str, str]) -> None:
    run_cell(tmp_path, cell, modes)


@pytest.mark.soak
@pytest.mark.parametrize("modes", MODES, ids=" to ".join)
@pytest.mark.parametrize("cell", all_cells(), ids=str)
def test_every_cell(tmp_path: Path, cell: Cell, modes: tuple[str, str]) -> None:
    run_cell(tmp_path, cell, modes)
