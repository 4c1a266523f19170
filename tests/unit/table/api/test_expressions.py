"""Expressions: how Flink writes them, and that they give what SQL gives for the same words."""

from __future__ import annotations

import datetime
from decimal import Decimal
from typing import Any

import pytest

from penstock.errors import DeclaredTypeError, SqlError, SqlValidationError
from penstock.table import DataTypes, Expression, StreamTableEnvironment
from penstock.table.expression import (
    JsonOnNull,
    JsonQueryWrapper,
    JsonValueOnEmptyOrError,
    TimeIntervalUnit,
    TimePointUnit,
)
from penstock.table.expressions import (
    and_,
    array,
    call,
    call_sql,
    coalesce,
    col,
    concat,
    concat_ws,
    if_then_else,
    json_object,
    lit,
    map_,
    negative,
    not_,
    null_of,
    or_,
    range_,
    row,
    row_interval,
    timestamp_diff,
    to_date,
    with_columns,
)
from tests.unit.table.api.tables import new_tables


@pytest.fixture(scope="module")
def tables() -> StreamTableEnvironment:
    made = new_tables()
    given = [(7, "Hello", 2.5, datetime.date(2024, 5, 31), datetime.datetime(2024, 5, 31, 13, 45, 10), [3, 1, 2], True)]
    made.create_temporary_view("t", made.from_elements(given, ["a", "b", "c", "d", "ts", "xs", "f"]))
    return made


A, B = col("a"), col("b")

TEXTS: list[tuple[Expression, str]] = [
    (A == B, "equals(a, b)"),
    (2 - A, "minus(2, a)"),
    (A % 3, "mod(a, 3)"),
    (-A, "minusPrefix(a)"),
    (~(A > 1), "isNotTrue(greaterThan(a, 1))"),
    (and_(A, B, col("c")), "and(a, b, c)"),
    (A.alias("x", "y"), "as(a, 'x', 'y')"),
    (A.cast(DataTypes.INT()), "cast(a, INT)"),
    (B.to_timestamp, "cast(b, TIMESTAMP(3))"),
    (A.in_(1, 2), "in(a, 1, 2)"),
    (B.trim_leading(), "trim(true, false, ' ', b)"),
    (A.extract(TimeIntervalUnit.YEAR), "extract(YEAR, a)"),
    (lit(10).years, "120"),
    (lit(2).hours, "7200000"),
    (row_interval(4), "4"),
    (lit("it's"), "'it''s'"),
    (null_of(DataTypes.BIGINT()), "null"),
    (A.sum.over("w"), "over(sum(a), 'w')"),
    (col("r").name, "get(r, 'name')"),
    (with_columns(range_(1, 2)), "withColumns(rangeTo(1, 2))"),
    (B.json_value("$.x", DataTypes.INT()), "JSON_VALUE(b, '$.x', INT, NULL, null, NULL, null)"),
    (call("f.g", A), "f.g(a)"),
]


@pytest.mark.parametrize(("expression", "text"), TEXTS, ids=[text for _, text in TEXTS])
def test_an_expression_is_written_as_flink_writes_it(expression: Expression, text: str) -> None:
    assert str(expression) == text


