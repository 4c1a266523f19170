"""Kernels on columns give what the generated Python gives, for random expressions and rows."""

from __future__ import annotations

from decimal import Decimal
from random import Random
from typing import Any

import pyarrow as pa
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from penstock.vocabulary.sql.logical_types import LogicalType
from penstock.vocabulary.sql.scalar import arrow_type, call, called_columns, cast, columnar_calc, compiled_calc
from penstock.vocabulary.sql.scalar.context import EvaluationContext
from penstock.vocabulary.sql.scalar.kinds import (
    BIGINT,
    BOOLEAN,
    DOUBLE,
    INT,
    INTERVAL_MILLIS,
    SMALLINT,
    STRING,
    char,
    decimal,
    timestamp,
    timestamp_ltz,
)
from penstock.vocabulary.sql.typed_expressions import FieldRef, Literal, TypedExpression

TYPES = (INT, BIGINT, SMALLINT, DOUBLE, STRING, BOOLEAN, timestamp(3))
INTS = {INT: 31, BIGINT: 63, SMALLINT: 15}


def numbers(bits: int) -> st.SearchStrategy[int]:
    edge = 1 << bits
    return st.one_of(st.integers(-5, 5), st.integers(-edge, edge - 1), st.sampled_from([-edge, edge - 1]))


VALUES: dict[LogicalType, st.SearchStrategy[Any]] = {
    **{type_: numbers(bits) for type_, bits in INTS.items()},
    DOUBLE: st.one_of(st.integers(-3, 3).map(float), st.floats(allow_nan=False)),
    STRING: st.text("ab%_\\ä漢😀\n", max_size=4),
    BOOLEAN: st.booleans(),
    timestamp(3): st.integers(-(10**14), 10**14),
}


def field(type_: LogicalType) -> TypedExpression:
    return FieldRef(TYPES.index(type_), type_)


def literal(type_: LogicalType) -> st.SearchStrategy[TypedExpression]:
    return VALUES[type_].map(lambda value: Literal(value, type_.not_null()))


def whole(depth: int) -> st.SearchStrategy[TypedExpression]:
    leaf = st.sampled_from(list(INTS)).flatmap(lambda type_: st.just(field(type_)) | literal(type_))
    if depth == 0:
        return leaf
    inner = whole(depth - 1)
    constants = st.integers(2, 9).map(lambda value: Literal(value, INT.not_null()))
    return st.one_of(
        leaf,
        st.builds(lambda name, a, b: call(name, [a, b]), st.sampled_from("+-*"), inner, inner),
        st.builds(lambda name, a, b: call(name, [a, b]), st.sampled_from("/%"), inner, constants),
        st.builds(lambda c, a, b: call("CASE", [c, a, b]), condition(depth - 1), inner, inner),
        st.builds(lambda a, b: call("COALESCE", [a, b]), inner, inner),
        st.builds(cast, inner, st.sampled_from(list(INTS))),
        text(depth - 1).map(lambda value: call("CHAR_LENGTH", [value])),
    )


def text(depth: int) -> st.SearchStrategy[TypedExpression]:
    leaf = st.just(field(STRING)) | literal(STRING)
    if depth == 0:
        return leaf
    inner = text(depth - 1)
    start, length = [st.integers(1, 4).map(lambda value: Literal(value, INT.not_null())) for _ in range(2)]
    return st.one_of(
        leaf,
        st.builds(lambda a, b: call("||", [a, b]), inner, inner),
        st.builds(lambda a, b: call("SUBSTRING", [a, b]), inner, start),
        st.builds(lambda a, b, c: call("SUBSTRING", [a, b, c]), inner, start, length),
        whole(depth - 1).map(lambda value: cast(value, STRING)),
    )


def floating(depth: int) -> st.SearchStrategy[TypedExpression]:
    leaf = st.just(field(DOUBLE)) | literal(DOUBLE)
    if depth == 0:
        return leaf
    inner = floating(depth - 1) | whole(depth - 1).map(lambda value: cast(value, DOUBLE))
    return leaf | st.builds(lambda name, a, b: call(name, [a, b]), st.sampled_from("+-*/"), inner, inner)


