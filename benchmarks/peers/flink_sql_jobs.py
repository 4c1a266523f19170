"""The jobs in Flink SQL: no Python touches a record. What cannot be said in SQL is not here.

Two-phase window aggregation is Flink's own default. The running count is a changelog: a result for every record.
"""

from __future__ import annotations

import sys
from typing import Any

from pyflink.common import Row, RowKind
from pyflink.table import StreamTableEnvironment

from benchmarks.peers import reporting
from benchmarks.peers.flink_numbers import environment, numbers
from benchmarks.peers.sql_queries import QUERIES, joins, results_in


def run(task: reporting.Task, records: int) -> list[Any] | None:
    """Run a query; of a join each side has half of the records."""
    env = environment(task)
    tables = StreamTableEnvironment.create(env)
    has_twins = joins(task.job)
    count = records // 2 if has_twins else records
    tables.create_temporary_view("records", numbers(tables, env, task, count))
    if has_twins:
        tables.create_temporary_view("twins", numbers(tables, env, task, count, twin=True))
    query = QUERIES[task.job]
    if task.collect:
        with tables.execute_sql(query).collect() as rows:
            return [list(row) for row in rows if _is_result(row)]
    columns = ", ".join(f"f{place} BIGINT" for place in range(results_in(query)))
    tables.execute_sql(f"CREATE TEMPORARY TABLE nowhere ({columns}) WITH ('connector' = 'blackhole')")
    tables.execute_sql(f"INSERT INTO nowhere {query}").wait()
    return None


def _is_result(row: Row) -> bool:
    return row.get_row_kind() in (RowKind.INSERT, RowKind.UPDATE_AFTER)


if __name__ == "__main__":
    reporting.serve(run, sys.argv[1:])
