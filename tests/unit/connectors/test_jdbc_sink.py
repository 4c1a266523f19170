"""The JDBC sink on SQLite: what is written when, retries, refusals, and deaths at every step."""

from __future__ import annotations

import contextlib
import pickle
import sqlite3
from collections import Counter
from collections.abc import Iterator
from datetime import date, datetime, time
from decimal import Decimal
from pathlib import Path
from typing import Any

import pytest

from penstock.common import Configuration, Row, Types
from penstock.common.time import Instant
from penstock.connectors.jdbc import databases as jdbc_databases
from penstock.connectors.jdbc.databases import Database, database_of, transaction
from penstock.connectors.jdbc.sink import COMMITS_TABLE, ensure_commits_table
from penstock.connectors.sink import DeliveryGuarantee, RecordError, SinkContext
from penstock.connectors.staged_sink import StagedCommitter
from penstock.datastream import StreamExecutionEnvironment
from penstock.datastream.connectors.jdbc import JdbcConnectionOptions, JdbcExecutionOptions, JdbcSink
from penstock.engine.in_process.client import InProcessJobClient
from penstock.engine.in_process.job import InProcessJob
from penstock.errors import ConfigurationError, JobFailedError, SinkError
from penstock.testing.crashes import InjectedCrash

PAIR = Types.ROW_NAMED(["id", "name"], [Types.INT(), Types.STRING()])
INSERT = "INSERT INTO pairs (id, name) VALUES (?, ?)"


def options(path: Path) -> JdbcConnectionOptions:
    return JdbcConnectionOptions.JdbcConnectionOptionsBuilder().with_url(f"jdbc:sqlite:{path}").build()


def execution(**values: int) -> JdbcExecutionOptions:
    builder = JdbcExecutionOptions.builder()
    for name, value in values.items():
        getattr(builder, f"with_{name}")(value)
    return builder.build()


@pytest.fixture
def path(tmp_path: Path) -> Path:
    found = tmp_path / "shop.db"
    run(found, "CREATE TABLE pairs (id INTEGER, name TEXT)")
    return found


def run(path: Path, sql: str) -> list[Any]:
    with contextlib.closing(sqlite3.connect(path)) as connection, connection:
        return connection.execute(sql).fetchall()


def writer_of(sink: JdbcSink, clock: Any = lambda: 0, staging: str = "") -> Any:
    made = sink.create_writer(SinkContext("job", "sink", "pairs", 0, 1, clock, staging))
    made.begin(0, "a", None)
    return made


# ---- at least once ----


def test_rows_are_sent_in_batches_and_at_the_end(path: Path) -> None:
    writer = writer_of(JdbcSink.sink(INSERT, PAIR, options(path), execution(batch_size=3)))
    writer.write([Row(1, "a"), (2, "b")], None, 0)
    assert run(path, "SELECT * FROM pairs") == []
    writer.write([{"name": "c", "id": 3}, [4, None]], None, 0)
    assert run(path, "SELECT * FROM pairs") == [(1, "a"), (2, "b"), (3, "c")]
    assert writer.prepare_commit(0, False) == []
    assert run(path, "SELECT * FROM pairs")[3:] == [(4, None)]
    assert writer.prepare_commit(0, True) == []


def test_rows_do_not_wait_longer_than_the_interval(path: Path) -> None:
    now = 0
    writer = writer_of(JdbcSink.sink(INSERT, PAIR, options(path), execution(batch_interval_ms=50)), lambda: now)
    writer.write([(1, "a")], None, 0)
    now = 49
    writer.write([(2, "b")], None, 0)
    assert run(path, "SELECT count(*) FROM pairs") == [(0,)]
    now = 50
    writer.write([(3, "c")], None, 0)
    assert run(path, "SELECT count(*) FROM pairs") == [(3,)]


def test_a_batch_that_fails_leaves_what_was_not_sent(path: Path) -> None:
    writer = writer_of(JdbcSink.sink(INSERT, PAIR, options(path)))
    writer.write([(1, "a")], None, 0)
    writer.abort()
    writer.begin(0, "b", None)
    writer.prepare_commit(0, False)
    assert run(path, "SELECT * FROM pairs") == []