def condition(depth: int) -> st.SearchStrategy[TypedExpression]:
    if depth == 0:
        return st.just(field(BOOLEAN))
    compare = st.sampled_from(["=", "<>", "<", "<=", ">", ">="])
    inner = condition(depth - 1)
    patterns = st.text("ab%\\ä", max_size=3).map(lambda value: Literal(value, char(max(1, len(value))).not_null()))
    tests = ["IS NULL", "IS NOT NULL", "IS TRUE", "IS NOT TRUE", "IS FALSE", "IS NOT FALSE", "NOT"]
    return st.one_of(
        st.builds(lambda name, a, b: call(name, [a, b]), compare, whole(depth - 1), whole(depth - 1)),
        st.builds(lambda name, a, b: call(name, [a, b]), compare, text(depth - 1), text(depth - 1)),
        st.builds(lambda name, a, b: call(name, [a, b]), compare, floating(depth - 1), floating(depth - 1)),
        st.builds(lambda name, a, b: call(name, [a, b]), st.sampled_from(["AND", "OR"]), inner, inner),
        st.builds(lambda name, a: call(name, [a]), st.sampled_from(tests), inner),
        st.builds(lambda a, b, c: call("BETWEEN", [a, b, c]), whole(0), whole(0), whole(0)),
        st.builds(lambda a, b, c: call("IN", [a, b, c]), whole(0), literal(INT), st.just(Literal(None, INT))),
        st.builds(lambda a, b: call("LIKE", [a, b]), text(depth - 1), patterns),
    )


def stamps() -> st.SearchStrategy[TypedExpression]:
    units = st.sampled_from(["SECOND", "MINUTE", "HOUR", "DAY"])
    return units.map(lambda unit: call("FLOOR", [field(timestamp(3))], [unit]))


def batch_of(rows: list[tuple[Any, ...]]) -> pa.RecordBatch:
    columns = [pa.array([row[at] for row in rows], arrow_type(type_)) for at, type_ in enumerate(TYPES)]
    kinds = pa.array([0] * len(rows), pa.int8())
    return pa.RecordBatch.from_arrays([kinds, *columns], names=["$kind", *[f"c{at}" for at in range(len(TYPES))]])


def rows_of(batch: pa.RecordBatch) -> list[tuple[Any, ...]]:
    return list(zip(*[column.to_pylist() for column in batch.columns], strict=True))


def random_rows(count: int, seed: int) -> list[tuple[Any, ...]]:
    """Rows with many ends of ranges, NULLs and equal values, so that most expressions show all they can do."""
    random = Random(seed)
    choices: dict[LogicalType, list[Any]] = {
        **{each: [0, 1, -1, 7, -8, (1 << bits) - 1, -(1 << bits)] for each, bits in INTS.items()},
        DOUBLE: [0.0, -0.0, 1.0, -2.5, 1e308, float("inf"), 3.0],
        STRING: ["", "a", "ab", "ä漢😀b", "a%", "a\\b", "\n"],
        BOOLEAN: [True, False],
        timestamp(3): [0, -1, 86_400_000, -86_400_001, 1_600_000_000_123],
    }
    return [tuple([random.choice([None, *choices[type_]]) for type_ in TYPES]) for _ in range(count)]


MADE = st.one_of(whole(2), text(2), floating(2), condition(2), stamps())


@settings(max_examples=60)
@given(test=st.none() | condition(2), made=st.lists(MADE, min_size=1, max_size=3))
def test_columns_give_what_rows_give(test: TypedExpression | None, made: list[TypedExpression]) -> None:
    calc = columnar_calc(test, made)
    if calc is None:  # A pattern of LIKE with several parts has no kernel.
        return
    rows = random_rows(80, 7)
    expected = compiled_calc(test, made)([(0, *row) for row in rows])
    assert repr(rows_of(calc(batch_of(rows)))) == repr(expected)


@settings(max_examples=60)
@given(parts=st.lists(condition(1) | condition(2), min_size=2, max_size=4), made=st.lists(MADE, max_size=2))
def test_parts_of_a_condition_are_asked_one_after_the_other(
    parts: list[TypedExpression], made: list[TypedExpression]
) -> None:
    """What the parts compute is known to those after them, and to what is made of the rows that are left."""
    test = parts[0]
    for each in parts[1:]:
        test = call("AND", [test, each])
    computed = [*parts, *made]  # all of it is there before
    calc = columnar_calc(test, computed)
    if calc is None:
        return
    rows = random_rows(150, 13)
    expected = compiled_calc(test, computed)([(0, *row) for row in rows])
    assert repr(rows_of(calc(batch_of(rows)))) == repr(expected)


