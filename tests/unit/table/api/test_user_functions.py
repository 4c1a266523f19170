"""User functions: scalar, vectorized, asynchronous, table and aggregate ones, in Python and in SQL; what is refused."""

from __future__ import annotations

import datetime
from collections.abc import Iterator
from decimal import Decimal
from typing import Any

import pytest

from penstock.common import Row
from penstock.errors import CatalogError, ConfigurationError, JobFailedError, SqlError, SqlValidationError
from penstock.table import (
    AggregateFunction,
    AsyncScalarFunction,
    DataTypes,
    FunctionContext,
    ListView,
    MapView,
    ScalarFunction,
    StreamTableEnvironment,
    Table,
    TableFunction,
)
from penstock.table.connectors import values
from penstock.table.expressions import call, col, lit
from penstock.table.udf import udaf, udf, udtf
from penstock.table.window import Over, Session, Slide, Tumble
from tests.unit.table.api.tables import changes, new_tables


@pytest.fixture
def tables() -> StreamTableEnvironment:
    return new_tables()


@pytest.fixture
def t(tables: StreamTableEnvironment) -> Table:
    made = tables.from_elements([(1, "ab", 2.0), (2, "c", None), (3, "", 4.0)], ["a", "b", "c"])
    tables.create_temporary_view("t", made)
    return made


@udf(result_type="BIGINT")
def plus_one(number: int) -> int:
    return number + 1


@udtf(result_types=["STRING", "INT"])
def letters(text: str) -> Iterator[tuple[str, int]]:
    for place, letter in enumerate(text):
        yield letter, place


class Total(AggregateFunction[int, list[int]]):
    """A sum that can take rows back and be merged."""

    def create_accumulator(self) -> list[int]:
        return [0]

    def accumulate(self, accumulator: list[int], *args: Any) -> None:
        accumulator[0] += args[0]

    def retract(self, accumulator: list[int], *args: Any) -> None:
        accumulator[0] -= args[0]

    def merge(self, accumulator: list[int], accumulators: Any) -> None:
        for each in accumulators:
            accumulator[0] += each[0]

    def get_value(self, accumulator: list[int]) -> int:
        return accumulator[0]

    def get_result_type(self) -> str:
        return "BIGINT"

    def get_accumulator_type(self) -> str:
        return "ARRAY<BIGINT>"


# ---- scalar ----


def test_functions_work_in_every_part_of_a_query(tables: StreamTableEnvironment, t: Table) -> None:
    assert changes(t.where(plus_one(t.a) > 2).select(plus_one(plus_one(t.a)), t.b)) == ["+I(4, 'c')", "+I(5, '')"]
    tables.create_temporary_function("plus_one", plus_one)
    query = "SELECT plus_one(a), SUM(PLUS_ONE(a)) FROM t GROUP BY plus_one(a) HAVING MAX(plus_one(a)) < 4"
    assert changes(tables.sql_query(query)) == ["+I(2, 2)", "+I(3, 3)"]


def test_functions_of_every_shape(t: Table) -> None:
    import functools

    class Minus(ScalarFunction):
        def eval(self, *args: Any) -> Any:
            return args[0] - args[1]

    class Doubling:
        def __call__(self, number: int) -> int:
            return number * 2

    made = t.select(
        udf(Minus(), result_type="BIGINT")(t.a, 1),
        udf(Doubling(), result_type="BIGINT")(t.a),
        udf(functools.partial(lambda x, y: x + y, y=10), result_type=DataTypes.BIGINT())(t.a),
        udf(lambda: 7, result_type="INT")(),
    )
    assert changes(made)[1] == "+I(1, 4, 12, 7)"


