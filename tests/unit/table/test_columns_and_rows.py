"""EXPLAIN says of each operator whether it works on columns or on rows, and why; and so it is."""

from __future__ import annotations

from random import Random

import pytest

from penstock.table import StreamTableEnvironment
from tests.unit.table.columns_and_rows import ROWS, counted, environment, explained, forms

TUMBLED = "TUMBLE(TABLE {}, DESCRIPTOR(ts), INTERVAL '10' SECOND)"
WINDOW = "window_start, window_end"
RANKED = "SELECT * FROM (SELECT *, ROW_NUMBER() OVER (PARTITION BY {} ORDER BY {}) AS r FROM c) WHERE r <= {}"
CALC, GROUP, JOIN, RANK = "CalcOperator", "GroupAggregateOperator", "RegularJoinOperator", "RankOperator"
INTERVAL, WINDOWS, LAST = "TableIntervalJoinOperator", "WindowAggregateOperator", "DeduplicateOperator"
WINDOW_JOIN, LEGACY = "TableWindowJoinOperator", "GroupWindowAggregateOperator"

PER_WINDOW = f"SELECT k, {WINDOW}, window_time, COUNT(*) AS n FROM {TUMBLED} GROUP BY k, {WINDOW}, window_time"

CASES = [
    ("SELECT k, UPPER(name) FROM c WHERE price > 5", CALC, "columns"),
    ("SELECT k, slow(name) FROM c", CALC, "rows: the Python function slow() is called for each row"),
    ("SELECT k, UPPER(slow(name)) FROM c", CALC, "rows: the Python function slow() is called for each row"),
    ("SELECT k, RAND() FROM c", CALC, "rows: the function RAND gives each row a value of its own"),
    ("SELECT k, tags FROM tagged", CALC, "rows: column tags is an ARRAY"),
    ("SELECT k, tags[1] FROM tagged", CALC, "rows: column tags is an ARRAY"),
    ("SELECT k, ARRAY[name] FROM c", CALC, "rows: the function ARRAY gives an ARRAY"),
    ("SELECT CAST(price AS DECIMAL(9, 2)) FROM c", CALC, "columns"),
    ("SELECT k, COUNT(*), SUM(price), MAX(name), COUNT(DISTINCT name) FROM c GROUP BY k", GROUP, "columns"),
    ("SELECT price, COUNT(*) FROM c GROUP BY price", GROUP, "rows: the key, column price, is a DOUBLE"),
    ("SELECT ARRAY[k] AS a, COUNT(*) FROM c GROUP BY ARRAY[k]", GROUP, "rows: the key, a computed column, is an ARRAY"),
    ("SELECT COUNT(*) FROM c", GROUP, "rows: there is no GROUP BY column"),
    ("SELECT k, LISTAGG(name) FROM c GROUP BY k", GROUP, "rows: the aggregate LISTAGG has no column form"),
    (
        "SELECT k, MIN(price) FROM c GROUP BY k",
        GROUP,
        "rows: MIN of column price, which is a DOUBLE, has no column form",
    ),
    (
        "SELECT k, COUNT(DISTINCT price) FROM c GROUP BY k",
        GROUP,
        "rows: the aggregate COUNT(DISTINCT) has no column form",
    ),
    (
        "SELECT n, COUNT(*) FROM (SELECT k, COUNT(*) AS n FROM c GROUP BY k) GROUP BY n",
        GROUP,
        "rows: rows may be updated or deleted",
    ),
    ("SELECT c.k, d.name FROM c JOIN d ON c.k = d.ms", JOIN, "columns"),
    (
        "SELECT c.k, d.name FROM c LEFT JOIN d ON c.k = d.ms",
        JOIN,
        "rows: only inner joins have a column form, and this is a LEFT OUTER JOIN",
    ),
    ("SELECT c.k, tags FROM c JOIN tagged t ON c.k = t.ms", JOIN, "rows: column tags is an ARRAY"),
    ("SELECT c.k FROM c JOIN d ON c.price = d.price", JOIN, "rows: the key, column price, is a DOUBLE"),
    ("SELECT c.k FROM c, (SELECT 1 AS x) AS v", JOIN, "rows: the join has no equality between columns of both inputs"),
    (
        "SELECT c.k, d.k FROM c JOIN d ON c.ms = d.ms AND c.name < slow(d.name)",
        JOIN,
        "columns, but its condition on rows: the Python function slow() is called for each row",
    ),
    ("SELECT c.k FROM c, d WHERE c.k = d.k AND c.ts BETWEEN d.ts AND d.ts + INTERVAL '1' SECOND", INTERVAL, "columns"),
    (
        "SELECT c.k FROM c LEFT JOIN d ON c.k = d.k AND c.ts BETWEEN d.ts AND d.ts + INTERVAL '1' SECOND",
        INTERVAL,
        "rows: only inner joins have a column form, and this is a LEFT OUTER JOIN",
    ),
    (f"SELECT k, COUNT(*) FROM {TUMBLED.format('c')} GROUP BY k, {WINDOW}", WINDOWS, "columns"),
    (
        f"SELECT k, MAX(name) FROM {TUMBLED.format('c')} GROUP BY k, {WINDOW}",
        WINDOWS,
        "rows: MAX of column name, which is a VARCHAR, has no column form",
    ),
    (
        f"SELECT k, COUNT(DISTINCT name) FROM {TUMBLED.format('c')} GROUP BY k, {WINDOW}",
        WINDOWS,
        "rows: the aggregate COUNT(DISTINCT) has no column form",
    ),
    ("SELECT k, COUNT(*) FROM c GROUP BY k, SESSION(ts, INTERVAL '10' SECOND)", LEGACY, "columns"),
    (
        "SELECT price, COUNT(*) FROM c GROUP BY price, SESSION(ts, INTERVAL '1' SECOND)",
        LEGACY,
        "rows: the key, column price, is a DOUBLE",
    ),
    (
        f"SELECT a.k FROM (SELECT * FROM {TUMBLED.format('c')}) a JOIN (SELECT * FROM {TUMBLED.format('d')}) b "
        "ON a.ms = b.ms AND a.window_start = b.window_start AND a.window_end = b.window_end",
        WINDOW_JOIN,
        "rows: its records come as rows",
    ),
    (
        f"SELECT a.k FROM ({PER_WINDOW.format('c')}) a JOIN ({PER_WINDOW.format('d')}) b "
        "ON a.k = b.k AND a.window_start = b.window_start AND a.window_end = b.window_end",
        WINDOW_JOIN,
        "columns",
    ),
    (f"SELECT MAX(n) FROM ({PER_WINDOW.format('c')}) GROUP BY {WINDOW}", WINDOWS, "columns"),
    (
        f"SELECT AVG(x) FROM (SELECT {WINDOW}, CAST(n AS DOUBLE) AS x FROM ({PER_WINDOW.format('c')})) "
        f"GROUP BY {WINDOW}",
        WINDOWS,
        "rows: a sum of DOUBLE depends on the order of rows",
    ),
    (RANKED.format("k", "ms DESC", 2), RANK, "columns"),
    (RANKED.format("k", "price", 2), RANK, "rows: the order is by column price, which is a DOUBLE"),
    (RANKED.format("price", "ms DESC", 2), RANK, "rows: the key, column price, is a DOUBLE"),
    (RANKED.format("k", "ts DESC", 1), LAST, "columns"),
    (RANKED.format("k", "ts", 1), LAST, "rows: the first row of each key is kept"),
    ("SELECT k, COUNT(*) FROM c WHERE slow(name) = 'n1' GROUP BY k", GROUP, "rows: its records come as rows"),
]