def test_a_part_of_a_condition_sees_only_rows_that_those_before_it_leave() -> None:
    positive = call(">", [field(INT), Literal(0, INT.not_null())])
    shared = call("/", [cast(field(SMALLINT), BIGINT), field(INT)])  # refuses what is not positive
    natural = call(">=", [field(SMALLINT), Literal(0, SMALLINT.not_null())])
    test = call("AND", [call("AND", [natural, positive]), call("<", [shared, Literal(5, INT.not_null())])])
    calc = columnar_calc(test, [shared, field(STRING)], EvaluationContext())
    assert calc is not None
    rows = [(number, 1, other, 0.5, "a", True, 0) for number in (3, 0, -2, 2) for other in (7, -1, 12, 0)]
    expected = compiled_calc(test, [shared, field(STRING)])([(0, *row) for row in rows])
    assert rows_of(calc(batch_of(rows))) == expected and expected


FLAG, OTHER = field(BOOLEAN), call(">", [field(INT), field(BIGINT)])
ONE_BY_ONE = [
    call("AND", [FLAG, OTHER]),
    call("OR", [FLAG, OTHER]),
    *[call(name, [OTHER]) for name in ("NOT", "IS NULL", "IS NOT NULL", "IS TRUE", "IS NOT TRUE", "IS FALSE")],
    call("IS NOT FALSE", [FLAG]),
    *[call(name, [field(INT), field(SMALLINT)]) for name in ("=", "<>", "<", "<=", ">", ">=", "+", "-", "*")],
    *[call(name, [field(STRING), Literal("a", char(1).not_null())]) for name in ("=", "<", ">=")],
    *[call(name, [field(BIGINT), Literal(7, INT.not_null())]) for name in ("/", "%", "*")],
    *[call(name, [call("CHAR_LENGTH", [field(STRING)]), Literal(2, INT.not_null())]) for name in ("/", "MOD")],
    *[call(name, [field(BIGINT), cast(Literal(-7, INT.not_null()), BIGINT)]) for name in ("/", "MOD")],
    *[call(sign, [field(timestamp(3)), Literal(5_000, INTERVAL_MILLIS.not_null())]) for sign in "+-"],
    call("-", [call("TO_TIMESTAMP_LTZ", [field(INT)]), Literal(1, INTERVAL_MILLIS.not_null())]),
    call("TO_TIMESTAMP_LTZ", [field(INT), Literal(0, INT.not_null())]),
    call("TO_TIMESTAMP_LTZ", [field(BIGINT), Literal(3, INT.not_null())]),
    call("/", [field(DOUBLE), field(DOUBLE)]),
    *[call(name, [field(DOUBLE), Literal(Decimal("0.1"), decimal(2, 1).not_null())]) for name in "+-*"],
    call("BETWEEN", [field(INT), field(SMALLINT), field(BIGINT)]),
    call("IN", [field(INT), Literal(7, INT.not_null()), Literal(None, INT)]),
    call("IN", [field(STRING), Literal("a", char(1).not_null()), Literal("", char(0).not_null())]),
    call("CASE", [FLAG, field(INT), OTHER, field(BIGINT), field(SMALLINT)]),
    call("COALESCE", [field(SMALLINT), field(BIGINT), Literal(1, INT.not_null())]),
    *[call("LIKE", [field(STRING), Literal(each, char(3).not_null())]) for each in ("a%", "%b", "%a%", "a", "%")],
    cast(field(BIGINT), SMALLINT),
    cast(field(INT), STRING),
    cast(field(BIGINT), DOUBLE),
    call("CHAR_LENGTH", [field(STRING)]),
    *[call("FLOOR", [field(timestamp(3))], [unit]) for unit in ("SECOND", "DAY")],
]


@pytest.mark.parametrize("expression", ONE_BY_ONE, ids=lambda each: getattr(each, "function", ""))
def test_each_kernel_gives_what_rows_give(expression: TypedExpression) -> None:
    calc = columnar_calc(None, [expression])
    assert calc is not None
    rows = random_rows(300, 11)
    expected = compiled_calc(None, [expression])([(0, *row) for row in rows])
    assert repr(rows_of(calc(batch_of(rows)))) == repr(expected)