def test_values_are_those_of_python(tables: StreamTableEnvironment) -> None:
    given = (
        Decimal("1.50"),
        datetime.date(2024, 5, 1),
        datetime.time(1, 2, 3),
        datetime.datetime(2024, 5, 1, 1, 2, 3, 4000),
        [1, None],
        {"k": 2},
        Row(x=1, y="z"),
        b"q",
    )
    fields = [
        DataTypes.FIELD("d", DataTypes.DECIMAL(10, 2)),
        DataTypes.FIELD("day", DataTypes.DATE()),
        DataTypes.FIELD("time", DataTypes.TIME()),
        DataTypes.FIELD("ts", DataTypes.TIMESTAMP(3)),
        DataTypes.FIELD("xs", DataTypes.ARRAY(DataTypes.INT())),
        DataTypes.FIELD("m", DataTypes.MAP(DataTypes.STRING(), DataTypes.INT())),
        DataTypes.FIELD(
            "r", DataTypes.ROW([DataTypes.FIELD("x", DataTypes.INT()), DataTypes.FIELD("y", DataTypes.STRING())])
        ),
        DataTypes.FIELD("q", DataTypes.BYTES()),
    ]
    table = tables.from_elements([given], DataTypes.ROW(fields))
    for place, field in enumerate(fields):
        seen = udf(lambda value, wanted=given[place]: value == wanted, result_type="BOOLEAN")
        same = udf(lambda value: value, result_type=field.data_type)
        (found,) = table.select(seen(col(field.name)), same(col(field.name)) == col(field.name)).execute().collect()
        assert tuple(found) == (True, True), field.name


def test_moments_are_in_the_time_zone_of_the_session(tables: StreamTableEnvironment) -> None:
    tables.get_config().set_local_timezone("Asia/Tokyo")
    hour = udf(lambda moment: moment.hour, result_type="INT")
    table = tables.sql_query("SELECT TO_TIMESTAMP_LTZ(0, 3) AS m")
    assert changes(table.select(hour(table.m))) == ["+I(9)"]


def test_declared_input_types_are_cast_to(t: Table) -> None:
    kind = udf(lambda value: type(value).__name__, input_types=["DOUBLE"], result_type="STRING")
    assert changes(t.select(kind(t.a)))[0] == "+I('float')"
    with pytest.raises(SqlValidationError, match="takes 1 arguments by its input_types, and 2 were given"):
        t.select(kind(t.a, t.a))


def test_open_gets_parameters_metrics_and_place(t: Table, tables: StreamTableEnvironment) -> None:
    class Telling(ScalarFunction):
        def open(self, function_context: FunctionContext) -> None:
            self.parameter = function_context.get_job_parameter("greeting", "none")
            self.place = (
                function_context.get_index_of_this_subtask(),
                function_context.get_number_of_parallel_subtasks(),
            )
            self.calls = function_context.get_metric_group().counter("calls")

        def eval(self, *args: Any) -> Any:
            self.calls.inc()
            return f"{self.parameter} {self.place} {self.calls.get_count()}"

    tables.get_config().set("pipeline.global-job-parameters", "greeting:hello")
    assert changes(t.select(udf(Telling(), result_type="STRING")(t.a)))[-1] == "+I('hello (0, 1) 3')"


def test_a_result_of_another_type_is_refused_with_function_and_value(t: Table) -> None:
    wrong = udf(lambda value: "no number", result_type="INT", name="wrong")
    with pytest.raises(
        JobFailedError, match="scalar function wrong returned 'no number', which is not a value of its"
    ) as raised:
        changes(t.select(wrong(t.a)))
    assert "result type INT" in str(raised.value)


def test_an_exception_comes_with_the_users_traceback(t: Table) -> None:
    def dividing(value: int) -> float:
        return 1 / (value - 2)

    with pytest.raises(JobFailedError) as raised:
        changes(t.select(udf(dividing, result_type="DOUBLE")(t.a)))
    assert "return 1 / (value - 2)" in str(raised.value)
    assert "record: (0, 2)" in str(raised.value)


