"""The SQL jobs in Penstock: the queries of Flink SQL, over tables of a generator of numbers."""

from __future__ import annotations

from typing import Any

from benchmarks.peers import reporting
from benchmarks.peers.sql_queries import QUERIES, joins, records_sql, results_in
from penstock.common import RowKind
from penstock.datastream import StreamExecutionEnvironment
from penstock.table import StreamTableEnvironment

_RESULTS = (RowKind.INSERT, RowKind.UPDATE_AFTER)
_UNLIMITED = 10**12


def is_sql(job: str) -> bool:
    """Whether a job is written in SQL."""
    return job.startswith("sql_")


def create_numbers(tables: StreamTableEnvironment, name: str, task: reporting.Task, count: int) -> None:
    """A table of numbers below `count`, with their event times."""
    millis = f"n * 1000 / {task.rate}"
    options = {
        "connector": "datagen",
        "rows-per-second": _UNLIMITED,
        "fields.n.kind": "sequence",
        "fields.n.start": 0,
        "fields.n.end": count - 1,
    }
    told = ", ".join(f"'{key}' = '{value}'" for key, value in options.items())
    tables.execute_sql(
        f"CREATE TEMPORARY TABLE {name} (n BIGINT NOT NULL, t AS {millis}, ts AS TO_TIMESTAMP_LTZ({millis}, 3), "
        f"WATERMARK FOR ts AS ts) WITH ({told})"
    )


def create_tables(tables: StreamTableEnvironment, task: reporting.Task, records: int) -> None:
    """The tables that the queries read."""
    has_twins = joins(task.job)
    count = records // 2 if has_twins else records
    for name, numbers in (("records", "numbers"), ("twins", "twin_numbers"))[: 2 if has_twins else 1]:
        create_numbers(tables, numbers, task, count)
        tables.execute_sql(f"CREATE TEMPORARY VIEW {name} AS {records_sql(task, numbers, twin=name == 'twins')}")


def run(env: StreamExecutionEnvironment, task: reporting.Task, records: int) -> list[Any] | None:
    """Run a query; of a join each side has half of the records."""
    tables = StreamTableEnvironment.create(env)
    create_tables(tables, task, records)
    query = QUERIES[task.job]
    if task.collect:
        with tables.execute_sql(query).collect() as rows:
            return [list(row) for row in rows if row.get_row_kind() in _RESULTS]
    columns = ", ".join(f"f{place} BIGINT" for place in range(results_in(query)))
    tables.execute_sql(f"CREATE TEMPORARY TABLE nowhere ({columns}) WITH ('connector' = 'blackhole')")
    tables.execute_sql(f"INSERT INTO nowhere {query}").wait()
    return None
