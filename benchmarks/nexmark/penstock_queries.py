"""The queries in Penstock, on Spark."""

from __future__ import annotations

import sys
from typing import Any

from benchmarks.nexmark.model import RATE, SIDE_ROWS, VIEWS
from benchmarks.nexmark.queries import EXTRA_VIEWS, QUERIES, TIED
from benchmarks.nexmark.results_of import materialized
from benchmarks.nexmark.sinks import sink_sql
from benchmarks.peers import reporting
from penstock.common import Configuration
from penstock.datastream import StreamExecutionEnvironment
from penstock.table import DataTypes, StreamTableEnvironment
from penstock.table.expressions import col

_UNLIMITED = 10**12


def create_numbers(tables: StreamTableEnvironment, name: str, count: int) -> None:
    """A table of the numbers of events and their times."""
    millis = f"n * 1000 / {RATE}"
    tables.execute_sql(
        f"CREATE TEMPORARY TABLE {name} (n BIGINT NOT NULL, t AS {millis}, ts AS TO_TIMESTAMP_LTZ({millis}, 3), "
        "WATERMARK FOR ts AS ts - INTERVAL '4' SECOND) WITH ('connector' = 'datagen', "
        f"'rows-per-second' = '{_UNLIMITED}', 'fields.n.kind' = 'sequence', 'fields.n.start' = '0', "
        f"'fields.n.end' = '{count - 1}')"
    )


def tables_of(env: StreamExecutionEnvironment, query: str, events: int) -> StreamTableEnvironment:
    """An environment with the views that a query reads."""
    tables = StreamTableEnvironment.create(env)
    tables.get_config().set("table.local-time-zone", "UTC")
    create_numbers(tables, "numbers", events)
    create_numbers(tables, "side_numbers", SIDE_ROWS)
    for name, text in {**VIEWS, **EXTRA_VIEWS.get(query, {})}.items():
        tables.execute_sql(f"CREATE TEMPORARY VIEW {name} AS {text}")
    return tables


def collected(tables: StreamTableEnvironment, query: str) -> list[list[str]]:
    """The table that a query leaves, as texts."""
    found = tables.sql_query(query)
    texts = [col(name).cast(DataTypes.STRING()).alias(name) for name in found.get_schema().get_field_names()]
    with found.select(*texts).execute().collect() as rows:
        return materialized((str(row.get_row_kind()), row) for row in rows)


def run(task: reporting.Task, events: int) -> list[Any] | None:
    """Run a query; its rows go nowhere, those of q10 to files."""
    configuration = Configuration()
    for key, value in task.options.items():
        configuration.set_string(key, str(value))
    parallelism = 1 if task.collect and task.job in TIED else task.parallelism
    env = StreamExecutionEnvironment.get_execution_environment(configuration).set_parallelism(parallelism)
    tables = tables_of(env, task.job, events)
    if task.collect:
        return collected(tables, QUERIES[task.job])
    tables.execute_sql(sink_sql(task.job)).wait()
    return None


if __name__ == "__main__":
    reporting.serve(run, sys.argv[1:])
