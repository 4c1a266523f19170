"""Several things in one program: state, timers, windows, side outputs, broadcast, connected and async streams."""

from __future__ import annotations

import decimal
from collections.abc import Callable
from typing import Any

from tests.conformance.pyflink_programs.program import Program, programs_of

EVENTS = [("a", 1), ("b", 2), ("a", 12), ("b", 13), ("a", 25), ("b", 41)]


def times(p: Any) -> Any:
    """Says with which time an element has come."""

    class Times(p.ProcessFunction):
        def process_element(self, value: Any, ctx: Any) -> Any:
            yield value, ctx.timestamp()

    return Times()


def windows(p: Any, millis: int = 10) -> Any:
    return p.TumblingEventTimeWindows.of(p.Time.milliseconds(millis))


def described(p: Any, emit: Callable[[Any, Any, Any], Any]) -> Any:
    class Described(p.ProcessWindowFunction):
        def process(self, key: Any, context: Any, elements: Any) -> Any:
            yield from emit(key, context, list(elements))

        def clear(self, context: Any) -> None:
            pass

    return Described()


def on_time(p: Any, emit: Callable[[Any, int, Any], Any], at: int = 20) -> Any:
    """A function that counts, sets one timer and emits when it fires."""

    class Timed(p.KeyedProcessFunction):
        def open(self, runtime_context: Any) -> None:
            self.count = runtime_context.get_state(p.ValueStateDescriptor("count", p.Types.INT()))

        def process_element(self, value: Any, ctx: Any) -> Any:
            self.count.update((self.count.value() or 0) + 1)
            ctx.timer_service().register_event_time_timer(at)
            return []

        def on_timer(self, timestamp: int, ctx: Any) -> Any:
            yield from emit(self, timestamp, ctx)

    return Timed()


def keyed(p: Any, values: Any = EVENTS) -> Any:
    return p.events(list(values)).key_by(lambda v: v[0])


def timer_result_times(p: Any) -> Any:
    function = on_time(p, lambda self, timestamp, ctx: [(ctx.get_current_key(), self.count.value())])
    return keyed(p).process(function).process(times(p))


def timer_side_output(p: Any) -> Any:
    tag = p.OutputTag("fired", p.Types.STRING())
    function = on_time(p, lambda self, timestamp, ctx: [(tag, f"{ctx.get_current_key()}@{timestamp}"), "main"])
    stream = keyed(p).process(function, p.Types.STRING())
    return stream.map(lambda v: ("m", v)).union(stream.get_side_output(tag).map(lambda v: ("s", v)))


def timers_then_windows(p: Any) -> Any:
    function = on_time(p, lambda self, timestamp, ctx: [(ctx.get_current_key(), self.count.value())])
    again = keyed(p).process(function).key_by(lambda v: v[1]).window(windows(p, 100))
    return again.process(described(p, lambda key, context, all: [(key, sorted(all), context.window().end)]))


def windows_then_timers(p: Any) -> Any:
    counted = keyed(p).window(windows(p)).reduce(lambda a, b: (a[0], max(a[1], b[1])))
    return counted.key_by(lambda v: v[0]).process(on_time(p, lambda self, at, ctx: [(at, self.count.value())]))


def window_side_output(p: Any) -> Any:
    tag = p.OutputTag("large", p.Types.LONG())

    def emit(key: Any, context: Any, elements: list[Any]) -> Any:
        for _, number in elements:
            if number > 10:
                yield tag, number
        yield key, len(elements)

    stream = keyed(p).window(windows(p)).process(described(p, emit))
    return stream.map(lambda v: ("m", v)).union(stream.get_side_output(tag).map(lambda v: ("s", v)))


def late_side_output(p: Any) -> Any:
    tag = p.OutputTag("late")
    stream = (
        p.stepwise([("a", 1), ("a", 25), ("a", 3), ("a", 24), ("a", 50), ("a", 12)])
        .key_by(lambda v: v[0])
        .window(windows(p))
        .allowed_lateness(5)
        .side_output_late_data(tag)
        .process(described(p, lambda key, context, all: [(key, all)]))
    )
    return stream.map(lambda v: ("m", v)).union(stream.get_side_output(tag).map(lambda v: ("late", v)))


def late_all_side_output(p: Any) -> Any:
    tag = p.OutputTag("late")
    stream = (
        p.stepwise([("a", 1), ("a", 25), ("a", 3)])
        .window_all(windows(p))
        .side_output_late_data(tag)
        .reduce(lambda a, b: (a[0], a[1] + b[1]))
    )
    return stream.map(lambda v: ("m", v)).union(stream.get_side_output(tag).map(lambda v: ("late", v)))


