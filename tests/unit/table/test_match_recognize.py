"""MATCH_RECOGNIZE in process: what is found, with random cuts and crashes, and after a savepoint."""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from pathlib import Path
from random import Random
from typing import Any

import pytest

from penstock.common import Configuration, Row
from penstock.datastream import StreamExecutionEnvironment
from penstock.engine.in_process.clock import ManualClock
from penstock.engine.in_process.job import StalledJob
from penstock.errors import JobFailedError
from penstock.table import StreamTableEnvironment
from penstock.table.connectors import values
from penstock.table.udf import AggregateFunction, udaf, udf

Tick = tuple[str, int, int | None]
COLUMNS = """symbol STRING, ms BIGINT, price INT, at AS CAST(TO_TIMESTAMP_LTZ(ms, 3) AS TIMESTAMP(3)),
  now AS PROCTIME(), WATERMARK FOR at AS at - INTERVAL '2' SECOND"""
VALLEYS = """SELECT * FROM ticks MATCH_RECOGNIZE (
  PARTITION BY symbol ORDER BY at
  MEASURES FIRST(ms) AS first, LAST(DOWN.price) AS low, COUNT(DOWN.ms) AS steps, UP.ms AS last
  ONE ROW PER MATCH AFTER MATCH SKIP PAST LAST ROW
  PATTERN (START_ROW DOWN+ UP)
  DEFINE DOWN AS DOWN.price < LAST(price, 1), UP AS UP.price > LAST(DOWN.price)
) AS m"""


@pytest.fixture(autouse=True)
def no_rows_left() -> Iterator[None]:
    values.clear()
    yield
    values.clear()


def tables_of(
    ticks: Iterable[Tick], environment: StreamExecutionEnvironment | None = None, **options: str
) -> StreamTableEnvironment:
    """A table `ticks`, a watermark behind each of its rows, three rows in a batch."""
    if environment is None:
        environment = StreamExecutionEnvironment.in_process(clock=ManualClock(1_000_000))
        environment.set_parallelism(1)
    tables = StreamTableEnvironment.create(environment)
    given = {"rows-per-batch": "3", "scan.watermark.emit.strategy": "on-event", **options}
    texts = "".join(f", '{key}' = '{text}'" for key, text in given.items())
    key = values.register(list(ticks))
    tables.execute_sql(f"CREATE TABLE ticks ({COLUMNS}) WITH ('connector' = 'values', 'data-id' = '{key}'{texts})")
    return tables


def found(tables: StreamTableEnvironment, sql: str) -> list[tuple[Any, ...]]:
    with tables.execute_sql(sql).collect() as rows:
        return [tuple(row) for row in rows]


def series(*prices: int | None, symbol: str = "X", step: int = 1000) -> list[Tick]:
    return [(symbol, number * step, price) for number, price in enumerate(prices)]


def matched(
    pattern: str,
    define: str,
    *prices: int | None,
    measures: str = "FIRST(ms) / 1000 AS f, LAST(ms) / 1000 AS l",
    after: str = "AFTER MATCH SKIP PAST LAST ROW",
    order: str = "at",
) -> list[tuple[Any, ...]]:
    sql = f"SELECT * FROM ticks MATCH_RECOGNIZE (ORDER BY {order} MEASURES {measures} {after} PATTERN ({pattern})"
    return found(tables_of(series(*prices)), f"{sql} DEFINE {define})")


# ---- what is found ----


def test_rows_are_put_in_order_of_time_by_partition() -> None:
    ticks = [("a", 0, 5), ("b", 500, 9), ("a", 2000, 3), ("a", 1000, 4), ("b", 1500, 8), ("a", 3000, 6), ("b", 2500, 9)]
    assert sorted(found(tables_of(ticks), VALLEYS)) == [("a", 0, 3, 2, 3000), ("b", 500, 8, 1, 2500)]


@pytest.mark.parametrize(
    ("pattern", "expected"),
    [
        ("A B", [(0, 1), (4, 5)]),
        ("A+ B", [(0, 1), (2, 5)]),
        ("A* B", [(0, 1), (2, 5)]),
        ("A? B", [(0, 1), (4, 5)]),
        ("A{2} B", [(3, 5)]),
        ("A{2,} B", [(2, 5)]),
        ("A{1,2} B", [(0, 1), (3, 5)]),
        ("A{,2} B", [(0, 1), (3, 5)]),
        ("A{3} B", [(2, 5)]),
        ("A+? C", [(0, 1), (2, 3), (4, 5)]),
        ("A B+?", [(0, 1), (4, 5)]),
        ("(A) (B)", [(0, 1), (4, 5)]),
    ],
)
def test_quantifiers(pattern: str, expected: list[tuple[int, int]]) -> None:
    # a b a a a b b
    define = "A AS A.price = 1" + (", B AS B.price = 2" if "B" in pattern else "")
    assert matched(pattern, define, 1, 2, 1, 1, 1, 2, 2)[: len(expected)] == expected


