"""Queries through the whole planner, in process: what the changelog leaves. Spark's answers are in tests/spark."""

from __future__ import annotations

from collections import Counter
from typing import Any

import pytest

from penstock.common import Row, RowKind, Types
from penstock.datastream import StreamExecutionEnvironment
from penstock.errors import SqlError
from penstock.table import StreamTableEnvironment

ADDS = (RowKind.INSERT, RowKind.UPDATE_AFTER)


@pytest.fixture(params=[1, 2])
def tables(request: pytest.FixtureRequest) -> StreamTableEnvironment:
    environment = StreamExecutionEnvironment.in_process(seed=3)
    environment.set_parallelism(request.param)
    made = StreamTableEnvironment.create(environment)
    made.create_temporary_view("t", made.from_elements([(1, "a"), (2, "b"), (3, None), (2, "b")], ["n", "s"]))
    made.create_temporary_view("u", made.from_elements([(2, "b"), (2, "b"), (4, "d")], ["n", "s"]))
    made.create_temporary_view("w", made.from_elements([(1, "a"), (4, None)], ["n", "s"]))
    return made


def held(tables: StreamTableEnvironment, query: str) -> Counter[Any]:
    """The table that a changelog leaves."""
    found: Counter[Any] = Counter()
    for row in tables.execute_sql(query).collect():
        found[tuple(row)] += 1 if row.get_row_kind() in ADDS else -1
    return +found


@pytest.mark.parametrize(
    ("condition", "wanted"),
    [
        ("n = 1 OR n IN (SELECT n FROM u)", [1, 2, 2]),
        ("n = 1 OR n NOT IN (SELECT n FROM u)", [1, 3]),
        ("s IN (SELECT s FROM w)", [1]),
        ("s NOT IN (SELECT s FROM w)", []),
        ("(s IN (SELECT s FROM w)) IS NULL", [2, 2, 3]),
        ("(s IN (SELECT s FROM w WHERE s IS NOT NULL)) IS FALSE", [2, 2]),
        ("n > 2 OR EXISTS (SELECT 1 FROM u WHERE u.n = t.n)", [2, 2, 3]),
        ("NOT (n = 1 OR EXISTS (SELECT 1 FROM u WHERE u.n = t.n AND u.s = t.s))", [3]),
        ("CASE WHEN n IN (SELECT n FROM u) THEN 1 ELSE 4 END NOT IN (SELECT n FROM w)", []),
        ("(n, s) IN (SELECT n, s FROM w) OR n = 3", [1, 3]),
        ("n = ANY (SELECT n FROM u)", [2, 2]),
        ("n <> ALL (SELECT n FROM u)", [1, 3]),
        ("s = SOME (SELECT s FROM w)", [1]),
    ],
)
def test_in_and_exists_anywhere_in_a_condition(
    tables: StreamTableEnvironment, condition: str, wanted: list[int]
) -> None:
    assert sorted(held(tables, f"SELECT n FROM t WHERE {condition}").elements()) == [(each,) for each in wanted]


def test_in_and_exists_as_values(tables: StreamTableEnvironment) -> None:
    query = "SELECT n, n IN (SELECT n FROM u), s IN (SELECT s FROM w), EXISTS (SELECT 1 FROM w WHERE w.s = t.s) FROM t"
    assert held(tables, query) == Counter(
        {(1, False, True, True): 1, (2, True, None, False): 2, (3, False, None, False): 1}
    )


def test_subqueries_may_use_keys_of_groups(tables: StreamTableEnvironment) -> None:
    query = "SELECT n, COUNT(*), (SELECT COUNT(*) FROM u WHERE u.n = t.n) FROM t GROUP BY n"
    assert held(tables, query) == Counter({(1, 1, 0): 1, (2, 2, 2): 1, (3, 1, 0): 1})
    assert held(tables, "SELECT n FROM t GROUP BY n HAVING EXISTS (SELECT 1 FROM u WHERE u.n = t.n)") == Counter([(2,)])
    with pytest.raises(SqlError, match="neither grouped nor aggregated"):
        tables.execute_sql("SELECT n, (SELECT MAX(n) FROM u WHERE u.s = t.s) FROM t GROUP BY n")


@pytest.mark.parametrize(
    ("operation", "wanted"),
    [
        ("INTERSECT", [(2, "b")]),
        ("INTERSECT ALL", [(2, "b"), (2, "b")]),
        ("EXCEPT", [(1, "a"), (3, None)]),
        ("EXCEPT ALL", [(1, "a"), (3, None)]),
    ],
)
def test_set_operations(tables: StreamTableEnvironment, operation: str, wanted: list[Any]) -> None:
    assert held(tables, f"SELECT n, s FROM t {operation} SELECT n, s FROM u") == Counter(wanted)


def test_rows_are_repeated_as_often_as_they_are_left(tables: StreamTableEnvironment) -> None:
    twice = "SELECT n FROM u UNION ALL SELECT n FROM u"
    assert held(tables, f"({twice}) EXCEPT ALL SELECT n FROM t") == Counter({(2,): 2, (4,): 2})
    assert held(tables, f"({twice}) INTERSECT ALL SELECT n FROM t") == Counter({(2,): 2})
    assert held(tables, f"SELECT COUNT(*) FROM (({twice}) EXCEPT ALL SELECT n FROM t)") == Counter({(4,): 1})