def test_one_field_and_values_that_sqlite_does_not_know(path: Path) -> None:
    run(path, "CREATE TABLE ones (value)")
    everything = [datetime(2024, 1, 2, 3, 4, 5), date(2024, 1, 2), time(3, 4, 5), Decimal("1.50"), True, b"x", None]
    for value in everything:
        sink = JdbcSink.sink("INSERT INTO ones VALUES (?)", Types.PICKLED_BYTE_ARRAY(), options(path))
        writer = writer_of(sink)
        writer.write([value], None, 0)
        writer.prepare_commit(0, False)
    assert [value for (value,) in run(path, "SELECT value FROM ones")] == [
        "2024-01-02 03:04:05",
        "2024-01-02",
        "03:04:05",
        "1.50",
        1,
        b"x",
        None,
    ]


@pytest.mark.parametrize("record", [(1,), (1, "a", 2), None, "ab", ("x", "a")])
def test_a_record_of_another_type_is_named(path: Path, record: Any) -> None:
    writer = writer_of(JdbcSink.sink(INSERT, PAIR, options(path)))
    with pytest.raises(RecordError) as caught:
        writer.write([(1, "a"), record], None, 0)
    assert caught.value.record == record


@pytest.mark.parametrize(
    ("type_info", "value"),
    [
        (Types.INT(), 2**31),
        (Types.LONG(), 2**63),
        (Types.LONG(), 2.5),
        (Types.SHORT(), 2**15),
        (Types.BYTE(), -129),
        (Types.FLOAT(), 1e300),
        (Types.SQL_DATE(), datetime(2024, 1, 2, 3)),
        (Types.LIST(Types.INT()), [2**31]),
    ],
)
def test_a_value_that_does_not_fit_is_refused_and_not_changed(path: Path, type_info: Any, value: Any) -> None:
    row_type = Types.ROW_NAMED(["id", "name"], [type_info, Types.STRING()])
    environment = StreamExecutionEnvironment.in_process()
    environment.from_collection([(None, "good"), (value, "bad")]).sink_to(
        JdbcSink.sink(INSERT, row_type, options(path))
    ).name("shop")
    with pytest.raises(JobFailedError, match=r"(?s)field 'id'.*Sink: shop.*record: ") as failed:
        environment.execute()
    assert repr(value)[:8] in str(failed.value)
    assert run(path, "SELECT * FROM pairs WHERE name = 'bad'") == []


def test_instants_are_written_as_texts(path: Path) -> None:
    row_type = Types.ROW_NAMED(["id", "name"], [Types.INT(), Types.INSTANT()])
    writer = writer_of(JdbcSink.sink(INSERT, row_type, options(path)))
    writer.write([(1, Instant.of_epoch_milli(5))], None, 0)
    writer.prepare_commit(0, False)
    assert run(path, "SELECT name FROM pairs") == [("1970-01-01 00:00:00.005000+00:00",)]
    writer.begin(1, "a", None)
    writer.write([(1, Instant(0, 1))], None, 0)
    with pytest.raises(SinkError, match="nanoseconds"):
        writer.prepare_commit(0, False)


def test_a_row_that_the_database_refuses_is_named_and_its_batch_undone(path: Path) -> None:
    run(path, "CREATE UNIQUE INDEX one ON pairs (id)")
    writer = writer_of(JdbcSink.sink(INSERT, PAIR, options(path)))
    writer.write([(1, "a"), (2, "b"), (2, "c"), (3, "d")], None, 0)
    with pytest.raises(
        SinkError, match=r"JDBC sink 'pairs' cannot write to jdbc:sqlite:.*UNIQUE(.|\n)*row: \(2, 'c'\)"
    ):
        writer.prepare_commit(0, False)
    assert run(path, "SELECT * FROM pairs") == []