def window_times(p: Any) -> Any:
    """Watermark, window and clock that a window function sees."""

    def emit(key: Any, context: Any, elements: list[Any]) -> Any:
        yield key, context.window().start, context.window().end, context.current_watermark() >= context.window().end - 1

    return keyed(p).window(windows(p)).process(described(p, emit), p.Types.PICKLED_BYTE_ARRAY()).process(times(p))


def typed_aggregate(p: Any) -> Any:
    t = p.Types

    class Mean(p.AggregateFunction):
        def create_accumulator(self) -> Any:
            return 0, 0

        def add(self, value: Any, accumulator: Any) -> Any:
            return accumulator[0] + value[1], accumulator[1] + 1

        def get_result(self, accumulator: Any) -> Any:
            return accumulator[0] / accumulator[1]

        def merge(self, acc_a: Any, acc_b: Any) -> Any:
            return acc_a[0] + acc_b[0], acc_a[1] + acc_b[1]

    stream = keyed(p).window(p.EventTimeSessionWindows.with_gap(p.Time.milliseconds(12)))
    return stream.aggregate(Mean(), accumulator_type=t.TUPLE([t.LONG(), t.LONG()]), output_type=t.DOUBLE())


def aggregate_with_window(p: Any) -> Any:
    class Count(p.AggregateFunction):
        def create_accumulator(self) -> Any:
            return 0

        def add(self, value: Any, accumulator: Any) -> Any:
            return accumulator + 1

        def get_result(self, accumulator: Any) -> Any:
            return accumulator

        def merge(self, acc_a: Any, acc_b: Any) -> Any:
            return acc_a + acc_b

    class Named(p.WindowFunction):
        def apply(self, key: Any, window: Any, inputs: Any) -> Any:
            return [(key, list(inputs), str(window))]

    stream = keyed(p).window(p.SlidingEventTimeWindows.of(p.Time.milliseconds(20), p.Time.milliseconds(10)))
    return stream.aggregate(Count(), window_function=Named(), accumulator_type=p.Types.LONG())


def custom_trigger(p: Any) -> Any:
    """Fires at every second element, with a count in the trigger's own state, and at the end."""
    counts = p.ReducingStateDescriptor("counts", lambda a, b: a + b, p.Types.LONG())

    class EverySecond(p.Trigger):
        def on_element(self, element: Any, timestamp: int, window: Any, ctx: Any) -> Any:
            ctx.register_event_time_timer(window.max_timestamp())
            state = ctx.get_partitioned_state(counts)
            state.add(1)
            if state.get() == 2:
                state.clear()
                return p.TriggerResult.FIRE
            return p.TriggerResult.CONTINUE

        def on_processing_time(self, time: int, window: Any, ctx: Any) -> Any:
            return p.TriggerResult.CONTINUE

        def on_event_time(self, time: int, window: Any, ctx: Any) -> Any:
            return p.TriggerResult.FIRE_AND_PURGE

        def on_merge(self, window: Any, ctx: Any) -> None:
            ctx.merge_partitioned_state(counts)

        def clear(self, window: Any, ctx: Any) -> None:
            ctx.get_partitioned_state(counts).clear()
            ctx.delete_event_time_timer(window.max_timestamp())

    values = [("a", 1), ("a", 2), ("a", 3), ("b", 4), ("a", 5), ("a", 15)]
    stream = keyed(p, values).window(windows(p)).trigger(EverySecond())
    return stream.process(described(p, lambda key, context, all: [(key, all)]))


def co_timers(p: Any, *, is_side: bool) -> Any:
    tag = p.OutputTag("side", p.Types.STRING())

    class Joined(p.KeyedCoProcessFunction):
        def open(self, runtime_context: Any) -> None:
            self.left = runtime_context.get_list_state(p.ListStateDescriptor("left", p.Types.LONG()))
            self.right = runtime_context.get_map_state(p.MapStateDescriptor("right", p.Types.LONG(), p.Types.STRING()))

        def process_element1(self, value: Any, ctx: Any) -> Any:
            self.left.add(value[1])
            ctx.timer_service().register_event_time_timer(30)
            if is_side:
                yield tag, f"left {value[1]}"

        def process_element2(self, value: Any, ctx: Any) -> Any:
            self.right.put(value[1], value[0])
            ctx.timer_service().register_event_time_timer(30)
            ctx.timer_service().register_event_time_timer(40)
            if is_side:
                yield tag, f"right {value[1]}"

        def on_timer(self, timestamp: int, ctx: Any) -> Any:
            yield ctx.get_current_key(), timestamp, sorted(self.left.get()), sorted(self.right.keys())
            if is_side:
                yield tag, f"timer {timestamp}"

    env = p.env()
    first, second = p.events(EVENTS, env=env), p.events([("a", 5), ("c", 6)], env=env)
    stream = first.connect(second).key_by(lambda v: v[0], lambda v: v[0]).process(Joined())
    return stream.get_side_output(tag) if is_side else stream