def test_changes_of_a_single_source_stay_in_order(tables: StreamTableEnvironment) -> None:
    changes = []
    for number in range(40):
        changes += [Row.of_kind(RowKind.INSERT, 1, number), Row.of_kind(RowKind.DELETE, 1, number)]
    changes.append(Row.of_kind(RowKind.INSERT, 1, 40))
    stream = tables.stream_environment.from_collection(changes, Types.ROW_NAMED(["k", "v"], [Types.INT(), Types.INT()]))
    tables.create_temporary_view("c", tables.from_changelog_stream(stream))
    assert held(tables, "SELECT k + 1, MAX(v) FROM c GROUP BY k + 1") == Counter({(2, 40): 1})
    assert held(tables, "SELECT v FROM c WHERE k > 0") == Counter({(40,): 1})


def test_state_hints_name_tables_of_from(tables: StreamTableEnvironment) -> None:
    joined = "SELECT /*+ STATE_TTL('t' = '1 d', 'b' = '2 h') */ t.n FROM t JOIN u AS b ON t.n = b.n"
    assert held(tables, joined) == Counter({(2,): 4})
    with pytest.raises(SqlError, match="STATE_TTL names 'nobody'"):
        tables.execute_sql("SELECT /*+ STATE_TTL('nobody' = '1 d') */ n, COUNT(*) FROM t GROUP BY n")
    with pytest.raises(SqlError, match="STATE_TTL"):
        tables.execute_sql("SELECT /*+ STATE_TTL('t' = 'soon') */ n, COUNT(*) FROM t GROUP BY n")


@pytest.mark.parametrize(
    ("call", "wanted"),
    [
        ("JSON_ARRAYAGG(s)", '["a","b","b"]'),
        ("JSON_ARRAYAGG(s NULL ON NULL)", '["a","b",null,"b"]'),
        ("JSON_ARRAYAGG(n)", "[1,2,3,2]"),
        ("JSON_ARRAYAGG(JSON_OBJECT(KEY 'n' VALUE n))", '[{"n":1},{"n":2},{"n":3},{"n":2}]'),
        ("JSON_OBJECTAGG(KEY CAST(n AS STRING) VALUE s)", '{"1":"a","2":"b","3":null}'),
        ("JSON_OBJECTAGG(KEY CAST(n AS STRING) VALUE s ABSENT ON NULL)", '{"1":"a","2":"b"}'),
    ],
)
def test_aggregates_of_json(call: str, wanted: str) -> None:
    tables = StreamTableEnvironment.create(StreamExecutionEnvironment.in_process())
    tables.create_temporary_view("t", tables.from_elements([(1, "a"), (2, "b"), (3, None), (2, "b")], ["n", "s"]))
    assert list(held(tables, f"SELECT {call} FROM t")) == [(wanted,)]


def test_functions_that_need_later_rows_are_refused(tables: StreamTableEnvironment) -> None:
    for function in ("LEAD(n)", "NTILE(2)", "PERCENT_RANK()", "CUME_DIST()"):
        with pytest.raises(SqlError, match="needs later rows"):
            tables.execute_sql(f"SELECT {function} OVER (ORDER BY n) FROM t")
    assert held(tables, "SELECT n, RANK() OVER (ORDER BY n) FROM t") == Counter({(1, 1): 1, (2, 2): 2, (3, 4): 1})


@pytest.mark.parametrize(
    ("settings", "wanted"),
    [
        ({}, ["+I a1", "-U a1", "+U a2", "-U a2", "+U a3", "+I b1"]),
        ({"table.exec.mini-batch.enabled": "true"}, ["+I a3", "+I b1"]),
        (
            {
                "table.exec.mini-batch.enabled": "true",
                "table.exec.mini-batch.size": "2",
                "table.optimizer.agg-phase-strategy": "ONE_PHASE",
            },
            ["+I a2", "-U a2", "+U a3", "+I b1"],
        ),
        # The rows of two and two have three keys, of which the first two make a mini-batch.
        ({"table.exec.mini-batch.enabled": "true", "table.exec.mini-batch.size": "2"}, ["+I a3", "+I b1"]),
    ],
)
def test_mini_batches_give_one_change_for_each_key(settings: dict[str, str], wanted: list[str]) -> None:
    tables = StreamTableEnvironment.create(StreamExecutionEnvironment.in_process())
    for key, value in settings.items():
        tables.get_config().set(key, value)
    tables.create_temporary_view("k", tables.from_elements([("a",), ("a",), ("a",), ("b",)], ["s"]))
    rows = tables.execute_sql("SELECT s, COUNT(*) FROM k GROUP BY s").collect()
    assert [f"{row.get_row_kind()} {row[0]}{row[1]}" for row in rows] == wanted


def test_a_lateral_aggregate_has_a_row_for_every_row(tables: StreamTableEnvironment) -> None:
    query = "SELECT t.n, x.c, x.m FROM t, LATERAL (SELECT COUNT(*) AS c, MAX(u.s) AS m FROM u WHERE u.n = t.n) AS x"
    assert held(tables, query) == Counter({(1, 0, None): 1, (2, 2, "b"): 2, (3, 0, None): 1})
