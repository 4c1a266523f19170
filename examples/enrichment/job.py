"""Enrichment join: each order gets the record that its customer had when it was placed, whichever comes first. Mirrors
RidesAndFares of the Flink training, in event time."""

from __future__ import annotations

import argparse
import json
import shutil
from collections.abc import Iterator
from pathlib import Path
from typing import NamedTuple

from penstock.common import Configuration, Duration, Row, Types, WatermarkStrategy
from penstock.datastream import (
    DataStream,
    KeyedCoProcessFunction,
    OutputTag,
    RuntimeContext,
    StreamExecutionEnvironment,
)
from penstock.datastream.connectors.file_system import FileSink
from penstock.datastream.state import MapStateDescriptor

RUN = Path(__file__).parent / "run"
KEEP_MS = 60 * 60_000


class Order(NamedTuple):
    id: int
    customer: int
    cents: int
    at_ms: int


class Profile(NamedTuple):
    customer: int
    segment: str
    country: str
    at_ms: int


UNKNOWN = OutputTag[Order]("unknown")


class AddProfile(KeyedCoProcessFunction[int, Order, Profile, Row]):
    """Both streams are keyed by customer, and both methods see the state of that customer."""

    def open(self, runtime_context: RuntimeContext) -> None:
        order = Types.TUPLE([Types.LONG(), Types.LONG(), Types.LONG(), Types.LONG()])
        version = Types.TUPLE([Types.STRING(), Types.STRING()])
        self.waiting = runtime_context.get_map_state(MapStateDescriptor("waiting", Types.LONG(), Types.LIST(order)))
        self.versions = runtime_context.get_map_state(MapStateDescriptor("versions", Types.LONG(), version))

    def process_element1(self, order: Order, ctx: KeyedCoProcessFunction.Context) -> None:
        # The record of its time may still be on its way: wait until event time, that of both streams, is there.
        self.waiting.put(order.at_ms, [*(self.waiting.get(order.at_ms) or []), order])
        ctx.timer_service().register_event_time_timer(order.at_ms)

    def process_element2(self, profile: Profile, ctx: KeyedCoProcessFunction.Context) -> None:
        self.versions.put(profile.at_ms, (profile.segment, profile.country))
        ctx.timer_service().register_event_time_timer(profile.at_ms + KEEP_MS)

    def on_timer(
        self, timestamp: int, ctx: KeyedCoProcessFunction.OnTimerContext
    ) -> Iterator[Row | tuple[OutputTag[Order], Order]]:
        for order in map(Order._make, self.waiting.get(timestamp) or []):
            newest = self.newest_until(timestamp)
            if newest is None:
                yield UNKNOWN, order
            else:
                segment, country = self.versions.get(newest) or ("", "")
                yield Row(**order._asdict(), segment=segment, country=country)
        self.waiting.remove(timestamp)
        self.forget(timestamp - KEEP_MS)

    def newest_until(self, at_ms: int) -> int | None:
        return max((since for since in self.versions if since <= at_ms), default=None)

    def forget(self, at_ms: int) -> None:
        """Remove the versions that had been replaced by then: no order is as late as that."""
        newest = self.newest_until(at_ms)
        for since in [since for since in self.versions if newest is not None and since < newest]:
            self.versions.remove(since)


def enriched(orders: DataStream[Order], profiles: DataStream[Profile]) -> DataStream[Row]:
    """Orders with segment and country; those of customers that nobody knows leave by `UNKNOWN`."""
    by_time = WatermarkStrategy.for_bounded_out_of_orderness(Duration.of_seconds(5))
    placed = orders.assign_timestamps_and_watermarks(by_time.with_timestamp_assigner(lambda order, _: order.at_ms))
    changed = profiles.assign_timestamps_and_watermarks(
        by_time.with_timestamp_assigner(lambda profile, _: profile.at_ms)
    )
    return (
        placed.key_by(lambda order: order.customer).connect(changed.key_by(lambda p: p.customer)).process(AddProfile())
    )


def main() -> None:
    parser = argparse.ArgumentParser(description="Add customer records to orders.")
    parser.add_argument("--engine", choices=["spark", "in-process"], default="spark")
    args = parser.parse_args()
    shutil.rmtree(RUN / "output", ignore_errors=True)

    settings = Configuration().set_string("penstock.engine", args.engine)
    settings.set_integer("pipeline.watermark-every-records", 50)
    env = StreamExecutionEnvironment.get_execution_environment(settings).set_parallelism(2)
    orders = env.read_text_file(str(RUN / "input" / "orders.jsonl")).map(lambda line: Order(**json.loads(line)))
    profiles = env.read_text_file(str(RUN / "input" / "profiles.jsonl")).map(lambda line: Profile(**json.loads(line)))
    found = enriched(orders, profiles)
    found.sink_to(FileSink.json(RUN / "output" / "enriched"))
    found.get_side_output(UNKNOWN).sink_to(FileSink.json(RUN / "output" / "unknown"))
    env.execute("enrichment")
    print(f"orders with customer records, and those without, are in {RUN / 'output'}")


if __name__ == "__main__":
    main()
