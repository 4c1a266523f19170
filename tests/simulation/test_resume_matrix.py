"""Every cell of the resume matrix in process; kills are real: SIGKILL of a process that runs the job on real files."""

from __future__ import annotations

import os
import shutil
import subprocess
from pathlib import Path

import pytest

from tests.spark.jobs import resuming
from tests.spark.jobs.resume_matrix import SIGKILL, Cell, all_cells, check
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


@pytest.mark.slow
@pytest.mark.parametrize("cell", all_cells(), ids=str)
def test_a_job_goes_on_from_wherever_it_was_left(tmp_path: Path, cell: Cell) -> None:
    leave = run_and_see_it_die if cell.stop == SIGKILL else resuming.run
    check(cell, Order(str(tmp_path), cell.backend, cell.before, "first"), leave, resuming.run)
