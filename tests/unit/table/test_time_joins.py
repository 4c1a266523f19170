"""Joins FOR SYSTEM_TIME AS OF through the API: with random cuts and crashes, and with tables that are looked up."""

from __future__ import annotations

import sqlite3
from collections import Counter
from collections.abc import Iterable
from pathlib import Path
from random import Random
from typing import Any

import pytest

from penstock.common import Configuration, Row
from penstock.common.types import RowKind
from penstock.datastream import StreamExecutionEnvironment
from penstock.errors import PenstockError, SqlError
from penstock.table import AsyncLookupFunction, LookupFunction, StreamTableEnvironment
from penstock.table.connectors import values

CREATE_ORDERS = """CREATE TABLE orders (
  id INT, currency STRING, at BIGINT, ts AS TO_TIMESTAMP_LTZ(at, 3), now AS PROCTIME(),
  WATERMARK FOR ts AS ts - INTERVAL '0.005' SECOND
) WITH ('connector' = 'values', 'data-id' = '{data}', 'rows-per-batch' = '7', 'terminating' = '{ends}')"""
CREATE_RATES = """CREATE TABLE rates (
  currency STRING, rate INT, at BIGINT, ts AS TO_TIMESTAMP_LTZ(at, 3),
  WATERMARK FOR ts AS ts - INTERVAL '0.005' SECOND, PRIMARY KEY (currency) NOT ENFORCED
) WITH ('connector' = 'values', 'data-id' = '{data}', 'rows-per-batch' = '5', 'changelog-mode' = 'I,UA,D',
  'terminating' = '{ends}')"""
JOIN = """SELECT o.id, o.currency, o.at, r.rate
FROM orders AS o {left} JOIN rates FOR SYSTEM_TIME AS OF o.ts AS r ON o.currency = r.currency"""


@pytest.fixture(autouse=True)
def _no_rows() -> None:
    values.clear()


def new_tables(environment: StreamExecutionEnvironment | None = None) -> StreamTableEnvironment:
    made = StreamExecutionEnvironment.in_process() if environment is None else environment
    return StreamTableEnvironment.create(made.set_parallelism(2) if environment is None else made)


def collected(tables: StreamTableEnvironment, query: str) -> list[tuple[Any, ...]]:
    return [tuple(row) for row in tables.execute_sql(query).collect()]


# ---- versions ----


def random_stream(random: Random, count: int, make: Any) -> list[Row]:
    """Rows whose times are out of order by 4 ms at most, so that none is late."""
    made = []
    for number in range(count):
        made.append(make(random, number, number * 3 + random.randint(0, 4)))
    return made


def any_order(random: Random, number: int, at: int) -> Row:
    return Row(number, random.choice(["euro", "yen", "peso", None]), at)


def any_rate(random: Random, number: int, at: int) -> Row:
    row = Row(random.choice(["euro", "yen", "pound"]), number, at)
    row.set_row_kind(random.choice([RowKind.INSERT, RowKind.UPDATE_AFTER, RowKind.UPDATE_AFTER, RowKind.DELETE]))
    return row


def rate_at(rates: Iterable[Row], currency: str | None, at: int) -> int | None:
    """The rate that the newest row not after `at` says; rows of one time count as they come."""
    newest = None
    for row in rates:
        if row[0] == currency and row[2] <= at and (newest is None or row[2] >= newest[2]):
            newest = row
    return None if newest is None or newest.get_row_kind() is RowKind.DELETE else newest[1]


def expected(orders: list[Row], rates: list[Row], is_left: bool) -> Counter[Any]:
    found = [(*order, rate_at(rates, order[1], order[2])) for order in orders]
    return Counter([each for each in found if is_left or each[3] is not None])


