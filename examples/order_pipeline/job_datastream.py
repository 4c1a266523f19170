"""The order pipeline in the DataStream API: revenue by country in windows of ten minutes."""

from __future__ import annotations

import argparse
import json
import shutil
from collections.abc import Iterable, Iterator
from pathlib import Path
from typing import NamedTuple

from penstock.common import Configuration, Duration, Row, Time, Types, WatermarkStrategy
from penstock.datastream import (
    KeyedCoProcessFunction,
    ProcessWindowFunction,
    RuntimeContext,
    StreamExecutionEnvironment,
)
from penstock.datastream.connectors.file_system import FileSink
from penstock.datastream.state import MapStateDescriptor, ValueStateDescriptor
from penstock.datastream.window import TimeWindow, TumblingEventTimeWindows

RUN = Path(__file__).parent / "run"


class Order(NamedTuple):
    order_id: int
    customer_id: int
    cents: int
    at_ms: int


class Customer(NamedTuple):
    customer_id: int
    country: str
    at_ms: int


class AddCountry(KeyedCoProcessFunction[int, Order, Customer, tuple[str, int]]):
    """Holds an order until event time is there on both streams: then its customer is known, or nobody is."""

    def open(self, runtime_context: RuntimeContext) -> None:
        cents = Types.LIST(Types.LONG())
        self.waiting = runtime_context.get_map_state(MapStateDescriptor("waiting", Types.LONG(), cents))
        self.country = runtime_context.get_state(ValueStateDescriptor("country", Types.STRING()))

    def process_element1(self, order: Order, ctx: KeyedCoProcessFunction.Context) -> None:
        self.waiting.put(order.at_ms, [*(self.waiting.get(order.at_ms) or []), order.cents])
        ctx.timer_service().register_event_time_timer(order.at_ms)

    def process_element2(self, customer: Customer, ctx: KeyedCoProcessFunction.Context) -> None:
        self.country.update(customer.country)

    def on_timer(self, timestamp: int, ctx: KeyedCoProcessFunction.OnTimerContext) -> Iterator[tuple[str, int]]:
        country = self.country.value()
        for cents in self.waiting.get(timestamp) or []:
            if country is not None:
                yield country, cents
        self.waiting.remove(timestamp)


class Revenue(ProcessWindowFunction[tuple[str, int], Row, str, TimeWindow]):
    def process(
        self, country: str, context: ProcessWindowFunction.Context[TimeWindow], sales: Iterable[tuple[str, int]]
    ) -> Iterator[Row]:
        cents = [each for _, each in sales]
        yield Row(country=country, start_ms=context.window().start, orders=len(cents), cents=sum(cents))


def main() -> None:
    parser = argparse.ArgumentParser(description="Revenue by country, in the DataStream API.")
    parser.add_argument("--engine", choices=["spark", "in-process"], default="spark")
    args = parser.parse_args()
    shutil.rmtree(RUN / "output" / "datastream", ignore_errors=True)

    settings = Configuration().set_string("penstock.engine", args.engine)
    settings.set_integer("pipeline.watermark-every-records", 50)
    env = StreamExecutionEnvironment.get_execution_environment(settings).set_parallelism(2)
    waiting = WatermarkStrategy.for_bounded_out_of_orderness(Duration.of_seconds(10))
    orders = (
        env.read_text_file(str(RUN / "input" / "orders.jsonl"))
        .map(lambda line: Order(**json.loads(line)))
        .assign_timestamps_and_watermarks(waiting.with_timestamp_assigner(lambda order, _: order.at_ms))
        .filter(lambda order: order.cents > 0)
    )
    customers = (
        env.read_text_file(str(RUN / "input" / "customers.jsonl"))
        .map(lambda line: Customer(**json.loads(line)))
        .assign_timestamps_and_watermarks(waiting.with_timestamp_assigner(lambda customer, _: customer.at_ms))
    )
    (
        orders.key_by(lambda order: order.customer_id)
        .connect(customers.key_by(lambda customer: customer.customer_id))
        .process(AddCountry())
        .key_by(lambda sale: sale[0])
        .window(TumblingEventTimeWindows.of(Time.minutes(10)))
        .process(Revenue())
        .sink_to(FileSink.json(RUN / "output" / "datastream"))
    )
    env.execute("orders")
    print(f"revenue by country is in {RUN / 'output' / 'datastream'}")


if __name__ == "__main__":
    main()
