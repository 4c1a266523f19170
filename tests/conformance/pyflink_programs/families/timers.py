"""Event-time timers."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

from tests.conformance.pyflink_programs.program import Program, programs_of


def timed(on_element: Callable[[Any, Any], Any], on_timer: Callable[[Any, int, Any], Any], values: list[Any]) -> Any:
    """A keyed function that sets timers as told and says what fires."""

    def build(p: Any) -> Any:
        class Timers(p.KeyedProcessFunction):
            def open(self, runtime_context: Any) -> None:
                self.count = runtime_context.get_state(p.ValueStateDescriptor("count", p.Types.INT()))

            def process_element(self, value: Any, ctx: Any) -> Any:
                self.count.update((self.count.value() or 0) + 1)
                on_element(value, ctx.timer_service())
                return []

            def on_timer(self, timestamp: int, ctx: Any) -> Any:
                yield ctx.get_current_key(), timestamp, on_timer(self, timestamp, ctx)

        return p.stepwise(values).key_by(lambda v: v[0]).process(Timers())

    return build


def count(function: Any, timestamp: int, ctx: Any) -> Any:
    return function.count.value()


def timestamp_of(function: Any, timestamp: int, ctx: Any) -> Any:
    return ctx.timestamp()


def watermark_of(function: Any, timestamp: int, ctx: Any) -> Any:
    return ctx.timer_service().current_watermark() >= timestamp


def domain_of(function: Any, timestamp: int, ctx: Any) -> Any:
    return ctx.time_domain().name


def once_more(function: Any, timestamp: int, ctx: Any) -> Any:
    if timestamp < 60:
        ctx.timer_service().register_event_time_timer(timestamp + 20)
    return function.count.value()


def clear(function: Any, timestamp: int, ctx: Any) -> Any:
    before = function.count.value()
    function.count.clear()
    return before


VALUES = [("a", 1), ("b", 5), ("a", 12), ("b", 30), ("a", 40)]


def after(delay: int) -> Callable[[Any, Any], Any]:
    return lambda value, timers: timers.register_event_time_timer(value[1] + delay)


def at(time: int) -> Callable[[Any, Any], Any]:
    return lambda value, timers: timers.register_event_time_timer(time)


def deleted(value: Any, timers: Any) -> None:
    timers.register_event_time_timer(value[1] + 5)
    timers.register_event_time_timer(value[1] + 6)
    timers.delete_event_time_timer(value[1] + 5)


def deleted_unknown(value: Any, timers: Any) -> None:
    timers.delete_event_time_timer(7)
    timers.register_event_time_timer(50)


def three(value: Any, timers: Any) -> None:
    for delay in (9, 3, 6):
        timers.register_event_time_timer(value[1] + delay)


PROGRAMS: list[Program] = programs_of(
    {
        "after_2": timed(after(2), count, VALUES),
        "after_20": timed(after(20), count, VALUES),
        "same_time_once": timed(at(100), count, VALUES),
        "in_the_past": timed(at(3), count, VALUES),
        "far_future": timed(at(2**62), count, VALUES),
        "deleted": timed(deleted, count, VALUES),
        "deleted_unknown": timed(deleted_unknown, count, VALUES),
        "three": timed(three, count, VALUES),
        "timestamp": timed(after(2), timestamp_of, VALUES),
        "watermark": timed(after(2), watermark_of, VALUES),
        "domain": timed(after(2), domain_of, VALUES),
        "register_in_timer": timed(after(10), once_more, VALUES),
        "clear_in_timer": timed(after(10), clear, VALUES),
        "several_keys_at_once": timed(at(200), count, [(key, 1) for key in "dbca"]),
    },
    is_ordered=False,
)