@pytest.mark.parametrize("left", ["", "LEFT"])
@pytest.mark.parametrize("crash_rate", [0.0, 0.03])
def test_each_row_finds_its_version_whatever_happens(seed: int, left: str, crash_rate: float) -> None:
    random = Random(seed)
    orders, rates = random_stream(random, 80, any_order), random_stream(random, 60, any_rate)
    environment = StreamExecutionEnvironment.in_process(seed, crash_rate=crash_rate).set_parallelism(2)
    tables = new_tables(environment)
    tables.execute_sql(CREATE_ORDERS.format(data=values.register(orders), ends="true"))
    tables.execute_sql(CREATE_RATES.format(data=values.register(rates), ends="true"))
    assert Counter(collected(tables, JOIN.format(left=left))) == expected(orders, rates, bool(left))


def test_a_savepoint_goes_on_with_another_parallelism(seed: int, tmp_path: Path) -> None:
    random = Random(seed)
    orders, rates = random_stream(random, 80, any_order), random_stream(random, 60, any_rate)
    savepoint, half = None, 40
    for parallelism, shown in ((2, half), (3, len(orders))):
        configuration = Configuration().set_integer("parallelism.default", parallelism)
        if savepoint is not None:
            configuration.set_string("execution.savepoint.path", savepoint)
        tables = new_tables(StreamExecutionEnvironment.in_process(configuration=configuration))
        ends = str(savepoint is not None).lower()
        tables.execute_sql(CREATE_ORDERS.format(data=values.register(orders[:shown]), ends=ends))
        tables.execute_sql(CREATE_RATES.format(data=values.register(rates[:shown]), ends=ends))
        tables.execute_sql(
            "CREATE TABLE found (id INT, currency STRING, at BIGINT, rate INT) WITH ('connector' = 'values')"
        )
        client = tables.execute_sql("INSERT INTO found " + JOIN.format(left="LEFT")).get_job_client()
        if savepoint is None:
            run_until_nothing_comes(client)
            savepoint = client.stop_with_savepoint(False, str(tmp_path)).result()
        else:
            client.wait()
    found = values.results("default_catalog.default_database.found")
    assert Counter([row[1:] for row in found]) == expected(orders, rates, is_left=True)


def run_until_nothing_comes(client: Any) -> None:
    from penstock.engine.in_process.job import StalledJob

    with pytest.raises(StalledJob):
        while client.run_batch():
            pass


def test_a_view_of_the_newest_rows_is_versioned() -> None:
    tables = new_tables()
    orders, rates = [Row(1, "euro", 10), Row(2, "euro", 25)], [Row("euro", 114, 5), Row("euro", 116, 20)]
    tables.execute_sql(CREATE_ORDERS.format(data=values.register(orders), ends="true"))
    log = CREATE_RATES.format(data=values.register(rates), ends="true").replace("TABLE rates", "TABLE log")
    log = log.replace(", PRIMARY KEY (currency) NOT ENFORCED", "").replace("'I,UA,D'", "'I'")
    tables.execute_sql(log)
    tables.execute_sql("""CREATE VIEW rates AS SELECT currency, rate, ts FROM (
        SELECT *, ROW_NUMBER() OVER (PARTITION BY currency ORDER BY ts DESC) AS n FROM log) WHERE n = 1""")
    assert sorted(collected(tables, JOIN.format(left=""))) == [(1, "euro", 10, 114), (2, "euro", 25, 116)]


def test_the_row_time_goes_on_to_windows() -> None:
    tables = new_tables()
    orders = [Row(1, "euro", 10), Row(2, "euro", 500), Row(3, "euro", 1500)]
    tables.execute_sql(CREATE_ORDERS.format(data=values.register(orders), ends="true"))
    tables.execute_sql(CREATE_RATES.format(data=values.register([Row("euro", 2, 0)]), ends="true"))
    tables.execute_sql("""CREATE VIEW valued AS SELECT o.ts, r.rate FROM orders AS o
        JOIN rates FOR SYSTEM_TIME AS OF o.ts AS r ON o.currency = r.currency""")
    assert sorted(
        collected(
            tables,
            "SELECT SUM(rate) FROM TABLE(TUMBLE(TABLE valued, DESCRIPTOR(ts), INTERVAL '1' SECOND)) "
            "GROUP BY window_start, window_end",
        )
    ) == [(2,), (4,)]


# ---- lookups ----


