"""Window assigners with each kind of window function, keyed and not."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

from tests.conformance.pyflink_programs.program import Program, programs_of

EVENTS = [("a", 1), ("b", 2), ("a", 3), ("a", 12), ("b", 14), ("a", 11), ("a", 25), ("b", 31), ("a", 32), ("a", 38)]


def assigners(p: Any) -> dict[str, Any]:
    ms = p.Time.milliseconds

    class Gap(p.SessionWindowTimeGapExtractor):
        def extract(self, element: Any) -> int:
            return 3 if element[0] == "a" else 10

    return {
        "tumbling": p.TumblingEventTimeWindows.of(ms(10)),
        "tumbling_offset": p.TumblingEventTimeWindows.of(ms(10), ms(4)),
        "sliding": p.SlidingEventTimeWindows.of(ms(10), ms(5)),
        "sliding_uneven": p.SlidingEventTimeWindows.of(ms(10), ms(4)),
        "hopping": p.SlidingEventTimeWindows.of(ms(4), ms(10)),
        "session": p.EventTimeSessionWindows.with_gap(ms(5)),
        "session_dynamic": p.EventTimeSessionWindows.with_dynamic_gap(Gap()),
    }


NAMES = ("tumbling", "tumbling_offset", "sliding", "sliding_uneven", "hopping", "session", "session_dynamic")


def collecting(p: Any) -> Any:
    class Collect(p.AggregateFunction):
        def create_accumulator(self) -> Any:
            return []

        def add(self, value: Any, accumulator: Any) -> Any:
            return [*accumulator, value[1]]

        def get_result(self, accumulator: Any) -> Any:
            return sorted(accumulator)

        def merge(self, acc_a: Any, acc_b: Any) -> Any:
            return acc_a + acc_b

    return Collect()


def described(p: Any, *, is_keyed: bool) -> Any:
    class Keyed(p.ProcessWindowFunction):
        def process(self, key: Any, context: Any, elements: Any) -> Any:
            window = context.window()
            yield key, window.start, window.end, list(elements), context.current_watermark() > window.end

    class All(p.ProcessAllWindowFunction):
        def process(self, context: Any, elements: Any) -> Any:
            window = context.window()
            yield window.start, window.end, list(elements)

    return Keyed() if is_keyed else All()


def applied(p: Any, *, is_keyed: bool) -> Any:
    class Keyed(p.WindowFunction):
        def apply(self, key: Any, window: Any, inputs: Any) -> Any:
            yield key, window.start, window.max_timestamp(), len(list(inputs))

    class All(p.AllWindowFunction):
        def apply(self, window: Any, inputs: Any) -> Any:
            yield window.start, window.max_timestamp(), len(list(inputs))

    return Keyed() if is_keyed else All()


def longest(a: Any, b: Any) -> Any:
    return (min(a[0], b[0]), a[1] + b[1])


FUNCTIONS: dict[str, Callable[[Any, Any, bool], Any]] = {
    "reduce": lambda p, w, is_keyed: w.reduce(longest),
    "reduce_process": lambda p, w, is_keyed: w.reduce(longest, described(p, is_keyed=is_keyed)),
    "aggregate": lambda p, w, is_keyed: w.aggregate(collecting(p)),
    "aggregate_process": lambda p, w, is_keyed: w.aggregate(collecting(p), described(p, is_keyed=is_keyed)),
    "apply": lambda p, w, is_keyed: w.apply(applied(p, is_keyed=is_keyed)),
    "process": lambda p, w, is_keyed: w.process(described(p, is_keyed=is_keyed)),
}


def windowed(assigner: str, function: str, is_keyed: bool) -> Callable[[Any], Any]:
    def build(p: Any) -> Any:
        stream = p.events(EVENTS)
        chosen = assigners(p)[assigner]
        windows = stream.key_by(lambda v: v[0]).window(chosen) if is_keyed else stream.window_all(chosen)
        return FUNCTIONS[function](p, windows, is_keyed)

    return build


def counted(size: int, slide: int, function: str) -> Callable[[Any], Any]:
    def build(p: Any) -> Any:
        stream = p.env().from_collection([("a", n) for n in range(1, 8)]).key_by(lambda v: v[0])
        windows = stream.count_window(size, slide) if slide else stream.count_window(size)
        if function == "reduce":
            return windows.reduce(longest)
        return windows.apply(counting(p))

    return build


def counting(p: Any) -> Any:
    class Elements(p.WindowFunction):
        def apply(self, key: Any, window: Any, inputs: Any) -> Any:
            yield key, [value[1] for value in inputs]

    return Elements()


def chained(p: Any) -> Any:
    ms = p.Time.milliseconds
    first = p.events(EVENTS).key_by(lambda v: v[0]).window(p.TumblingEventTimeWindows.of(ms(10))).reduce(longest)
    pairs = first.window_all(p.TumblingEventTimeWindows.of(ms(20))).process(described(p, is_keyed=False))
    return pairs.map(lambda v: (v[0], v[1], sorted(v[2])))  # which key of a time comes first is left open


def window_state(p: Any) -> Any:
    class Firings(p.ProcessWindowFunction):
        def process(self, key: Any, context: Any, elements: Any) -> Any:
            ever = context.global_state().get_state(p.ValueStateDescriptor("ever", p.Types.INT()))
            here = context.window_state().get_state(p.ValueStateDescriptor("here", p.Types.INT()))
            ever.update((ever.value() or 0) + 1)
            here.update((here.value() or 0) + 1)
            yield key, ever.value(), here.value()

        def clear(self, context: Any) -> None:
            context.window_state().get_state(p.ValueStateDescriptor("here", p.Types.INT())).clear()

    stream = p.events(EVENTS).key_by(lambda v: v[0])
    return stream.window(p.TumblingEventTimeWindows.of(p.Time.milliseconds(10))).process(Firings())


def result_times(p: Any) -> Any:
    class Times(p.ProcessFunction):
        def process_element(self, value: Any, ctx: Any) -> Any:
            yield value, ctx.timestamp()

    stream = p.events(EVENTS).key_by(lambda v: v[0])
    return stream.window(p.TumblingEventTimeWindows.of(p.Time.milliseconds(10))).reduce(longest).process(Times())


PROGRAMS: list[Program] = programs_of(
    {
        **{
            f"{assigner}_{function}{'' if is_keyed else '_all'}": windowed(assigner, function, is_keyed)
            for assigner in NAMES
            for function in FUNCTIONS
            for is_keyed in (True, False)
        },
        **{
            f"count_{size}_{slide}_{function}": counted(size, slide, function)
            for size, slide in ((3, 0), (2, 0), (4, 2), (2, 3))
            for function in ("reduce", "apply")
        },
        "chained": chained,
        "window_state": window_state,
        "result_times": result_times,
    },
    # Windows of several keys that end together fire in an order that neither promises.
    is_ordered=False,
)