def test_a_function_that_varies_is_asked_each_time(t: Table) -> None:
    class Counting(ScalarFunction):
        def __init__(self) -> None:
            self.calls = 0

        def is_deterministic(self) -> bool:
            return False

        def eval(self, *args: Any) -> Any:
            self.calls += 1
            return self.calls

    varying = udf(Counting(), result_type="INT")
    assert changes(t.select(varying(t.a), varying(t.a)))[0] == "+I(1, 2)"
    steady = udf(lambda value: value, result_type="BIGINT", deterministic=True)
    assert steady._deterministic
    with pytest.raises(ValueError, match="Inconsistent deterministic"):
        udf(Counting(), result_type="INT", deterministic=True)


def test_a_user_function_hides_a_built_in_one(t: Table, tables: StreamTableEnvironment) -> None:
    tables.create_temporary_system_function("upper", udf(lambda text: text + "^", result_type="STRING"))
    assert changes(tables.sql_query("SELECT UPPER(b) FROM t"))[0] == "+I('ab^')"
    assert changes(t.select(t.b.upper_case))[0] == "+I('ab^')"
    assert tables.drop_temporary_system_function("UPPER")
    assert changes(tables.sql_query("SELECT UPPER(b) FROM t"))[0] == "+I('AB')"


# ---- many rows at once ----


def test_vectorized_functions_get_series(t: Table) -> None:
    import pandas as pd

    @udf(result_type="DOUBLE", func_type="pandas")
    def half(series: pd.Series) -> pd.Series:
        assert isinstance(series, pd.Series)
        assert len(series) == 3
        return series / 2

    assert changes(t.select(t.a, half(t.c) + 1, half(half(t.a)))) == [
        "+I(1, 2.0, 0.25)",
        "+I(2, None, 0.5)",
        "+I(3, 3.0, 0.75)",
    ]
    assert changes(t.where(half(t.a) > 0.6).select(plus_one(t.a))) == ["+I(3)", "+I(4)"]


def test_a_vectorized_function_must_return_a_value_for_each_row(t: Table) -> None:
    short = udf(lambda series: series[1:], result_type="BIGINT", func_type="pandas", name="short")
    with pytest.raises(
        JobFailedError, match="result length '2' of Pandas UDF 'short' is not equal to the input length '3'"
    ):
        changes(t.select(short(t.a)))


@pytest.mark.parametrize(
    ("settings", "sizes"),
    [
        ({}, [5, 5, 5, 5, 5]),
        ({"python.fn-execution.arrow.batch.size": "2"}, [2, 2, 2, 2, 1]),
        ({"python.fn-execution.arrow.batch.size": "4", "python.fn-execution.bundle.size": "1"}, [1, 1, 1, 1, 1]),
    ],
)
def test_settings_limit_the_rows_of_a_series(
    tables: StreamTableEnvironment, settings: dict[str, str], sizes: list[int]
) -> None:
    import pandas as pd

    size = udf(lambda given: pd.Series([len(given)] * len(given)), result_type="BIGINT", func_type="pandas")
    for key, value in settings.items():
        tables.get_config().set(key, value)
    rows = tables.from_elements([(n,) for n in range(5)], ["n"])
    assert changes(rows.select(size(col("n")))) == [f"+I({each})" for each in sizes]


def test_a_size_of_series_that_is_no_number_is_refused(tables: StreamTableEnvironment) -> None:
    tables.get_config().set("python.fn-execution.arrow.batch.size", "none")
    same = udf(lambda given: given, result_type="BIGINT", func_type="pandas")
    with pytest.raises(ConfigurationError, match=r"arrow\.batch\.size must be a number of 1 or more, not 'none'"):
        tables.from_elements([(1,)], ["n"]).select(same(col("n")))


def test_a_vectorized_function_must_not_return_one_value(tables: StreamTableEnvironment) -> None:
    first = udf(lambda series: series.iloc[0], result_type="BIGINT", func_type="pandas", name="first")
    with pytest.raises(JobFailedError, match=r"must be pandas\.Series or pandas\.DataFrame, got <class 'numpy.int64'>"):
        changes(tables.from_elements([(1,)], ["n"]).select(first(col("n"))))


