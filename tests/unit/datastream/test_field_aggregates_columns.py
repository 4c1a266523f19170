"""Field aggregates of columns give what those of objects give: whole jobs in process, cut and crashed at random."""

from __future__ import annotations

from typing import Any
from unittest.mock import patch

import pyarrow as pa
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from penstock.common import Duration, Types, WatermarkStrategy
from penstock.datastream import (
    OutputTag,
    StreamExecutionEnvironment,
    avg_of,
    count,
    count_of,
    max_of,
    min_of,
    sum_of,
)
from penstock.datastream.connectors.data_gen import DataGeneratorSource
from penstock.datastream.window import SlidingEventTimeWindows, TumblingEventTimeWindows
from penstock.runtime.operators.window import field_panes, in_memory, local
from penstock.testing import CollectSink

LATE = OutputTag("late")
SCHEMA = pa.schema(
    [
        ("k", pa.int64()),
        ("s", pa.string()),
        ("v", pa.int64()),
        ("w", pa.float64()),
        ("b", pa.bool_()),
        ("t", pa.int64()),
    ]
)
DECLARED = Types.ROW_NAMED(
    SCHEMA.names, [Types.LONG(), Types.STRING(), Types.LONG(), Types.DOUBLE(), Types.BOOLEAN(), Types.LONG()]
)
AGGREGATES = [count(), count_of("v"), sum_of("v"), min_of("v"), max_of("v"), avg_of("v"), count_of("s")]
AGGREGATES += [sum_of("w"), min_of("w"), max_of("w"), avg_of("w"), sum_of("b")]

# Quarters are summed without rounding, in any order.
FLOATS = st.integers(-40, 40).map(lambda number: number / 4) | st.sampled_from([float("nan"), float("inf"), -0.0])
INTS = st.integers(-9, 9) | st.integers(-9, 9) | st.sampled_from([2**62, -(2**63), 2**63 - 1])
RECORDS = st.tuples(
    st.integers(0, 3) | st.sampled_from([2**40]),
    st.none() | st.sampled_from("xyz"),
    st.none() | INTS,
    st.none() | FLOATS,
    st.none() | st.booleans(),
    st.integers(0, 40),
)
WINDOWS = st.sampled_from(
    [TumblingEventTimeWindows.of(10, 3), TumblingEventTimeWindows.of(10), SlidingEventTimeWindows.of(10, 5)]
)
KEYS = st.sampled_from(["k", "s", ["k", "s"], ["k"], 0])


def source(records: list[Any], as_columns: bool) -> Any:
    table = pa.RecordBatch.from_pylist([dict(zip(SCHEMA.names, each, strict=True)) for each in records], SCHEMA)
    if as_columns:
        return DataGeneratorSource.of_columns(lambda numbers: table.take(pa.array(numbers)), len(records), DECLARED)
    rows = [DECLARED.coerce(row) for row in table.to_pylist()]
    return DataGeneratorSource(lambda number: rows[number], len(records))


def run(
    records: list[Any],
    as_columns: bool,
    seed: int,
    build: Any,
    *,
    delay: int = 8,
    crashes: bool = False,
    tasks: int = 2,
) -> tuple[list[str], list[str]]:
    """Results and late elements, as sorted texts: NaN is not equal to itself, and types must agree too."""
    crash_rate = 0.05 if crashes and as_columns else 0.0
    environment = StreamExecutionEnvironment.in_process(seed, crash_rate=crash_rate).set_parallelism(tasks)
    strategy = WatermarkStrategy.for_bounded_out_of_orderness(Duration.of_millis(delay)).with_timestamp_assigner("t")
    stream = environment.from_source(source(records, as_columns), strategy, "records")
    stream = build(stream if as_columns else stream.map(lambda row: row, DECLARED))
    results, late = CollectSink(), CollectSink()
    stream.add_sink(results)
    stream.get_side_output(LATE).add_sink(late)
    environment.execute()
    return sorted(map(repr, results.results)), sorted(map(repr, late.results))


@pytest.fixture(autouse=True)
def small_limits() -> Any:
    """Blocks of a few records are folded as columns, and limits are met."""
    with (
        patch.object(field_panes, "FEW_FOR_A_PANE", 0),
        patch.object(field_panes, "WAITING_LIMIT", 6),
        patch.object(in_memory, "GROUP_LIMIT", 9),
        patch.object(local, "GROUP_LIMIT", 7),
    ):
        yield


def windowed(assigner: Any, key: Any) -> Any:
    def build(stream: Any) -> Any:
        return stream.key_by(key).window(assigner).side_output_late_data(LATE).aggregate_fields(*AGGREGATES)

    return build


@given(records=st.lists(RECORDS, max_size=40), assigner=WINDOWS, key=KEYS, seed=st.integers(0, 99))
@settings(max_examples=12)
def test_windows_and_what_is_late_for_them(records: list[Any], assigner: Any, key: Any, seed: int) -> None:
    build = windowed(assigner, key)
    assert run(records, True, seed, build) == run(records, False, seed, build)  # the same seed: the same cuts


@given(records=st.lists(RECORDS, min_size=10, max_size=40), assigner=WINDOWS, seed=st.integers(0, 99))
@settings(max_examples=8)
def test_windows_of_a_job_that_crashes(records: list[Any], assigner: Any, seed: int) -> None:
    build = windowed(assigner, "k")
    plain = run(records, False, seed, build, delay=100)
    assert run(records, True, seed, build, delay=100, crashes=True) == plain


@given(records=st.lists(RECORDS, max_size=40), key=KEYS, seed=st.integers(0, 99))
@settings(max_examples=8)
def test_rolling(records: list[Any], key: Any, seed: int) -> None:
    def build(stream: Any) -> Any:
        return stream.key_by(key).aggregate_fields(*AGGREGATES)

    assert run(records, True, seed, build, crashes=True, tasks=1) == run(records, False, seed, build, tasks=1)