def broadcast_timers(p: Any) -> Any:
    rules = p.MapStateDescriptor("rules", p.Types.STRING(), p.Types.INT())

    class Ruled(p.KeyedBroadcastProcessFunction):
        def open(self, runtime_context: Any) -> None:
            self.seen = runtime_context.get_list_state(p.ListStateDescriptor("seen", p.Types.LONG()))

        def process_element(self, value: Any, ctx: Any) -> Any:
            self.seen.add(value[1])
            ctx.timer_service().register_event_time_timer(100)
            return []

        def process_broadcast_element(self, value: Any, ctx: Any) -> Any:
            ctx.get_broadcast_state(rules).put(value[0], value[1])
            return []

        def on_timer(self, timestamp: int, ctx: Any) -> Any:
            state = ctx.get_broadcast_state(rules)
            found = sorted(state.items()), state.contains("x"), state.get("none"), sorted(state.keys())
            yield ctx.get_current_key(), sorted(self.seen.get()), found

    env = p.env()
    given = p.events([("x", 7), ("y", 8)], env=env)
    stream = p.events(EVENTS, env=env).key_by(lambda v: v[0])
    return stream.connect(given.broadcast(rules)).process(Ruled())


def two_rule_sets(p: Any) -> Any:
    first = p.MapStateDescriptor("first", p.Types.STRING(), p.Types.INT())
    second = p.MapStateDescriptor("second", p.Types.INT(), p.Types.STRING())

    class Ruled(p.BroadcastProcessFunction):
        def process_element(self, value: Any, ctx: Any) -> Any:
            return []

        def process_broadcast_element(self, value: Any, ctx: Any) -> Any:
            ctx.get_broadcast_state(first).put(value[0], value[1])
            ctx.get_broadcast_state(second).put(value[1], value[0])
            ctx.get_broadcast_state(first).remove("x")
            yield sorted(ctx.get_broadcast_state(first).items()), sorted(ctx.get_broadcast_state(second).items())

    env = p.env()
    given = env.from_collection([("x", 7), ("y", 8), ("z", 9)])
    return env.from_collection([1]).connect(given.broadcast(first, second)).process(Ruled())


def async_times(p: Any) -> Any:
    class Call(p.AsyncFunction):
        async def async_invoke(self, value: Any) -> Any:
            return [value, (value[0], -1)]

    stream = p.AsyncDataStream.ordered_wait(p.events(EVENTS), Call(), p.Time.seconds(5), 3)
    return stream.process(times(p))


def async_then_windows(p: Any) -> Any:
    class Call(p.AsyncFunction):
        async def async_invoke(self, value: Any) -> Any:
            return [(value[0], value[1] * 2)]

    stream = p.AsyncDataStream.unordered_wait(p.events(EVENTS), Call(), p.Time.seconds(5), 3)
    summed = stream.key_by(lambda v: v[0]).window(windows(p, 20))
    return summed.reduce(lambda a, b: (a[0], a[1] + b[1]))


def union_then_windows(p: Any) -> Any:
    env = p.env()
    stream = p.events([("a", 1), ("a", 22)], env=env).union(p.events([("a", 5), ("b", 40)], env=env))
    windowed = stream.key_by(lambda v: v[0]).window(windows(p))
    return windowed.process(described(p, lambda key, context, all: [(key, sorted(all), context.window().end)]))


def rows_all_the_way(p: Any) -> Any:
    t = p.Types
    declared = t.ROW_NAMED(["word", "at", "price"], [t.STRING(), t.LONG(), t.BIG_DEC()])
    rows = [p.Row(word=w, at=at, price=decimal.Decimal(at) / 4) for w, at in EVENTS]
    stream = p.events(rows, declared, field=1).key_by(lambda row: row.word, t.STRING()).window(windows(p, 30))

    def joined(a: Any, b: Any) -> Any:
        return p.Row(word=a["word"], at=max(a.at, b.at), price=a[2] + b[2])

    return stream.reduce(joined, None, declared)


def typed_sides(p: Any) -> Any:
    """The main output and a side output of other types."""
    t = p.Types
    tag = p.OutputTag("rows", t.ROW_NAMED(["n", "s"], [t.INT(), t.STRING()]))

    class Split(p.ProcessFunction):
        def process_element(self, value: Any, ctx: Any) -> Any:
            yield tag, p.Row(s=str(value), n=value)
            yield value

    stream = p.env().from_collection([1, 2]).process(Split(), t.DOUBLE())
    return stream.map(lambda v: ("m", v)).union(stream.get_side_output(tag).map(lambda row: (row[0], row.s)))


