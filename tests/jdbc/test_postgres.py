"""The JDBC sink on a real PostgreSQL: types, upserts, retries, locks, and what users are told."""

from __future__ import annotations

import signal
import threading
from datetime import date, datetime
from decimal import Decimal
from pathlib import Path
from typing import Any

import pytest

from penstock.common import Row, Types
from penstock.common.time import Instant
from penstock.connectors.jdbc.databases import database_of, transaction
from penstock.connectors.jdbc.sink import COMMITS_TABLE, ensure_commits_table
from penstock.connectors.sink import DeliveryGuarantee, SinkContext
from penstock.datastream import StreamExecutionEnvironment
from penstock.datastream.connectors.jdbc import JdbcConnectionOptions, JdbcExecutionOptions, JdbcSink
from penstock.errors import ConfigurationError, SinkError
from tests.jdbc.local_postgres import LocalPostgres
from tests.spark.conftest import NewEnvironment
from tests.spark.waiting import wait_until

PAIR = Types.ROW_NAMED(["id", "name"], [Types.INT(), Types.STRING()])


def options(postgres: LocalPostgres, **more: str) -> JdbcConnectionOptions:
    builder = JdbcConnectionOptions.JdbcConnectionOptionsBuilder().with_url(postgres.url)
    return builder.with_driver_name("org.postgresql.Driver").with_user_name("tester").build()


def pairs(postgres: LocalPostgres, table: str, *constraints: str) -> str:
    postgres.run(f"CREATE TABLE {table} ({', '.join(['id INT', 'name TEXT', *constraints])})")
    return f"INSERT INTO {table} VALUES (?, ?)"


def writer_of(sink: JdbcSink, staging: str = "") -> Any:
    made = sink.create_writer(SinkContext("job", f"sink {staging}", "pairs", 0, 1, lambda: 0, staging))
    made.begin(0, "a", None)
    return made


def write(sink: JdbcSink, *records: Any) -> None:
    writer = writer_of(sink)
    writer.write([*records], None, 0)
    writer.prepare_commit(0, False)


def test_values_of_many_types(postgres: LocalPostgres, table: str) -> None:
    postgres.run(
        f"CREATE TABLE {table} (a INT, b BIGINT, c DOUBLE PRECISION, d TEXT, e BOOLEAN, f BYTEA, g TIMESTAMP, h DATE, "
        "i NUMERIC(10, 2), j INT[], k JSONB)"
    )
    types = [Types.INT(), Types.LONG(), Types.DOUBLE(), Types.STRING(), Types.BOOLEAN()]
    types += [Types.PRIMITIVE_ARRAY(Types.BYTE()), Types.SQL_TIMESTAMP(), Types.SQL_DATE(), Types.BIG_DEC()]
    types += [Types.LIST(Types.INT()), Types.STRING()]
    rows = [
        Row(
            1,
            2**40,
            0.5,
            "50% ?",
            True,
            b"\0x",
            datetime(2024, 1, 2, 3, 4),
            date(2024, 1, 2),
            Decimal("1.50"),
            [1],
            "{}",
        ),
        Row(*[None] * 11),
    ]
    sink = JdbcSink.sink(f"INSERT INTO {table} VALUES ({', '.join('?' * 11)})", Types.ROW(types), options(postgres))
    write(sink, *rows)
    first, second = postgres.run(f"SELECT * FROM {table}")
    assert first == (*rows[0][:10], {})
    assert set(second) == {None}


def test_upserts_of_many_rows(postgres: LocalPostgres, table: str) -> None:
    pairs(postgres, table, "PRIMARY KEY (id)")
    sink = JdbcSink.upsert(table, ["id"], PAIR, options(postgres))
    write(sink, *[(number % 1_000, f"name {number}") for number in range(12_000)])
    assert sorted(postgres.run(f"SELECT * FROM {table}")) == [(key, f"name {11_000 + key}") for key in range(1_000)]


def test_a_question_mark_may_be_an_operator(postgres: LocalPostgres, table: str) -> None:
    pairs(postgres, table)
    insert = f"""INSERT INTO {table} SELECT ?, ? WHERE '{{"k": 1}}'::jsonb ?? 'k'"""
    write(JdbcSink.sink(insert, PAIR, options(postgres)), (1, "a"))
    assert postgres.run(f"SELECT * FROM {table}") == [(1, "a")]


