"""What the source of expressions looks like, and in which order they are computed."""

from __future__ import annotations

from typing import Any

import pytest

from penstock.errors import EvaluationError, FunctionError
from penstock.vocabulary.sql.scalar import (
    EvaluationContext,
    call,
    cast,
    common_type,
    compiled_calc,
    compiled_value,
    constant,
    is_deterministic,
)
from penstock.vocabulary.sql.scalar.kinds import BIGINT, BOOLEAN, DATE, INT, STRING, char, decimal, timestamp
from penstock.vocabulary.sql.typed_expressions import FieldRef, Literal, TypedExpression

A, B, C = FieldRef(0, INT), FieldRef(1, INT.not_null()), FieldRef(2, STRING)


def number(value: int) -> Literal:
    return Literal(value, INT.not_null())


def source_of(condition: TypedExpression | None, projections: list[TypedExpression] | None) -> str:
    function: Any = compiled_calc(condition, projections)
    return str(function.source)


def test_plain_projections_are_one_comprehension_without_checks() -> None:
    assert "[(row[0], row[2], row[3],) for row in rows if (row[2] > 2)]" in source_of(call(">", [B, number(2)]), [B, C])


def test_rows_stay_as_they_are_without_projections() -> None:
    rows = [(0, 1, 2, "a"), (3, 1, 5, "b")]
    assert compiled_calc(call(">", [B, number(2)]), None)(rows) == rows[1:]


def test_what_occurs_twice_is_computed_once() -> None:
    total = call("*", [B, B])
    assert source_of(call(">", [total, number(2)]), [total, call("+", [total, number(1)])]).count(" * ") == 1


def test_what_is_not_deterministic_is_computed_each_time() -> None:
    drawn = call("RAND", [])
    values = compiled_calc(None, [drawn, drawn])([(0,)])[0]
    assert values[1] != values[2]
    assert not is_deterministic(call("+", [drawn, drawn]))
    assert is_deterministic(call("+", [A, B]))


def test_a_branch_that_is_not_taken_is_not_computed() -> None:
    ratio = call("/", [number(10), B])
    guarded = call("CASE", [call("<>", [B, number(0)]), ratio, number(-1)])
    twice = call("CASE", [call("<>", [B, number(0)]), call("+", [ratio, ratio]), number(-1)])
    assert compiled_calc(None, [guarded, twice])([(0, None, 0, ""), (0, None, 5, "")]) == [(0, -1, -1), (0, 2, 4)]


def test_and_stops_at_false() -> None:
    both = call("AND", [call("<>", [B, number(0)]), call(">", [call("/", [number(10), B]), number(1)])])
    assert compiled_calc(both, [B])([(0, None, 0, ""), (0, None, 2, "")]) == [(0, 2)]
    assert compiled_value(both)((0, None, 0, "")) is False


@pytest.mark.parametrize("left", [True, False, None])
@pytest.mark.parametrize("right", [True, False, None])
def test_logic_has_three_values(left: bool | None, right: bool | None) -> None:
    x, y = FieldRef(0, BOOLEAN), FieldRef(1, BOOLEAN)
    row = (0, left, right)
    both, either = call("AND", [x, y]), call("OR", [x, y])
    known = {left, right}
    assert compiled_value(both)(row) is (False if False in known else None if None in known else True)
    assert compiled_value(either)(row) is (True if True in known else None if None in known else False)
    kept = [len(compiled_calc(each, None)([row])) for each in (both, either, call("NOT", [x]))]
    assert kept == [left is True and right is True, left is True or right is True, left is False]


def test_a_filter_drops_null() -> None:
    rows = [(0, None, 1, "a"), (0, 1, 1, "a")]
    for condition in (call("=", [A, B]), call("NOT", [call("<>", [A, B])]), call("BETWEEN", [A, B, B])):
        assert compiled_calc(condition, None)(rows) == rows[1:]


def test_fields_may_begin_at_the_front() -> None:
    assert compiled_value(call("+", [A, B]), offset=0)((1, 2)) == 3


def test_a_constant_needs_no_row() -> None:
    assert constant(call("+", [number(2), number(3)])) == 5


