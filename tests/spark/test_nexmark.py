"""Nexmark in Spark's own streaming finds what Penstock finds."""

from __future__ import annotations

import json
import sys
from pathlib import Path

from benchmarks import processes
from benchmarks.nexmark.penstock_queries import collected, tables_of
from benchmarks.nexmark.queries import QUERIES
from benchmarks.side_by_side import environment_of
from penstock.datastream import StreamExecutionEnvironment
from tests.spark.processes import QUICK_JAVA

EVENTS = 4_000
# Windows that only close behind the input, a join whose rows replace one another, sets, and a regular expression.
CHOSEN = ("q5", "q9", "q16", "q21")


def test_spark_finds_what_penstock_finds(tmp_path: Path) -> None:
    file, folder = tmp_path / "tables.json", tmp_path / "run"
    folder.mkdir()
    environment = environment_of(sys.executable, folder)
    environment["JAVA_TOOL_OPTIONS"] += f" {QUICK_JAVA}"
    command = [sys.executable, "-m", "tests.spark.jobs.nexmark_tables", str(file), str(EVENTS), *CHOSEN]
    assert processes.run(command, environment, folder, 250).error is None, (folder / "log").read_text()[-2_000:]
    found = json.loads(file.read_text())
    for query in CHOSEN:
        env = StreamExecutionEnvironment.in_process().set_parallelism(1)
        own = collected(tables_of(env, query, EVENTS), QUERIES[query])
        assert own and found[query] == own, query
