"""Matching two streams with timers: a ride has a start and an end; one that has only one of them is reported, and
forgotten, when the other cannot be expected any more. Mirrors LongRideAlerts of the Flink training."""

from __future__ import annotations

from collections.abc import Iterator

from penstock.common import Types, WatermarkStrategy
from penstock.datastream import KeyedCoProcessFunction, RuntimeContext, StreamExecutionEnvironment
from penstock.datastream.state import ValueStateDescriptor

MINUTE, LONGEST = 60_000, 120 * 60_000
Event = tuple[int, int]  # number of the ride, and when
STARTS = [(1, 0), (2, 5 * MINUTE), (3, 10 * MINUTE)]
ENDS = [(1, 25 * MINUTE), (3, 40 * MINUTE), (4, 50 * MINUTE)]


class MatchRides(KeyedCoProcessFunction):
    def open(self, runtime_context: RuntimeContext) -> None:
        self.start = runtime_context.get_state(ValueStateDescriptor("start", Types.LONG()))
        self.end = runtime_context.get_state(ValueStateDescriptor("end", Types.LONG()))

    def process_element1(self, start: Event, ctx: KeyedCoProcessFunction.Context) -> Iterator[str]:
        ride, at_ms = start
        end = self.end.value()
        if end is None:
            self.start.update(at_ms)
            ctx.timer_service().register_event_time_timer(at_ms + LONGEST)
        else:  # the end was faster
            ctx.timer_service().delete_event_time_timer(end)
            self.end.clear()
            yield f"ride {ride} took {(end - at_ms) // MINUTE} minutes"

    def process_element2(self, end: Event, ctx: KeyedCoProcessFunction.Context) -> Iterator[str]:
        ride, at_ms = end
        start = self.start.value()
        if start is None:
            self.end.update(at_ms)
            ctx.timer_service().register_event_time_timer(at_ms)  # both streams are that far: its start would be here
        else:
            ctx.timer_service().delete_event_time_timer(start + LONGEST)
            self.start.clear()
            yield f"ride {ride} took {(at_ms - start) // MINUTE} minutes"

    def on_timer(self, timestamp: int, ctx: KeyedCoProcessFunction.OnTimerContext) -> Iterator[str]:
        yield f"ride {ctx.get_current_key()} has no {'start' if self.start.value() is None else 'end'}"
        self.start.clear()
        self.end.clear()


def main() -> list[str]:
    env = StreamExecutionEnvironment.get_execution_environment()
    event_time = WatermarkStrategy.for_monotonous_timestamps().with_timestamp_assigner(lambda event, _: event[1])
    starts = env.from_collection(STARTS).assign_timestamps_and_watermarks(event_time)
    ends = env.from_collection(ENDS).assign_timestamps_and_watermarks(event_time)
    return list(starts.connect(ends).key_by(0, 0).process(MatchRides()).execute_and_collect("rides"))


if __name__ == "__main__":
    print(*main(), sep="\n")