@pytest.mark.parametrize(
    ("after", "sums"),
    [
        ("", [26, 24, 25, 22, 17]),
        ("AFTER MATCH SKIP TO NEXT ROW", [26, 24, 25, 22, 17]),
        ("AFTER MATCH SKIP PAST LAST ROW", [26, 17]),
        ("AFTER MATCH SKIP TO LAST A", [26, 25, 17]),
        ("AFTER MATCH SKIP TO A", [26, 25, 17]),
        ("AFTER MATCH SKIP TO FIRST C", [26, 22]),
    ],
)
def test_where_the_search_goes_on_after_a_match(after: str, sums: list[int]) -> None:
    prices = (7, 9, 10, 5, 10, 7, 14)
    rows = matched("A+ C", "A AS SUM(A.price) < 30", *prices, measures="SUM(A.price) AS s", after=after)
    assert [row[0] for row in rows] == sums


def test_a_match_must_have_the_row_to_go_on_at() -> None:
    with pytest.raises(JobFailedError, match="AFTER MATCH SKIP TO LAST B: the match has no event of 'B'"):
        matched("A B? C", "A AS price = 1, B AS price = 2", 1, 3, after="AFTER MATCH SKIP TO LAST B")


def test_navigation_and_aggregates_in_measures() -> None:
    measures = """FIRST(A.price) AS f, FIRST(A.price, 1) AS f1, FIRST(A.price, 5) AS f5, LAST(A.price) AS l,
      LAST(A.price, 1) AS l1, A.price AS a, price AS p, LAST(price, 1) AS p1, FINAL LAST(A.price) + B.price AS ab,
      COUNT(*) AS n, COUNT(A.price) AS na, SUM(A.price * 2) AS s2, AVG(price) AS mean, MIN(B.price) AS least,
      SUM(C.price) AS none, C.price AS c, LAST(A.price * 10 + A.ms) AS both"""
    (row,) = matched("A{3} C? B", "A AS price < 5, B AS price > 5, C AS price = 100", 1, 2, 4, 8, measures=measures)
    assert row == (1, 2, None, 4, 2, 4, 8, 4, 12, 4, 3, 14, 3, 8, None, None, 2040)


def test_conditions_speak_of_what_was_taken_before() -> None:
    prices = (3, 5, 4, 6, 7, 1)
    rising = "B AS B.price > LAST(B.price, 1) OR LAST(B.price, 1) IS NULL"
    assert matched("A B+ C", f"{rising}, C AS C.price < FIRST(B.price)", *prices) == [(0, 2), (3, 5)]
    assert matched("A B+ C", "B AS SUM(B.price) < 12, C AS SUM(price) > 15 AND COUNT(A.ms) = 1", *prices) == [(0, 3)]
    assert matched("A B", "B AS B.price = A.price + 1 AND FIRST(price) = LAST(price, 1)", *prices) == [(3, 4)]


def test_null_neither_matches_nor_counts() -> None:
    rows = matched("A+ B", "A AS A.price > 0, B AS B.price IS NULL", 1, 2, None, 3, measures="COUNT(A.price) AS n")
    assert rows == [(2,)]


def test_within_bounds_the_time_from_first_to_last_row() -> None:
    sql = "SELECT * FROM ticks MATCH_RECOGNIZE (ORDER BY at MEASURES A.ms AS a, B.ms AS b PATTERN (A C*? B) WITHIN "
    ticks = [("X", 0, 1), ("X", 2000, 2), ("X", 3000, 1), ("X", 4000, 0), ("X", 5000, 2)]
    define = "DEFINE A AS price = 1, B AS price = 2)"
    assert found(tables_of(ticks), f"{sql} INTERVAL '2' SECOND {define}") == []
    assert found(tables_of(ticks), f"{sql} INTERVAL '2.001' SECOND {define}") == [(0, 2000), (3000, 5000)]


