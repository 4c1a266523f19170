"""Where the rows of a query go while its speed is measured.

Imports the standard library only: environments of all systems load it.
"""

from __future__ import annotations

import tempfile

from benchmarks.nexmark.queries import QUERIES


def sink_sql(query: str) -> str:
    """The statement that runs a query: q10 writes files, the rows of the others go nowhere."""
    if query == "q10":
        options = f"'connector' = 'filesystem', 'path' = 'file://{tempfile.mkdtemp()}', 'format' = 'csv'"
        return f"CREATE TABLE bids_on_disk PARTITIONED BY (dt, hm) WITH ({options}) AS {QUERIES[query]}"
    return f"CREATE TABLE nowhere WITH ('connector' = 'blackhole') AS {QUERIES[query]}"
