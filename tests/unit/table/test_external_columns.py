"""Columns of elements become what their objects become."""

from __future__ import annotations

import datetime
from typing import Any

import numpy as np
import pyarrow as pa
import pytest

from penstock.common import Types, WatermarkStrategy
from penstock.common.column_block import ColumnBlock
from penstock.datastream import StreamExecutionEnvironment
from penstock.datastream.connectors.data_gen import DataGeneratorSource
from penstock.table import StreamTableEnvironment
from penstock.table.element_functions import ToRow
from penstock.table.sql import parse_type

MOMENTS = [datetime.datetime(1969, 12, 31, 23, 59, 59, 999_999), datetime.datetime(2020, 1, 2, 3, 4, 5, 678_901), None]
CASES: dict[str, tuple[str, list[pa.Array]]] = {
    "whole": ("a TINYINT, b INT, c BIGINT", [pa.array([1, None, -3], pa.int8()) for _ in range(3)]),
    "floats": (
        "a FLOAT, b DOUBLE, c DOUBLE",
        [pa.array([0.1, None, -0.0], pa.float32())] * 2 + [pa.array([0.1, 2, 3.0])],
    ),
    "texts": (
        "a STRING, b BYTES, c BOOLEAN",
        [pa.array(["ä", None, ""]), pa.array([b"x", None, b""]), pa.array([True, None, False])],
    ),
    "times": (
        "a TIMESTAMP(3), b TIMESTAMP(6), c TIMESTAMP(9)",
        [pa.array(MOMENTS, pa.timestamp("us"))] * 3,
    ),
    "instants": (
        "a TIMESTAMP_LTZ(3), b TIMESTAMP_LTZ(6), c DATE",
        [
            pa.array(MOMENTS, pa.timestamp("us", "Europe/Berlin")),
            pa.array([0, 1, None], pa.timestamp("ms", "UTC")),
            pa.array([datetime.date(1969, 1, 1), None, datetime.date(2020, 2, 29)]),
        ],
    ),
}
NAMES = ["a", "b", "c"]


@pytest.mark.parametrize("form", ["row", "dict", "tuple"])
@pytest.mark.parametrize("name", CASES)
def test_columns_become_what_objects_become(name: str, form: str) -> None:
    columns, arrays = CASES[name]
    convert = ToRow(parse_type(f"ROW<{columns}> NOT NULL"))
    order = [2, 0, 1] if form != "tuple" else [0, 1, 2]  # names tell, not places
    batch = pa.RecordBatch.from_arrays([arrays[at] for at in order], names=[NAMES[at] for at in order])
    made = convert.map_columns(ColumnBlock(batch, form))
    assert made is not None
    assert repr(made.values()) == repr([convert(each) for each in ColumnBlock(batch, form).values()])


@pytest.mark.parametrize(
    ("declared", "array"),
    [
        ("INT", pa.array([1], pa.int64())),
        ("INT", pa.array([True])),
        ("DECIMAL(5, 2)", pa.array([1], pa.int32())),
        ("FLOAT", pa.array([0.1])),
        ("TIMESTAMP(3)", pa.array(["2020-01-01 00:00:00"])),
        ("TIMESTAMP(9)", pa.array([1], pa.timestamp("ns"))),
        ("STRING", pa.array([1])),
    ],
    ids=str,
)
def test_what_has_to_be_looked_at_is_left_to_objects(declared: str, array: pa.Array) -> None:
    convert = ToRow(parse_type(f"ROW<a {declared}> NOT NULL"))
    assert convert.map_columns(ColumnBlock(pa.RecordBatch.from_arrays([array], names=["a"]), "dict")) is None


def test_fields_that_are_missing_are_left_to_objects() -> None:
    convert = ToRow(parse_type("ROW<a INT, b INT> NOT NULL"))
    assert convert.map_columns(ColumnBlock(pa.RecordBatch.from_arrays([pa.array([1])], names=["a"]), "row")) is None


def test_a_stream_of_columns_is_a_table() -> None:
    environment = StreamExecutionEnvironment.in_process().set_parallelism(1)

    def columns(numbers: Any) -> dict[str, Any]:
        return {"k": (numbers % 3).astype(np.int32), "v": numbers}

    declared = Types.ROW_NAMED(["k", "v"], [Types.INT(), Types.LONG()])
    source = DataGeneratorSource.of_columns(columns, 1_000, declared)
    stream = environment.from_source(source, WatermarkStrategy.no_watermarks(), "numbers")
    tables = StreamTableEnvironment.create(environment)
    tables.create_temporary_view("t", tables.from_data_stream(stream))
    with tables.execute_sql("SELECT k, COUNT(*) AS c, SUM(v) AS s FROM t WHERE v >= 10 GROUP BY k").collect() as found:
        last = {row[0]: tuple(row)[1:] for row in found}
    expected = {key: [number for number in range(10, 1_000) if number % 3 == key] for key in range(3)}
    assert last == {key: (len(numbers), sum(numbers)) for key, numbers in expected.items()}