@pytest.fixture(scope="module")
def tables() -> StreamTableEnvironment:
    return environment()


@pytest.mark.parametrize(("query", "operator", "form"), CASES)
def test_explain_says_what_an_operator_works_on(
    tables: StreamTableEnvironment, query: str, operator: str, form: str
) -> None:
    found = [shown for kind, shown in explained(tables, query) if kind == operator]
    assert found[-1] == form


@pytest.mark.parametrize(("query", "operator", "form"), CASES)
def test_what_explain_says_is_what_runs(tables: StreamTableEnvironment, query: str, operator: str, form: str) -> None:
    check(tables, query)


def check(tables: StreamTableEnvironment, query: str) -> None:
    """Compare what EXPLAIN says with what the operators have counted."""
    said, ran = forms(tables.explain_sql(query)), counted(tables, query)
    shared = [uid for uid in said if uid in ran]
    assert len(shared) >= len(said) - 2, "all but what EXPLAIN puts at the end instead of collecting"
    for uid in shared:
        (kind, form), (as_columns, as_rows) = said[uid], ran[uid]
        if as_columns + as_rows:
            assert (as_columns > 0) is form.startswith("columns"), (kind, form, as_columns, as_rows)
            assert not (as_rows and form.startswith("columns")), (kind, form, as_columns, as_rows)


