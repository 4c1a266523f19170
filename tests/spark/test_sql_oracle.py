"""Streaming queries against Spark SQL's batch answers: the same rows, cut and crashed at random in process."""

from __future__ import annotations

import datetime
from collections import Counter
from collections.abc import Iterator
from decimal import Decimal
from random import Random
from typing import Any

import pytest
from pyspark.sql import SparkSession
from sqlglot import parse_one
from sqlglot.expressions import AggFunc, Exists, In, Literal, Select, Subquery, Table

from penstock.common import Row, RowKind
from penstock.datastream import StreamExecutionEnvironment
from penstock.table import StreamTableEnvironment
from penstock.table.connectors import values
from tests.spark import sql_queries
from tests.spark.sql_queries import DISORDER, QUERIES, Query

KINDS = {"+I": RowKind.INSERT, "-U": RowKind.UPDATE_BEFORE, "+U": RowKind.UPDATE_AFTER, "-D": RowKind.DELETE}
COLUMNS = {
    "orders": "id INT, user_name STRING, kind INT, amount INT, price DECIMAL(10, 2), at TIMESTAMP(3)",
    "people": "name STRING, city STRING, age INT",
    "stock": "kind INT NOT NULL, level INT",
}
CASES = [pytest.param(query, id=f"{query.family}-{number}") for number, query in enumerate(QUERIES)]
SOAK_RUNS = 12
DRAWN: dict[int, Tables] = {}


class Tables:
    """The tables of a seed, for both."""

    def __init__(self, seed: int) -> None:
        chance = Random(seed)
        self.orders = sql_queries.orders(chance, chance.randrange(20, 45))
        self.people = sql_queries.people(chance, chance.randrange(12))
        self.stock = sql_queries.stock_changes(chance, chance.randrange(25))

    def for_spark(self, spark: SparkSession) -> None:
        """Make views of what the tables hold."""
        held = {"orders": self.orders, "people": self.people, "stock": sql_queries.held(self.stock)}
        for name, rows in held.items():
            schema = COLUMNS[name].replace("TIMESTAMP(3)", "TIMESTAMP_NTZ").replace(" NOT NULL", "")
            spark.createDataFrame(rows, schema).createOrReplaceTempView(name)

    def for_flink(self, seed: int) -> StreamTableEnvironment:
        """An environment with the tables, whose jobs are cut and crash by chance."""
        chance = Random(seed)
        rate = chance.choice([0.0, 0.004, 0.02])
        state = chance.choice(["memory", "heap", "lmdb"])
        environment = StreamExecutionEnvironment.in_process(seed, crash_rate=rate, state=state)
        environment.set_parallelism(chance.choice([1, 2, 3]))
        tables = StreamTableEnvironment.create(environment)
        tables.get_config().set("table.exec.mini-batch.enabled", chance.choice(["true", "false"]))
        watermark = f", WATERMARK FOR at AS at - {DISORDER}"
        _create(tables, "orders", watermark, self.orders, "I")
        _create(tables, "people", "", self.people, "I")
        changes = [Row.of_kind(KINDS[kind], *fields) for kind, *fields in self.stock]
        _create(tables, "stock", ", PRIMARY KEY (kind) NOT ENFORCED", changes, "I,UB,UA,D")
        return tables


def _create(tables: StreamTableEnvironment, name: str, more: str, rows: list[Any], kinds: str) -> None:
    options = {"connector": "values", "data-id": values.register(rows), "changelog-mode": kinds}
    if "WATERMARK" in more:
        options["scan.watermark.emit.strategy"] = "on-event"
    pairs = ", ".join(f"'{key}' = '{value}'" for key, value in options.items())
    tables.execute_sql(f"CREATE TABLE {name} ({COLUMNS[name]}{more}) WITH ({pairs})")