class Flaky:
    """Connections of which some statements fail as if somebody else had the file."""

    def __init__(self, monkeypatch: pytest.MonkeyPatch, failures: int) -> None:
        self.left = failures
        self.pauses: list[float] = []
        monkeypatch.setattr(jdbc_databases.time, "sleep", self.pauses.append)
        monkeypatch.setattr(jdbc_databases.SqliteDatabase, "begin", self.begin)

    def begin(self, cursor: Any) -> None:
        cursor.execute("BEGIN IMMEDIATE")
        if self.left:
            self.left -= 1
            error = sqlite3.OperationalError("database is locked")
            error.sqlite_errorcode = sqlite3.SQLITE_BUSY
            raise error


@pytest.mark.parametrize("bad", [(2**70, "too large"), (1, "\ud800")])
def test_a_row_that_the_driver_cannot_send_is_named(path: Path, bad: tuple[Any, ...]) -> None:
    pair = Types.ROW_NAMED(["id", "name"], [Types.BIG_INT(), Types.STRING()])
    writer = writer_of(JdbcSink.sink(INSERT, pair, options(path)))
    writer.write([(1, "good"), bad], None, 0)
    with pytest.raises(SinkError) as refused:
        writer.prepare_commit(0, False)
    assert f"row: {bad!r}" in str(refused.value)
    assert run(path, "SELECT * FROM pairs") == []


