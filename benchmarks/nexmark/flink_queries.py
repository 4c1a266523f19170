"""The queries in Flink SQL, on the JVM."""

from __future__ import annotations

import json
import sys
import tempfile
from collections.abc import Iterator
from pathlib import Path
from typing import Any

from pyflink.table import DataTypes, StreamTableEnvironment
from pyflink.table.expressions import col

from benchmarks.nexmark.model import RATE, SIDE_ROWS, VIEWS
from benchmarks.nexmark.queries import EXTRA_VIEWS, QUERIES, UPSERTED
from benchmarks.nexmark.results_of import latest, materialized
from benchmarks.nexmark.sinks import sink_sql
from benchmarks.peers import reporting
from benchmarks.peers.flink_numbers import create_numbers, environment

WATERMARK = "ts - INTERVAL '4' SECOND"


def changelog_of(tables: StreamTableEnvironment, query: str) -> Iterator[tuple[str, list[str]]]:
    """The rows of a query as texts, by way of files: PyFlink brings single rows to Python very slowly."""
    found = tables.sql_query(query)
    names = found.get_schema().get_field_names()
    with tempfile.TemporaryDirectory() as folder:
        columns = ", ".join([f"`{name}` STRING" for name in names])
        options = f"'connector' = 'filesystem', 'path' = 'file://{folder}', 'format' = 'debezium-json'"
        tables.execute_sql(f"CREATE TEMPORARY TABLE found_rows ({columns}) WITH ({options})")
        texts = found.select(*[col(name).cast(DataTypes.STRING()).alias(name) for name in names])
        texts.execute_insert("found_rows").wait()
        for file in sorted(Path(folder).rglob("*")):
            for line in file.read_text().splitlines() if file.is_file() else ():
                change = json.loads(line)
                kind, values = ("+I", change["after"]) if change["op"] == "c" else ("-D", change["before"])
                yield kind, [values[name] for name in names]


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
        changes = changelog_of(tables, QUERIES[task.job])
        return latest(changes, UPSERTED[task.job]) if task.job in UPSERTED else materialized(changes)
    tables.execute_sql(sink_sql(task.job)).wait()
    return None


if __name__ == "__main__":
    reporting.serve(run, sys.argv[1:])