@pytest.fixture
def people(tmp_path: Path) -> Path:
    """A SQLite file with a table of people."""
    path = tmp_path / "people.db"
    with sqlite3.connect(path) as database:
        database.execute('CREATE TABLE people (id INT, name TEXT, k0 INT, "a ""b" TEXT)')
        database.executemany(
            "INSERT INTO people VALUES (?, ?, ?, ?)",
            [(1, "ann", 30, "x"), (2, "bob", 40, None), (2, "bea", 20, "y"), (3, "cleo", None, "x")],
        )
    database.close()
    return path


def with_people(path: Path, **options: str) -> StreamTableEnvironment:
    tables = new_tables()
    orders = [Row(number, str(number % 5), number) for number in range(10)]
    tables.execute_sql(CREATE_ORDERS.format(data=values.register(orders), ends="true"))
    given = {"connector": "jdbc", "url": f"jdbc:sqlite:{path}", "table-name": "people", **options}
    pairs = ", ".join(f"'{key}' = '{value}'" for key, value in given.items())
    tables.execute_sql(
        f'CREATE TABLE people (id INT, name STRING, k0 INT, `a "b` STRING, shout AS UPPER(name)) WITH ({pairs})'
    )
    return tables


LOOK_UP = "orders AS o {left} JOIN people FOR SYSTEM_TIME AS OF o.now AS p ON CAST(o.currency AS INT) = p.id"


@pytest.mark.parametrize("cached", [{}, {"lookup.cache": "PARTIAL", "lookup.partial-cache.max-rows": "2"}])
def test_rows_of_a_database_are_looked_up(people: Path, cached: dict[str, str]) -> None:
    tables = with_people(people, **cached)
    found = collected(tables, "SELECT o.id, p.name, p.shout FROM " + LOOK_UP.format(left="LEFT"))
    by_key = {1: ["ann"], 2: ["bob", "bea"], 3: ["cleo"]}
    wanted = [
        (number, name, None if name is None else name.upper())
        for number in range(10)
        for name in by_key.get(number % 5, [None])
    ]
    assert Counter(found) == Counter(wanted)


@pytest.mark.parametrize(
    ("condition", "names"),
    [
        ("p.k0 > 25", ["ann", "bob"]),
        ("25 >= p.k0", ["bea"]),
        ("p.k0 IS NULL", ["cleo"]),
        ("p.name <> 'ann' AND p.k0 <> 40", ["bea"]),
        ("p.`a \"b` = 'x'", ["ann", "cleo"]),
        ("p.shout = 'BOB'", ["bob"]),
        ("p.k0 > o.id * 10 + 15", ["ann", "bob"]),
        ("CHAR_LENGTH(p.name) = 4", ["cleo"]),
    ],
)
def test_conditions_on_what_is_looked_up(people: Path, condition: str, names: list[str]) -> None:
    tables = with_people(people)
    query = f"SELECT p.name FROM {LOOK_UP.format(left='')} AND {condition} WHERE o.id < 5"
    assert sorted(collected(tables, query)) == [(each,) for each in sorted(names)]


def test_a_database_that_is_not_there_is_named(tmp_path: Path) -> None:
    tables = with_people(tmp_path / "none.db")
    with pytest.raises(
        PenstockError, match=r"table 'people' of jdbc:sqlite:.*none\.db cannot be looked up: no such table"
    ):
        collected(tables, "SELECT p.name FROM " + LOOK_UP.format(left=""))


class Customers(LookupFunction, AsyncLookupFunction):
    """Both ways to look up; says by which a name was found."""

    def __init__(self, prefix: str = "") -> None:
        self.prefix = prefix
        self.is_open = False

    def open(self, runtime_context: Any) -> None:
        self.is_open = True

    def lookup(self, key_row: Row) -> Iterable[Any]:
        assert self.is_open
        if key_row["id"] % 2:
            return []
        return [(key_row["id"], f"{self.prefix}{key_row['id']}", "blocking")]

    async def async_lookup(self, key_row: Row) -> Iterable[Any]:
        assert self.is_open
        return [{"id": key_row["id"], "name": f"{self.prefix}{key_row['id']}", "way": "asynchronous"}]


