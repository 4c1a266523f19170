"""Stateless operators and how streams are put together."""

from __future__ import annotations

from typing import Any

from tests.conformance.pyflink_programs.program import Program, programs_of

PAIRS = [("a", 1), ("b", 2), ("a", 3), ("c", 4)]


def lifecycle(p: Any) -> Any:
    class Rich(p.MapFunction):
        def open(self, runtime_context: Any) -> None:
            self.seen = ["open", runtime_context.get_number_of_parallel_subtasks()]

        def map(self, value: Any) -> Any:
            self.seen.append(value)
            return list(self.seen)

    return p.env().from_collection([1, 2]).map(Rich())


def process_context(p: Any) -> Any:
    class Times(p.ProcessFunction):
        def process_element(self, value: Any, ctx: Any) -> Any:
            yield value, ctx.timestamp()

    return p.events([("a", 5), ("b", 3)]).process(Times())


def process_without_time(p: Any) -> Any:
    class Times(p.ProcessFunction):
        def process_element(self, value: Any, ctx: Any) -> Any:
            yield value, ctx.timestamp()

    return p.env().from_collection([1]).process(Times())


def process_many(p: Any) -> Any:
    class Twice(p.ProcessFunction):
        def process_element(self, value: Any, ctx: Any) -> Any:
            yield value
            yield value * 10

    return p.env().from_collection([1, 2]).process(Twice())


def process_returns_none(p: Any) -> Any:
    class Nothing(p.ProcessFunction):
        def process_element(self, value: Any, ctx: Any) -> Any:
            return None

    return p.env().from_collection([1]).process(Nothing())


def process_returns_list(p: Any) -> Any:
    class AsList(p.ProcessFunction):
        def process_element(self, value: Any, ctx: Any) -> Any:
            return [value, value + 1]

    return p.env().from_collection([1, 5]).process(AsList())


def flat_map_class(p: Any) -> Any:
    class Split(p.FlatMapFunction):
        def flat_map(self, value: Any) -> Any:
            yield from value.split()

    return p.env().from_collection(["to be or", "", "not"]).flat_map(Split())


def filter_class(p: Any) -> Any:
    class Even(p.FilterFunction):
        def filter(self, value: Any) -> bool:
            return value % 2 == 0

    return p.env().from_collection(list(range(6))).filter(Even())


def failing_map(p: Any) -> Any:
    return p.env().from_collection([1, 0]).map(lambda value: 1 // value)


def union_of_three(p: Any) -> Any:
    env = p.env()
    first, second, third = (env.from_collection([n, n + 10]) for n in range(3))
    return first.union(second, third).map(lambda value: value * 2)


def union_of_itself(p: Any) -> Any:
    stream = p.env().from_collection([1, 2])
    return stream.union(stream).map(lambda value: value)


def diamond(p: Any) -> Any:
    stream = p.env().from_collection([1, 2, 3])
    return stream.map(lambda v: ("x", v)).union(stream.filter(lambda v: v > 1).map(lambda v: ("y", v)))


PROGRAMS: list[Program] = [
    *programs_of(
        {
            "collection": lambda p: p.env().from_collection([3, 1, 2]),
            "empty": lambda p: p.env().from_collection([]),
            "nones": lambda p: p.env().from_collection([1, None, 2]),
            "generator": lambda p: p.env().from_collection(iter([1, 2])),
            "map": lambda p: p.env().from_collection([1, 2]).map(lambda v: v + 1),
            "map_to_none": lambda p: p.env().from_collection([1, 2]).map(lambda v: None if v == 1 else v),
            "map_chain": lambda p: p.env().from_collection([1, 2]).map(lambda v: v + 1).map(str).map(lambda v: v * 2),
            "flat_map_list": lambda p: p.env().from_collection([1, 2]).flat_map(lambda v: [v] * v),
            "flat_map_none": lambda p: p.env().from_collection([1, 2]).flat_map(lambda v: None if v == 1 else [v]),
            "flat_map_generator": lambda p: p.env().from_collection([2, 3]).flat_map(lambda v: (n for n in range(v))),
            "filter": lambda p: p.env().from_collection([1, 2, 3]).filter(lambda v: v != 2),
            "filter_truthy": lambda p: p.env().from_collection([0, 1, "", "a"]).filter(lambda v: v),
            "flat_map_class": flat_map_class,
            "filter_class": filter_class,
            "lifecycle": lifecycle,
            "process_context": process_context,
            "process_without_time": process_without_time,
            "process_many": process_many,
            "process_returns_none": process_returns_none,
            "process_returns_list": process_returns_list,
            "failing_map": failing_map,
            "project": lambda p: (
                p.env()
                .from_collection([(1, "a", 2.5)], p.Types.TUPLE([p.Types.INT(), p.Types.STRING(), p.Types.DOUBLE()]))
                .project(2, 0)
            ),
            "union_alone": lambda p: p.env().from_collection([1]).union().map(lambda v: v),
            "not_a_function": lambda p: p.env().from_collection([1]).map(5),
        }
    ),
    *programs_of(
        {"union_of_three": union_of_three, "union_of_itself": union_of_itself, "diamond": diamond}, is_ordered=False
    ),
]