def test_rows_of_the_same_time_are_ordered_by_the_other_columns() -> None:
    ticks = [("X", 1000, 3), ("X", 1000, None), ("X", 1000, 1), ("X", 1000, 2)]
    sql = "SELECT * FROM ticks MATCH_RECOGNIZE (ORDER BY {} MEASURES LISTAGG(CAST(price AS STRING)) AS all_of "
    rest = "PATTERN (A{4}) DEFINE A AS TRUE)"
    assert found(tables_of(ticks), sql.format("at, price") + rest) == [("1,2,3",)]
    assert found(tables_of(ticks), sql.format("at, price DESC") + rest) == [("3,2,1",)]
    assert found(tables_of(ticks), sql.format("at") + rest) == [("3,1,2",)]


def test_late_rows_are_not_seen() -> None:
    ticks = [("X", 1000, 1), ("X", 9000, 3), ("X", 2000, 2), ("X", 10_000, 4)]
    rows = found(
        tables_of(ticks),
        "SELECT * FROM ticks MATCH_RECOGNIZE (ORDER BY at MEASURES A.price AS a, B.price AS b PATTERN (A B) "
        "DEFINE A AS TRUE)",
    )
    assert rows == [(1, 3), (3, 4)]


def test_processing_time_takes_rows_as_they_come() -> None:
    ticks = [("X", 5000, 1), ("X", 1000, 2), ("X", 9000, 1), ("X", 0, 2)]
    sql = "SELECT ms, late IS NOT NULL FROM ticks MATCH_RECOGNIZE (ORDER BY now MEASURES A.ms AS ms, "
    rest = (
        "MATCH_PROCTIME() AS late AFTER MATCH SKIP PAST LAST ROW PATTERN (A B) DEFINE A AS price = 1, B AS price = 2)"
    )
    assert found(tables_of(ticks), sql + rest) == [(5000, True), (9000, True)]


def test_windows_can_be_made_of_matches_by_their_time() -> None:
    matches = f"{VALLEYS.replace('UP.ms AS last', 'MATCH_ROWTIME() AS done')}"
    sql = f"""SELECT window_start, COUNT(*) FROM TABLE(TUMBLE(({matches}), DESCRIPTOR(done), INTERVAL '5' SECOND))
      GROUP BY window_start, window_end"""
    ticks = series(3, 2, 4, 3, 2, 5, 1, 3)
    assert [row[1] for row in found(tables_of(ticks), sql)] == [1, 1]


def test_patterns_can_be_looked_for_in_matches() -> None:
    # Two valleys, the second one deeper.
    inner = VALLEYS.replace("UP.ms AS last", "MATCH_ROWTIME() AS done")
    sql = f"""SELECT * FROM ({inner}) MATCH_RECOGNIZE (PARTITION BY symbol ORDER BY done
      MEASURES V.low AS first, W.low AS second, MATCH_ROWTIME() AS done PATTERN (V W) DEFINE W AS W.low < V.low)"""
    rows = found(tables_of(series(5, 3, 4, 6, 2, 7, 8, 7, 9)), sql)
    assert [(row[:3], row[3].second) for row in rows] == [(("X", 3, 2), 5)]


def test_null_is_a_partition_too() -> None:
    ticks: list[Any] = [(None, 0, 3), ("a", 0, 3), (None, 1000, 2), ("a", 1000, 4), (None, 2000, 5)]
    assert found(tables_of(ticks), VALLEYS) == [(None, 0, 2, 1, 2000)]


def test_a_variable_that_is_only_defined_has_no_rows() -> None:
    rows = matched(
        "A B", "A AS price = 1 AND Z.price IS NULL AND COUNT(Z.ms) = 0, Z AS price > 0", 1, 2, measures="Z.ms AS z"
    )
    assert rows == [(None,)]


class Longest(AggregateFunction):
    """The longest text of a number."""

    def create_accumulator(self) -> Row:
        return Row("")

    def accumulate(self, accumulator: Row, price: int | None) -> None:
        accumulator[0] = max(accumulator[0], "" if price is None else str(price), key=len)

    def get_value(self, accumulator: Row) -> str:
        return str(accumulator[0])

    def get_result_type(self) -> str:
        return "STRING"

    def get_accumulator_type(self) -> str:
        return "ROW<f0 STRING>"