def test_asynchronous_functions_run_together_and_keep_the_order(t: Table) -> None:
    import asyncio

    class Waiting(AsyncScalarFunction):
        """Answers when three calls are under way."""

        def open(self, function_context: FunctionContext) -> None:
            self.under_way = 0
            self.all_are = asyncio.Event()

        async def eval(self, *args: Any) -> Any:
            self.under_way += 1
            if self.under_way == 3:
                self.all_are.set()
            await self.all_are.wait()
            return args[0] * 10

    assert changes(t.select(udf(Waiting(), result_type="BIGINT")(t.a))) == ["+I(10)", "+I(20)", "+I(30)"]


def test_asynchronous_calls_are_tried_again(t: Table, tables: StreamTableEnvironment) -> None:
    class Flaky(AsyncScalarFunction):
        def __init__(self) -> None:
            self.tried: set[int] = set()

        async def eval(self, *args: Any) -> Any:
            if args[0] not in self.tried:
                self.tried.add(args[0])
                raise ConnectionError("try again")
            return args[0]

    tables.get_config().set("table.exec.async-scalar.retry-delay", "1 ms")
    assert changes(t.select(udf(Flaky(), result_type="BIGINT")(t.a))) == ["+I(1)", "+I(2)", "+I(3)"]
    tables.get_config().set("table.exec.async-scalar.retry-strategy", "NO_RETRY")
    with pytest.raises(JobFailedError, match="try again"):
        changes(t.select(udf(Flaky(), result_type="BIGINT")(t.a)))


# ---- table functions ----


def test_table_functions_beside_rows(t: Table, tables: StreamTableEnvironment) -> None:
    joined = t.join_lateral(letters(t.b).alias("letter", "place")).select(t.a, col("letter"), col("place"))
    assert changes(joined) == ["+I(1, 'a', 0)", "+I(1, 'b', 1)", "+I(2, 'c', 0)"]
    left = t.left_outer_join_lateral(letters(t.b).alias("letter", "place")).select(t.a, col("letter"))
    assert changes(left)[-1] == "+I(3, None)"
    tables.create_temporary_function("letters", letters)
    crossed = "SELECT a, x FROM t, LATERAL TABLE(letters(b)) AS l(x, y) WHERE y = 0"
    assert changes(tables.sql_query(crossed)) == ["+I(1, 'a')", "+I(2, 'c')"]
    outer = "SELECT a, y FROM t LEFT JOIN LATERAL TABLE(letters(b)) AS l(x, y) ON TRUE"
    assert changes(tables.sql_query(outer))[-1] == "+I(3, None)"
    assert changes(tables.sql_query("SELECT x FROM LATERAL TABLE(letters('hi')) AS l(x, y)")) == ["+I('h')", "+I('i')"]


def test_table_functions_return_lists_values_and_nothing(t: Table) -> None:
    class Counting(TableFunction):
        def eval(self, *args: Any) -> Any:
            return None if args[0] == 2 else range(args[0])

    count = udtf(Counting(), result_types="INT")
    assert changes(t.join_lateral(count(t.a).alias("n")).select(t.a, col("n"))) == [
        "+I(1, 0)",
        "+I(3, 0)",
        "+I(3, 1)",
        "+I(3, 2)",
    ]
    named = udtf(lambda a: [Row(y=a, x="q")], result_types="ROW<x STRING, y BIGINT>")
    assert changes(t.flat_map(named(t.a)))[0] == "+I('q', 1)"


def test_a_row_of_another_type_is_refused(t: Table) -> None:
    wrong = udtf(lambda a: [("x", "y")], result_types=["STRING", "INT"], name="wrong")
    with pytest.raises(JobFailedError, match=r"table function wrong yielded \('x', 'y'\), which is not a value of its"):
        changes(t.flat_map(wrong(t.a)))


# ---- aggregates ----


