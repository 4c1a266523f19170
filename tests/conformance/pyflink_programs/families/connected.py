"""Two inputs: connected streams, keyed ones, and broadcast state."""

from __future__ import annotations

from typing import Any

from tests.conformance.pyflink_programs.program import Program, programs_of


def both(p: Any) -> tuple[Any, Any]:
    env = p.env()
    return env.from_collection([("a", 1), ("b", 2)]), env.from_collection([("a", 10), ("c", 30)])


def co_map(p: Any) -> Any:
    class Sides(p.CoMapFunction):
        def map1(self, value: Any) -> Any:
            return "first", value

        def map2(self, value: Any) -> Any:
            return "second", value

    first, second = both(p)
    return first.connect(second).map(Sides())


def co_map_none(p: Any) -> Any:
    class Sides(p.CoMapFunction):
        def map1(self, value: Any) -> Any:
            return value

        def map2(self, value: Any) -> Any:
            return None

    first, second = both(p)
    return first.connect(second).map(Sides())


def co_flat_map(p: Any) -> Any:
    class Sides(p.CoFlatMapFunction):
        def flat_map1(self, value: Any) -> Any:
            yield value
            yield value[0]

        def flat_map2(self, value: Any) -> Any:
            yield from [value[1]] * 2

    first, second = both(p)
    return first.connect(second).flat_map(Sides())


def co_process(p: Any) -> Any:
    class Sides(p.CoProcessFunction):
        def process_element1(self, value: Any, ctx: Any) -> Any:
            yield 1, value, ctx.timestamp()

        def process_element2(self, value: Any, ctx: Any) -> Any:
            yield 2, value, ctx.timestamp()

    env = p.env()
    first = p.events([("a", 1)], env=env)
    return first.connect(p.events([("b", 7)], env=env)).process(Sides())


def shared_state(p: Any, first: Any, second: Any) -> Any:
    class Shared(p.KeyedCoProcessFunction):
        def open(self, runtime_context: Any) -> None:
            self.total = runtime_context.get_state(p.ValueStateDescriptor("total", p.Types.INT()))

        def process_element1(self, value: Any, ctx: Any) -> Any:
            self.total.update((self.total.value() or 0) + value[1])
            ctx.timer_service().register_event_time_timer(100)
            return []

        def process_element2(self, value: Any, ctx: Any) -> Any:
            self.total.update((self.total.value() or 0) + value[1])
            ctx.timer_service().register_event_time_timer(100)
            return []

        def on_timer(self, timestamp: int, ctx: Any) -> Any:
            yield ctx.get_current_key(), self.total.value(), timestamp

    return first.connect(second).key_by(lambda v: v[0], lambda v: v[0]).process(Shared())


def keyed_co_process(p: Any) -> Any:
    env = p.env()
    return shared_state(p, p.events([("a", 1), ("b", 2)], env=env), p.events([("a", 10), ("c", 30)], env=env))


def keyed_before(p: Any) -> Any:
    class Shared(p.KeyedCoProcessFunction):
        def open(self, runtime_context: Any) -> None:
            self.seen = runtime_context.get_list_state(p.ListStateDescriptor("seen", p.Types.INT()))

        def process_element1(self, value: Any, ctx: Any) -> Any:
            self.seen.add(value[1])
            ctx.timer_service().register_event_time_timer(100)
            return []

        process_element2 = process_element1

        def on_timer(self, timestamp: int, ctx: Any) -> Any:
            yield ctx.get_current_key(), sorted(self.seen)

    env = p.env()
    first = p.events([("a", 1), ("b", 2)], env=env).key_by(lambda v: v[0])
    return first.connect(p.events([("a", 10)], env=env).key_by(lambda v: v[0])).process(Shared())


def keyed_co_map(p: Any) -> Any:
    class Counted(p.CoMapFunction):
        def open(self, runtime_context: Any) -> None:
            self.count = runtime_context.get_state(p.ValueStateDescriptor("count", p.Types.INT()))

        def map1(self, value: Any) -> Any:
            self.count.update((self.count.value() or 0) + 1)
            return value[0], self.count.value()

        map2 = map1

    first, second = both(p)
    return first.connect(second).key_by(lambda v: v[0], lambda v: v[0]).map(Counted())


def broadcast_rules(p: Any, *, is_keyed: bool) -> Any:
    rules = p.MapStateDescriptor("rules", p.Types.STRING(), p.Types.INT())

    class Methods:
        def process_broadcast_element(self, value: Any, ctx: Any) -> Any:
            state = ctx.get_broadcast_state(rules)
            state.put(value[0], value[1])
            yield "rule", value, sorted(key for key, _ in state.items())

        def process_element(self, value: Any, ctx: Any) -> Any:
            yield "element", value

    class Plain(Methods, p.BroadcastProcessFunction):
        pass

    class Keyed(Methods, p.KeyedBroadcastProcessFunction):
        pass

    elements, given = both(p)
    stream = elements.key_by(lambda v: v[0]) if is_keyed else elements
    return stream.connect(given.broadcast(rules)).process(Keyed() if is_keyed else Plain())


def broadcast_read_only(p: Any) -> Any:
    rules = p.MapStateDescriptor("rules", p.Types.STRING(), p.Types.INT())

    class Writes(p.BroadcastProcessFunction):
        def process_element(self, value: Any, ctx: Any) -> Any:
            ctx.get_broadcast_state(rules).put("x", 1)
            yield value

        def process_broadcast_element(self, value: Any, ctx: Any) -> Any:
            return []

    elements, given = both(p)
    return elements.connect(given.broadcast(rules)).process(Writes())


def connected_times(p: Any) -> Any:
    """Event time is that of the slower input."""

    class Times(p.KeyedCoProcessFunction):
        def process_element1(self, value: Any, ctx: Any) -> Any:
            ctx.timer_service().register_event_time_timer(value[1] + 5)
            return []

        process_element2 = process_element1

        def on_timer(self, timestamp: int, ctx: Any) -> Any:
            yield ctx.get_current_key(), timestamp

    env = p.env()
    first, second = p.events([("a", 1), ("b", 50)], env=env), p.events([("a", 10)], env=env)
    return first.connect(second).key_by(lambda v: v[0], lambda v: v[0]).process(Times())


PROGRAMS: list[Program] = programs_of(
    {
        "co_map": co_map,
        "co_map_none": co_map_none,
        "co_flat_map": co_flat_map,
        "co_process": co_process,
        "keyed_co_process": keyed_co_process,
        "keyed_before": keyed_before,
        "keyed_co_map": keyed_co_map,
        "broadcast_plain": lambda p: broadcast_rules(p, is_keyed=False),
        "broadcast_keyed": lambda p: broadcast_rules(p, is_keyed=True),
        "broadcast_read_only": broadcast_read_only,
        "connected_times": connected_times,
    },
    is_ordered=False,
)
