"""The JDBC source on a real PostgreSQL: by timestamps with a zone, in ranges, with cuts and crashes."""

from __future__ import annotations

from penstock.datastream import StreamExecutionEnvironment
from penstock.datastream.connectors.jdbc import JdbcConnectionOptions, JdbcSource
from tests.jdbc.local_postgres import LocalPostgres


def test_rows_by_a_timestamp_and_by_a_query(postgres: LocalPostgres, table: str, seed: int) -> None:
    postgres.run(f"CREATE TABLE {table} (n INT, at TIMESTAMPTZ, price NUMERIC(10, 2))")
    postgres.run(
        f"INSERT INTO {table} SELECT n, TIMESTAMPTZ '2026-01-01 00:00:00+00' + n * INTERVAL '1 second', n / 2.0 "
        "FROM generate_series(1, 300) AS n"
    )
    builder = JdbcConnectionOptions.JdbcConnectionOptionsBuilder().with_url(postgres.url)
    options = builder.with_user_name("tester").build()
    for source in (
        JdbcSource.by_column(table, "at", options, partitions=3, rows_per_batch=40),
        JdbcSource.by_column(f"SELECT * FROM {table} WHERE price >= 0 AND 'a%?' <> 'b'", "n", options),
        JdbcSource.query(f"SELECT * FROM {table}", options),
    ):
        env = StreamExecutionEnvironment.in_process().set_parallelism(2)
        rows = env.from_source(source, None, "rows").execute_and_collect()
        assert sorted(row.n for row in rows) == list(range(1, 301))
    env = StreamExecutionEnvironment.in_process(seed, crash_rate=0.02).set_parallelism(2)
    cut = env.from_source(JdbcSource.by_column(table, "n", options, rows_per_batch=40), None, "rows")
    assert [row.n for row in cut.execute_and_collect()] == list(range(1, 301))