def streamed(query: Query, tables: StreamTableEnvironment) -> Counter[Any]:
    """The table that the changelog of a query leaves; each row that is taken back must be there."""
    held: Counter[Any] = Counter()
    for row in tables.execute_sql(query.flink).collect():
        fields = tuple(map(plain, row))
        if row.get_row_kind() in (RowKind.INSERT, RowKind.UPDATE_AFTER):
            held[fields] += 1
        else:
            assert held[fields] > 0, f"{row} is taken back and was never there"
            held[fields] -= 1
    return +held


def batched(query: Query, spark: SparkSession) -> Counter[Any]:
    """The rows that Spark gives."""
    return Counter(tuple(map(plain, row)) for row in spark.sql(query.for_spark).collect())


def is_same(query: Query, found: Counter[Any], wanted: Counter[Any], spark: SparkSession) -> bool:
    """Whether both agree. A streaming aggregate without groups has no row before its first record, as in Flink.

    Such an aggregate counts the rows of a subquery that is a value, so that there is none before one of the subquery's.
    """
    return found == wanted or (not found and (counts_nothing(query, spark) or has_empty_subquery(query, spark)))


def has_empty_subquery(query: Query, spark: SparkSession) -> bool:
    """Whether a query asks, as a value, for rows of a table that has none."""
    if query.family != "subqueries":
        return False
    asked = parse_one(query.for_spark, dialect="spark").find_all(Exists, In, Subquery)
    names = {table.name for each in asked for table in each.find_all(Table)}
    return any(spark.table(name).isEmpty() for name in names & COLUMNS.keys())


def counts_nothing(query: Query, spark: SparkSession) -> bool:
    """Whether a query is an aggregate without groups of no rows."""
    tree = parse_one(query.for_spark, dialect="spark")
    if not isinstance(tree, Select) or tree.args.get("group") or not any(each.find(AggFunc) for each in tree.selects):
        return False
    rows = tree.copy()
    rows.set("expressions", [Literal.number(1)])
    return not spark.sql(rows.sql(dialect="spark")).collect()


def plain(value: Any) -> Any:
    """A value as both give it: numbers by what they are worth."""
    if isinstance(value, bool) or value is None:
        return value
    if isinstance(value, (int, float, Decimal)):
        return round(float(value), 6)
    if isinstance(value, datetime.datetime):
        return value.replace(tzinfo=None).isoformat()
    return value


@pytest.fixture(scope="module")
def batch(spark: SparkSession) -> Iterator[SparkSession]:
    """The session, quick with few rows."""
    settings = {"spark.sql.shuffle.partitions": "1", "spark.sql.ansi.enabled": "false"}
    before = {key: spark.conf.get(key) for key in settings}
    for key, value in settings.items():
        spark.conf.set(key, value)
    yield spark
    for key, value in before.items():
        spark.conf.set(key, value)


@pytest.fixture
def drawn(batch: SparkSession, seed: int) -> Iterator[Tables]:
    """The tables of the run, views of which Spark has."""
    if seed not in DRAWN:
        DRAWN[seed] = Tables(seed)
        DRAWN[seed].for_spark(batch)
    yield DRAWN[seed]
    values.clear()


@pytest.mark.parametrize("query", CASES)
def test_a_streaming_query_gives_what_spark_gives_at_once(
    query: Query, drawn: Tables, batch: SparkSession, seed: int
) -> None:
    found, wanted = streamed(query, drawn.for_flink(seed)), batched(query, batch)
    assert is_same(query, found, wanted, batch), (query, found, wanted)


@pytest.mark.soak
@pytest.mark.parametrize("number", range(SOAK_RUNS))
def test_every_query_on_other_tables(number: int, batch: SparkSession, seed: int) -> None:
    tables = Tables(seed + number)
    tables.for_spark(batch)
    for place, query in enumerate(QUERIES):
        wanted = batched(query, batch)
        for run in range(4):
            found = streamed(query, tables.for_flink(seed + 1000 * number + 10 * place + run))
            assert is_same(query, found, wanted, batch), (query, found, wanted)
    values.clear()
