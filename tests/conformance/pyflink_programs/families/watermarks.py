"""Timestamps and watermarks as functions see them."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

from tests.conformance.pyflink_programs.program import Program, programs_of

VALUES = [("a", 5), ("a", 3), ("a", 20), ("a", 12), ("a", 30)]


def watching(p: Any) -> Any:
    class Watch(p.KeyedProcessFunction):
        def process_element(self, value: Any, ctx: Any) -> Any:
            yield value, ctx.timestamp(), ctx.timer_service().current_watermark()

    return Watch()


def watched(stream: Callable[[Any], Any]) -> Callable[[Any], Any]:
    return lambda p: stream(p).key_by(lambda v: v[0]).process(watching(p))


def monotonous(p: Any) -> Any:
    strategy = p.WatermarkStrategy.for_monotonous_timestamps().with_timestamp_assigner(p.by_field(1))
    return p.env().from_collection(VALUES).assign_timestamps_and_watermarks(strategy)


def assigned_twice(p: Any) -> Any:
    return p.timed(p.events([("a", 5, 50), ("a", 3, 60)]), field=2)


def record_timestamp(p: Any) -> Any:
    class Shifted(p.TimestampAssigner):
        def extract_timestamp(self, value: Any, record_timestamp: int) -> int:
            return record_timestamp + 1000

    strategy = p.WatermarkStrategy.for_monotonous_timestamps().with_timestamp_assigner(Shifted())
    return p.events([("a", 5), ("a", 7)]).assign_timestamps_and_watermarks(strategy)


def without_assigner(p: Any) -> Any:
    strategy = p.WatermarkStrategy.for_monotonous_timestamps()
    return p.env().from_collection([("a", 5)]).assign_timestamps_and_watermarks(strategy)


def no_time_window(p: Any) -> Any:
    keyed = p.env().from_collection(VALUES).key_by(lambda v: v[0])
    return keyed.window(p.TumblingEventTimeWindows.of(p.Time.milliseconds(10))).reduce(lambda a, b: a)


def map_keeps_time(p: Any) -> Any:
    return p.events(VALUES).map(lambda v: (v[0], v[1] * 2)).flat_map(lambda v: [v, v]).filter(lambda v: v[1] > 6)


PROGRAMS: list[Program] = programs_of(
    {
        "bounded": watched(lambda p: p.events(VALUES)),
        "stepwise": watched(lambda p: p.stepwise(VALUES)),
        "monotonous": watched(monotonous),
        "assigned_twice": watched(assigned_twice),
        "record_timestamp": watched(record_timestamp),
        "without_assigner": watched(without_assigner),
        "without_time": watched(lambda p: p.env().from_collection([("a", 1)])),
        "map_keeps_time": watched(map_keeps_time),
        "no_time_window": no_time_window,
    }
)