def test_what_may_pass_is_tried_again(path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    flaky = Flaky(monkeypatch, 3)
    writer = writer_of(JdbcSink.sink(INSERT, PAIR, options(path)))
    writer.write([(1, "a")], None, 0)
    writer.prepare_commit(0, False)
    assert run(path, "SELECT * FROM pairs") == [(1, "a")]
    assert flaky.pauses == [0, 1, 2], "Flink's"


def test_but_not_for_ever(path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    flaky = Flaky(monkeypatch, 99)
    writer = writer_of(JdbcSink.sink(INSERT, PAIR, options(path), execution(max_retries=1)))
    writer.write([(1, "a")], None, 0)
    with pytest.raises(SinkError, match="locked"):
        writer.prepare_commit(0, False)
    assert flaky.left == 97


def test_an_upsert_keeps_the_last_row_of_a_key(path: Path) -> None:
    run(path, 'CREATE TABLE "order" (id INTEGER PRIMARY KEY, name TEXT)')
    writer = writer_of(JdbcSink.upsert("order", ["id"], PAIR, options(path)))
    writer.write([(1, "a"), (2, "b"), (1, "c")], None, 0)
    writer.prepare_commit(0, False)
    assert run(path, 'SELECT * FROM "order"') == [(1, "c"), (2, "b")]


# ---- exactly once ----


def exactly_once(path: Path, inline_bytes: int = 0, **how: int) -> JdbcSink:
    sink = JdbcSink.exactly_once_sink(INSERT, PAIR, options(path), execution(**how))
    sink.inline_bytes = inline_bytes
    return sink


def test_nothing_shows_before_it_is_final_and_then_once(path: Path, tmp_path: Path) -> None:
    sink = exactly_once(path)
    sink.validate("pairs")
    writer = writer_of(sink, staging=str(tmp_path / "staged"))
    writer.write([(1, "a"), (2, "b")], None, 0)
    stages = writer.prepare_commit(0, False)
    assert run(path, "SELECT * FROM pairs") == []
    committer = sink.create_committer()
    assert isinstance(committer, StagedCommitter)
    for _ in range(3):
        committer.commit(pickle.loads(pickle.dumps(stages)))
    assert run(path, "SELECT * FROM pairs") == [(1, "a"), (2, "b")]
    assert [row[:3] for row in run(path, f"SELECT * FROM {COMMITS_TABLE}")] == [("job", "sink", "0")]


def test_a_refused_row_undoes_the_publication(path: Path, tmp_path: Path) -> None:
    run(path, "CREATE UNIQUE INDEX one ON pairs (id)")
    sink = exactly_once(path, batch_size=1)
    sink.validate("pairs")
    writer = writer_of(sink, staging=str(tmp_path / "staged"))
    writer.write([(1, "a"), (1, "b")], None, 0)
    stages = writer.prepare_commit(0, False)
    committer = sink.create_committer()
    assert committer is not None
    with pytest.raises(SinkError, match=r"row: \(1, 'b'\)\nVersion 0 stays staged"):
        committer.commit(stages)
    assert run(path, "SELECT * FROM pairs") == []
    run(path, "DROP INDEX one")
    committer.commit_again(stages)
    assert run(path, "SELECT * FROM pairs") == [(1, "a"), (1, "b")]


class Steps:
    """Counts what is done to the database by publishers, and lets the process die at some of it."""

    def __init__(self, monkeypatch: pytest.MonkeyPatch) -> None:
        self.taken = 0
        self.crash_at: tuple[int, ...] = ()
        steps = self

        @contextlib.contextmanager
        def watched(database: Database) -> Iterator[Any]:
            steps.step()
            with transaction(database) as cursor:
                yield _Cursor(cursor, steps)
                steps.step()  # before the commit
            steps.step()

        monkeypatch.setattr(jdbc_databases, "transaction", watched)

    def step(self) -> None:
        self.taken += 1
        if self.taken in self.crash_at:
            raise InjectedCrash(f"step {self.taken}")


class _Cursor:
    def __init__(self, cursor: Any, steps: Steps) -> None:
        self.cursor = cursor
        self.steps = steps
        self.fetchone = cursor.fetchone

    def execute(self, *arguments: Any) -> None:
        self.steps.step()
        self.cursor.execute(*arguments)

    def executemany(self, *arguments: Any) -> None:
        self.steps.step()
        self.cursor.executemany(*arguments)


def job(path: Path, inline_bytes: int, *crash_at: int) -> InProcessJob:
    environment = StreamExecutionEnvironment.in_process(crash_at=crash_at)
    environment.set_parallelism(2)
    configuration = Configuration()
    configuration.set_string("penstock.batch.max-records", "6")
    environment.configure(configuration)
    tries = Counter[int]()

    def with_try(number: int) -> Row:
        tries[number] += 1
        return Row(number, f"try {tries[number]}")

    numbers = environment.from_collection(list(range(12)))
    numbers.key_by(lambda number: number % 5).map(with_try).sink_to(exactly_once(path, inline_bytes))
    client = environment.execute_async()
    assert isinstance(client, InProcessJobClient)
    client.wait()
    return client.job


@pytest.mark.parametrize("inline_bytes", [0, 64 * 1024])
def test_a_death_at_any_step_changes_nothing(path: Path, monkeypatch: pytest.MonkeyPatch, inline_bytes: int) -> None:
    monkeypatch.setattr(jdbc_databases.SqliteDatabase, "connect", _careless)
    steps = Steps(monkeypatch)
    calm = job(path, inline_bytes)
    in_job, in_database = calm.steps, steps.taken
    assert in_database > 12
    for number in range(1, in_database + in_job + 1):
        run(path, "DELETE FROM pairs")
        run(path, f"DELETE FROM {COMMITS_TABLE}")
        steps.taken, steps.crash_at = 0, (number, number + 3) if number <= in_database else ()
        done = job(path, inline_bytes, *((number - in_database,) if number > in_database else ()))
        assert done.crashes or steps.crash_at
        assert [key for (key,) in run(path, "SELECT id FROM pairs ORDER BY id")] == list(range(12)), done.trace


def _careless(self: Database) -> Any:
    """A connection that does not wait for the disk: the test dies in its own process only."""
    connection = sqlite3.connect(self.settings["path"], isolation_level=None, check_same_thread=False)
    connection.execute("PRAGMA synchronous = OFF")
    return connection


# ---- before the start ----


def test_the_table_of_markers_may_be_made_by_others(path: Path) -> None:
    database = database_of(f"jdbc:sqlite:{path}")
    for _ in range(2):
        ensure_commits_table(database, "JDBC sink 'a'")
    assert run(path, f"SELECT * FROM {COMMITS_TABLE}") == []


def test_who_may_not_make_it_is_told_what_to_run(path: Path) -> None:
    run(path, "CREATE VIEW penstock_commits AS SELECT 1 AS other")
    with pytest.raises(SinkError, match=r"cannot create the table(.|\n)*run: CREATE TABLE"):
        ensure_commits_table(database_of(f"jdbc:sqlite:{path}"), "JDBC sink 'a'")


def test_a_statement_that_the_database_does_not_know_is_refused_before_the_start(path: Path) -> None:
    environment = StreamExecutionEnvironment.in_process()
    sink = JdbcSink.sink("INSERT INTO nowhere VALUES (?)", Types.INT(), options(path))
    environment.from_collection([1]).sink_to(sink).name("odd")
    with pytest.raises(SinkError, match=r"JDBC sink 'Sink: odd' cannot use its statement on .*nowhere"):
        environment.execute()


def test_it_goes_with_add_sink_as_in_pyflink(path: Path) -> None:
    environment = StreamExecutionEnvironment.in_process()
    pairs = environment.from_collection([(1, "a"), (2, "b")], Types.TUPLE([Types.INT(), Types.STRING()]))
    pairs.add_sink(JdbcSink.sink(INSERT, Types.TUPLE([Types.INT(), Types.STRING()]), options(path)))
    environment.execute()
    assert sorted(run(path, "SELECT * FROM pairs")) == [(1, "a"), (2, "b")]


def test_a_failure_in_a_job_names_sink_and_row(path: Path) -> None:
    run(path, "CREATE UNIQUE INDEX one ON pairs (id)")
    environment = StreamExecutionEnvironment.in_process()
    twice = environment.from_collection([(1, "a"), (1, "b")])
    twice.sink_to(JdbcSink.sink(INSERT, PAIR, options(path))).name("twins")
    with pytest.raises(JobFailedError, match="row: ") as failure:
        environment.execute()
    assert "JDBC sink 'Sink: twins'" in str(failure.value)


@pytest.mark.parametrize(
    ("make", "text"),
    [
        (lambda where: JdbcSink.sink(INSERT, Types.INT(), where), "2 parameters .* 1 fields"),
        (lambda where: JdbcSink.sink(INSERT, PAIR, "jdbc:sqlite:x"), "jdbc_connection_options must be"),
        (lambda where: JdbcSink.sink(INSERT, "INT", where), "type_info must be"),
        (lambda where: JdbcSink.upsert("t", "id", PAIR, where), "list of names"),
        (lambda where: JdbcSink.upsert("", ["id"], PAIR, where), "name of a table"),
        (lambda where: JdbcSink.upsert("t", ["id"], Types.INT(), where), "ROW_NAMED"),
        (
            lambda where: JdbcSink.upsert("t", ["id"], PAIR, where, delivery_guarantee=DeliveryGuarantee.NONE),
            "AT_LEAST_ONCE or EXACTLY_ONCE",
        ),
        (lambda where: JdbcConnectionOptions.JdbcConnectionOptionsBuilder().build(), "with_url"),
        (
            lambda where: JdbcConnectionOptions.JdbcConnectionOptionsBuilder().with_password(1),  # type: ignore[arg-type]
            "with_password: expected a text$",
        ),
        (lambda where: execution(batch_size=0), "with_batch_size: .* 1 or more"),
        (lambda where: execution(max_retries=-1), "with_max_retries: .* 0 or more"),
        (lambda where: execution(batch_interval_ms=True), "with_batch_interval_ms"),
    ],
)
def test_what_cannot_be_meant_is_refused_at_once(path: Path, make: Any, text: str) -> None:
    with pytest.raises(ConfigurationError, match=text):
        make(options(path))


def test_options_say_what_they_hold(path: Path) -> None:
    builder = JdbcConnectionOptions.JdbcConnectionOptionsBuilder().with_url("jdbc:postgresql://db/x")
    made = builder.with_driver_name("org.postgresql.Driver").with_user_name("me").with_password("word").build()
    assert (made.get_db_url(), made.get_driver_name()) == ("jdbc:postgresql://db/x", "org.postgresql.Driver")
    assert (made.get_user_name(), made.get_password()) == ("me", "word")
    defaults = JdbcExecutionOptions.defaults()
    assert (defaults.get_batch_size(), defaults.get_batch_interval_ms(), defaults.get_max_retries()) == (5_000, 0, 3)
    assert execution(batch_size=7).get_batch_size() == 7
