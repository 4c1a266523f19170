"""Writes what queries of Nexmark find in Spark's own streaming: `FILE EVENTS QUERY...`.

In a process of its own, for it sets up Spark in another way than Penstock does.
"""

from __future__ import annotations

import json
import sys
from pathlib import Path

from benchmarks.nexmark.spark_queries import run
from benchmarks.peers.reporting import Task


def main(file: str, events: str, *queries: str) -> None:
    tables = {query: run(Task(query, file, [], collect=True), int(events)) for query in queries}
    Path(file).write_text(json.dumps(tables))


if __name__ == "__main__":
    main(*sys.argv[1:])