SELECTED = ["k", "name", "price", "UPPER(name)", "k + 1", "slow(name)", "price * 2", "ARRAY[k]", "CAST(k AS STRING)"]
AGGREGATED = ["COUNT(*)", "SUM({})", "MAX({})", "AVG({})", "COUNT(DISTINCT {})", "MIN({})", "LAST_VALUE({})"]
SHAPES = [
    "SELECT {a} AS x, {b} AS y FROM {t} WHERE k > {n}",
    "SELECT x, {f} FROM (SELECT {a} AS x, {b} AS y FROM {t}) GROUP BY x",
    "SELECT v.x FROM (SELECT {a} AS x, ms FROM {t}) v JOIN (SELECT {b} AS y, ms FROM d) w ON v.ms = w.ms",
    "SELECT x, {f} FROM (SELECT {a} AS x, {b} AS y, ts FROM {t}) GROUP BY x, TUMBLE(ts, INTERVAL '{n}' SECOND)",
    "SELECT * FROM (SELECT *, ROW_NUMBER() OVER (PARTITION BY x ORDER BY y) AS r "
    "FROM (SELECT {a} AS x, {b} AS y FROM {t})) WHERE r <= {n}",
]


def test_what_explain_says_of_any_query_is_what_runs(tables: StreamTableEnvironment, seed: int) -> None:
    random = Random(seed)
    for _ in range(20):
        numeric = random.choice(["k", "price", "k + 1"])
        query = random.choice(SHAPES).format(
            a=random.choice(SELECTED), b=numeric if random.random() < 0.6 else random.choice(SELECTED[:2]),
            f=random.choice(AGGREGATED).format("y"), t=random.choice(["c", "tagged"]), n=random.randint(1, 5),
        )  # fmt: skip
        try:
            tables.explain_sql(query)
        except Exception as error:  # such as AVG of a text
            assert "cannot" in str(error) or "must" in str(error) or "not " in str(error), query
            continue
        check(tables, query)


def test_records_are_counted_once_by_form(tables: StreamTableEnvironment) -> None:
    query = "SELECT k, slow(name) FROM c WHERE price > 5"
    said, ran = forms(tables.explain_sql(query)), counted(tables, query)
    columns_of = {form: ran[uid] for uid, (_, form) in said.items() if uid in ran}
    assert columns_of["columns"] == (ROWS, 0)
    assert columns_of["rows: the Python function slow() is called for each row"] == (0, ROWS)


@pytest.mark.parametrize(
    ("query", "operator"),
    [
        (RANKED.format("k", "NULLIF(ms, 30)", 2), RANK),
        ("SELECT k, SUM(ms * 100000000000000) FROM c GROUP BY k", GROUP),
    ],
    ids=["a NULL in the order of a Top-N", "sums beyond 64 bits"],
)
def test_what_a_block_does_not_allow_is_counted_as_rows(
    tables: StreamTableEnvironment, query: str, operator: str
) -> None:
    """What the data decides EXPLAIN cannot know."""
    said = forms(tables.explain_sql(query))
    ((uid, form),) = [(uid, form) for uid, (kind, form) in said.items() if kind == operator]
    assert form == "columns"
    as_columns, as_rows = counted(tables, query)[uid]
    assert as_rows > 0 and as_columns + as_rows == ROWS


def test_explain_is_no_part_of_the_plans_that_are_flinks(tables: StreamTableEnvironment) -> None:
    text = tables.explain_sql("SELECT k, slow(name) FROM c")
    plans, _, graph = text.partition("== Penstock Graph ==")
    assert "rows: " not in plans and "rows: " in graph