def test_functions_of_users_in_conditions_and_measures() -> None:
    tables = tables_of(series(1, 30, 200, 4))
    tables.create_temporary_function(
        "half", udf(lambda price: None if price is None else price // 2, result_type="INT")
    )
    tables.create_temporary_function("longest", udaf(Longest()))
    sql = """SELECT * FROM ticks MATCH_RECOGNIZE (ORDER BY at MEASURES half(B.price) AS h, longest(A.price) AS l
      PATTERN (A+ B) DEFINE A AS half(A.price) <> 2 AND longest(price) <> '12', B AS half(B.price) = half(4))"""
    assert found(tables, sql + " AS m")[0] == (2, "200")


def test_matches_can_be_joined_and_read_from_views() -> None:
    tables = tables_of(series(3, 2, 4))
    tables.execute_sql(f"CREATE TEMPORARY VIEW valleys AS {VALLEYS}")
    sql = "SELECT v.low, t.price FROM valleys v JOIN ticks t ON t.ms = v.last AND t.symbol = v.symbol"
    assert found(tables, sql) == [(2, 4)]
    sql = "SELECT a FROM (SELECT ms, price * 10 AS p, at FROM ticks WHERE price > 2) MATCH_RECOGNIZE (ORDER BY at "
    assert found(tables, sql + "MEASURES A.p AS a PATTERN (A B) DEFINE B AS B.p > A.p) AS m") == [(30,)]


def test_a_row_without_time_fails_the_job() -> None:
    ticks: list[Any] = [("X", 0, 1), ("X", None, 2)]
    with pytest.raises(JobFailedError, match="RowTime field should not be null"):
        found(tables_of(ticks), VALLEYS)


# ---- cuts, crashes, savepoints ----


def drawn_ticks(seed: int, count: int) -> list[Tick]:
    random = Random(seed)
    ticks = [(f"k{random.randrange(5)}", number * 100, random.randrange(6)) for number in range(count)]
    # Up to two seconds late, which the watermark waits for.
    return sorted(ticks, key=lambda tick: tick[1] + random.randrange(1900))


def valleys(ticks: Iterable[Tick]) -> list[tuple[Any, ...]]:
    """What VALLEYS finds, in plain Python."""
    result = []
    for symbol in {tick[0] for tick in ticks}:
        rows = sorted([(ms, price) for key, ms, price in ticks if key == symbol])
        start = 0
        while start < len(rows):
            end = start
            while end + 1 < len(rows) and rows[end + 1][1] < rows[end][1]:
                end += 1
            if end > start and end + 1 < len(rows) and rows[end + 1][1] > rows[end][1]:
                result.append((symbol, rows[start][0], rows[end][1], end - start, rows[end + 1][0]))
                start = end + 2
            else:
                start += 1
    return sorted(result)


@pytest.mark.parametrize("state", ["memory", "lmdb"])
def test_cuts_and_crashes_change_nothing(seed: int, state: str) -> None:
    ticks = drawn_ticks(seed, 150)
    environment = StreamExecutionEnvironment.in_process(seed, crash_rate=0.05, state=state).set_parallelism(2)
    expected = valleys(ticks)
    assert expected
    assert sorted(found(tables_of(ticks, environment, **{"rows-per-batch": "20"}), VALLEYS)) == expected


@pytest.mark.parametrize(("before", "after"), [(1, 3), (3, 2)])
def test_a_match_in_the_making_goes_on_from_a_savepoint_with_other_parallelism(
    tmp_path: Path, seed: int, before: int, after: int
) -> None:
    ticks = drawn_ticks(seed, 200)

    def started(parallelism: int, held: list[Tick], savepoint: str | None, **options: str) -> Any:
        configuration = Configuration().set_integer("parallelism.default", parallelism)
        if savepoint:
            configuration.set_string("execution.savepoint.path", savepoint)
        environment = StreamExecutionEnvironment.in_process(configuration=configuration)
        tables = tables_of(held, environment, **{"rows-per-batch": "9"}, **options)
        tables.execute_sql(
            "CREATE TABLE found (symbol STRING, f BIGINT, low INT, steps BIGINT, l BIGINT) "
            "WITH ('connector' = 'values')"
        )
        return tables.execute_sql(f"INSERT INTO found {VALLEYS}").get_job_client()

    client = started(before, ticks[:120], None, terminating="false")
    with pytest.raises(StalledJob):
        while client.run_batch():
            pass
    savepoint = client.stop_with_savepoint(False, str(tmp_path)).result()
    results = values.results("default_catalog.default_database.found")
    halfway = len(results)
    started(after, ticks, savepoint).wait()
    assert 0 < halfway < len(results)
    assert sorted(row[1:] for row in results) == valleys(ticks)
