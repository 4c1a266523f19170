"""Windows: the driver with the highest tips of each hour, by windows of each driver and then windows of all of them.
Mirrors HourlyTips of the Flink training."""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from typing import Any, NamedTuple

from penstock.common import Duration, Time, WatermarkStrategy
from penstock.datastream import ProcessWindowFunction, StreamExecutionEnvironment, TimeWindow
from penstock.datastream.window import TumblingEventTimeWindows

MINUTE = 60_000


class Fare(NamedTuple):
    driver: str
    at_ms: int
    tip: float


class HourOfDriver(NamedTuple):
    hour_end_ms: int
    driver: str
    tips: float


FARES = [
    Fare("ann", 5 * MINUTE, 2.0),
    Fare("bob", 10 * MINUTE, 2.5),
    Fare("ann", 59 * MINUTE, 1.0),
    Fare("bob", 65 * MINUTE, 0.5),
    Fare("ann", 58 * MINUTE, 1.0),  # a little out of order
    Fare("cem", 119 * MINUTE, 4.0),
]


class AddHour(ProcessWindowFunction[Fare, HourOfDriver, str, TimeWindow]):
    def process(self, key: str, context: Any, elements: Iterable[Fare]) -> Iterator[HourOfDriver]:
        (total,) = elements  # reduced already
        yield HourOfDriver(context.window().end, key, total.tip)


def main(fares: Iterable[Fare] = FARES) -> list[HourOfDriver]:
    env = StreamExecutionEnvironment.get_execution_environment()
    strategy = WatermarkStrategy.for_bounded_out_of_orderness(Duration.of_minutes(10))
    hour = TumblingEventTimeWindows.of(Time.hours(1))
    hours = (
        env.from_collection(fares)
        .assign_timestamps_and_watermarks(strategy.with_timestamp_assigner(lambda fare, _: fare.at_ms))
        .key_by(lambda fare: fare.driver)
        .window(hour)
        .reduce(lambda a, b: a._replace(tip=a.tip + b.tip), AddHour())
    )
    # A result has the time of its window's end, so a window of the same size finds all results of one hour.
    return list(hours.window_all(hour).max_by("tips").execute_and_collect("hourly tips"))


if __name__ == "__main__":
    print(*main(), sep="\n")
