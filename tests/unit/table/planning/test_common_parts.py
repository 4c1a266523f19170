"""What INSERTs of a statement set read of a view is computed once, if that is asked for, with the same results."""

from __future__ import annotations

import re
from collections import Counter
from datetime import datetime, timedelta
from typing import Any

import pytest

from penstock.datastream import StreamExecutionEnvironment
from penstock.table import StreamTableEnvironment
from penstock.table.connectors import values
from penstock.table.statement_set import StatementSet

KEY = "table.optimizer.reuse-optimize-block-with-digest-enabled"
START = datetime(2026, 1, 1)
ORDERS = [
    (number % 30, number % 4, f"p{number % 3}", float(number % 11 - 1), START + timedelta(seconds=number))
    for number in range(60)
]
PRODUCTS = [
    (f"p{number % 3}", f"c{number % 2}", number, START + timedelta(seconds=7 * number, milliseconds=500))
    for number in range(9)
]
VIEWS = (
    "CREATE VIEW products AS SELECT product, category, price, ts FROM (SELECT *, ROW_NUMBER() OVER "
    "(PARTITION BY product ORDER BY ts DESC) AS r FROM changes) WHERE r = 1",
    "CREATE VIEW clean AS SELECT id, customer, product, amount, ts FROM (SELECT *, ROW_NUMBER() OVER "
    "(PARTITION BY id ORDER BY ts) AS r FROM orders WHERE amount > 0) WHERE r = 1",
    "CREATE VIEW sales AS SELECT o.id, o.customer, o.product, p.category, o.amount * p.price AS paid, o.ts "
    "FROM clean AS o JOIN products FOR SYSTEM_TIME AS OF o.ts AS p ON o.product = p.product",
)
WAREHOUSE = (
    "SELECT category, SUM(paid) FROM sales GROUP BY category",
    "SELECT CAST(customer AS STRING), SUM(paid) FROM sales GROUP BY customer",
    "SELECT product, CAST(COUNT(*) AS DOUBLE) FROM sales GROUP BY product",
    "SELECT category, SUM(paid) FROM TABLE(TUMBLE(TABLE sales, DESCRIPTOR(ts), INTERVAL '9' SECOND)) "
    "GROUP BY category, window_start, window_end",
    "SELECT product, paid FROM sales WHERE paid > 9",
    "SELECT product, CAST(COUNT(DISTINCT customer) AS DOUBLE) FROM sales WHERE customer > 1 GROUP BY product",
    "SELECT product, amount FROM clean",
    "SELECT product, MAX(amount) FROM clean GROUP BY product",
)


def statement_set(queries: tuple[str, ...], *, shares: bool, views: tuple[str, ...] = VIEWS) -> StatementSet:
    values.clear()
    tables = StreamTableEnvironment.create(StreamExecutionEnvironment.in_process().set_parallelism(2))
    tables.get_config().set(KEY, str(shares).lower())
    columns = {
        "orders": ("id INT, customer INT, product STRING, amount DOUBLE, ts TIMESTAMP(3)", ORDERS),
        "changes": ("product STRING, category STRING, price INT, ts TIMESTAMP(3)", PRODUCTS),
    }
    for name, (declared, rows) in columns.items():
        options = f"'connector' = 'values', 'data-id' = '{values.register(rows)}'"
        tables.execute_sql(f"CREATE TABLE {name} ({declared}, WATERMARK FOR ts AS ts) WITH ({options})")
    for view in views:
        tables.execute_sql(view)
    statements = tables.create_statement_set()
    for number, query in enumerate(queries):
        tables.execute_sql(
            f"CREATE TABLE o{number} (a STRING, b DOUBLE) WITH ('connector' = 'values', 'sink-insert-only' = 'false')"
        )
        statements.add_insert_sql(f"INSERT INTO o{number} {query}")
    return statements


