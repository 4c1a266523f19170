"""Operators of tables without state give the same for columns as for rows."""

from __future__ import annotations

from random import Random

import pytest

from penstock.runtime.operators.table import CalcOperator, DropUpdateBeforeOperator, WatermarkAssignerOperator
from penstock.testing import OperatorHarness
from penstock.vocabulary.sql.scalar import call as scalar_call
from penstock.vocabulary.sql.typed_expressions import FieldRef
from tests.unit.runtime.table.as_columns import TIME, feed_columns, random_rows
from tests.unit.runtime.table.changelogs import BIGINT, INT, STRING


def test_watermarks_of_columns_are_those_of_rows() -> None:
    rows = random_rows(Random(5), 30)
    made = [[], []]
    for is_columns in (False, True):
        mark = scalar_call("-", [FieldRef(3, BIGINT), FieldRef(3, BIGINT)])
        assigner = WatermarkAssignerOperator(rowtime=TIME, watermark=mark)
        with OperatorHarness(assigner) as harness:
            for block in (rows[:20], rows[20:]):
                feed_columns(harness, block) if is_columns else harness.process_elements([(row, None) for row in block])
                harness.snapshot()
            made[is_columns] = list(map(repr, harness.output_with_watermarks()))
    assert made[0] == made[1]
    assert any("Watermark" in each for each in made[0])


@pytest.mark.parametrize("function", ["CHAR_LENGTH", "UPPER"], ids=["kernel", "rows"])
def test_calc_keeps_kinds_and_fields(function: str) -> None:
    condition = scalar_call(">", [FieldRef(1, INT), FieldRef(2, INT)])
    made = CalcOperator(
        condition=condition, projections=(FieldRef(3, BIGINT), scalar_call(function, [FieldRef(0, STRING)]))
    )
    rows = [(at % 4, *row[1:]) for at, row in enumerate(random_rows(Random(9), 60))]
    with OperatorHarness(made) as by_rows, OperatorHarness(made) as by_columns:
        by_rows.process_elements([(row, None) for row in rows])
        feed_columns(by_columns, rows)
        assert by_rows.output_values() == by_columns.output_values() != []


def test_updates_before_are_dropped_from_columns() -> None:
    rows = [(at % 4, *row[1:]) for at, row in enumerate(random_rows(Random(9), 12))]
    with OperatorHarness(DropUpdateBeforeOperator()) as harness:
        feed_columns(harness, rows)
        assert harness.output_values() == [row for row in rows if row[0] != 1]
