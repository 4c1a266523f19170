"""Functions of whole rows: map, flat_map, aggregate, flat_aggregate."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

import pytest

from penstock.common import Row
from penstock.errors import SqlValidationError
from penstock.table import StreamTableEnvironment, Table, TableAggregateFunction
from penstock.table.expressions import col
from penstock.table.udf import udaf, udf, udtaf, udtf
from tests.unit.table.api.tables import changes, names, new_tables
from tests.unit.table.api.test_user_functions import Total


class Top2(TableAggregateFunction[Row, list[Any]]):
    """The two greatest numbers."""

    def create_accumulator(self) -> list[Any]:
        return []

    def accumulate(self, accumulator: list[Any], *args: Any) -> None:
        accumulator.append(args[0])
        accumulator.sort(reverse=True)

    def retract(self, accumulator: list[Any], *args: Any) -> None:
        accumulator.remove(args[0])

    def emit_value(self, accumulator: list[Any]) -> Iterator[Row]:
        for place, number in enumerate(accumulator[:2]):
            yield Row(number, place)

    def get_result_type(self) -> str:
        return "ROW<number BIGINT, place INT>"

    def get_accumulator_type(self) -> str:
        return "ARRAY<BIGINT>"


@pytest.fixture
def tables() -> StreamTableEnvironment:
    return new_tables()


@pytest.fixture
def t(tables: StreamTableEnvironment) -> Table:
    return tables.from_elements([(1, "x"), (5, "y"), (3, "x"), (2, "x")], ["a", "k"])


def test_map_of_rows_and_of_columns(t: Table) -> None:
    whole = udf(lambda row: Row(row.a * 2, row.k), result_type="ROW<twice BIGINT, key STRING>")
    assert names(t.map(whole)) == ["twice", "key"]
    assert changes(t.map(whole))[1] == "+I(10, 'y')"
    column = udf(lambda a: Row(a, a + 1), result_type="ROW<x BIGINT, y BIGINT>")
    assert changes(t.map(column(t.a)).alias("m", "n").select(col("n")))[0] == "+I(2)"
    assert names(t.map(whole.alias("p", "q"))) == ["p", "q"]


def test_map_of_frames(t: Table) -> None:
    import pandas as pd

    twice = udf(
        lambda frame: pd.concat([frame.a * 2, frame.k], axis=1),
        result_type="ROW<a BIGINT, k STRING>",
        func_type="pandas",
    )
    assert changes(t.map(twice))[1] == "+I(10, 'y')"


def test_flat_map(t: Table) -> None:
    repeated = udtf(lambda row: [(row.k, n) for n in range(row.a)], result_types=["STRING", "BIGINT"])
    assert names(t.flat_map(repeated)) == ["f0", "f1"]
    assert (
        changes(t.flat_map(repeated.alias("k", "n")).group_by(col("k")).select(col("k"), col("n").sum))[-1]
        == "+U('x', 4)"
    )


def test_aggregate_spreads_its_row_beside_the_keys(t: Table) -> None:
    ends = udaf(lambda frame: (frame.a.min(), frame.a.max()), result_type="ROW<a BIGINT, b BIGINT>", func_type="pandas")
    made = t.group_by(t.k).aggregate(ends).select(col("*"))
    assert names(made) == ["k", "a", "b"]
    assert changes(made)[-1] == "+U('x', 1, 3)"
    clashing = t.group_by(t.a).aggregate(ends).select(col("*"))
    assert names(clashing) == ["a", "a_0", "b"]
    assert changes(t.aggregate(udaf(Total())(t.a).alias("s")).select(col("s")))[-1] == "+U(11)"


def test_flat_aggregate_takes_its_rows_back(t: Table) -> None:
    top = udtaf(Top2())
    made = t.group_by(t.k).flat_aggregate(top(t.a).alias("n", "p")).select(t.k, col("n"), col("p"))
    assert changes(made)[:5] == ["+I('x', 1, 0)", "+I('y', 5, 0)", "-D('x', 1, 0)", "+I('x', 3, 0)", "+I('x', 1, 1)"]
    assert sorted(made.to_pandas().itertuples(index=False, name=None)) == [("x", 2, 1), ("x", 3, 0), ("y", 5, 0)]
    updating = made.select(col("n")).flat_aggregate(top(col("n")).alias("n", "p")).select(col("n"))
    assert sorted(updating.to_pandas()["n"]) == [3, 5]


def test_flat_aggregate_needs_a_table_aggregate(t: Table) -> None:
    with pytest.raises(SqlValidationError, match="needs a table aggregate function: make one with udtaf"):
        t.flat_aggregate(udaf(Total())(t.a)).select(col("*"))