@pytest.mark.parametrize("name", ["/", "MOD"])
def test_numbers_without_null_and_sign_are_divided_as_rows_are(name: str) -> None:
    expression = call(name, [field(BIGINT), Literal(7, INT.not_null())])
    place = TYPES.index(BIGINT)
    rows = [(*[None] * place, value, *[None] * (len(TYPES) - place - 1)) for value in (0, 1, 6, 7, 2**63 - 1)]
    calc = columnar_calc(None, [expression])
    assert calc is not None
    assert rows_of(calc(batch_of(rows))) == compiled_calc(None, [expression])([(0, *row) for row in rows])


def test_a_constant_that_fails_is_left_to_rows() -> None:
    zero = call("/", [Literal(7, INT.not_null()), Literal(0, INT.not_null())])
    assert columnar_calc(None, [call("+", [field(INT), zero])]) is None


def test_no_rows_give_no_rows() -> None:
    calc = columnar_calc(field(BOOLEAN), [field(INT)])
    assert calc is not None
    assert calc(batch_of([])).num_rows == 0


def test_the_usual_has_kernels() -> None:
    total = call("+", [field(INT), field(BIGINT)])
    assert columnar_calc(call(">", [total, Literal(1, INT.not_null())]), [total]) is not None


@pytest.mark.parametrize(
    "expression",
    [
        call("+", [FieldRef(0, decimal(10, 2)), FieldRef(0, decimal(10, 2))]),
        call("UPPER", [field(STRING)]),
        call("/", [field(INT), field(BIGINT)]),
        call("LIKE", [field(STRING), Literal("a_", char(2))]),
        call("SUBSTRING", [field(STRING), field(INT)]),
    ],
)
def test_what_arrow_does_otherwise_is_left_to_rows(expression: TypedExpression) -> None:
    assert columnar_calc(None, [expression]) is None


LONG_TEXT = Literal("die 漢 and 😀, again and again", char(29).not_null())
SMALL = call("%", [field(BIGINT), Literal(5, INT.not_null())])
CALLED = {
    "of repeating numbers": call("SUBSTRING", [LONG_TEXT, cast(SMALL, INT), cast(field(SMALLINT), INT)]),
    "of texts and numbers": call("SUBSTRING", [field(STRING), field(INT)]),
    "of two texts": call("LOCATE", [field(STRING), call("||", [field(STRING), field(STRING)])]),
    "of two zeros": call("ATAN2", [field(DOUBLE), field(DOUBLE)]),
    "of a local time": cast(field(timestamp(3)), timestamp_ltz(3)),
    "of numbers that do not repeat": call("LPAD", [cast(field(BIGINT), STRING), cast(SMALL, INT), field(STRING)]),
}


@pytest.mark.parametrize("zone", ["UTC", "Asia/Tokyo"])
@pytest.mark.parametrize("name", CALLED)
def test_functions_that_are_called_give_what_rows_give(name: str, zone: str) -> None:
    expression, context = CALLED[name], EvaluationContext(time_zone=zone)
    calc = columnar_calc(None, [expression], context)
    assert calc is not None
    for seed in (3, 4):  # what one batch has found is used for the next
        rows = random_rows(1_500, seed)
        if name == "of numbers that do not repeat":
            rows = [(*row[:1], number * 7_919, *row[2:]) for number, row in enumerate(rows)]
        expected = compiled_calc(None, [expression], context)([(0, *row) for row in rows])
        assert repr(rows_of(calc(batch_of(rows)))) == repr(expected)


def test_a_function_of_several_arguments_is_called_once_for_each_combination(monkeypatch: pytest.MonkeyPatch) -> None:
    called: list[Any] = []
    wanted = called_columns.compiled_value

    def counting(*arguments: Any, **named: Any) -> Any:
        value = wanted(*arguments, **named)
        return lambda row: (called.append(row), value(row))[1]

    monkeypatch.setattr(called_columns, "compiled_value", counting)
    calc = columnar_calc(None, [CALLED["of texts and numbers"]], EvaluationContext())
    assert calc is not None
    calc(batch_of(random_rows(5_000, 5)))
    calc(batch_of(random_rows(5_000, 6)))
    assert len(called) == len(set(called)) <= 8 * 8
