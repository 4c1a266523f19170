"""Timestamps and watermarks of blocks of columns: those of the objects, whatever reads the time."""

from __future__ import annotations

from datetime import UTC, datetime
from pathlib import Path
from typing import Any

import numpy as np
import pyarrow as pa
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from penstock.common.field_timestamp import FieldTimestamp
from penstock.common.time import Duration
from penstock.common.watermark_strategy import (
    BoundedOutOfOrdernessWatermarks,
    WatermarkGenerator,
    WatermarkStrategy,
)
from penstock.runtime.columns import ColumnBlock
from penstock.runtime.failure import OperatorFailure
from penstock.runtime.operators import WatermarkOperator
from tests.unit.runtime.rig import Rig


class EveryThird(WatermarkGenerator):
    def on_event(self, event: Any, event_timestamp: int, output: Any) -> None:
        if event.n % 3 == 0:
            output.emit_watermark(event_timestamp)

    def on_periodic_emit(self, output: Any) -> None:
        pass


class Counting(BoundedOutOfOrdernessWatermarks):
    """Sees every timestamp, though it is derived from a generator that needs the highest only."""

    def __init__(self) -> None:
        super().__init__(0)

    def on_block(self, timestamps: list[int]) -> None:
        super().on_block([len(timestamps)])


BOUNDED = WatermarkStrategy.for_bounded_out_of_orderness(Duration.of_millis(2))
STRATEGIES = {
    "by field": BOUNDED.with_timestamp_assigner("ts"),
    "by position": BOUNDED.with_timestamp_assigner(1),
    "by function": BOUNDED.with_timestamp_assigner(lambda row, stamp: row.ts + (0 if stamp < 0 else stamp)),
    "of the source": WatermarkStrategy.for_monotonous_timestamps(),
    "punctuated": WatermarkStrategy.for_generator(EveryThird).with_timestamp_assigner("ts"),
    "counting": WatermarkStrategy.for_generator(Counting).with_timestamp_assigner("ts"),
    "none": WatermarkStrategy.no_watermarks(),
}


@pytest.mark.parametrize("kind", STRATEGIES)
@pytest.mark.parametrize("stamped", [False, True])
def test_columns_get_the_times_of_their_objects(tmp_path: Path, kind: str, stamped: bool) -> None:
    times = [3, 1, 8, 5, 20, 2, 30, 31, 32, 9, 40]
    block = ColumnBlock(pa.record_batch({"n": list(range(11)), "ts": times}), "row")
    stamps = np.array(times) * 2 if stamped else None
    heard = []
    for is_columns in (True, False):
        rig = Rig(tmp_path, WatermarkOperator(STRATEGIES[kind]), watermark_every_records=4)
        if is_columns:
            rig.feed_columns(block, stamps)
        else:
            rig.process(*block.values(), at=None if stamps is None else stamps.tolist())
        rig.finish()
        heard.append(rig.take())
    assert heard[0] == heard[1]
    assert len(heard[0]) > 11 or kind == "none" or (kind == "of the source" and not stamped)


COLUMNS = {
    "int64": pa.array([5, -7]),
    "int8": pa.array([5, -7], pa.int8()),
    "uint64": pa.array([5, 7], pa.uint64()),
    "whole floats": pa.array([5.0, -7.0]),
    "ms": pa.array([5, -7], pa.timestamp("ms")),
    "us": pa.array([datetime(1970, 1, 1, 0, 0, 1, 1999), datetime(1969, 12, 31, 23, 59, 59, 1)], pa.timestamp("us")),
    "zone": pa.array([datetime(2020, 1, 1, tzinfo=UTC)] * 2, pa.timestamp("us", "Europe/Berlin")),
    "ns": pa.array([1_500_000, -1], pa.timestamp("ns")),
    "s": pa.array([1, -1], pa.timestamp("s")),
}


@pytest.mark.parametrize("kind", COLUMNS)
def test_a_column_of_times_is_read_as_its_objects_are(tmp_path: Path, kind: str) -> None:
    assigner = FieldTimestamp("ts")
    block = ColumnBlock(pa.RecordBatch.from_arrays([COLUMNS[kind]], names=["ts"]), "row")
    rig = Rig(tmp_path, WatermarkOperator(BOUNDED.with_timestamp_assigner("ts")))
    rig.feed_columns(block)
    assert [stamp for _, stamp in rig.records()] == [int(assigner(value, 0)) for value in block.values()]


@pytest.mark.parametrize(
    ("column", "shown"), [([1, None], "None"), ([1.0, 2.5], "2.5"), (["1", "2"], "'1'"), ([[1], [2]], r"\[1\]")]
)
def test_what_is_no_time_is_refused_with_the_record(tmp_path: Path, column: list[Any], shown: str) -> None:
    rig = Rig(tmp_path, WatermarkOperator(BOUNDED.with_timestamp_assigner("ts")))
    with pytest.raises(OperatorFailure, match=rf"(?s)returned {shown}; it must return whole milliseconds.*record: Row"):
        rig.feed_columns(ColumnBlock(pa.record_batch({"ts": column}), "row"))


def test_a_missing_field_is_told_with_the_record(tmp_path: Path) -> None:
    rig = Rig(tmp_path, WatermarkOperator(BOUNDED.with_timestamp_assigner("time")))
    with pytest.raises(OperatorFailure, match=r"(?s)no field 'time'.*in the timestamp assigner.*record: Row\(ts=1\)"):
        rig.feed_columns(ColumnBlock(pa.record_batch({"ts": [1]}), "row"))


@settings(max_examples=40, deadline=None)
@given(st.lists(st.integers(-(2**62), 2**62), min_size=1, max_size=9), st.sampled_from(["ms", "us", "ns"]))
def test_times_of_columns_are_rounded_down(ticks: list[int], unit: str) -> None:
    block = ColumnBlock(pa.record_batch({"ts": pa.array(ticks, pa.timestamp(unit))}), "row")
    found = FieldTimestamp("ts").of_columns(block)
    units = {"ms": 1, "us": 1000, "ns": 1_000_000}[unit]
    assert found is not None and found.tolist() == [tick // units for tick in ticks]
