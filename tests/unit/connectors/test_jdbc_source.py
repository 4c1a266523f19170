"""Rows of a database as a source, on SQLite: once, by ranges of a column, and for as long as they come."""

from __future__ import annotations

import contextlib
import sqlite3
from pathlib import Path
from typing import Any

import pytest

from penstock.common import Configuration, Duration, Row, Types
from penstock.datastream import StreamExecutionEnvironment
from penstock.datastream.connectors.jdbc import JdbcConnectionOptions, JdbcSource
from penstock.engine.in_process.job import StalledJob
from penstock.errors import ConfigurationError, SourceError
from penstock.testing import CollectSink

OFTEN = Duration.of_millis(30)
SELDOM = Duration.of_hours(1)


def options(path: Path) -> JdbcConnectionOptions:
    return JdbcConnectionOptions.JdbcConnectionOptionsBuilder().with_url(f"jdbc:sqlite:{path}").build()


def write(path: Path, *statements: str) -> None:
    with contextlib.closing(sqlite3.connect(path)) as connection:
        for statement in statements:
            connection.execute(statement)
        connection.commit()


@pytest.fixture
def database(tmp_path: Path) -> Path:
    path = tmp_path / "db"
    write(path, "CREATE TABLE orders (id INTEGER PRIMARY KEY, name TEXT, price REAL)")
    write(path, *(f"INSERT INTO orders VALUES ({n * 3}, 'n{n}', {n / 2})" for n in range(1, 101)))
    return path


ALL = [Row(id=n * 3, name=f"n{n}", price=n / 2) for n in range(1, 101)]


def collected(source: Any, seed: int | None = None, **more: Any) -> list[Any]:
    env = StreamExecutionEnvironment.in_process(seed, **more).set_parallelism(2)
    return list(env.from_source(source, None, "orders").execute_and_collect())


@pytest.mark.parametrize("seed", [None, 1, 2, 3])
def test_everything_is_read_once(database: Path, seed: int | None) -> None:
    crashes = {} if seed is None else {"crash_rate": 0.03}
    assert collected(JdbcSource.query("SELECT * FROM orders", options(database)), seed, **crashes) == ALL
    assert collected(JdbcSource.by_column("orders", "id", options(database), rows_per_batch=7), seed, **crashes) == ALL
    several = JdbcSource.by_column("orders", "id", options(database), partitions=4, rows_per_batch=7)
    assert sorted(collected(several, seed, **crashes), key=lambda row: row.id) == ALL


def test_a_query_with_a_condition_and_a_question_mark_in_a_text(database: Path) -> None:
    source = JdbcSource.by_column("SELECT id AS n, '?' || name AS q FROM orders WHERE id < 7;", "n", options(database))
    assert collected(source) == [Row(n=3, q="?n1"), Row(n=6, q="?n2")]


def test_declared_types_convert_and_check(database: Path) -> None:
    declared = Types.ROW_NAMED(["id", "name", "price"], [Types.LONG(), Types.STRING(), Types.DOUBLE()])
    assert collected(JdbcSource.query("orders", options(database), declared)) == ALL
    wrong = Types.ROW_NAMED(["id", "name", "price"], [Types.LONG(), Types.LONG(), Types.DOUBLE()])
    with pytest.raises(Exception, match=r"(?s)orders.*n1.*is not of"):
        collected(JdbcSource.query("orders", options(database), wrong))


def test_an_empty_table_is_an_end(database: Path) -> None:
    write(database, "DELETE FROM orders")
    for source in (
        JdbcSource.query("orders", options(database)),
        JdbcSource.by_column("orders", "id", options(database), partitions=3),
    ):
        assert collected(source) == []


def test_rows_that_come_are_read_once_across_savepoints(database: Path, tmp_path: Path) -> None:
    def start(sink: CollectSink, savepoint: str | None = None) -> Any:
        settings = Configuration()
        if savepoint is not None:
            settings.set_string("execution.state-recovery.path", savepoint)
        env = StreamExecutionEnvironment.in_process(configuration=settings).set_parallelism(2)
        source = JdbcSource.growing("orders", "id", options(database), poll_interval=OFTEN, rows_per_batch=9)
        env.from_source(source, None, "orders").uid("orders").add_sink(sink)
        return env.execute_async()

    def run(client: Any, sink: CollectSink, count: int) -> None:
        while len(sink.results) < count:
            with contextlib.suppress(StalledJob):
                client.run_batch()

    first, second = CollectSink(), CollectSink()
    client = start(first)
    run(client, first, 100)
    write(database, "INSERT INTO orders VALUES (1000, 'late', 1.5)")
    run(client, first, 101)
    path = client.stop_with_savepoint(False, str(tmp_path / "savepoints")).result()
    write(database, "INSERT INTO orders VALUES (1001, 'later', 2.5)")
    client = start(second, path)
    run(client, second, 1)
    client.stop()
    assert first.results == [*ALL, Row(id=1000, name="late", price=1.5)]
    assert second.results == [Row(id=1001, name="later", price=2.5)]


def test_where_to_begin_and_what_to_hold_back(database: Path) -> None:
    sink = CollectSink()
    env = StreamExecutionEnvironment.in_process()
    source = JdbcSource.growing("orders", "id", options(database), poll_interval=SELDOM, start_after=270, held_back=10)
    env.from_source(source, None, "orders").add_sink(sink)
    client: Any = env.execute_async()
    with pytest.raises(StalledJob):
        while True:
            client.run_batch()
    assert [row.id for row in sink.results] == [273, 276, 279, 282, 285, 288]


def test_mistakes_are_told_before_anything_runs(database: Path) -> None:
    for source, told in (
        (JdbcSource.query("SELECT * FROM nowhere", options(database)), "no such table: nowhere"),
        (JdbcSource.by_column("orders", "number", options(database)), "no column 'number'; it has id, name, price"),
    ):
        env = StreamExecutionEnvironment.in_process()
        env.from_source(source, None, "orders").print()
        with pytest.raises(SourceError, match=told):
            env.execute()
    with pytest.raises(Exception, match="only whole numbers, dates and timestamps"):
        collected(JdbcSource.by_column("orders", "name", options(database)))
    with pytest.raises(ConfigurationError, match="poll_interval must be a Duration"):
        JdbcSource.growing("orders", "id", options(database), poll_interval=5)  # type: ignore[arg-type]
    with pytest.raises(ConfigurationError, match="rows_per_batch must be a whole number"):
        JdbcSource.by_column("orders", "id", options(database), rows_per_batch=0)
    with pytest.raises(ConfigurationError, match="JdbcConnectionOptions"):
        JdbcSource.query("orders", "jdbc:sqlite:x")
