"""The state of SQL jobs: restored, rescaled, refused where the query is another one, and forgotten in time."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import pytest

from penstock.common import Configuration
from penstock.datastream import StreamExecutionEnvironment
from penstock.engine.in_process.client import InProcessJobClient
from penstock.engine.in_process.clock import ManualClock
from penstock.engine.in_process.job import StalledJob
from penstock.errors import CheckpointError
from penstock.table import StreamTableEnvironment
from penstock.table.connectors import values

SUMS = "SELECT k, SUM(v) FROM s GROUP BY k"
ROWS = [(f"k{number % 5}", number) for number in range(20)]
SINK = "default_catalog.default_database.o"


class Job:
    """A query over rows of a table that does not end, into a table with a key."""

    def __init__(self, query: str, rows: list[Any], parallelism: int = 1, **settings: str) -> None:
        values.clear()
        configuration = Configuration()
        for key, value in settings.items():
            configuration.set_string(key, value)
        self.clock = ManualClock(1_000)
        environment = StreamExecutionEnvironment.in_process(configuration=configuration, clock=self.clock)
        environment.set_parallelism(parallelism)
        tables = StreamTableEnvironment.create(environment)
        source = f"'connector' = 'values', 'data-id' = '{values.register(rows)}', 'terminating' = 'false'"
        tables.execute_sql(f"CREATE TABLE s (k STRING, v INT) WITH ({source}, 'rows-per-batch' = '1')")
        tables.execute_sql(
            "CREATE TABLE o (k STRING, n BIGINT, PRIMARY KEY (k) NOT ENFORCED) "
            "WITH ('connector' = 'values', 'sink-insert-only' = 'false')"
        )
        for key, value in settings.items():
            tables.get_config().set(key, value)
        client = tables.execute_sql(f"INSERT INTO o {query}").get_job_client()
        assert isinstance(client, InProcessJobClient)
        self.client = client

    def run(self) -> list[tuple[Any, ...]]:
        """Read all rows; what has come out so far."""
        with pytest.raises(StalledJob):
            while self.client.run_batch():
                pass
        return list(values.results(SINK))

    def stopped(self, folder: Path) -> str:
        """Stop with a savepoint."""
        self.run()
        path: str = self.client.stop_with_savepoint(False, str(folder)).result()
        return path


def test_a_query_goes_on_from_a_savepoint_with_another_parallelism(tmp_path: Path) -> None:
    savepoint = Job(SUMS, ROWS).stopped(tmp_path)
    more = Job(SUMS, [*ROWS, ("k1", 1_000), ("new", 1)], 3, **{"execution.savepoint.path": savepoint})
    assert sorted(more.run()) == [(0, "new", 1), (2, "k1", 1_034)]


def test_what_is_done_with_results_may_change(tmp_path: Path) -> None:
    savepoint = Job(SUMS, ROWS).stopped(tmp_path)
    doubled = Job(
        "SELECT k, SUM(v) * 2 FROM s GROUP BY k", [*ROWS, ("k1", 0)], **{"execution.savepoint.path": savepoint}
    )
    assert doubled.run() == []  # nothing has changed
    doubled.client.cancel()


@pytest.mark.parametrize(
    "query", ["SELECT k, COUNT(v) FROM s GROUP BY k", "SELECT k, SUM(v) FROM s WHERE v > 3 GROUP BY k"]
)
def test_another_query_says_what_cannot_be_restored(tmp_path: Path, query: str) -> None:
    savepoint = Job(SUMS, ROWS).stopped(tmp_path)
    with pytest.raises(CheckpointError, match=r"GroupAggregate\(groupBy=\[k\], select=\[SUM\(v\)"):
        Job(query, ROWS, **{"execution.savepoint.path": savepoint}).run()


@pytest.mark.parametrize(
    ("query", "settings"),
    [
        (SUMS, {"table.exec.state.ttl": "10 s"}),
        ("SELECT /*+ STATE_TTL('s' = '10 s') */ k, SUM(v) FROM s GROUP BY k", {}),
        (
            "SELECT /*+ STATE_TTL('x' = '10 s') */ x.k, SUM(x.v) FROM s AS x GROUP BY x.k",
            {"table.exec.state.ttl": "1 d"},
        ),
    ],
)
def test_a_group_that_is_not_touched_is_forgotten(query: str, settings: dict[str, str]) -> None:
    job = Job(query, [("a", 1), ("a", 2), ("a", 3)], **settings)
    assert job.client.run_batch()
    job.clock.advance(5_000)
    assert job.client.run_batch()
    job.clock.advance(11_000)
    assert job.run() == [(0, "a", 1), (2, "a", 3), (0, "a", 3)]