def test_an_aggregate_takes_rows_back(t: Table, tables: StreamTableEnvironment) -> None:
    tables.create_temporary_function("total", Total())
    counts = "SELECT b, COUNT(*) AS n FROM (VALUES ('x'), ('x'), ('y')) AS v(b) GROUP BY b"
    assert changes(tables.sql_query(f"SELECT total(n) FROM ({counts})")) == [
        "+I(1)",
        "-D(1)",
        "+I(2)",
        "-U(2)",
        "+U(3)",
    ]
    assert changes(t.group_by(t.b.char_length.alias("l")).select(col("l"), call("total", t.a)))[0] == "+I(2, 1)"
    assert changes(tables.sql_query("SELECT total(DISTINCT a), total(a) FILTER (WHERE a > 1) FROM t"))[-1] == "+U(6, 5)"


def test_an_aggregate_without_retract_says_what_to_do(tables: StreamTableEnvironment, t: Table) -> None:
    class Last(AggregateFunction[Any, Any]):
        def create_accumulator(self) -> Any:
            return [None]

        def accumulate(self, accumulator: Any, *args: Any) -> None:
            accumulator[0] = args[0]

        def get_value(self, accumulator: Any) -> Any:
            return accumulator[0]

    last = udaf(Last(), result_type="BIGINT", accumulator_type="ARRAY<BIGINT>")
    assert changes(t.select(last(t.a)))[-1] == "+U(3)"
    counted = t.group_by(t.b).select(t.a.sum.alias("s"))
    with pytest.raises(JobFailedError, match=r"Last cannot take rows back, .* give it a method retract"):
        changes(counted.select(last(col("s"))))


def windowed(tables: StreamTableEnvironment) -> Table:
    rows = [("a", 1, 1), ("a", 2, 5), ("b", 4, 7), ("a", 8, 12), ("a", 16, 31)]
    given = [(key, n, datetime.datetime(2024, 1, 1, 0, 0, second)) for key, n, second in rows]
    tables.execute_sql(
        f"CREATE TABLE w (k STRING, n INT, ts TIMESTAMP(3), WATERMARK FOR ts AS ts) "
        f"WITH ('connector' = 'values', 'data-id' = '{values.register(given)}', 'rows-per-batch' = '2')"
    )
    return tables.from_path("w")


@pytest.mark.parametrize(
    "function",
    [
        pytest.param(udaf(Total()), id="general"),
        pytest.param(udaf(lambda series: series.sum(), result_type="BIGINT", func_type="pandas"), id="pandas"),
    ],
)
def test_aggregates_in_every_window_give_what_sum_gives(tables: StreamTableEnvironment, function: Any) -> None:
    table = windowed(tables)
    windows = [
        Tumble.over(lit(10).seconds),
        Slide.over(lit(20).seconds).every(lit(10).seconds),
        Slide.over(lit(15).seconds).every(lit(10).seconds),
        Session.with_gap(lit(10).seconds),
    ]
    for window in windows:
        grouped = table.window(window.on(table.ts).alias("w")).group_by(col("w"), table.k)
        made = grouped.select(table.k, function(table.n), table.n.sum.cast(DataTypes.BIGINT()), col("w").start)
        found = [tuple(row) for row in made.execute().collect()]
        assert found and all(row[1] == row[2] for row in found)
    over = table.over_window(Over.partition_by(table.k).order_by(table.ts).preceding(lit(12).seconds).alias("w"))
    found = [tuple(row) for row in over.select(function(table.n).over("w"), table.n.sum.over("w")).execute().collect()]
    assert len(found) == 5 and all(row[0] == row[1] for row in found)


