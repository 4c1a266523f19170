"""Columns written to Parquet: the table that their objects would become, or left to them."""

from __future__ import annotations

from datetime import date, datetime
from pathlib import Path
from typing import Any

import numpy as np
import pyarrow as pa
import pyarrow.parquet as pq
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from penstock.common.column_block import ColumnBlock
from penstock.common.typeinfo import Types
from penstock.connectors.sink import SinkContext
from penstock.datastream.connectors.file_system import BucketAssigner, FileSink
from penstock.errors import SinkError
from penstock.formats.parquet_format import ParquetFormat

VALUES: dict[pa.DataType, list[Any]] = {
    pa.int8(): [1, -2],
    pa.int64(): [2**60],
    pa.uint64(): [2**64 - 1, 1],
    pa.float32(): [0.5],
    pa.float64(): [0.1],
    pa.bool_(): [True, False],
    pa.string(): ["é"],
    pa.large_string(): ["x"],
    pa.binary(): [b"\xff"],
    pa.date32(): [date(2020, 1, 1)],
    pa.timestamp("us"): [datetime(2020, 1, 1, 2, 3, 4, 5)],
    pa.timestamp("ms"): [datetime(2020, 1, 1)],
    pa.list_(pa.int8()): [[1]],
    pa.null(): [None],
}


@st.composite
def batches(draw: st.DrawFn) -> pa.RecordBatch:
    count = draw(st.integers(1, 3))
    arrays = []
    for _ in range(2):
        kind = draw(st.sampled_from(list(VALUES)))
        cell = st.sampled_from([*VALUES[kind], None])
        arrays.append(pa.array(draw(st.lists(cell, min_size=count, max_size=count)), kind))
    return pa.RecordBatch.from_arrays(arrays, names=draw(st.sampled_from([["a", "b"], ["b", "a"], ["a", "c"]])))


DECLARED = Types.ROW_NAMED(["a", "b"], [Types.INT(), Types.STRING()])


@settings(max_examples=60, deadline=None)
@given(st.lists(batches(), min_size=1, max_size=3), st.sampled_from(["row", "dict"]), st.sampled_from([None, DECLARED]))
def test_columns_become_the_table_of_their_objects(blocks: list[pa.RecordBatch], form: str, declared: Any) -> None:
    format_ = ParquetFormat(declared)
    by_columns, by_objects = format_.create_encoder("s", None), format_.create_encoder("s", None)
    for batch in blocks:
        block = ColumnBlock(batch, form)
        table = by_columns.encode_columns(block)
        try:
            expected = by_objects.encode(block.values())
        except (SinkError, OverflowError):
            assert table is None
            return
        if table is None:
            table = by_columns.encode(block.values())
        assert table.schema == expected.schema and table.equals(expected)
        assert by_columns.learned() == by_objects.learned()


@pytest.mark.parametrize("assigner", [None, BucketAssigner.by(lambda row: f"a={row.a}")], ids=["one", "by record"])
def test_the_sink_writes_columns_straight_where_all_go_to_one_place(
    tmp_path: Path, assigner: Any, monkeypatch: pytest.MonkeyPatch
) -> None:
    writer = FileSink.parquet(tmp_path, bucket_assigner=assigner).create_writer(
        SinkContext("job", "uid", "sink", 0, 1, lambda: 0)
    )
    block = ColumnBlock(pa.record_batch({"a": [1, 2], "b": ["x", None]}), "row")
    if assigner is None:
        monkeypatch.setattr(ColumnBlock, "values", None)
    writer.begin(1, "try", None)
    writer.write_columns(block, np.array([1, 2]), 0)
    writer.write_columns(block.slice(0, 0), None, 0)
    published = [each for each in writer.prepare_commit(0, True) if hasattr(each, "staged")]
    records = [record for each in published for record in pq.read_table(tmp_path / each.staged).to_pylist()]
    assert sorted(records, key=lambda each: each["a"]) == [{"a": 1, "b": "x"}, {"a": 2, "b": None}]
