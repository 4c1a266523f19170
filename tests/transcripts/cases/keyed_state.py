"""What the five kinds of keyed state promise, over batch cuts too."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

from penstock.common import Types
from penstock.common.watermark_strategy import Watermark
from penstock.datastream import AggregateFunction, FilterFunction, FlatMapFunction, KeyedProcessFunction, MapFunction
from penstock.datastream.state import (
    AggregatingStateDescriptor,
    ListStateDescriptor,
    MapStateDescriptor,
    ReducingStateDescriptor,
    ValueStateDescriptor,
)
from penstock.testing import Cut, Element
from penstock.testing.transcripts import Left, Step, Transcript

LONG = Types.LONG()


def first(value: Any) -> Any:
    return value[0]


class Count(KeyedProcessFunction):
    """Counts the records of a key; "clear" starts anew."""

    def open(self, context: Any) -> None:
        self.count = context.get_state(ValueStateDescriptor("count", LONG))

    def process_element(self, value: Any, ctx: Any) -> Iterator[Any]:
        if value[1] == "clear":
            self.count.clear()
        else:
            self.count.update((self.count.value() or 0) + 1)
        yield ctx.get_current_key(), self.count.value()


class Listing(KeyedProcessFunction):
    """Does to a list what each record says and shows it."""

    def open(self, context: Any) -> None:
        self.list = context.get_list_state(ListStateDescriptor("list", LONG))

    def process_element(self, value: Any, ctx: Any) -> Iterator[Any]:
        _, method, *arguments = value
        getattr(self.list, method)(*arguments)
        yield list(self.list.get())


class Mapping(KeyedProcessFunction):
    """Does to a map what each record says and shows result and map."""

    def open(self, context: Any) -> None:
        self.map = context.get_map_state(MapStateDescriptor("map", Types.STRING(), LONG))

    def process_element(self, value: Any, ctx: Any) -> Iterator[Any]:
        _, method, *arguments = value
        result = getattr(self.map, method)(*arguments)
        yield result, sorted(self.map.items())


class Reducing(KeyedProcessFunction):
    """Keeps the largest number; None clears."""

    def open(self, context: Any) -> None:
        self.largest = context.get_reducing_state(ReducingStateDescriptor("largest", max, LONG))

    def process_element(self, value: Any, ctx: Any) -> Iterator[Any]:
        if value[1] is None:
            self.largest.clear()
        else:
            self.largest.add(value[1])
        yield self.largest.get()


class Average(AggregateFunction):
    """The mean of numbers."""

    def create_accumulator(self) -> tuple[int, int]:
        return 0, 0

    def add(self, value: int, accumulator: tuple[int, int]) -> tuple[int, int]:
        return accumulator[0] + value, accumulator[1] + 1

    def get_result(self, accumulator: tuple[int, int]) -> float:
        return accumulator[0] / accumulator[1]

    def merge(self, a: tuple[int, int], b: tuple[int, int]) -> tuple[int, int]:
        return a[0] + b[0], a[1] + b[1]


class Aggregating(KeyedProcessFunction):
    """Keeps the mean; None clears."""

    def open(self, context: Any) -> None:
        described = AggregatingStateDescriptor("mean", Average(), Types.TUPLE([LONG, LONG]))
        self.mean = context.get_aggregating_state(described)

    def process_element(self, value: Any, ctx: Any) -> Iterator[Any]:
        if value[1] is None:
            self.mean.clear()
        else:
            self.mean.add(value[1])
        yield self.mean.get()


class Numbered(MapFunction):
    """Numbers the records of a key."""

    def open(self, context: Any) -> None:
        self.number = context.get_state(ValueStateDescriptor("number", LONG))

    def map(self, value: Any) -> Any:
        self.number.update((self.number.value() or 0) + 1)
        return value, self.number.value()


class FirstOnly(FilterFunction):
    """Lets the first record of a key pass."""

    def open(self, context: Any) -> None:
        self.seen = context.get_state(ValueStateDescriptor("seen", Types.BOOLEAN()))

    def filter(self, value: Any) -> bool:
        is_new = self.seen.value() is None
        self.seen.update(True)
        return is_new


class WithPrevious(FlatMapFunction):
    """Gives each record of a key with the one before it."""

    def open(self, context: Any) -> None:
        self.previous = context.get_state(ValueStateDescriptor("previous", Types.PICKLED_BYTE_ARRAY()))

    def flat_map(self, value: Any) -> Iterator[Any]:
        if self.previous.value() is not None:
            yield self.previous.value(), value
        self.previous.update(value)


class Hold(KeyedProcessFunction):
    """Holds records back until a second after the first, then gives and forgets them."""

    def open(self, context: Any) -> None:
        self.held = context.get_list_state(ListStateDescriptor("held", Types.STRING()))
        self.until = context.get_state(ValueStateDescriptor("until", LONG))

    def process_element(self, value: str, ctx: Any) -> None:
        self.held.add(value)
        if self.until.value() is None:
            self.until.update(ctx.timestamp() + 1000)
            ctx.timer_service().register_event_time_timer(ctx.timestamp() + 1000)

    def on_timer(self, timestamp: int, ctx: Any) -> Iterator[Any]:
        yield list(self.held.get())
        self.held.clear()
        self.until.clear()


TRANSCRIPTS = [
    Transcript(
        "value state belongs to its key and lasts until it is cleared",
        lambda stream: stream.key_by(first).process(Count()),
        [
            Step(("a", 1), ("b", 1), ("a", 1), out=[(("a", 1), None), (("b", 1), None), (("a", 2), None)]),
            Step(Element(("a", "clear"), 5), out=[(("a", None), 5)], left=Left(state_entries=1)),
            Step(("a", 1), Cut(), ("b", 1), out=[(("a", 1), None), (("b", 2), None)], left=Left(state_entries=2)),
            Step(("b", "clear"), ("b", "clear"), out=[(("b", None), None)] * 2),
        ],
        left=Left(state_entries=1),
    ),
    Transcript(
        "list state keeps the order of what was added, over cuts",
        lambda stream: stream.key_by(first).process(Listing()),
        [
            Step(
                ("a", "add", 3),
                Cut(),
                ("a", "add", 1),
                Cut(),
                ("a", "add", 2),
                out=[([3], None), ([3, 1], None), ([3, 1, 2], None)],
            ),
            Step(("b", "add_all", [9, 8]), ("a", "add_all", []), out=[([9, 8], None), ([3, 1, 2], None)]),
            Step(("a", "update", [5]), Cut(), ("a", "add", 6), out=[([5], None), ([5, 6], None)]),
            Step(("a", "clear"), ("b", "update", []), out=[([], None), ([], None)], left=Left()),
            Step(("a", "add", 7), out=[([7], None)]),
        ],
        left=Left(state_entries=1),
    ),
    Transcript(
        "map state holds entry by entry",
        lambda stream: stream.key_by(first).process(Mapping()),
        [
            Step(
                ("a", "put", "x", 1),
                ("a", "put", "y", 2),
                out=[((None, [("x", 1)]), None), ((None, [("x", 1), ("y", 2)]), None)],
            ),
            Step(
                ("a", "get", "x"),
                ("b", "get", "x"),
                ("a", "contains", "y"),
                ("b", "is_empty"),
                out=[
                    ((1, [("x", 1), ("y", 2)]), None),
                    ((None, []), None),
                    ((True, [("x", 1), ("y", 2)]), None),
                    ((True, []), None),
                ],
            ),
            Step(
                ("a", "remove", "x"),
                Cut(),
                ("a", "put", "y", 3),
                ("a", "contains", "x"),
                out=[((None, [("y", 2)]), None), ((None, [("y", 3)]), None), ((False, [("y", 3)]), None)],
            ),
            Step(
                ("b", "put_all", {"p": 1, "q": 2}),
                out=[((None, [("p", 1), ("q", 2)]), None)],
                left=Left(state_entries=2),
            ),
            Step(
                ("a", "remove", "y"),
                ("b", "clear"),
                ("a", "is_empty"),
                out=[((None, []), None), ((None, []), None), ((True, []), None)],
            ),
        ],
    ),
    Transcript(
        "reducing state holds what its function makes of all that was added",
        lambda stream: stream.key_by(first).process(Reducing()),
        [
            Step(("a", 3), ("b", 1), Cut(), ("a", 2), out=[(3, None), (1, None), (3, None)]),
            Step(("a", 7), ("a", None), ("a", 1), out=[(7, None), (None, None), (1, None)]),
        ],
        left=Left(state_entries=2),
    ),
    Transcript(
        "aggregating state gives the result of its accumulator",
        lambda stream: stream.key_by(first).process(Aggregating()),
        [
            Step(
                ("a", 1), ("a", 2), Cut(), ("a", 6), ("b", 5), out=[(1.0, None), (1.5, None), (3.0, None), (5.0, None)]
            ),
            Step(("a", None), ("a", 4), ("b", None), out=[(None, None), (4.0, None), (None, None)]),
        ],
        left=Left(state_entries=1),
    ),
    Transcript(
        "map on a keyed stream may use state",
        lambda stream: stream.key_by(first).map(Numbered()),
        [
            Step(Element("ax", 1), Element("bx", 2), out=[(("ax", 1), 1), (("bx", 1), 2)]),
            Step(Element("ay", 3), Cut(), "az", out=[(("ay", 2), 3), (("az", 3), None)]),
        ],
        left=Left(state_entries=2),
    ),
    Transcript(
        "filter on a keyed stream may use state",
        lambda stream: stream.key_by(first).filter(FirstOnly()),
        [Step("ax", "ay", "bx", out=[("ax", None), ("bx", None)]), Step("bz", "cx", out=[("cx", None)])],
        left=Left(state_entries=3),
    ),
    Transcript(
        "flat_map on a keyed stream may use state",
        lambda stream: stream.key_by(first).flat_map(WithPrevious()),
        [
            Step(Element("a1", 1), Element("b1", 2)),
            Step(Element("a2", 3), Cut(), Element("a3", 4), out=[(("a1", "a2"), 3), (("a2", "a3"), 4)]),
            Step(Element("b2", 5), out=[(("b1", "b2"), 5)]),
        ],
        left=Left(state_entries=2),
    ),
    Transcript(
        "state that a timer clears is gone",
        lambda stream: stream.key_by(first).process(Hold()),
        [
            Step(Element("a1", 0), Element("a2", 700), left=Left(event_timers=1, state_entries=2)),
            Step(Element("b1", 500), left=Left(event_timers=2, state_entries=4)),
            Step(Watermark(999)),
            Step(Watermark(1000), out=[(["a1", "a2"], 1000)], left=Left(event_timers=1, state_entries=2)),
            Step(Element("a3", 1200), Watermark(1500), out=[(["b1"], 1500)], left=Left(1, 0, 2)),
            Step(Watermark(5000), out=[(["a3"], 2200)], left=Left()),
        ],
    ),
    Transcript(
        "keys are equal as Python has it, and only then",
        lambda stream: stream.key_by(first).process(Count()),
        [
            Step(
                (1, 0),
                ("1", 0),
                (b"1", 0),
                ((1,), 0),
                (None, 0),
                out=[((1, 1), None), (("1", 1), None), ((b"1", 1), None), (((1,), 1), None), ((None, 1), None)],
            ),
            Step((1.0, 0), (True, 0), out=[((1, 2), None), ((1, 3), None)]),
            Step(("", 0), ((), 0), out=[(("", 1), None), (((), 1), None)]),
        ],
        left=Left(state_entries=7),
    ),
    Transcript(
        "a key may be a list",
        lambda stream: stream.key_by(lambda value: list(value[0])).process(Count()),
        [
            Step(
                ("ab", 0),
                ("ba", 0),
                Cut(),
                ("ab", 0),
                out=[((["a", "b"], 1), None), ((["b", "a"], 1), None), ((["a", "b"], 2), None)],
            )
        ],
        left=Left(state_entries=2),
    ),
]
