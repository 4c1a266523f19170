"""The queries in Flink SQL, on the JVM."""

from __future__ import annotations

import sys
from typing import Any

from pyflink.table import StreamTableEnvironment

from benchmarks.nexmark.model import RATE, SIDE_ROWS, VIEWS
from benchmarks.nexmark.queries import EXTRA_VIEWS, QUERIES
from benchmarks.nexmark.results_of import materialized
from benchmarks.nexmark.sinks import sink_sql
from benchmarks.peers import reporting
from benchmarks.peers.flink_numbers import create_numbers, environment

KINDS = ("+I", "-U", "+U", "-D")
WATERMARK = "ts - INTERVAL '4' SECOND"


def run(task: reporting.Task, events: int) -> list[Any] | None:
    """Run a query; its rows go nowhere, those of q10 to files."""
    env = environment(task)
    tables = StreamTableEnvironment.create(env)
    tables.get_config().set("table.local-time-zone", "UTC")
    for name, count in (("numbers", events), ("side_numbers", SIDE_ROWS)):
        create_numbers(tables, env, name, count, parallelism=task.parallelism, rate=RATE, watermark=WATERMARK)
    for name, text in {**VIEWS, **EXTRA_VIEWS.get(task.job, {})}.items():
        tables.execute_sql(f"CREATE TEMPORARY VIEW {name} AS {text}")
    if task.collect:
        with tables.execute_sql(QUERIES[task.job]).collect() as rows:
            return materialized((KINDS[row.get_row_kind().value], row) for row in rows)
    tables.execute_sql(sink_sql(task.job)).wait()
    return None


if __name__ == "__main__":
    reporting.serve(run, sys.argv[1:])