def test_views_in_accumulators(tables: StreamTableEnvironment) -> None:
    class Words(AggregateFunction[str, Row]):
        """Distinct words in the order they came, and how often the first letter changed."""

        def create_accumulator(self) -> Row:
            return Row(ListView(), MapView())

        def accumulate(self, accumulator: Row, *args: Any) -> None:
            if args[0] not in accumulator[1]:
                accumulator[0].add(args[0])
            accumulator[1][args[0]] = (accumulator[1].get(args[0]) or 0) + 1

        def get_value(self, accumulator: Row) -> str:
            return ",".join(f"{word}{accumulator[1][word]}" for word in accumulator[0])

    kinds = DataTypes.ROW(
        [
            DataTypes.FIELD("words", DataTypes.LIST_VIEW(DataTypes.STRING())),
            DataTypes.FIELD("counts", DataTypes.MAP_VIEW(DataTypes.STRING(), DataTypes.BIGINT())),
        ]
    )
    words = udaf(Words(), result_type=DataTypes.STRING(), accumulator_type=kinds)
    given = values.register([("x",), ("y",), ("x",)])
    tables.execute_sql(
        f"CREATE TABLE s (w STRING) WITH ('connector' = 'values', 'data-id' = '{given}', 'rows-per-batch' = '1')"
    )
    table = tables.from_path("s")
    assert changes(table.select(words(table.w)))[-1] == "+U('x2,y1')"


# ---- names ----


def test_functions_of_modules_are_created_shown_and_dropped_in_sql(t: Table, tables: StreamTableEnvironment) -> None:
    module = __name__
    tables.execute_sql(f"CREATE TEMPORARY FUNCTION inc AS '{module}.plus_one' LANGUAGE PYTHON")
    tables.execute_sql(f"CREATE TEMPORARY SYSTEM FUNCTION spell AS '{module}.letters' LANGUAGE PYTHON")
    tables.execute_sql(f"CREATE FUNCTION IF NOT EXISTS summed AS '{module}.Total' LANGUAGE PYTHON")
    assert tables.list_user_defined_functions() == ["inc", "spell", "summed"]
    assert changes(tables.sql_query("SELECT summed(INC(a)) FROM t, LATERAL TABLE(spell(b)) AS l(x, y)"))[-1] == "+U(7)"
    tables.execute_sql("DROP TEMPORARY FUNCTION inc")
    tables.execute_sql("DROP TEMPORARY SYSTEM FUNCTION spell")
    tables.execute_sql("DROP FUNCTION summed")
    assert tables.list_user_defined_functions() == []
    with pytest.raises(SqlValidationError, match="there is no function INC"):
        tables.sql_query("SELECT inc(a) FROM t")


def test_what_cannot_be_a_function_is_refused(t: Table, tables: StreamTableEnvironment) -> None:
    tables.execute_sql("CREATE TEMPORARY FUNCTION gone AS 'no_such_module.f' LANGUAGE PYTHON")
    with pytest.raises(SqlError, match=r"'no_such_module\.f', which cannot be imported"):
        tables.sql_query("SELECT gone(a) FROM t")
    tables.execute_sql("CREATE TEMPORARY FUNCTION other AS 'com.example.F' LANGUAGE JAVA")
    with pytest.raises(SqlError, match="written in JAVA, which cannot be run here"):
        tables.sql_query("SELECT other(a) FROM t")
    with pytest.raises(TypeError, match="is no user function: make one with udf"):
        tables.create_temporary_function("f", lambda value: value)
    tables.create_temporary_function("f", plus_one)
    with pytest.raises(CatalogError, match="Function F exists already"):
        tables.create_temporary_function("F", plus_one)
    with pytest.raises(TypeError, match="Invalid result_type"):
        udf(lambda value: value)
    with pytest.raises(ValueError, match="func_type must be one of 'general, pandas'"):
        udf(lambda value: value, result_type="INT", func_type="arrow")


def test_a_function_in_the_wrong_place_is_refused(t: Table) -> None:
    with pytest.raises(SqlValidationError, match="letters is a table function: it makes rows"):
        t.select(letters(t.b))
    with pytest.raises(SqlValidationError, match="Total is an aggregate function: it needs a group"):
        t.where(udaf(Total())(t.a) > 1)
    with pytest.raises(SqlValidationError, match="There is no table function plus_one"):
        t.join_lateral(plus_one(t.a))
