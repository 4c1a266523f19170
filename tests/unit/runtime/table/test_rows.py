"""Operators on single rows, and joins of windows and intervals."""

from __future__ import annotations

from collections import Counter
from random import Random
from typing import Any

import pytest

from penstock.runtime.failure import OperatorFailure
from penstock.runtime.operators.table import (
    CalcOperator,
    ConstraintEnforcerOperator,
    DropUpdateBeforeOperator,
    ExpandOperator,
    JoinKind,
    JoinSide,
    ReplicateRowsOperator,
    RowKey,
    TableIntervalJoinOperator,
    TableWindowJoinOperator,
    UnnestOperator,
    WatermarkAssignerOperator,
)
from penstock.table.sql import parse_type
from penstock.testing import HarnessSnapshot, OperatorHarness
from penstock.testing.two_input_harness import KeyedTwoInputHarness
from penstock.vocabulary.sql.logical_types import Kind, LogicalType, row_of
from penstock.vocabulary.sql.scalar import call as scalar_call
from penstock.vocabulary.sql.typed_expressions import FieldRef, Literal
from tests.unit.runtime.table.changelogs import INT, STRING, TIMESTAMP, shown


def played(operator: Any, rows: list[Any]) -> list[Any]:
    with OperatorHarness(operator) as harness:
        harness.process_elements([(row, None) for row in rows])
        return harness.output_values()


VALUE = FieldRef(1, INT)
POSITIVE = scalar_call(">", [VALUE, Literal(0, INT.not_null())])


def test_calc() -> None:
    twice = scalar_call("+", [VALUE, VALUE])
    made = CalcOperator(condition=POSITIVE, projections=(twice,))
    assert played(made, [(0, "a", 1), (3, "a", 2), (0, "a", -1), (0, "a", None)]) == [(0, 2), (3, 4)]


def test_a_failing_expression_names_the_row() -> None:
    made = CalcOperator(projections=(scalar_call("/", [Literal(1, INT.not_null()), VALUE]),))
    with pytest.raises(OperatorFailure, match=r"'b', 0"):
        played(made, [(0, "a", 1), (0, "b", 0)])


def test_expand_and_replicate() -> None:
    made = ExpandOperator(
        projections=((FieldRef(0, STRING), Literal(1, INT)), (Literal(None, STRING), Literal(2, INT)))
    )
    assert played(made, [(0, "a"), (0, "b")]) == [(0, "a", 1), (0, None, 2), (0, "b", 1), (0, None, 2)]
    assert played(ReplicateRowsOperator(count_field=0, fields=(1,)), [(0, 2, "a"), (0, 0, "b")]) == [(0, "a"), (0, "a")]


def test_unnest() -> None:
    array = FieldRef(1, LogicalType(Kind.ARRAY, parts=(INT,)))
    rows = [(0, "a", (5, 6)), (0, "b", ()), (0, "c", None)]
    assert played(UnnestOperator(collection=array), rows) == [(0, "a", (5, 6), 5), (0, "a", (5, 6), 6)]
    outer = played(UnnestOperator(collection=array, is_left=True, with_ordinality=True), rows)
    assert [row[3:] for row in outer] == [(5, 1), (6, 2), (None, None), (None, None)]
    of_rows = FieldRef(0, LogicalType(Kind.ARRAY, parts=(row_of(("x", "y"), (INT, STRING)),)))
    assert played(UnnestOperator(collection=of_rows), [(0, ((1, "a"), None))]) == [
        (0, ((1, "a"), None), 1, "a"),
        (0, ((1, "a"), None), None, None),
    ]
    a_map = FieldRef(0, LogicalType(Kind.MAP, parts=(STRING, INT)))
    assert [row[2:] for row in played(UnnestOperator(collection=a_map), [(0, {"k": 1})])] == [("k", 1)]
    multiset = FieldRef(0, LogicalType(Kind.MULTISET, parts=(STRING,)))
    assert [row[2:] for row in played(UnnestOperator(collection=multiset), [(0, {"k": 2})])] == [("k",), ("k",)]


def constraints(*types: str, **settings: Any) -> ConstraintEnforcerOperator:
    names = tuple("abc"[: len(types)])
    return ConstraintEnforcerOperator(names=names, types=tuple(map(parse_type, types)), **settings)


