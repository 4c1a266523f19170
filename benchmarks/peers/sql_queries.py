"""The jobs in SQL, word for word the same in Penstock and in Flink SQL.

Imports the standard library only: environments of all systems load it. Records are made in SQL too, of their numbers:
the tables `records` and, for joins, `twins` have the key k, the value v, and the event time as t (milliseconds) and ts.
"""

from __future__ import annotations

from benchmarks.peers.drawn import TWIN_SHIFT, VALUES, key_sql, remainder_sql
from benchmarks.peers.reporting import SESSION_GAP_S, SLIDING_S, WINDOW_S, Task

__all__ = ["JOIN_BLOCK", "JOIN_STEP", "QUERIES", "joins", "records_sql", "results_in"]

JOIN_BLOCK, JOIN_STEP = 1_000, 617
"""Ids of the right side of a join come in another order: in each block of so many, every so manieth of them."""

_TUMBLE = f"TABLE(TUMBLE(TABLE records, DESCRIPTOR(ts), INTERVAL '{WINDOW_S}' SECOND))"
_HOP = f"TABLE(HOP(TABLE records, DESCRIPTOR(ts), INTERVAL '1' SECOND, INTERVAL '{SLIDING_S}' SECOND))"
_SESSION = f"TABLE(SESSION(TABLE records PARTITION BY k, DESCRIPTOR(ts), INTERVAL '{SESSION_GAP_S}' SECOND))"
_WINDOWED = "GROUP BY k, window_start, window_end"

QUERIES = {
    "map_filter": "SELECT k, t + 1 AS t FROM records WHERE MOD(t + 1, 2) = 0",
    "count": "SELECT k, COUNT(*) AS c FROM records GROUP BY k",
    "tumbling_fields": f"SELECT k, COUNT(*) AS c, SUM(v) AS s FROM {_TUMBLE} {_WINDOWED}",
    "sliding": f"SELECT k, COUNT(*) AS c FROM {_HOP} {_WINDOWED}",
    "session": f"SELECT k, COUNT(*) AS c FROM {_SESSION} {_WINDOWED}",
    "interval_join": (
        "SELECT a.k AS k, a.t AS t, b.t AS u FROM records a JOIN twins b ON a.k = b.k "
        "AND a.ts BETWEEN b.ts - INTERVAL '1' SECOND AND b.ts + INTERVAL '1' SECOND"
    ),
    "sql_filter": "SELECT k, t + 1 AS t FROM records WHERE MOD(v, 2) = 0",
    "sql_tumble": f"SELECT k, COUNT(*) AS c, SUM(v) AS s FROM {_TUMBLE} {_WINDOWED}",
    "sql_hop": f"SELECT k, COUNT(*) AS c, SUM(v) AS s FROM {_HOP} {_WINDOWED}",
    "sql_group": "SELECT k, COUNT(*) AS c, SUM(v) AS s FROM records GROUP BY k",
    "sql_join": "SELECT a.k AS k, a.t AS t, b.t AS u FROM records a JOIN twins b ON a.k = b.k",
}


def joins(job: str) -> bool:
    """Whether a job has two inputs, each with half of the records."""
    return job in ("interval_join", "sql_join")


def records_sql(task: Task, numbers: str, *, twin: bool = False) -> str:
    """The query that makes records of a table with their numbers n, and t and ts."""
    key = key_sql(f"(n + {TWIN_SHIFT})" if twin else "n", task.keys, task.zipf)
    if task.job == "sql_join":
        key = f"n - {remainder_sql('n', JOIN_BLOCK)} + {remainder_sql(f'n * {JOIN_STEP}', JOIN_BLOCK)}" if twin else "n"
    return f"SELECT {key} AS k, {remainder_sql('n', VALUES)} AS v, t, ts FROM {numbers}"


def results_in(query: str) -> int:
    """How many columns a query has."""
    return query.partition(" FROM ")[0].count(",") + 1