# Each expression of the Table API beside SQL that says the same.
SAME: list[tuple[Expression, str]] = [
    (A + 1, "a + 1"),
    (1 - A, "1 - a"),
    (A / 2, "a / 2"),
    (2**A, "POWER(2, a)"),
    (negative(A), "-a"),
    (abs(-A), "ABS(-a)"),
    (col("c").round(0), "ROUND(c, 0)"),
    (A.log(2), "LOG(2, a)"),
    ((A > 5) & (col("c") < 3), "a > 5 AND c < 3"),
    (or_(A < 5, col("f")), "a < 5 OR f"),
    (not_(col("f")), "NOT f"),
    (A.between(1, 7), "a BETWEEN 1 AND 7"),
    (A.not_between(1, 7), "a NOT BETWEEN 1 AND 7"),
    (A.in_(1, 7), "a IN (1, 7)"),
    (null_of(DataTypes.INT()).is_null, "CAST(NULL AS INT) IS NULL"),
    (null_of(DataTypes.INT()).if_null(3), "IFNULL(CAST(NULL AS INT), 3)"),
    (coalesce(null_of(DataTypes.BIGINT()), A), "COALESCE(CAST(NULL AS BIGINT), a)"),
    (if_then_else(A > 5, "big", "small"), "CASE WHEN a > 5 THEN 'big' ELSE 'small' END"),
    (col("f").then(1, 2), "CASE WHEN f THEN 1 ELSE 2 END"),
    (B.substring(2, 3), "SUBSTRING(b, 2, 3)"),
    (B.upper_case, "UPPER(b)"),
    (B + "!", "CONCAT(b, '!')"),
    (A + B, "CONCAT(CAST(a AS STRING), b)"),
    (concat(B, "-", B), "CONCAT(b, '-', b)"),
    (concat_ws("/", B, B), "CONCAT_WS('/', b, b)"),
    (B.like("H%"), "b LIKE 'H%'"),
    (B.trim("H"), "TRIM(BOTH 'H' FROM b)"),
    (lit("ll").position(B), "POSITION('ll' IN b)"),
    (B.overlay("XX", 2), "OVERLAY(b PLACING 'XX' FROM 2)"),
    (B.regexp_replace("l+", "_"), "REGEXP_REPLACE(b, 'l+', '_')"),
    (B.sha256, "SHA256(b)"),
    (col("d").extract(TimeIntervalUnit.MONTH), "EXTRACT(MONTH FROM d)"),
    (col("ts").floor(TimeIntervalUnit.HOUR), "FLOOR(ts TO HOUR)"),
    (col("ts") + lit(90).minutes, "ts + INTERVAL '90' MINUTE"),
    (col("d") + lit(1).month, "d + INTERVAL '1' MONTH"),
    (
        timestamp_diff(TimePointUnit.DAY, col("d"), to_date("2024-06-03")),
        "TIMESTAMPDIFF(DAY, d, TO_DATE('2024-06-03'))",
    ),
    (col("xs")[2], "xs[2]"),
    (col("xs").array_sort(), "ARRAY_SORT(xs)"),
    (array(A, 2), "ARRAY[a, 2]"),
    (map_("x", A), "MAP['x', a]"),
    (row(A, B).get(1), "b"),
    (lit('{"x": 5}').json_value("$.x", DataTypes.INT()), "JSON_VALUE('{\"x\": 5}', '$.x' RETURNING INT)"),
    (
        lit("{}").json_value("$.x", DataTypes.INT(), JsonValueOnEmptyOrError.DEFAULT, 9),
        "JSON_VALUE('{}', '$.x' RETURNING INT DEFAULT 9 ON EMPTY)",
    ),
    (
        lit('{"x": 5}').json_query("$.x", JsonQueryWrapper.UNCONDITIONAL_ARRAY),
        "JSON_QUERY('{\"x\": 5}', '$.x' WITH UNCONDITIONAL ARRAY WRAPPER)",
    ),
    (json_object(JsonOnNull.NULL, "k", A), "JSON_OBJECT('k' VALUE a)"),
    (B.is_json(), "b IS JSON"),
    (A.cast(DataTypes.STRING()), "CAST(a AS STRING)"),
    (B.try_cast(DataTypes.INT()), "TRY_CAST(b AS INT)"),
    (call_sql("a * 3"), "a * 3"),
    (call("abs", -A), "ABS(-a)"),
]


@pytest.mark.parametrize(("expression", "sql"), SAME, ids=[sql for _, sql in SAME])
def test_an_expression_has_type_and_value_of_the_same_sql(
    tables: StreamTableEnvironment, expression: Expression, sql: str
) -> None:
    by_api = tables.from_path("t").select(expression.alias("x"))
    by_sql = tables.sql_query(f"SELECT {sql} AS x FROM t")
    assert str(by_api.get_resolved_schema()) == str(by_sql.get_resolved_schema())
    assert list(by_api.execute().collect()) == list(by_sql.execute().collect())


@pytest.mark.parametrize(
    ("value", "declared", "type_text"),
    [
        (1, None, "INT NOT NULL"),
        (2**40, None, "BIGINT NOT NULL"),
        (1.5, None, "DOUBLE NOT NULL"),
        (True, None, "BOOLEAN NOT NULL"),
        ("abc", None, "CHAR(3) NOT NULL"),
        (Decimal("12.50"), None, "DECIMAL(4, 2) NOT NULL"),
        (datetime.date(2024, 1, 2), None, "DATE NOT NULL"),
        (datetime.datetime(2024, 1, 2, 3, 4, 5), None, "TIMESTAMP(0) NOT NULL"),
        (5, DataTypes.TINYINT().not_null(), "TINYINT NOT NULL"),
    ],
)
def test_constants_have_flinks_types(tables: StreamTableEnvironment, value: Any, declared: Any, type_text: str) -> None:
    table = tables.from_path("t").select(lit(value, declared).alias("x"))
    assert str(table.get_resolved_schema()) == f"(\n  `x` {type_text}\n)"


def test_what_cannot_be_is_refused_where_it_is_written(tables: StreamTableEnvironment) -> None:
    t = tables.from_path("t")
    with pytest.raises(SqlError, match="join conditions by &"):
        bool(t.a == 1)
    with pytest.raises(SqlError, match="cannot be a constant"):
        lit(object())
    with pytest.raises(DeclaredTypeError, match="300 is not a value of type TINYINT"):
        lit(300, DataTypes.TINYINT())
    with pytest.raises(SqlValidationError, match=r"There is no column 'aa' here\. Did you mean a"):
        t.select(col("aa"))
    with pytest.raises(SqlValidationError, match="there is no function BITMAP_BUILD"):
        t.select(t.xs.bitmap_build())
    with pytest.raises(AttributeError, match="no column named 'zz', available columns: \\[a, b"):
        _ = t.zz
