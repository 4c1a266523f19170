"""Jobs for the pages to show: they run in this process, for as long as a block lasts."""

from __future__ import annotations

import random
import time
from collections.abc import Iterator
from contextlib import contextmanager, suppress
from pathlib import Path
from typing import Any

from penstock.common import Configuration, Duration, Types, WatermarkStrategy
from penstock.common.time import Time
from penstock.common.watermark_strategy import TimestampAssigner
from penstock.datastream import (
    DataStream,
    KeyedProcessFunction,
    OutputTag,
    ProcessFunction,
    SinkFunction,
    StreamExecutionEnvironment,
)
from penstock.datastream.connectors.data_gen import DataGeneratorSource, RateLimiterStrategy
from penstock.datastream.state import ValueStateDescriptor
from penstock.datastream.window import TumblingEventTimeWindows
from penstock.errors import JobCancelledError, JobFailedError
from penstock.job.client import RunningJobClient

HOSTILE = "<img src=x onerror=\"document.title='taken over'\"><script>document.title='taken over'</script>"
LONG_NAME = "nightly-recalculation-of-customer-lifetime-value-" * 4 + "for-all-regions"
LATE, REJECTED = OutputTag("late", Types.PICKLED_BYTE_ARRAY()), OutputTag("rejected", Types.PICKLED_BYTE_ARRAY())
CITIES = ("Lyon", "Porto", "Gdansk", "Turin", "Ghent")


class Placed(TimestampAssigner):
    def extract_timestamp(self, value: Any, record_timestamp: int) -> int:
        return int(value["at"])


class Check(ProcessFunction):
    """Orders without a price go to a side output."""

    def process_element(self, value: Any, ctx: Any) -> Iterator[Any]:
        if value["cents"] < 100:
            yield REJECTED, value
        else:
            yield value


class Spending(KeyedProcessFunction):
    """What a customer has spent in all."""

    def open(self, runtime_context: Any) -> None:
        self.spent = runtime_context.get_state(ValueStateDescriptor("spent", Types.LONG()))
        self.large = runtime_context.get_metrics_group().add_group("orders").counter("large")

    def process_element(self, value: Any, ctx: Any) -> Iterator[Any]:
        spent = (self.spent.value() or 0) + value["cents"]
        self.spent.update(spent)
        if value["cents"] > 9_000:
            self.large.inc()
        yield value["customer"], spent


def order(index: int) -> dict[str, Any]:
    """Orders of now, some seconds out of order; a few are minutes late. Some customers order far more than others."""
    chance = random.Random(index)
    late = 180_000 if chance.random() < 0.01 else 0
    customer = int(chance.paretovariate(1.1)) % 5_000
    at = int(time.time() * 1000) - chance.randrange(2_000) - late
    return {"customer": customer, "city": CITIES[customer % 5], "cents": chance.randrange(10_000), "at": at}


def environment(folder: Path | None, parallelism: int = 4, *, restarts: bool = True) -> StreamExecutionEnvironment:
    configuration = (
        Configuration()
        .set_string("penstock.engine", "in-process")
        .set_string("execution.checkpointing.interval", "250ms")
        .set_string("restart-strategy.type", "fixed-delay" if restarts else "none")
        .set_string("restart-strategy.fixed-delay.attempts", "50")
        .set_string("restart-strategy.fixed-delay.delay", "100ms")
        .set_string("pipeline.global-job-parameters", "db.password:hunter2")
    )
    if folder is not None:
        configuration.set_string("execution.checkpointing.savepoint-dir", str(folder / "savepoints"))
        configuration.set_string("execution.checkpointing.dir", str(folder / "checkpoint"))
    return StreamExecutionEnvironment.get_execution_environment(configuration).set_parallelism(parallelism)


def orders(env: StreamExecutionEnvironment, per_second: float) -> DataStream:
    strategy = WatermarkStrategy.for_bounded_out_of_orderness(Duration.of_seconds(3)).with_timestamp_assigner(Placed())
    source = DataGeneratorSource(order, 10**9, RateLimiterStrategy.per_second(per_second))
    return env.from_source(source, strategy, "orders").uid("orders")


def start_orders(folder: Path, name: str = "orders", per_second: float = 1_000.0) -> RunningJobClient:
    """Windows with late records, keyed state, side outputs and three sinks."""
    env = environment(folder)
    checked = orders(env, per_second).process(Check()).name("check prices").uid("check")
    checked.get_side_output(REJECTED).key_by(lambda value: value["city"]).map(lambda value: value).name(
        "note rejected"
    ).add_sink(Nowhere()).name("rejected orders")
    by_city = checked.key_by(lambda value: value["city"])
    windows = by_city.window(TumblingEventTimeWindows.of(Time.seconds(2))).side_output_late_data(LATE)
    minutes = windows.reduce(lambda one, other: {**one, "cents": one["cents"] + other["cents"]})
    minutes = minutes.name("sales by city").uid("sales")
    minutes.rebalance().map(lambda value: value).name("format").add_sink(Nowhere()).name("sales table")
    minutes.get_side_output(LATE).map(lambda value: value).name("late orders").add_sink(Nowhere()).name("late sink")
    spending = checked.key_by(lambda value: value["customer"]).process(Spending()).name("spending by customer")
    spending.uid("spending").add_sink(Nowhere()).name("spending table")
    return client_of(env, name)


def start_wide(name: str, operators: int = 20) -> RunningJobClient:
    """A job of many vertices: two sources, ladders of keyed steps that meet again."""
    env = environment(None, 2)
    left, right = orders(env, 200.0), orders(env, 100.0).uid("returns").name("returns")
    streams = [left, right]
    for number in range(operators - 4):
        stream = streams[number % len(streams)].key_by(lambda value: value["city"]).map(lambda value: value)
        stream = stream.name(f"step {number}").uid(f"step-{number}")
        if number % 5 == 4:
            streams.append(stream)
        else:
            streams[number % len(streams)] = stream
    joined = (
        streams[0].union(*streams[1:]).key_by(lambda value: value["customer"]).map(lambda value: value).name("meet")
    )
    joined.add_sink(Nowhere()).name("all of it")
    return client_of(env, name)


def start_failing(name: str, missing: str) -> RunningJobClient:
    """A job that fails for good at its first order, for the want of a field."""

    def parse(value: Any) -> Any:
        return value[missing]

    env = environment(None, 1, restarts=False)
    orders(env, 100.0).map(parse).name(f"parse {missing}").uid("parse").add_sink(Nowhere()).name("nowhere")
    client = client_of(env, name)
    with suppress(JobFailedError):
        client.wait()
    return client


class Nowhere(SinkFunction):
    """A sink of user code that keeps nothing."""

    def invoke(self, value: Any, context: Any) -> None:
        pass


def client_of(env: StreamExecutionEnvironment, name: str) -> RunningJobClient:
    client = env.execute_async(name)
    assert isinstance(client, RunningJobClient)
    return client


@contextmanager
def ending(*clients: RunningJobClient) -> Iterator[None]:
    """End jobs with the block."""
    try:
        yield
    finally:
        for client in clients:
            client.cancel()
            with suppress(JobCancelledError, JobFailedError):
                client.wait()