def test_a_null_where_none_is_allowed_fails_or_drops_the_row() -> None:
    rows = [(0, "a", None), (0, "a", "b")]
    assert played(constraints("STRING", "STRING NOT NULL", drops_null=True), rows) == rows[1:]
    with pytest.raises(OperatorFailure, match="Column 'b' is NOT NULL"):
        played(constraints("STRING", "STRING NOT NULL"), rows)


def test_lengths_are_made_to_fit_or_fail() -> None:
    rows = [(0, "abc", b"a"), (0, "a", b"abc"), (0, None, None)]
    cut = [(0, "ab", b"a\x00"), (0, "a", b"ab"), (0, None, None)]
    assert played(constraints("VARCHAR(2)", "BINARY(2)", lengths="TRIM_PAD"), rows) == cut
    assert played(constraints("VARCHAR(2)", "BINARY(2)"), rows) == rows
    with pytest.raises(OperatorFailure, match=r"Column 'a' is VARCHAR\(2\), however, a string of length 3"):
        played(constraints("VARCHAR(2)", lengths="ERROR"), [(0, "abc")])


def test_constraints_of_nested_values() -> None:
    row, array = "ROW<x INT NOT NULL, y CHAR(2)>", "ARRAY<ROW<z INT NOT NULL>>"
    rows = [(0, (1, "abc"), None), (0, (None, "ab"), None), (0, None, [(None,)]), (0, None, [None, (2,)])]
    assert played(constraints(row, array, drops_null=True), rows) == rows
    assert played(constraints(row, array, drops_null=True, nested="ROWS"), rows) == [rows[0], *rows[2:]]
    assert played(constraints(row, array, drops_null=True, nested="ROWS_AND_COLLECTIONS"), rows) == [rows[0], rows[3]]
    assert played(constraints(row, lengths="TRIM_PAD", nested="ROWS"), [(0, (1, "abc"))]) == [(0, (1, "ab"))]
    with pytest.raises(OperatorFailure, match=r"Column 'a\.x' is NOT NULL"):
        played(constraints(row, nested="ROWS"), [(0, (None, "ab"))])
    with pytest.raises(OperatorFailure, match=r"Column 'a\[value\]' is CHAR\(2\), however, a string of length 1"):
        played(constraints("MAP<INT, CHAR(2)>", lengths="ERROR", nested="ROWS_AND_COLLECTIONS"), [(0, {1: "a"})])


def test_rows_before_an_update_are_dropped() -> None:
    assert played(DropUpdateBeforeOperator(), [(1, "a"), (2, "b"), (3, "c")]) == [(2, "b"), (3, "c")]


def watermarks(**settings: Any) -> WatermarkAssignerOperator:
    return WatermarkAssignerOperator(rowtime=0, watermark=scalar_call("-", [FieldRef(0, TIMESTAMP), MILLI]), **settings)


MILLI = Literal(1, LogicalType(Kind.INTERVAL_MILLIS, nullable=False))


def test_watermarks_after_each_row_or_at_the_end_of_a_batch() -> None:
    with OperatorHarness(watermarks(after_each_row=True)) as harness:
        harness.process_elements([((0, 5), None), ((0, 3), None), ((0, 7), None)])
        seen = [getattr(item, "timestamp", None) for item in harness.output_with_watermarks()]
        assert seen == [5, 4, 3, 7, 6]
    with OperatorHarness(watermarks()) as harness:
        harness.process_elements([((0, 5), None), ((0, 3), None)])
        assert len(harness.output_with_watermarks()) == 2
        snapshot = harness.snapshot()
        assert harness.output_with_watermarks()[-1].timestamp == 4
    again = OperatorHarness(watermarks())
    again.restore(snapshot)
    with again:
        again.process_element((0, 4))
        again.snapshot()
        assert len(again.output_with_watermarks()) == 1
        with pytest.raises(OperatorFailure, match="should not be null"):
            again.process_element((0, None))


SIDES = {"left": JoinSide((STRING, TIMESTAMP), (0,)), "right": JoinSide((STRING, TIMESTAMP), (0,))}


