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
from tests.unit.state_processor.table_engine import reader_of

MEMBERS = "SELECT x.k, CAST(x.v AS BIGINT) FROM s AS x JOIN s AS y ON x.k = y.k WHERE x.v = y.v"
SUMS = "SELECT k, SUM(v) FROM s GROUP BY k"
ROWS = [(f"k{number % 5}", number) for number in range(20)]
SINK = "default_catalog.default_database.o"


class Job:
    """Queries over rows of a table that does not end, each into a table with a key: `o`, `o2` and so on."""

    def __init__(self, query: str | list[str], rows: list[Any], parallelism: int = 1, **settings: str) -> None:
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
        for key, value in settings.items():
            tables.get_config().set(key, value)
        statements = tables.create_statement_set()
        for number, each in enumerate([query] if isinstance(query, str) else query, 1):
            name = "o" if number == 1 else f"o{number}"
            tables.execute_sql(
                f"CREATE TABLE {name} (k STRING, n BIGINT, PRIMARY KEY (k) NOT ENFORCED) "
                "WITH ('connector' = 'values', 'sink-insert-only' = 'false')"
            )
            statements.add_insert_sql(f"INSERT INTO {name} {each}")
        client = statements.execute().get_job_client()
        assert isinstance(client, InProcessJobClient)
        self.client = client

    def run(self) -> list[tuple[Any, ...]]:
        """Read all rows; what has come out so far."""
        with pytest.raises(StalledJob):
            while self.client.run_batch():
                pass
        return list(values.results(SINK))

    @staticmethod
    def written(name: str) -> list[tuple[Any, ...]]:
        """The rows of another sink."""
        return list(values.results(SINK[:-1] + name))

    def stopped(self, folder: Path) -> str:
        """Stop with a savepoint."""
        self.run()
        path: str = self.client.stop_with_savepoint(False, str(folder)).result()
        return path


def test_a_query_goes_on_from_a_savepoint_with_another_parallelism(tmp_path: Path) -> None:
    savepoint = Job(SUMS, ROWS).stopped(tmp_path)
    more = Job(SUMS, [*ROWS, ("k1", 1_000), ("new", 1)], 3, **{"execution.savepoint.path": savepoint})
    assert sorted(more.run()) == [(0, "new", 1), (2, "k1", 1_034)]


COUNTS = "SELECT k, COUNT(*) FROM s GROUP BY k"


@pytest.mark.parametrize("is_first", [False, True], ids=["added behind", "added before"])
def test_a_statement_set_goes_on_with_a_query_more_and_another_parallelism(tmp_path: Path, is_first: bool) -> None:
    savepoint = Job(SUMS, ROWS, 2).stopped(tmp_path)
    queries = [COUNTS, SUMS] if is_first else [SUMS, COUNTS]
    more = Job(queries, [*ROWS, ("k1", 1_000), ("new", 1)], 3, **{"execution.savepoint.path": savepoint})
    more.run()
    old, new = ("o2", "o") if is_first else ("o", "o2")
    assert sorted(more.written(old)) == [(0, "new", 1), (2, "k1", 1_034)]
    # The table is read once for both, so the query that was added sees what comes from now on.
    assert sorted(more.written(new)) == [(0, "k1", 1), (0, "new", 1)]


def test_state_of_sql_is_read_by_the_state_processor(tmp_path: Path) -> None:
    reader = reader_of(Job([SUMS, MEMBERS], ROWS).stopped(tmp_path))
    states = {each.uid: {state.name: state.kind for state in each.states} for each in reader.operators()}
    (sums,) = [uid for uid in states if uid.startswith("table-aggregate-")]
    (join,) = [uid for uid in states if uid.startswith("table-join-")]
    (name,) = states[sums]
    rows = reader.read_keyed_state(sums, name).to_pylist()
    expected = {f"k{key}": sum(range(key, 20, 5)) for key in range(5)}
    assert {row["key"]: _numbers(row["value"]) for row in rows} == {key: {total} for key, total in expected.items()}
    left = [held for row in reader.read_keyed_state(join, "_rows").to_pylist() for held in row["value"]["f0"]]
    assert sorted((held["f0"], held["f1"]) for held in left) == sorted(ROWS)


def _numbers(value: Any) -> set[int]:
    """The numbers in an accumulator."""
    parts = value.values() if isinstance(value, dict) else value if isinstance(value, list) else [value]
    return set().union(*[{each} if isinstance(each, int) else _numbers(each) for each in parts])


def test_a_table_is_read_once_by_all_queries_of_a_job() -> None:
    values.clear()
    tables = StreamTableEnvironment.create(StreamExecutionEnvironment.in_process().set_parallelism(1))
    tables.execute_sql(
        "CREATE TABLE drawn (a BIGINT, b DOUBLE) WITH ('connector' = 'datagen', 'number-of-rows' = '50')"
    )
    statements = tables.create_statement_set()
    for name, query in {"one": "SELECT a, b FROM drawn", "two": "SELECT b FROM drawn WHERE a > 0 OR a <= 0"}.items():
        columns = "a BIGINT, b DOUBLE" if name == "one" else "b DOUBLE"
        tables.execute_sql(f"CREATE TABLE {name} ({columns}) WITH ('connector' = 'values')")
        statements.add_insert_sql(f"INSERT INTO {name} {query}")
    sources = [line for line in statements.explain().splitlines() if "] Source: " in line]
    assert len(sources) == 1
    statements.execute().wait()
    one, two = [values.results(SINK[:-1] + name) for name in ("one", "two")]
    assert len(one) == 50
    assert sorted(row[2] for row in one) == sorted(row[1] for row in two)  # random rows, and both saw the same


def test_what_queries_have_in_common_is_computed_once() -> None:
    tables = StreamTableEnvironment.create(StreamExecutionEnvironment.in_process())
    key = values.register([("a", 1)])
    tables.execute_sql(f"CREATE TABLE s (k STRING, v INT) WITH ('connector' = 'values', 'data-id' = '{key}')")
    twice = f"SELECT x.k, y.n FROM ({COUNTS}) AS x(k, n) JOIN ({COUNTS}) AS y(k, n) ON x.k = y.k"
    graph = tables.explain_sql(twice).split("== Penstock Graph ==")[1]
    assert graph.count("uid=table-aggregate-") == 1
    tables.get_config().set("table.optimizer.reuse-sub-plan-enabled", "false")
    assert tables.explain_sql(twice).split("== Penstock Graph ==")[1].count("uid=table-aggregate-") == 2


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
