"""Side outputs."""

from __future__ import annotations

from typing import Any

from tests.conformance.pyflink_programs.program import Program, programs_of


def splitting(p: Any, tags: dict[int, Any], base: str = "ProcessFunction") -> Any:
    class Split(getattr(p, base)):
        def process_element(self, value: Any, ctx: Any) -> Any:
            for remainder, tag in tags.items():
                if value % 3 == remainder:
                    yield tag, value
            yield value

    return Split()


def marked(stream: Any, mark: str) -> Any:
    return stream.map(lambda value: (mark, value))


def one(p: Any) -> Any:
    tag = p.OutputTag("side", p.Types.INT())
    main = p.env().from_collection(list(range(6))).process(splitting(p, {1: tag}))
    return marked(main, "main").union(marked(main.get_side_output(tag), "side"))


def two(p: Any) -> Any:
    tags = {1: p.OutputTag("one"), 2: p.OutputTag("two")}
    main = p.env().from_collection(list(range(6))).process(splitting(p, tags))
    sides = [marked(main.get_side_output(tag), tag.tag_id) for tag in tags.values()]
    return marked(main, "main").union(*sides)


def read_twice(p: Any) -> Any:
    tag = p.OutputTag("side")
    main = p.env().from_collection(list(range(6))).process(splitting(p, {0: tag}))
    return marked(main.get_side_output(tag), "x").union(marked(main.get_side_output(tag), "y"))


def only_side(p: Any) -> Any:
    tag = p.OutputTag("side", p.Types.INT())
    return p.env().from_collection(list(range(6))).process(splitting(p, {2: tag})).get_side_output(tag)


def keyed_side(p: Any) -> Any:
    tag = p.OutputTag("side", p.Types.INT())
    keyed = p.env().from_collection(list(range(6))).key_by(lambda v: v % 2)
    return keyed.process(splitting(p, {1: tag}, "KeyedProcessFunction")).get_side_output(tag)


def side_times(p: Any) -> Any:
    tag = p.OutputTag("side")

    class Split(p.ProcessFunction):
        def process_element(self, value: Any, ctx: Any) -> Any:
            yield tag, value

    class Times(p.ProcessFunction):
        def process_element(self, value: Any, ctx: Any) -> Any:
            yield value, ctx.timestamp()

    return p.events([("a", 7), ("b", 9)]).process(Split()).get_side_output(tag).process(Times())


def same_tag_twice(p: Any) -> Any:
    tag = p.OutputTag("side", p.Types.INT())
    first = p.env().from_collection(list(range(6))).process(splitting(p, {1: tag}))
    second = first.process(splitting(p, {2: tag}))
    return marked(first.get_side_output(tag), "1").union(marked(second.get_side_output(tag), "2"))


def unread(p: Any) -> Any:
    return p.env().from_collection(list(range(6))).process(splitting(p, {1: p.OutputTag("unread")}))


PROGRAMS: list[Program] = programs_of(
    {
        "one": one,
        "two": two,
        "read_twice": read_twice,
        "only_side": only_side,
        "keyed_side": keyed_side,
        "side_times": side_times,
        "same_tag_twice": same_tag_twice,
        "unread": unread,
    },
    is_ordered=False,
)
