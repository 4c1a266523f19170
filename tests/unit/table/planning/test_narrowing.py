"""Filters over projections: one operator where that computes less, two where it would compute something twice."""

from __future__ import annotations

from typing import Any

import pytest

from penstock.datastream import StreamExecutionEnvironment
from penstock.runtime.operators.table import CalcOperator
from penstock.table import DataTypes, StreamTableEnvironment
from penstock.table.udf import udf

ROWS = [(number, number % 3) for number in range(10)]


def tables() -> StreamTableEnvironment:
    environment = StreamExecutionEnvironment.in_process().set_parallelism(1)
    made = StreamTableEnvironment.create(environment)
    made.create_temporary_view("t", made.from_elements(ROWS, ["a", "b"]))
    made.create_temporary_function("twice", udf(lambda value: 2 * value, result_type=DataTypes.BIGINT()))
    return made


def calcs(made: StreamTableEnvironment, query: str) -> tuple[int, list[tuple[Any, ...]]]:
    """How many operators compute something, and the rows of a query."""
    opened = []
    open_calc = CalcOperator.open

    def counting(self: CalcOperator) -> None:
        opened.append(self)
        open_calc(self)

    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(CalcOperator, "open", counting)
        with made.sql_query(query).execute().collect() as rows:
            found = sorted([tuple(row) for row in rows])
    return len(opened), found


BASE = "SELECT a * 2 AS c, b + 1 AS d FROM t"
EXPECTED = sorted([(2 * a, b + 1) for a, b in ROWS if 2 * a > 7])


def count_of(query: str) -> int:
    return calcs(tables(), query)[0]


def test_a_filter_over_a_projection_is_one_operator() -> None:
    once = count_of(BASE)
    assert calcs(tables(), f"SELECT * FROM ({BASE}) WHERE c > 7") == (once, EXPECTED)
    assert calcs(tables(), f"SELECT * FROM ({BASE} WHERE a < 9) WHERE c > 7 AND d < 3") == (
        once,
        [each for each in EXPECTED if each[0] < 18 and each[1] < 3],
    )


def test_a_projection_over_both_is_another_one() -> None:
    found = calcs(tables(), f"SELECT d || '!' FROM (SELECT c, CAST(d AS STRING) AS d FROM ({BASE})) WHERE c > 7")
    assert found[1] == sorted([(f"{d}!",) for _, d in EXPECTED])


@pytest.mark.parametrize("computed", ["twice(a)", "a + 0 * RAND_INTEGER(5)"], ids=["a user's function", "by chance"])
def test_what_must_be_computed_once_stays_apart(computed: str) -> None:
    query = f"SELECT {computed} AS c, b + 1 AS d FROM t"
    plain = count_of(query)
    assert count_of(f"SELECT * FROM ({query}) WHERE c > 7") == plain + 1


def test_what_two_read_stays_apart() -> None:
    made = tables()
    both = f"SELECT * FROM ({BASE}) WHERE c > 7 UNION ALL SELECT * FROM ({BASE}) WHERE c <= 7"
    count, found = calcs(made, both)
    assert found == sorted([(2 * a, b + 1) for a, b in ROWS])
    assert count == count_of(BASE) + 2


def test_rows_that_are_left_out_do_not_fail() -> None:
    query = "SELECT * FROM (SELECT a, 100 / a AS c FROM t) WHERE a > 0 AND c > 20"
    assert calcs(tables(), query)[1] == [(a, 100 // a) for a, _ in ROWS if a and 100 // a > 20]
