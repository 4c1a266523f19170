"""Expressions: columns give what objects give, and objects give what is documented."""

from __future__ import annotations

from datetime import UTC, date, datetime, timedelta, timezone
from decimal import Decimal
from pathlib import Path
from typing import Any

import numpy as np
import pyarrow as pa
import pytest
from hypothesis import example, given, settings
from hypothesis import strategies as st

from penstock.common.types import Row
from penstock.datastream.expressions import Expression, Operation, col, lit
from penstock.runtime.columns import ColumnBlock
from penstock.runtime.expression_columns import evaluated
from penstock.runtime.expression_objects import compiled
from penstock.runtime.failure import OperatorFailure
from penstock.runtime.operators import ExpressionFilterOperator, SelectOperator
from tests.unit.runtime.rig import Rig

INTS = st.one_of(st.integers(-3, 3), st.integers(-(2**63), 2**63 - 1), st.sampled_from([2**53, 2**53 + 1, -(2**63)]))
FLOATS = st.one_of(st.sampled_from([0.0, -0.0, 1.0, 2.5, -3.0, float(2**53), 1e300]), st.floats())
KINDS: dict[pa.DataType, st.SearchStrategy[Any]] = {
    pa.int64(): INTS,
    pa.int8(): st.integers(-128, 127),
    pa.uint64(): st.integers(0, 2**64 - 1),
    pa.float64(): FLOATS,
    pa.float32(): st.floats(width=32),
    pa.bool_(): st.booleans(),
    pa.string(): st.text(max_size=2),
    pa.large_string(): st.text(max_size=2),
    pa.binary(): st.binary(max_size=2),
    pa.decimal128(6, 2): st.decimals(-100, 100, places=2),
    pa.date32(): st.dates(),
    pa.timestamp("us"): st.datetimes(),
    pa.timestamp("ms", "UTC"): st.datetimes(timezones=st.just(UTC)).map(lambda t: t.replace(microsecond=0)),
    pa.null(): st.none(),
}
CONSTANTS = st.one_of(INTS, FLOATS, st.booleans(), st.none(), st.text(max_size=2), st.dates(), st.datetimes())
NUMERIC = [pa.int64(), pa.int8(), pa.float64(), pa.float32(), pa.uint64()]


@st.composite
def batches(draw: st.DrawFn) -> pa.RecordBatch:
    count = draw(st.integers(1, 5))
    kinds = draw(st.sampled_from([list(KINDS), NUMERIC]))
    arrays = []
    for _ in "abc":
        kind = draw(st.sampled_from(kinds))
        values = draw(st.lists(st.one_of(KINDS[kind], st.none()), min_size=count, max_size=count))
        arrays.append(pa.array(values, kind))
    return pa.RecordBatch.from_arrays(arrays, names=["a", "b", "c"])


LEAVES: st.SearchStrategy[Expression] = st.one_of(st.sampled_from([col("a"), col("b"), col(2)]), CONSTANTS.map(lit))
BINARY = ["+", "-", "*", "/", "//", "%", "==", "!=", "<", "<=", ">", ">=", "&", "|"]
UNARY = ["~", "neg", "abs", "is_null", "is_not_null"]


def operations(parts: st.SearchStrategy[Expression]) -> st.SearchStrategy[Expression]:
    two = st.builds(lambda kind, left, right: Operation(kind, (left, right)), st.sampled_from(BINARY), parts, parts)
    one = st.builds(lambda kind, part: Operation(kind, (part,)), st.sampled_from(UNARY), parts)
    return st.one_of(two, two, one)


EXPRESSIONS = st.recursive(LEAVES, operations, max_leaves=5)


def told(values: list[Any]) -> list[str]:
    """Types and values; NaN is NaN."""
    return [f"{type(value).__name__} {value!r}" for value in values]


