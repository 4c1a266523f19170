"""`from_collection` of a table of another library: its rows with their names and types, not its column names."""

from __future__ import annotations

import datetime
import math
from decimal import Decimal
from typing import Any

import numpy as np
import pandas as pd
import pyarrow as pa
import pytest

from penstock.common import Row, Types
from penstock.datastream import StreamExecutionEnvironment
from penstock.errors import GraphError


def collected(table: Any, type_info: Any = None) -> list[Any]:
    environment = StreamExecutionEnvironment.in_process()
    return list(environment.from_collection(table, type_info).execute_and_collect())


def test_a_pandas_frame_gives_its_rows() -> None:
    frame = pd.DataFrame({"id": [1, 2], "name": ["ann", None], "score": [0.5, math.nan]})
    assert collected(frame) == [Row(id=1, name="ann", score=0.5), Row(id=2, name=None, score=None)]
    assert [type(value) for value in collected(frame)[0]] == [int, str, float]


def test_types_are_declared_by_the_frame() -> None:
    frame = pd.DataFrame({"id": np.array([1], "int32"), "at": pd.to_datetime(["2026-01-02 03:04:05.000006"])})
    stream = StreamExecutionEnvironment.in_process().from_collection(frame)
    assert stream.get_type() == Types.ROW_NAMED(["id", "at"], [Types.INT(), Types.SQL_TIMESTAMP()])
    assert collected(frame) == [Row(id=1, at=datetime.datetime(2026, 1, 2, 3, 4, 5, 6))]
    assert type(collected(frame)[0].at) is datetime.datetime


def test_a_named_index_is_a_column_and_a_numbering_is_not() -> None:
    frame = pd.DataFrame({"n": [1, 2]}, index=pd.Index(["a", "b"], name="key"))
    assert collected(frame) == [Row(key="a", n=1), Row(key="b", n=2)]
    assert collected(frame.reset_index(drop=True)) == [Row(n=1), Row(n=2)]


def test_an_arrow_table_gives_its_rows() -> None:
    table = pa.table({"id": [1, 2], "price": [Decimal("1.10"), None], "tags": [["a"], []]})
    assert collected(table) == [Row(id=1, price=Decimal("1.10"), tags=["a"]), Row(id=2, price=None, tags=[])]
    assert collected(table.to_batches()[0]) == collected(table)


def test_categories_and_empty_frames_and_numbers_as_names() -> None:
    assert collected(pd.DataFrame({"c": pd.Categorical(["x", "y"])})) == [Row(c="x"), Row(c="y")]
    assert collected(pd.DataFrame({"a": []})) == []
    assert collected(pd.DataFrame([[1, 2]])) == [Row(**{"0": 1, "1": 2})]


def test_a_declared_type_still_decides() -> None:
    declared = Types.ROW_NAMED(["n"], [Types.DOUBLE()])
    (row,) = collected(pd.DataFrame({"n": [1]}), declared)
    assert type(row.n) is float


@pytest.mark.parametrize(
    ("table", "told"),
    [
        (pd.DataFrame({"x": [1, "a"]}), "column 'x'"),
        (pd.DataFrame([[1, 2]], columns=["a", "a"]), "two columns named 'a'"),
    ],
)
def test_what_has_no_type_is_refused_with_its_column(table: Any, told: str) -> None:
    with pytest.raises(GraphError, match=f"from_collection: .*{told}"):
        StreamExecutionEnvironment.in_process().from_collection(table)


def test_series_and_arrays_give_python_values() -> None:
    assert [type(value) for value in collected(pd.Series([1, 2]))] == [int, int]
    assert [type(value) for value in collected(np.array([1.5, 2.5]))] == [float, float]


def test_a_frame_of_spark_is_told_where_it_belongs() -> None:
    class DataFrame:
        isStreaming = False

        def __getitem__(self, name: str) -> str:
            return name

    with pytest.raises(GraphError, match="from_spark"):
        StreamExecutionEnvironment.in_process().from_collection(DataFrame())  # type: ignore[arg-type]


def test_nanoseconds_that_would_be_lost_are_refused() -> None:
    env = StreamExecutionEnvironment.in_process()
    exact = pd.DataFrame({"at": pd.to_datetime([1_000], unit="ns")})
    assert [row.at.microsecond for row in env.from_collection(exact).execute_and_collect()] == [1]
    with pytest.raises(GraphError, match=r"from_collection: .*would lose data: 1001"):
        env.from_collection(pd.DataFrame({"at": pd.to_datetime([1_001], unit="ns")}))
