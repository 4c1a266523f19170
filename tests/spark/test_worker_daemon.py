"""Workers come from Penstock's daemon: prepared, and each with random numbers of its own."""

from __future__ import annotations

import os
import random
from collections.abc import Iterator
from pathlib import Path

import numpy as np
import pyarrow as pa
import pytest
from pyspark.sql import SparkSession

from penstock.engine.spark.startup.session_config import WORKER_DAEMON


@pytest.mark.skipif(not Path("/proc").exists(), reason="only where threads can be counted")
def test_workers_are_forked_from_the_prepared_daemon(spark: SparkSession) -> None:
    def look(batches: Iterator[pa.RecordBatch]) -> Iterator[pa.RecordBatch]:
        list(batches)
        command = Path(f"/proc/{os.getppid()}/cmdline").read_text().replace("\0", " ")
        draws = [float(np.random.random()), random.random()]
        yield pa.RecordBatch.from_pylist([{"command": command, "pid": os.getpid(), "draws": draws}])

    # Two at a time, so that there are two workers.
    frame = spark.range(2, numPartitions=2).mapInArrow(look, "command string, pid long, draws array<double>")
    rows = frame.collect()
    assert all(f"-m {WORKER_DAEMON} pyspark.worker" in row.command for row in rows)
    of_process = {row.pid: row.draws for row in rows}
    if len(of_process) == 2:
        first, second = of_process.values()
        assert first[0] != second[0]
        assert first[1] != second[1]