def test_a_refused_row_is_named(postgres: LocalPostgres, table: str) -> None:
    insert = pairs(postgres, table, "CHECK (id < 500)")
    with pytest.raises(SinkError, match=r"violates check constraint(.|\n)*row: \(500, 'x'\)"):
        write(JdbcSink.sink(insert, PAIR, options(postgres)), *[(number, "x") for number in range(1_000)])
    assert postgres.run(f"SELECT * FROM {table}") == []


def test_a_connection_that_was_lost_is_made_again(postgres: LocalPostgres, table: str) -> None:
    insert = pairs(postgres, table)
    sink = JdbcSink.sink(insert, PAIR, options(postgres))
    write(sink, (1, "a"))
    postgres.run(
        "SELECT pg_terminate_backend(pid) FROM pg_stat_activity WHERE pid <> pg_backend_pid() AND usename = 'tester'"
    )
    write(sink, (2, "b"))
    assert sorted(postgres.run(f"SELECT * FROM {table}")) == [(1, "a"), (2, "b")]


def test_a_server_that_crashed_and_came_back(postgres: LocalPostgres, table: str, tmp_path: Path) -> None:
    insert = pairs(postgres, table)
    sink = JdbcSink.exactly_once_sink(insert, PAIR, options(postgres))
    sink.validate("pairs")
    writer = writer_of(sink, str(tmp_path))
    writer.write([(1, "a")], None, 0)
    (stage,) = writer.prepare_commit(0, False)
    committer = sink.create_committer()
    assert committer is not None
    postgres.stop(signal.SIGQUIT)
    publishing = threading.Thread(target=committer.commit, args=([stage],))
    publishing.start()
    postgres.start()
    publishing.join(60)
    committer.commit_again([stage])
    assert postgres.run(f"SELECT * FROM {table}") == [(1, "a")]


def test_one_who_publishes_late_waits_and_then_finds_it_done(
    postgres: LocalPostgres, table: str, tmp_path: Path
) -> None:
    insert = pairs(postgres, table)
    sink = JdbcSink.exactly_once_sink(insert, PAIR, options(postgres))
    sink.validate("pairs")
    writer = writer_of(sink, str(tmp_path))
    writer.write([(1, "a")], None, 0)
    (stage,) = writer.prepare_commit(0, False)
    waiting = "SELECT count(*) FROM pg_stat_activity WHERE wait_event_type = 'Lock'"
    with postgres.connect() as other:
        # Somebody holds the table, so that the first publisher stands in the middle of its transaction.
        other.autocommit = False
        other.execute(f"LOCK TABLE {table}".encode())
        publishers = [threading.Thread(target=sink.create_committer().commit, args=([stage],)) for _ in range(2)]  # type: ignore[union-attr]
        for publisher in publishers:
            publisher.start()
        wait_until(lambda: postgres.run(waiting) == [(2,)], "both wait")
        other.rollback()
    for publisher in publishers:
        publisher.join(60)
    assert postgres.run(f"SELECT * FROM {table}") == [(1, "a")]
    assert len(postgres.run(f"SELECT * FROM {COMMITS_TABLE} WHERE uid = 'sink {tmp_path}'")) == 1


def test_the_table_of_markers_is_made_once_by_many(postgres: LocalPostgres) -> None:
    postgres.run(f"DROP TABLE IF EXISTS {COMMITS_TABLE}")
    database = database_of(postgres.url)
    makers = [threading.Thread(target=ensure_commits_table, args=(database, "sink")) for _ in range(4)]
    for maker in makers:
        maker.start()
    for maker in makers:
        maker.join(60)
    assert postgres.run(f"SELECT * FROM {COMMITS_TABLE}") == []


def test_who_may_not_make_it_is_told_what_to_run(postgres: LocalPostgres, table: str) -> None:
    postgres.run(f"DROP TABLE IF EXISTS {COMMITS_TABLE}")
    postgres.run("REVOKE CREATE ON SCHEMA public FROM PUBLIC")
    postgres.run(f"CREATE ROLE {table} LOGIN")
    try:
        with pytest.raises(
            SinkError, match=r"permission denied(.|\n)*run: CREATE TABLE IF NOT EXISTS penstock_commits"
        ):
            ensure_commits_table(database_of(postgres.url, user=table), "sink")
    finally:
        postgres.run("GRANT CREATE ON SCHEMA public TO PUBLIC")
        postgres.run(f"DROP ROLE {table}")


