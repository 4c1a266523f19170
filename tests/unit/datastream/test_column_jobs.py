"""Whole jobs on columns: however they are cut, crashed and dealt out, they give what the same jobs give on objects."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterator
from dataclasses import dataclass
from typing import Any

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from penstock.common import Configuration, Row, WatermarkStrategy
from penstock.common.time import Duration
from penstock.common.typeinfo import Types
from penstock.datastream import KeyedProcessFunction, StreamExecutionEnvironment
from penstock.datastream.connectors.data_gen import DataGeneratorSource
from penstock.datastream.data_stream import DataStream
from penstock.datastream.expressions import col
from penstock.datastream.functions import RuntimeContext
from penstock.datastream.state import ValueStateDescriptor
from penstock.runtime.columns import ColumnBlock
from penstock.testing import CollectSink

NAMES = ["a", "b", "c"]
STRATEGY = WatermarkStrategy.for_bounded_out_of_orderness(Duration.of_millis(20)).with_timestamp_assigner("ts")


@dataclass
class Trade:
    user: str
    price: float
    ts: int


def columns(numbers: Any) -> dict[str, Any]:
    return {
        "user": [NAMES[number % 3] for number in numbers.tolist()],
        "price": numbers * 0.5,
        "ts": numbers * 10 - numbers % 3 * 7,
    }


def fields(number: int) -> dict[str, Any]:
    return {"user": NAMES[number % 3], "price": number * 0.5, "ts": number * 10 - number % 3 * 7}


class Count(KeyedProcessFunction):
    """Counts, and tells the count when event time has passed a record by a second."""

    def open(self, runtime_context: RuntimeContext) -> None:
        self.count = runtime_context.get_state(ValueStateDescriptor("count", Types.LONG()))

    def process_element(self, value: Any, ctx: Any) -> Iterator[Any]:
        count = (self.count.value() or 0) + 1
        self.count.update(count)
        ctx.timer_service().register_event_time_timer(ctx.timestamp() + 1000)
        yield ctx.get_current_key(), count, ctx.timestamp(), value

    def on_timer(self, timestamp: int, ctx: Any) -> Iterator[Any]:
        yield ctx.get_current_key(), timestamp


def trades(environment: StreamExecutionEnvironment, is_columns: bool, count: int, form: Any) -> DataStream:
    if is_columns:
        source: Any = DataGeneratorSource.of_columns(columns, count, form)
    else:
        make = (lambda number: Trade(**fields(number))) if form is Trade else (lambda number: Row(**fields(number)))
        source = DataGeneratorSource(make, count)
    return environment.from_source(source, STRATEGY, "trades")


def results(is_columns: bool, seed: int, parallelism: int, count: int, form: Any, key: Any) -> dict[str, Counter[str]]:
    configuration = Configuration().set_string("pipeline.watermark-every-records", "7")
    environment = StreamExecutionEnvironment.in_process(seed, crash_rate=0.03, configuration=configuration)
    environment.set_parallelism(parallelism)
    stream = trades(environment, is_columns, count, form)
    objects = environment.from_collection([Row(user="z", price=1.5, ts=3)]).assign_timestamps_and_watermarks(STRATEGY)
    cheap = stream.filter((col("price") > 2) & (col("price") % 4 != 1))
    both = cheap.select("user", (col("price") * 2).alias("price"), "ts").union(objects).rebalance()
    sinks = {name: CollectSink() for name in ("counted", "shuffled", "projected")}
    cheap.key_by(key).process(Count()).add_sink(sinks["counted"])
    both.key_by("user").process(Count()).add_sink(sinks["shuffled"])
    stream.select("ts", "user").project(1, 0).global_().map(lambda pair: pair).add_sink(sinks["projected"])
    environment.execute()
    return {name: Counter(map(repr, sink.results)) for name, sink in sinks.items()}


@settings(max_examples=4, deadline=None)
@given(
    seed=st.integers(0, 2**32),
    parallelism=st.integers(1, 3),
    count=st.integers(0, 40),
    form=st.sampled_from([None, Trade]),
    key=st.sampled_from(["user", ["user", "ts"], "price"]),
)
def test_a_job_on_columns_gives_what_it_gives_on_objects(
    seed: int, parallelism: int, count: int, form: Any, key: Any
) -> None:
    by_columns = results(True, seed, parallelism, count, form, key)
    by_objects = results(False, seed + 1, parallelism, count, form, key)
    if parallelism == 1:
        assert by_columns == by_objects
    # Which of a key's records is counted first is open where several subtasks send.
    for name, expected in by_objects.items():
        assert len(by_columns[name]) == len(expected)
    assert by_columns["projected"] == by_objects["projected"]


def test_columns_stay_columns_up_to_the_function(monkeypatch: pytest.MonkeyPatch) -> None:
    """No object is made before the key is known and the records have travelled."""
    made: list[int] = []
    values = ColumnBlock.values

    def counted(self: ColumnBlock) -> list[Any]:
        made.append(len(self))
        return values(self)

    monkeypatch.setattr(ColumnBlock, "values", counted)
    environment = StreamExecutionEnvironment.in_process()
    environment.set_parallelism(2)
    sink = CollectSink()
    stream = trades(environment, True, 1_000, None).filter(col("price") < 10)
    stream.select("user", "price").key_by("user").map(lambda row: row.price).add_sink(sink)
    environment.execute()
    assert sorted(sink.results) == [number * 0.5 for number in range(20)]
    assert sum(made) == 20