@settings(max_examples=60, deadline=None)
@given(batch=batches(), expression=EXPRESSIONS)
@example(pa.record_batch({"a": [2**53 + 1], "b": [float(2**53)], "c": [0]}), col("a") == col("b"))
@example(pa.record_batch({"a": [2**53 + 1], "b": [3], "c": [0]}), col("a") / col("b"))
@example(pa.record_batch({"a": [2**63 - 1], "b": [1], "c": [0]}), col("a") + col("b"))
@example(pa.record_batch({"a": [-(2**63)], "b": [-1], "c": [0]}), col("a") // col("b"))
@example(pa.record_batch({"a": [-7, 7, -7], "b": [2, -2, -2], "c": [0, 0, 0]}), col("a") % col("b"))
@example(pa.record_batch({"a": [-7, 7, -7], "b": [2, -2, -2], "c": [0, 0, 0]}), col("a") // col("b"))
@example(pa.record_batch({"a": [float("inf")], "b": [2.0], "c": [0]}), col("a") // col("b"))
@example(pa.record_batch({"a": [1.0, 0.0], "b": [0.0, 0.0], "c": [0, 0]}), col("a") / col("b"))
def test_columns_give_what_objects_give_or_leave_it_to_them(batch: pa.RecordBatch, expression: Expression) -> None:
    block = ColumnBlock(batch, "row")
    result = evaluated(expression, block)
    if result is not None:
        function = compiled(expression)
        assert told(result.to_pylist()) == told([function(value) for value in block.values()])


@pytest.mark.parametrize(
    ("expression", "column", "expected"),
    [
        (col("a") + 1, [1, None], [2, None]),
        (1 - col("a"), [1, None], [0, None]),
        (col("a") * 2.5, [2, None], [5.0, None]),
        (col("a") / 2, [1, None], [0.5, None]),
        (7 // col("a"), [-2, None], [-4, None]),
        (col("a") % 3, [-1, None], [2, None]),
        (-col("a"), [1, None], [-1, None]),
        (abs(col("a")), [-1.5, None], [1.5, None]),
        (col("a") == 1, [1, 2, None], [True, False, None]),
        (col("a") != 1.0, [1, 2, None], [False, True, None]),
        (col("a").between(1, 2), [1, 2, 3, None], [True, True, False, None]),
        (col("a").is_null(), [1, None], [False, True]),
        (col("a").is_not_null(), [1, None], [True, False]),
        (~col("a"), [True, False, None], [False, True, None]),
        (col("a") & None, [True, False, None], [None, False, None]),
        (col("a") | None, [True, False, None], [True, None, None]),
        (col("a") & True, [True, False, None], [True, False, None]),
        (col("a") < "b", ["a", "c", None], [True, False, None]),
        (col("a") > date(2020, 1, 1), [date(2021, 1, 1), date(2019, 1, 1)], [True, False]),
        (col("a") >= datetime(2020, 1, 1), [datetime(2020, 1, 1), datetime(2019, 1, 1)], [True, False]),
        (lit(3).alias("x"), [1, 2], [3, 3]),
        (lit(None), [1], [None]),
        (lit(0.0), [1], [0.0]),
        (lit(-0.0), [1], [-0.0]),
        (lit(True), [1], [True]),
        (lit(1), [1], [1]),
        (col("a") // lit(None), [1, None], [None, None]),
        (lit(None) % col("a"), [1, None], [None, None]),
    ],
)
def test_rules_of_null_and_numbers(expression: Expression, column: list[Any], expected: list[Any]) -> None:
    """Both ways, and on columns by kernels."""
    block = ColumnBlock(pa.record_batch({"a": column}), "row")
    function = compiled(expression)
    assert told([function(value) for value in block.values()]) == told(expected)
    result = evaluated(expression, block)
    assert result is not None and told(result.to_pylist()) == told(expected)


@pytest.mark.parametrize(
    ("expression", "column"),
    [
        (col("z") + 1, [1]),
        (col("a") + 1, [2**63 - 1]),
        (col("a") + 2**70, [1]),
        (col("a") / 0, [1]),
        (col("a") + "b", ["a"]),
        (col("a") + 1, [Decimal("1.1")]),
        (col("a") == True, [1]),  # noqa: E712 - builds an expression
        (lit(datetime(2020, 1, 1, tzinfo=timezone(timedelta(hours=2)))), [1]),
    ],
)
def test_what_kernels_do_otherwise_than_python_is_left_to_objects(expression: Expression, column: list[Any]) -> None:
    assert evaluated(expression, ColumnBlock(pa.record_batch({"a": column}), "row")) is None


BLOCK = ColumnBlock(pa.record_batch({"a": [1, None, 3, 4], "b": [1.0, 2.0, 3.0, 4.0]}), "row")
STAMPS = np.array([10, 20, 30, 40])


def both_ways(tmp_path: Path, operator: Any, block: ColumnBlock = BLOCK, stamps: Any = STAMPS) -> list[Any]:
    heard = []
    for is_columns in (True, False):
        rig = Rig(tmp_path, operator)
        if is_columns:
            rig.feed_columns(block, stamps)
        else:
            rig.process(*block.values(), at=None if stamps is None else stamps.tolist())
        heard.append(rig.take())
    assert heard[0] == heard[1]
    return heard[0]


def test_filter_drops_false_and_null(tmp_path: Path) -> None:
    kept = both_ways(tmp_path, ExpressionFilterOperator(col("a") > 1))
    assert kept == [(Row(a=3, b=3.0), 30), (Row(a=4, b=4.0), 40)]
    assert both_ways(tmp_path, ExpressionFilterOperator(col("a") > 9)) == []
    assert both_ways(tmp_path, ExpressionFilterOperator(lit(None) & True)) == []
    assert len(both_ways(tmp_path, ExpressionFilterOperator(col("b") > 0), stamps=None)) == 4


def test_select_makes_rows_with_names_and_projections_tuples(tmp_path: Path) -> None:
    rows = both_ways(tmp_path, SelectOperator((col("b"), col("a") + 1, lit("x")), ("b", "c", "d")))
    assert rows[:2] == [(Row(b=1.0, c=2, d="x"), 10), (Row(b=2.0, c=None, d="x"), 20)]
    assert both_ways(tmp_path, SelectOperator((col(1), col("a")), None))[0] == ((1.0, 1), 10)


def test_numbers_have_no_limit(tmp_path: Path) -> None:
    block = ColumnBlock(pa.record_batch({"a": [2**63 - 1, 1]}), "row")
    rows = both_ways(tmp_path, SelectOperator((col("a") * 4,), ("x",)), block, None)
    assert rows == [(Row(x=2**65 - 4), None), (Row(x=4), None)]


def test_conditions_are_asked_in_order_so_that_one_can_guard_the_other(tmp_path: Path) -> None:
    block = ColumnBlock(pa.record_batch({"a": [0, 2]}), "row")
    guarded = ExpressionFilterOperator((col("a") != 0) & (4 / col("a") > 1))
    assert both_ways(tmp_path, guarded, block, None) == [(Row(a=2), None)]
    other = ExpressionFilterOperator((col("a") == 0) | (4 / col("a") > 9))
    assert both_ways(tmp_path, other, block, None) == [(Row(a=0), None)]


@pytest.mark.parametrize(
    ("operator", "message"),
    [
        (
            ExpressionFilterOperator(10 / (col("a") - 3) > 1),
            r"ZeroDivision.*operator-0.*record: Row\(a=3, b=3.0\)",
        ),
        (ExpressionFilterOperator(col("z") > 1), r"no field 'z'.*record: Row\(a=1, b=1.0\)"),
        (ExpressionFilterOperator(col("b")), r"the condition gave 1.0 of type float; it must give True, False or None"),
        (ExpressionFilterOperator(col("a") & True), r"the condition gave 1 of type int"),
        (SelectOperator((col("a") < "x",), ("c",)), r"TypeError.*record: Row\(a=1, b=1.0\)"),
    ],
)
def test_failures_name_operator_and_record(tmp_path: Path, operator: Any, message: str) -> None:
    for is_columns in (True, False):
        rig = Rig(tmp_path, operator)
        with pytest.raises(OperatorFailure, match=f"(?s){message}"):
            if is_columns:
                rig.feed_columns(BLOCK, STAMPS)
            else:
                rig.process(*BLOCK.values(), at=STAMPS.tolist())
