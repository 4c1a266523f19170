"""The resume matrix on Spark: some cells always, all of them in the soak run; killed drivers are killed for good."""

from __future__ import annotations

from pathlib import Path

import pytest

from tests.spark.jobs import resuming
from tests.spark.jobs.deaths import BEFORE_SEAL, MID_PUBLISH
from tests.spark.jobs.resume_matrix import CHECKPOINT, CLEAN, SAVEPOINT, SIGKILL, Cell, all_cells, check
from tests.spark.jobs.resuming import Order
from tests.spark.processes import PATIENCE_SECONDS, process_group, spark_settings

# Every backend, way to stop, origin and change of parallelism is there; more of them meet in process, all of them in
# the soak run.
CHOSEN = [
    Cell("lmdb", 2, 4, SIGKILL, SAVEPOINT, BEFORE_SEAL),
    Cell("lmdb", 5, 3, CLEAN, CHECKPOINT, ""),
    Cell("rocksdb", 4, 2, SIGKILL, CHECKPOINT, MID_PUBLISH),
    Cell("rocksdb", 2, 4, CLEAN, SAVEPOINT, ""),
    Cell("heap", 2, 2, CLEAN, CHECKPOINT, ""),
]
SIGKILLED = -9


def run_cell(folder: Path, cell: Cell) -> None:
    # So few records in a batch that the job lasts long enough for a savepoint and a death, on any machine.
    first = Order(
        str(folder), cell.backend, cell.before, "first", engine="spark", batches=2, max_records=20, death=("", 1)
    )

    def run_and_see_it_die(order: Order) -> None:
        with process_group(folder) as group:
            settings = {**spark_settings(group), "spark.master": "local[2,4]"}
            program = group.start(Order(**{**vars(order), "settings": settings}).arguments(), "killed")
            assert program.process.wait(PATIENCE_SECONDS) == SIGKILLED, program.tail()

    check(cell, first, run_and_see_it_die if cell.stop == SIGKILL else resuming.run, resuming.run)


@pytest.mark.timeout(900)
@pytest.mark.usefixtures("spark")
@pytest.mark.parametrize("cell", CHOSEN, ids=str)
def test_chosen_cells(tmp_path: Path, cell: Cell) -> None:
    run_cell(tmp_path, cell)


@pytest.mark.soak
@pytest.mark.usefixtures("spark")
@pytest.mark.parametrize("cell", all_cells(), ids=str)
def test_every_cell(tmp_path: Path, cell: Cell) -> None:
    run_cell(tmp_path, cell)
