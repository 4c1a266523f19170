"""What functions return or raise where something else is expected, and what they may ask of their context."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

from tests.conformance.pyflink_programs.program import Program, programs_of


def processing(result: Callable[[Any], Any], base: str = "ProcessFunction") -> Callable[[Any], Any]:
    def build(p: Any) -> Any:
        class Returns(getattr(p, base)):
            def process_element(self, value: Any, ctx: Any) -> Any:
                return result(value)

        stream = p.env().from_collection([1, 2])
        return (stream.key_by(lambda v: v) if base.startswith("Keyed") else stream).process(Returns())

    return build


def asking(ask: Callable[[Any], Any], base: str = "ProcessFunction") -> Callable[[Any], Any]:
    """What a context answers."""

    def build(p: Any) -> Any:
        class Asks(getattr(p, base)):
            def process_element(self, value: Any, ctx: Any) -> Any:
                yield value, ask(ctx)

        stream = p.events([("a", 7), ("b", 3)])
        return (stream.key_by(lambda v: v[0]) if base.startswith("Keyed") else stream).process(Asks())

    return build


def opened(ask: Callable[[Any], Any]) -> Callable[[Any], Any]:
    """What a runtime context answers."""

    def build(p: Any) -> Any:
        class Asks(p.MapFunction):
            def open(self, runtime_context: Any) -> None:
                self.answer = ask(runtime_context)

            def map(self, value: Any) -> Any:
                return value, self.answer

        return p.env().from_collection([1]).map(Asks()).name("asks")

    return build


def raises(*_: Any) -> Any:
    raise ValueError("no")


def failing_open(p: Any) -> Any:
    class Fails(p.MapFunction):
        def open(self, runtime_context: Any) -> None:
            raises()

        def map(self, value: Any) -> Any:
            return value

    return p.env().from_collection([1]).map(Fails())


def failing_close(p: Any) -> Any:
    class Fails(p.MapFunction):
        def close(self) -> None:
            raises()

        def map(self, value: Any) -> Any:
            return value

    return p.env().from_collection([1]).map(Fails())


def failing_timer(p: Any) -> Any:
    class Fails(p.KeyedProcessFunction):
        def process_element(self, value: Any, ctx: Any) -> Any:
            ctx.timer_service().register_event_time_timer(10)
            return []

        def on_timer(self, timestamp: int, ctx: Any) -> Any:
            raises()

    return p.events([("a", 1)]).key_by(lambda v: v[0]).process(Fails())


def timers_without_key(p: Any) -> Any:
    class Sets(p.ProcessFunction):
        def process_element(self, value: Any, ctx: Any) -> Any:
            ctx.timer_service().register_event_time_timer(10)
            yield value

    return p.events([("a", 1)]).process(Sets())


def both_inputs(method: Callable[[Any], Any]) -> Callable[[Any], Any]:
    def build(p: Any) -> Any:
        class Sides(p.CoFlatMapFunction):
            def flat_map1(self, value: Any) -> Any:
                return method(value)

            def flat_map2(self, value: Any) -> Any:
                return [value]

        env = p.env()
        return env.from_collection([1, 2]).connect(env.from_collection([10])).flat_map(Sides())

    return build


def reduced(function: Any) -> Callable[[Any], Any]:
    return lambda p: p.env().from_collection([("a", 1), ("a", 2)]).key_by(lambda v: v[0]).reduce(function)


PROGRAMS: list[Program] = [
    *programs_of(
        {
            "process_text": processing(lambda value: "ab"),
            "process_dict": processing(lambda value: {"x": 1, "y": 2}),
            "process_number": processing(lambda value: 5),
            "process_tuple": processing(lambda value: (value, "t")),
            "keyed_process_none": processing(lambda value: None, "KeyedProcessFunction"),
            "keyed_process_text": processing(lambda value: "ab", "KeyedProcessFunction"),
            "flat_map_text": lambda p: p.env().from_collection([1]).flat_map(lambda v: "ab"),
            "flat_map_number": lambda p: p.env().from_collection([1]).flat_map(lambda v: 5),
            "flat_map_tuple": lambda p: p.env().from_collection([1]).flat_map(lambda v: (v, v + 1)),
            "map_generator": lambda p: p.env().from_collection([1]).map(lambda v: (n for n in range(2))),
            "filter_none": lambda p: p.env().from_collection([1, 2]).filter(lambda v: None),
            "filter_number": lambda p: p.env().from_collection([0, 2]).filter(lambda v: v),
            "failing_filter": lambda p: p.env().from_collection([1]).filter(raises),
            "failing_key": lambda p: p.env().from_collection([1]).key_by(raises).map(lambda v: v),
            "failing_reduce": reduced(raises),
            "reduce_none": reduced(lambda a, b: None),
            "failing_open": failing_open,
            "failing_close": failing_close,
            "failing_timer": failing_timer,
            "timers_without_key": timers_without_key,
            "asks_watermark": asking(lambda ctx: ctx.timer_service().current_watermark()),
            "asks_clock": asking(lambda ctx: ctx.timer_service().current_processing_time() > 10**12),
            "asks_key": asking(lambda ctx: ctx.get_current_key(), "KeyedProcessFunction"),
            "asks_keyed_watermark": asking(lambda ctx: ctx.timer_service().current_watermark(), "KeyedProcessFunction"),
            "asks_subtask": opened(lambda context: context.get_index_of_this_subtask()),
            "asks_max_parallelism": opened(lambda context: context.get_max_number_of_parallel_subtasks()),
            "asks_attempt": opened(lambda context: context.get_attempt_number()),
            "asks_job_parameter": opened(lambda context: context.get_job_parameter("none", "default")),
            "asks_task_name": opened(lambda context: "asks" in context.get_task_name()),
        }
    ),
    *programs_of(
        {
            "co_flat_map_none": both_inputs(lambda value: None),
            "co_flat_map_text": both_inputs(lambda value: "ab"),
            "co_flat_map_number": both_inputs(lambda value: 5),
        },
        is_ordered=False,
    ),
]