def test_the_current_time_comes_from_the_context() -> None:
    context = EvaluationContext(clock=lambda: 1_000_000_000_123, time_zone="Asia/Tokyo")
    assert constant(call("CURRENT_TIMESTAMP", []), context) == 1_000_000_000_123
    assert constant(call("LOCALTIMESTAMP", []), context) == 1_000_000_000_123 + 9 * 3_600_000
    assert constant(call("CURRENT_DATE", []), context) == 11574
    assert constant(call("UNIX_TIMESTAMP", []), context) == 1_000_000_000
    with pytest.raises(EvaluationError, match="no clock"):
        constant(call("NOW", []))


def test_the_watermark_comes_from_the_context() -> None:
    now = call("CURRENT_WATERMARK", [FieldRef(0, timestamp(6))])
    assert str(now.type) == "TIMESTAMP(3)"
    assert constant(now, EvaluationContext(watermark=lambda: 7)) == 7
    assert constant(now) is None


def test_a_division_by_zero_says_so() -> None:
    with pytest.raises(EvaluationError, match="division by zero"):
        compiled_value(call("/", [number(1), B]))((0, None, 0))


def test_a_cast_that_cannot_be_done_says_so() -> None:
    with pytest.raises(EvaluationError, match="'x' to INT"):
        compiled_value(cast(C, INT))((0, None, 0, "x"))
    assert compiled_value(cast(C, INT, is_try=True))((0, None, 0, "x")) is None


@pytest.mark.parametrize(
    ("name", "arguments", "said"),
    [
        ("NO_SUCH", [A], "no function NO_SUCH"),
        ("UPPER", [A], "argument 1 of UPPER is INT, and must be a string"),
        ("UPPER", [], "UPPER takes 1 arguments, and 0 were given"),
        ("+", [A, C], r"\+ cannot be applied to INT and STRING"),
        ("=", [A, C], "= cannot compare INT and STRING"),
        ("AND", [A, B], "AND takes BOOLEAN"),
        ("CASE", [A, B, B], "a WHEN of CASE must be a condition"),
    ],
)
def test_wrong_arguments_are_refused(name: str, arguments: list[TypedExpression], said: str) -> None:
    with pytest.raises(FunctionError, match=said):
        call(name, arguments)


def test_a_cast_between_strangers_is_refused() -> None:
    with pytest.raises(FunctionError, match="INT cannot be cast to DATE"):
        cast(A, DATE)


def test_common_types() -> None:
    assert str(common_type([INT.not_null(), BIGINT])) == "BIGINT"
    assert str(common_type([decimal(10, 2), INT])) == "DECIMAL(12, 2)"
    assert str(common_type([char(2).not_null(), char(3).not_null()])) == "VARCHAR(3) NOT NULL"
    with pytest.raises(FunctionError, match="no type in common"):
        common_type([INT, STRING])


def test_moments_before_1970_are_what_is_written() -> None:
    """Flink rounds them towards 1970, and has hours below zero: docs/sql_functions.md says that this differs."""
    half_past = Literal(-2_203_869_599_500, timestamp(3).not_null())  # 1900-03-01 06:00:00.5
    assert constant(cast(half_past, STRING)) == "1900-03-01 06:00:00.500"
    assert constant(call("HOUR", [half_past])) == 6
    assert constant(call("EXTRACT", [half_past], ["DOY"])) == 60
    assert constant(cast(cast(half_past, DATE), STRING)) == "1900-03-01"
    assert constant(cast(cast(half_past, timestamp(0)), STRING)) == "1900-03-01 06:00:00"
    assert constant(cast(call("FLOOR", [half_past], ["MONTH"]), STRING)) == "1900-03-01 00:00:00.000"


def test_an_item_that_is_not_there_is_null() -> None:
    both = call("ARRAY", [number(1), number(2)])
    assert constant(call("ITEM", [both, number(3)])) is None
    assert constant(call("ITEM", [both, number(0)])) is None
    pairs = call("MAP", [Literal("a", char(1).not_null()), number(1)])
    assert constant(call("ITEM", [pairs, Literal("b", char(1).not_null())])) is None