class NoLookup:
    """Is none."""


CREATE_CUSTOMERS = """CREATE TABLE customers (id INT, name STRING, way STRING) WITH (
  'connector' = 'python-lookup', 'class' = 'tests.unit.table.test_time_joins.{name}', {more})"""


@pytest.mark.parametrize(("wish", "way"), [("true", "asynchronous"), ("false", "blocking")])
def test_a_class_of_the_user_is_asked_in_the_way_the_hint_wishes(wish: str, way: str) -> None:
    tables = new_tables()
    orders = [Row(number, "euro", number) for number in range(10)]
    tables.execute_sql(CREATE_ORDERS.format(data=values.register(orders), ends="true"))
    tables.execute_sql(CREATE_CUSTOMERS.format(name="Customers", more="'parameters.prefix' = 'c-'"))
    query = f"""SELECT /*+ LOOKUP('table'='c', 'async'='{wish}', 'shuffle'='true') */ o.id, c.name, c.way
        FROM orders AS o JOIN customers FOR SYSTEM_TIME AS OF o.now AS c ON o.id = c.id"""
    step = 1 if way == "asynchronous" else 2
    assert sorted(collected(tables, query)) == [(number, f"c-{number}", way) for number in range(0, 10, step)]


@pytest.mark.parametrize(
    ("name", "more", "message"),
    [
        ("NoLookup", "'parameters.a' = '1'", "cannot be made: NoLookup"),
        ("NoLookup", "'lookup.cache' = 'NONE'", "must be a subclass of penstock.table.LookupFunction"),
        ("Nothing", "'lookup.cache' = 'NONE'", "has no attribute 'Nothing'"),
        ("Customers", "'lookup.cache' = 'FULL'", "must be one of NONE, PARTIAL, got 'FULL'"),
    ],
)
def test_what_is_wrong_with_a_class_is_said_before_anything_runs(name: str, more: str, message: str) -> None:
    tables = new_tables()
    tables.execute_sql(CREATE_ORDERS.format(data=values.register([]), ends="true"))
    tables.execute_sql(CREATE_CUSTOMERS.format(name=name, more=more))
    with pytest.raises(SqlError, match=message):
        tables.execute_sql(
            "SELECT c.name FROM orders AS o JOIN customers FOR SYSTEM_TIME AS OF o.now AS c ON o.id = c.id"
        )


def test_a_table_of_lookups_has_no_stream() -> None:
    tables = new_tables()
    tables.execute_sql(CREATE_CUSTOMERS.format(name="Customers", more="'lookup.cache' = 'NONE'"))
    with pytest.raises(SqlError, match="can only be looked up: JOIN customers FOR SYSTEM_TIME AS OF"):
        tables.execute_sql("SELECT * FROM customers")


def test_changes_take_back_what_they_found_then(people: Path) -> None:
    """With TRY_RESOLVE the old row is taken back as it was, although the table has changed meanwhile."""
    tables = with_people(people)
    tables.get_config().set("table.optimizer.non-deterministic-update.strategy", "TRY_RESOLVE")
    changes = [Row(1, 1), Row(1, 1), Row(1, 2)]
    for row, kind in zip(changes, (RowKind.INSERT, RowKind.UPDATE_BEFORE, RowKind.UPDATE_AFTER), strict=True):
        row.set_row_kind(kind)
    tables.execute_sql(f"""CREATE TABLE changes (id INT, person INT, now AS PROCTIME(), PRIMARY KEY (id) NOT ENFORCED)
        WITH ('connector' = 'values', 'data-id' = '{values.register(changes)}', 'changelog-mode' = 'I,UB,UA,D')""")
    query = """SELECT c.id, p.name FROM changes AS c JOIN people FOR SYSTEM_TIME AS OF c.now AS p ON c.person = p.id"""
    rows = [(str(row.get_row_kind()), *row) for row in tables.execute_sql(query).collect()]
    assert rows == [("+I", 1, "ann"), ("-U", 1, "ann"), ("+U", 1, "bob"), ("+U", 1, "bea")]
