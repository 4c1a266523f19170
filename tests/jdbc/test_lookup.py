"""Lookups in a real PostgreSQL: keys of many types, columns of unusual ones, lost connections, a join in SQL."""

from __future__ import annotations

import datetime
from decimal import Decimal
from typing import Any

import pytest

from penstock.connectors.jdbc.databases import database_of
from penstock.datastream import StreamExecutionEnvironment
from penstock.errors import SourceError
from penstock.table import StreamTableEnvironment
from penstock.table.connectors.jdbc_lookup import JdbcLookup
from penstock.table.sql import parse_type
from penstock.vocabulary.sql.external_values import to_internal
from tests.jdbc.local_postgres import LocalPostgres


def lookup_of(postgres: LocalPostgres, table: str, columns: str, keys: tuple[int, ...], **more: Any) -> JdbcLookup:
    made = JdbcLookup(table, parse_type(f"ROW<{columns}> NOT NULL"), keys, database_of(postgres.url), **more)
    made.open(None)
    return made


@pytest.mark.parametrize(
    ("declared", "column", "values"),
    [
        ("INT", "BIGINT", [1, 70_000, 2]),
        ("BIGINT", "INT", [1, 70_000, 2]),
        ("STRING", "TEXT", ["a", "b'", "%s"]),
        ("STRING", "CHAR(3)", ["aaa", "bbb", "ccc"]),
        ("STRING", "UUID", ["00000000-0000-0000-0000-00000000000" + each for each in "123"]),
        ("DECIMAL(10, 2)", "NUMERIC(10, 2)", [Decimal("1.50"), Decimal("2.00"), Decimal("-3.25")]),
        ("DOUBLE", "DOUBLE PRECISION", [0.5, 1.0, -2.25]),
        ("DATE", "DATE", [datetime.date(2020, 1, each) for each in (1, 2, 3)]),
        ("TIMESTAMP(3)", "TIMESTAMP", [datetime.datetime(2020, 1, 1, each) for each in (1, 2, 3)]),
        ("BOOLEAN", "BOOLEAN", [True, False]),
    ],
)
def test_keys_of_many_types(postgres: LocalPostgres, table: str, declared: str, column: str, values: list[Any]) -> None:
    postgres.run(f"CREATE TABLE {table} (k {column}, n INT)")
    with postgres.connect() as connection:
        for number, value in enumerate(values[:-1]):
            for n in (number, number + 10):
                connection.execute(f"INSERT INTO {table} VALUES (%s, %s)", (value, n))
    internal = to_internal(parse_type(declared))
    keys = [(internal(each),) for each in values]
    lookup = lookup_of(postgres, table, f"n INT, k {declared}", (1,))
    for asked in (keys, keys[:1], keys[-1:]):
        found = [sorted(row[0] for row in rows) for rows in lookup.find(asked)]
        assert found == [[] if key == keys[-1] else [keys.index(key), keys.index(key) + 10] for key in asked]
    lookup.close()


def test_several_keys_with_a_condition_and_thousands_of_them(postgres: LocalPostgres, table: str) -> None:
    postgres.run(f"CREATE TABLE {table} (a INT, b TEXT, n INT)")
    postgres.run(f"INSERT INTO {table} SELECT i, 'b' || i % 2, i FROM generate_series(1, 2500) AS i")
    lookup = lookup_of(
        postgres, table, "a INT, b STRING, n INT", (0, 1), condition='penstock_rows."n" > ?', parameters=(1000,)
    )
    found = lookup.find([(number, "b1") for number in range(1, 2501)])
    assert [len(rows) for rows in found] == [int(n % 2 == 1 and n > 1000) for n in range(1, 2501)]
    lookup.close()


def test_a_lost_connection_is_made_anew(postgres: LocalPostgres, table: str) -> None:
    postgres.run(f"CREATE TABLE {table} (k INT)")
    postgres.run(f"INSERT INTO {table} VALUES (1)")
    waited: list[float] = []
    lookup = lookup_of(postgres, table, "k INT", (0,), sleep=waited.append)
    assert lookup.find([(1,), (2,)]) == [[(1,)], []]
    postgres.run(
        "SELECT pg_terminate_backend(pid) FROM pg_stat_activity WHERE pid <> pg_backend_pid() AND usename = 'tester'"
    )
    assert lookup.find([(1,)]) == [[(1,)]]
    assert waited == [0]
    # Nothing stays open in between: the table can be changed by others, and what they write is seen.
    postgres.run(f"ALTER TABLE {table} ADD COLUMN other INT")
    postgres.run(f"INSERT INTO {table} VALUES (2)")
    assert lookup.find([(1,), (2,)]) == [[(1,)], [(2,)]]
    lookup.close()


def test_a_table_that_is_not_there_is_named(postgres: LocalPostgres, table: str) -> None:
    lookup = lookup_of(postgres, table, "k INT", (0,))
    with pytest.raises(SourceError, match=f"table '{table}' of jdbc:postgresql://.* cannot be looked up: .*not exist"):
        lookup.find([(1,), (2,)])
    lookup.close()


def test_a_join_looks_up_what_the_table_has_now(postgres: LocalPostgres, table: str) -> None:
    postgres.run(f"CREATE TABLE {table} (id INT PRIMARY KEY, name TEXT, since TIMESTAMP)")
    postgres.run(f"INSERT INTO {table} SELECT i, 'n' || i, TIMESTAMP '2020-01-01' FROM generate_series(1, 20) AS i")
    tables = StreamTableEnvironment.create(StreamExecutionEnvironment.in_process().set_parallelism(2))
    tables.create_temporary_view("ids", tables.from_elements([(n,) for n in range(30)], ["id"]))
    tables.execute_sql(f"""CREATE TABLE people (id BIGINT, name STRING, since TIMESTAMP(3)) WITH (
        'connector' = 'jdbc', 'url' = '{postgres.url}', 'username' = 'tester', 'table-name' = '{table}',
        'lookup.cache' = 'PARTIAL', 'lookup.partial-cache.max-rows' = '7')""")
    rows = tables.execute_sql("""SELECT i.id, p.name FROM (SELECT *, PROCTIME() AS now FROM ids) AS i
        LEFT JOIN people FOR SYSTEM_TIME AS OF i.now AS p ON i.id = p.id AND p.id > 5""").collect()
    assert sorted(map(tuple, rows)) == [(n, f"n{n}" if 5 < n <= 20 else None) for n in range(30)]