def joined(operator: Any, left: list[Any], right: list[Any], watermark: int) -> list[str]:
    with KeyedTwoInputHarness(operator, key1=RowKey(0), key2=RowKey(0)) as harness:
        for row in left:
            harness.process_element1(row)
        harness.snapshot()
        for row in right:
            harness.process_element2(row)
        harness.process_watermark(watermark)
        harness.snapshot()
        return sorted(shown(harness.output_values()))


@pytest.mark.parametrize(
    ("join", "expected"),
    [
        (JoinKind.INNER, ["+I[a, 10, a, 10]"]),
        (JoinKind.LEFT, ["+I[a, 10, a, 10]", "+I[b, 10, null, null]", "+I[null, 10, null, null]"]),
        (
            JoinKind.FULL,
            ["+I[a, 10, a, 10]", "+I[b, 10, null, null]", "+I[null, 10, null, null]", "+I[null, null, null, 10]"],
        ),
        (JoinKind.SEMI, ["+I[a, 10]"]),
        (JoinKind.ANTI, ["+I[b, 10]", "+I[null, 10]"]),
    ],
    ids=lambda each: each.name if isinstance(each, JoinKind) else "",
)
def test_window_join(join: JoinKind, expected: list[str]) -> None:
    made = TableWindowJoinOperator(join=join, **SIDES, left_window_end=1, right_window_end=1, filter_nulls=(True,))
    left = [(0, "a", 10), (0, "b", 10), (0, None, 10)]
    right = [(0, "a", 10), (0, "a", 20), (0, None, 10)]
    assert joined(made, left, right, 9) == sorted(expected)


def test_a_window_join_over_batches_gives_each_pair_once(seed: int) -> None:
    random, results, expected = Random(seed), list[Any](), Counter[Any]()
    lefts, rights = list[Any](), list[Any]()
    snapshot: HarnessSnapshot | None = None
    for batch in range(8):
        made = TableWindowJoinOperator(join=JoinKind.INNER, **SIDES, left_window_end=1, right_window_end=1)
        harness = KeyedTwoInputHarness(made, key1=RowKey(0), key2=RowKey(0))
        if snapshot is not None:
            harness.restore(snapshot)
        with harness:
            for _ in range(12):
                row = (0, random.choice("abc"), 10 * batch + random.choice([10, 20, 30]))
                is_left = random.random() < 0.5
                (lefts if is_left else rights).append(row)
                (harness.process_element1 if is_left else harness.process_element2)(row)
                if random.random() < 0.2:
                    harness.process_watermark(10 * batch + random.randint(0, 8))
            harness.process_watermark(10 * batch + 9)
            snapshot = harness.snapshot()
            if batch == 7:
                harness.process_watermark(1_000)
                assert harness.num_keyed_state_entries() == harness.num_event_time_timers() == 0
            results += harness.output_values()
            assert harness.late_records_dropped() == 0
    for left in lefts:
        expected.update([(0, *left[1:], *right[1:]) for right in rights if right == left])
    assert Counter(results) == expected


def test_a_window_join_tells_keys_apart_as_state_does() -> None:
    double, ints = LogicalType(Kind.DOUBLE), parse_type("ARRAY<INT>")
    for type_, key, same in ((double, float("nan"), float("-nan")), (ints, [1], [1])):
        sides: Any = {name: JoinSide(types=(type_, TIMESTAMP), keys=(0,)) for name in ("left", "right")}
        made = TableWindowJoinOperator(join=JoinKind.INNER, **sides, left_window_end=1, right_window_end=1)
        assert len(joined(made, [(0, key, 10)], [(0, same, 10)], 9)) == 1


def test_interval_join() -> None:
    settings: Any = {**SIDES, "left_time": 1, "right_time": 1, "lower_ms": -2, "upper_ms": 1}
    left = [(0, "a", 10), (0, "b", 10)]
    right = [(0, "a", 9), (0, "a", 12), (0, "a", 13)]
    inner = TableIntervalJoinOperator(join=JoinKind.INNER, **settings)
    assert joined(inner, left, right, 20) == ["+I[a, 10, a, 12]", "+I[a, 10, a, 9]"]
    outer = TableIntervalJoinOperator(join=JoinKind.FULL, **settings)
    pairs = ["+I[a, 10, a, 12]", "+I[a, 10, a, 9]"]
    assert joined(outer, left, right, 20) == [*pairs, "+I[b, 10, null, null]", "+I[null, null, a, 13]"]