def tag_named_anew(p: Any) -> Any:
    """A tag is found by its name, not by the object."""

    class Split(p.ProcessFunction):
        def process_element(self, value: Any, ctx: Any) -> Any:
            yield p.OutputTag("t", p.Types.INT()), value

    return p.env().from_collection([1, 2]).process(Split()).get_side_output(p.OutputTag("t", p.Types.INT()))


def keyed_twice_with_state(p: Any) -> Any:
    class Running(p.MapFunction):
        def open(self, runtime_context: Any) -> None:
            self.total = runtime_context.get_state(p.ValueStateDescriptor("total", p.Types.LONG()))

        def map(self, value: Any) -> Any:
            self.total.update((self.total.value() or 0) + value[1])
            return value[0], self.total.value()

    once = p.env().from_collection(EVENTS).key_by(lambda v: v[0]).map(Running())
    return once.key_by(lambda v: v[1] % 2 == 0).map(Running())


def window_and_global_state(p: Any) -> Any:
    def emit(key: Any, context: Any, elements: list[Any]) -> Any:
        ever = context.global_state().get_map_state(p.MapStateDescriptor("ever", p.Types.LONG(), p.Types.LONG()))
        ever.put(context.window().start, len(elements))
        total = context.global_state().get_reducing_state(
            p.ReducingStateDescriptor("total", lambda a, b: a + b, p.Types.LONG())
        )
        total.add(len(elements))
        yield key, sorted(ever.items()), total.get()

    return keyed(p).window(windows(p)).process(described(p, emit))


def deleted_timers(p: Any) -> Any:
    """Every element moves the timer of its key: only the last one fires."""

    class Moves(p.KeyedProcessFunction):
        def open(self, runtime_context: Any) -> None:
            self.at = runtime_context.get_state(p.ValueStateDescriptor("at", p.Types.LONG()))

        def process_element(self, value: Any, ctx: Any) -> Any:
            if self.at.value() is not None:
                ctx.timer_service().delete_event_time_timer(self.at.value())
            self.at.update(value[1] + 20)
            ctx.timer_service().register_event_time_timer(value[1] + 20)
            yield "seen", value

        def on_timer(self, timestamp: int, ctx: Any) -> Any:
            self.at.clear()
            yield "idle", ctx.get_current_key(), timestamp

    return p.stepwise(EVENTS).key_by(lambda v: v[0]).process(Moves())


def processing_timer_at_end(p: Any) -> Any:
    class Waits(p.KeyedProcessFunction):
        def process_element(self, value: Any, ctx: Any) -> Any:
            ctx.timer_service().register_processing_time_timer(ctx.timer_service().current_processing_time() + 10**9)
            yield value

        def on_timer(self, timestamp: int, ctx: Any) -> Any:
            yield "fired"

    return keyed(p).process(Waits())


def count_windows_of_rows(p: Any) -> Any:
    t = p.Types
    declared = t.ROW_NAMED(["w", "n"], [t.STRING(), t.INT()])
    rows = [p.Row(w, n) for w, n in EVENTS]
    stream = p.env().from_collection(rows, declared).key_by(lambda row: row["w"]).count_window(2)

    class Named(p.WindowFunction):
        def apply(self, key: Any, window: Any, inputs: Any) -> Any:
            yield key, [row.n for row in inputs]

    return stream.apply(Named())


def broadcast_partitions(p: Any) -> Any:
    return p.env().from_collection([1, 2]).broadcast().map(lambda v: v).set_parallelism(2)


PROGRAMS: list[Program] = programs_of(
    {
        "timer_result_times": timer_result_times,
        "timer_side_output": timer_side_output,
        "timers_then_windows": timers_then_windows,
        "windows_then_timers": windows_then_timers,
        "window_side_output": window_side_output,
        "late_side_output": late_side_output,
        "late_all_side_output": late_all_side_output,
        "window_times": window_times,
        "typed_aggregate": typed_aggregate,
        "aggregate_with_window": aggregate_with_window,
        "custom_trigger": custom_trigger,
        "co_timers": lambda p: co_timers(p, is_side=False),
        "co_side_output": lambda p: co_timers(p, is_side=True),
        "broadcast_timers": broadcast_timers,
        "two_rule_sets": two_rule_sets,
        "async_times": async_times,
        "async_then_windows": async_then_windows,
        "union_then_windows": union_then_windows,
        "rows_all_the_way": rows_all_the_way,
        "typed_sides": typed_sides,
        "tag_named_anew": tag_named_anew,
        "keyed_twice_with_state": keyed_twice_with_state,
        "window_and_global_state": window_and_global_state,
        "deleted_timers": deleted_timers,
        "processing_timer_at_end": processing_timer_at_end,
        "count_windows_of_rows": count_windows_of_rows,
        "broadcast_partitions": broadcast_partitions,
    },
    is_ordered=False,
)
