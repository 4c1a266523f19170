"""User functions on Spark: they travel to the workers, accumulators are state there, failures show the user's lines."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

import pytest

from penstock.errors import JobFailedError
from penstock.table import AggregateFunction, FunctionContext, ScalarFunction, StreamTableEnvironment
from penstock.table.expressions import col
from penstock.table.udf import udaf, udf, udtf
from tests.spark.conftest import NewEnvironment


class Scaled(ScalarFunction):
    """A number times a job parameter."""

    def open(self, function_context: FunctionContext) -> None:
        self.factor = int(function_context.get_job_parameter("factor", "1"))

    def eval(self, *args: Any) -> Any:
        return args[0] * self.factor


class Longest(AggregateFunction[str, list[str]]):
    """The longest text, the first of several."""

    def create_accumulator(self) -> list[str]:
        return [""]

    def accumulate(self, accumulator: list[str], *args: Any) -> None:
        if len(args[0]) > len(accumulator[0]):
            accumulator[0] = args[0]

    def get_value(self, accumulator: list[str]) -> str:
        return accumulator[0]


def test_all_kinds_of_functions_in_one_job(new_environment: NewEnvironment) -> None:
    @udtf(result_types="STRING")
    def words(text: str) -> Iterator[str]:
        yield from text.split()

    tables = StreamTableEnvironment.create(new_environment(2, **{"penstock.batch.max-records": 7}))
    tables.get_config().set("pipeline.global-job-parameters", "factor:3")
    given = tables.from_elements([(n, f"{'a' * (n % 5)} {'b' * n}") for n in range(20)], ["n", "text"])
    tables.create_temporary_view("given", given)
    tables.create_temporary_function("words", words)
    tables.create_temporary_function("scaled", udf(Scaled(), result_type="BIGINT"))
    tables.create_temporary_function("half", udf(lambda s: s / 2, result_type="DOUBLE", func_type="pandas"))
    longest = udaf(Longest(), result_type="STRING", accumulator_type="ARRAY<STRING>")
    tables.create_temporary_function("longest", longest)
    made = tables.sql_query(
        "SELECT MOD(n, 2) AS k, longest(w) AS l, SUM(scaled(n)) AS s, MAX(half(n)) AS h "
        "FROM given, LATERAL TABLE(words(text)) AS t(w) GROUP BY MOD(n, 2)"
    )
    rows = sorted(made.to_pandas().itertuples(index=False, name=None))
    expected = []
    for key in (0, 1):
        pairs = [(n, w) for n in range(key, 20, 2) for w in f"{'a' * (n % 5)} {'b' * n}".split()]
        numbers = [n for n, _ in pairs]
        expected.append((key, max((w for _, w in pairs), key=len), 3 * sum(numbers), max(numbers) / 2))
    assert rows == expected


def test_a_failure_comes_back_with_the_users_lines(new_environment: NewEnvironment) -> None:
    def refusing(value: int) -> int:
        raise ValueError(f"will not take {value}")

    tables = StreamTableEnvironment.create(new_environment(1))
    table = tables.from_elements([(1,)], ["a"])
    with pytest.raises(JobFailedError, match="will not take 1") as raised:
        list(table.select(udf(refusing, result_type="BIGINT")(col("a"))).execute().collect())
    assert 'raise ValueError(f"will not take {value}")' in str(raised.value)
