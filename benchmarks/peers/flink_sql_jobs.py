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

QUERIES = {
    "map_filter": "SELECT k, t + 1 AS t FROM records WHERE MOD(t + 1, 2) = 0",
    "count": "SELECT k, COUNT(*) AS c FROM records GROUP BY k",
    "tumbling_fields": (
        "SELECT k, COUNT(*) AS c, SUM(v) AS s FROM TABLE(TUMBLE(TABLE records, DESCRIPTOR(ts), "
        f"INTERVAL '{reporting.WINDOW_S}' SECOND)) GROUP BY k, window_start, window_end"
    ),
    "sliding": (
        "SELECT k, COUNT(*) AS c FROM TABLE(HOP(TABLE records, DESCRIPTOR(ts), INTERVAL '1' SECOND, "
        f"INTERVAL '{reporting.SLIDING_S}' SECOND)) GROUP BY k, window_start, window_end"
    ),
    "session": (
        "SELECT k, COUNT(*) AS c FROM TABLE(SESSION(TABLE records PARTITION BY k, DESCRIPTOR(ts), "
        f"INTERVAL '{reporting.SESSION_GAP_S}' SECOND)) GROUP BY k, window_start, window_end"
    ),
    "interval_join": (
        "SELECT a.k AS k, a.t AS t, b.t AS u FROM records a JOIN twins b ON a.k = b.k "
        "AND a.ts BETWEEN b.ts - INTERVAL '1' SECOND AND b.ts + INTERVAL '1' SECOND"
    ),
}


def run(task: reporting.Task, records: int) -> list[Any] | None:
    """Run a query; of a join each side has half of the records."""
    env = environment(task)
    tables = StreamTableEnvironment.create(env)
    joins = task.job == "interval_join"
    count = records // 2 if joins else records
    tables.create_temporary_view("records", numbers(tables, env, task, count))
    if joins:
        tables.create_temporary_view("twins", numbers(tables, env, task, count, twin=True))
    query = QUERIES[task.job]
    if task.collect:
        with tables.execute_sql(query).collect() as rows:
            return [list(row) for row in rows if _is_result(row)]
    columns = ", ".join(f"f{place} BIGINT" for place in range(query.partition(" FROM ")[0].count(",") + 1))
    tables.execute_sql(f"CREATE TEMPORARY TABLE nowhere ({columns}) WITH ('connector' = 'blackhole')")
    tables.execute_sql(f"INSERT INTO nowhere {query}").wait()
    return None


def _is_result(row: Row) -> bool:
    return row.get_row_kind() in (RowKind.INSERT, RowKind.UPDATE_AFTER)


if __name__ == "__main__":
    reporting.serve(run, sys.argv[1:])
