"""Timers: the clicks of a user are counted until none comes for a minute. Mirrors CountWithTimeoutFunction of
Flink's "Process Function" page."""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from typing import NamedTuple

from penstock.common import Types, WatermarkStrategy
from penstock.datastream import KeyedProcessFunction, RuntimeContext, StreamExecutionEnvironment
from penstock.datastream.state import ValueStateDescriptor

TIMEOUT_MS = 60_000
Visit = tuple[str, int, int]  # user, clicks, last click


class Click(NamedTuple):
    user: str
    at_ms: int


CLICKS = [Click("ann", 0), Click("bob", 5_000), Click("ann", 30_000), Click("bob", 70_000), Click("ann", 95_000)]


class CountWithTimeout(KeyedProcessFunction[str, Click, Visit]):
    def open(self, runtime_context: RuntimeContext) -> None:
        visit = Types.TUPLE([Types.LONG(), Types.LONG()])
        self.visit = runtime_context.get_state(ValueStateDescriptor("clicks and last click", visit))

    def process_element(self, click: Click, ctx: KeyedProcessFunction.Context) -> Iterator[Visit]:
        clicks, last = self.visit.value() or (0, click.at_ms)
        ctx.timer_service().delete_event_time_timer(last + TIMEOUT_MS)
        if click.at_ms >= last + TIMEOUT_MS:  # watermarks come now and then: this click may be first to show the gap
            yield click.user, clicks, last
            clicks = 0
        self.visit.update((clicks + 1, click.at_ms))
        ctx.timer_service().register_event_time_timer(click.at_ms + TIMEOUT_MS)

    def on_timer(self, timestamp: int, ctx: KeyedProcessFunction.OnTimerContext) -> Iterator[Visit]:
        clicks, last = self.visit.value() or (0, timestamp)
        yield ctx.get_current_key(), clicks, last
        self.visit.clear()


def main(clicks: Iterable[Click] = CLICKS) -> list[Visit]:
    env = StreamExecutionEnvironment.get_execution_environment()
    in_order = WatermarkStrategy.for_monotonous_timestamps().with_timestamp_assigner(lambda click, _: click.at_ms)
    visits = (
        env.from_collection(clicks)
        .assign_timestamps_and_watermarks(in_order)
        .key_by(lambda click: click.user)
        .process(CountWithTimeout())
    )
    return list(visits.execute_and_collect("visits"))


if __name__ == "__main__":
    for user, count, last_ms in main():
        print(f"{user}: {count} clicks, the last at {last_ms} ms")