def operators(statements: StatementSet) -> dict[str, int]:
    """How many operators of some kinds with state the graph has."""
    _, _, graph = statements.explain().partition("== Penstock Graph ==")
    found = re.findall(r"uid=(table-[a-z]+)-[0-9a-f]{16}", graph)
    kinds = ("table-deduplicate", "table-temporaljoin", "table-aggregate", "table-windowaggregate")
    return {kind: count for kind, count in Counter(found).items() if kind in kinds}


def uids(statements: StatementSet, kind: str) -> set[str]:
    return set(re.findall(rf"uid=(table-{kind}-\S+?)[,)\s]", statements.explain()))


def written(statements: StatementSet, count: int) -> list[Any]:
    statements.execute().wait()
    return [final(values.results(f"default_catalog.default_database.o{number}")) for number in range(count)]


def final(changes: Any) -> Counter[Any]:
    """The rows that a changelog leaves."""
    rows: Counter[Any] = Counter()
    for kind, *fields in changes:
        rows[tuple(fields)] += -1 if kind in (1, 3) else 1
    return +rows


def test_a_view_of_a_warehouse_is_computed_once() -> None:
    alone = operators(statement_set(WAREHOUSE, shares=False))
    shared = operators(statement_set(WAREHOUSE, shares=True))
    assert (alone["table-deduplicate"], alone["table-temporaljoin"]) == (5, 5)
    assert (shared["table-deduplicate"], shared["table-temporaljoin"]) == (2, 1)
    assert shared["table-aggregate"] == alone["table-aggregate"] == 5


def test_results_are_those_of_queries_that_share_nothing() -> None:
    alone = written(statement_set(WAREHOUSE, shares=False), len(WAREHOUSE))
    assert written(statement_set(WAREHOUSE, shares=True), len(WAREHOUSE)) == alone
    assert all(alone)


def test_uids_of_what_is_shared_are_those_of_a_query_of_the_whole_view() -> None:
    whole = ("SELECT product, paid + id + customer + CHAR_LENGTH(category) + EXTRACT(DAY FROM ts) FROM sales",)
    kinds = ("temporaljoin", "deduplicate")
    expected = [uids(statement_set(whole, shares=False), kind) for kind in kinds]
    assert [uids(statement_set(WAREHOUSE, shares=True), kind) for kind in kinds] == expected
    assert all(expected)


def test_one_insert_is_planned_as_ever() -> None:
    one = WAREHOUSE[:1]
    plans = [statement_set(one, shares=shares).explain() for shares in (False, True)]
    assert uids(statement_set(one, shares=True), "temporaljoin") == uids(
        statement_set(one, shares=False), "temporaljoin"
    )
    assert plans[0] == plans[1]


def test_what_gives_other_rows_when_it_is_computed_again_is_nobody_elses() -> None:
    drawn = "CREATE VIEW drawn AS SELECT product, SUM(amount * RAND()) AS s FROM orders GROUP BY product"
    queries = ("SELECT product, s FROM drawn", "SELECT product, s FROM drawn WHERE s > 3")
    assert operators(statement_set(queries, shares=True, views=(drawn,))) == {"table-aggregate": 2}
    plain = drawn.replace(" * RAND()", "")
    assert operators(statement_set(queries, shares=True, views=(plain,))) == {"table-aggregate": 1}


@pytest.mark.parametrize("shares", [False, True])
def test_row_numbers_that_are_filtered_by_each_reader_are_still_ranks(shares: bool) -> None:
    numbered = (
        "CREATE VIEW numbered AS SELECT product, amount, ROW_NUMBER() OVER (PARTITION BY product ORDER BY amount DESC) "
        "AS r FROM orders",
    )
    queries = ("SELECT product, amount FROM numbered WHERE r = 1", "SELECT product, amount FROM numbered WHERE r <= 2")
    found = written(statement_set(queries, shares=shares, views=numbered), 2)
    assert [sum(each.values()) for each in found] == [3, 6]