@pytest.mark.parametrize(
    ("sql", "text"),
    [("INSERT INTO nowhere VALUES (?, ?)", "nowhere"), ("INSRT INTO t VALUES (?, ?)", "syntax error")],
)
def test_a_wrong_statement_is_refused_before_the_start(postgres: LocalPostgres, sql: str, text: str) -> None:
    environment = StreamExecutionEnvironment.in_process()
    environment.from_collection([(1, "a")]).sink_to(JdbcSink.sink(sql, PAIR, options(postgres)))
    with pytest.raises(SinkError, match=text):
        environment.execute()


@pytest.mark.parametrize(
    ("column", "type_info"),
    [
        ("INT", Types.DOUBLE()),
        ("BIGINT", Types.BIG_DEC()),
        ("REAL", Types.DOUBLE()),
        ("REAL", Types.INT()),
        ("DOUBLE PRECISION", Types.LONG()),
        ("DATE", Types.SQL_TIMESTAMP()),
        ("TIMESTAMP", Types.INSTANT()),
    ],
)
def test_a_column_that_would_change_values_is_refused_before_the_start(
    postgres: LocalPostgres, table: str, column: str, type_info: Any
) -> None:
    """PostgreSQL rounds 2.5 to 2 and cuts a timestamp to its day, by its rules of assignment."""
    postgres.run(f"CREATE TABLE {table} (a {column})")
    row_type = Types.ROW_NAMED(["price"], [type_info])
    environment = StreamExecutionEnvironment.in_process()
    environment.from_collection([Row(None)]).sink_to(
        JdbcSink.sink(f"INSERT INTO {table} VALUES (?)", row_type, options(postgres))
    )
    with pytest.raises(SinkError, match=f"'price' is declared as {type_info!r}"):
        environment.execute()


def test_instants_and_singles_keep_their_value(postgres: LocalPostgres, table: str) -> None:
    postgres.run(f"CREATE TABLE {table} (a TIMESTAMPTZ, b REAL, c NUMERIC)")
    row_type = Types.ROW_NAMED(["a", "b", "c"], [Types.INSTANT(), Types.FLOAT(), Types.BIG_INT()])
    sink = JdbcSink.sink(f"INSERT INTO {table} VALUES (?, ?, ?)", row_type, options(postgres))
    sink.validate("sink")
    write(sink, Row(Instant.of_epoch_milli(5), 1.1, 2**70))
    ((at, single, number),) = postgres.run(f"SELECT a, b::float8, c FROM {table}")
    assert (Instant.of_datetime(at), single, number) == (Instant.of_epoch_milli(5), Types.FLOAT().coerce(1.1), 2**70)


def test_a_server_that_does_not_answer_is_named(postgres: LocalPostgres) -> None:
    url = "jdbc:postgresql://127.0.0.1:1/shop?user=me&password=hidden"
    where = JdbcConnectionOptions.JdbcConnectionOptionsBuilder().with_url(url).build()
    sink = JdbcSink.sink("INSERT INTO t VALUES (?, ?)", PAIR, where)
    with pytest.raises(SinkError, match=r"127\.0\.0\.1:1/shop: connection failed") as failure:
        sink.validate("pairs")
    assert "hidden" not in str(failure.value)


def test_a_driver_of_another_database_is_refused(postgres: LocalPostgres) -> None:
    builder = JdbcConnectionOptions.JdbcConnectionOptionsBuilder().with_url(postgres.url)
    with pytest.raises(ConfigurationError, match="does not fit"):
        builder.with_driver_name("com.mysql.cj.jdbc.Driver").build()


def test_a_transaction_that_fails_leaves_nothing(postgres: LocalPostgres, table: str) -> None:
    pairs(postgres, table)
    with pytest.raises(KeyError), transaction(database_of(postgres.url)) as cursor:
        cursor.execute(f"INSERT INTO {table} VALUES (1, 'a')")
        raise KeyError
    assert postgres.run(f"SELECT * FROM {table}") == []


@pytest.mark.slow
def test_exactly_once_on_spark(postgres: LocalPostgres, table: str, new_environment: NewEnvironment) -> None:
    pairs(postgres, table, "PRIMARY KEY (id)")
    environment = new_environment(**{"penstock.batch.max-records": 4_000})
    how = JdbcExecutionOptions.builder().with_batch_size(1_000).build()
    exactly = DeliveryGuarantee.EXACTLY_ONCE
    numbers = environment.from_sequence(1, 10_000).map(lambda n: Row(n, f"number {n}"), PAIR)
    numbers.sink_to(JdbcSink.upsert(table, ["id"], PAIR, options(postgres), how, exactly))
    environment.execute("numbers")
    assert sorted(postgres.run(f"SELECT * FROM {table}")) == [(n, f"number {n}") for n in range(1, 10_001)]
