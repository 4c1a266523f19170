"""Connected streams: two inputs with state and timers in common, and whose time it is."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

from penstock.common.watermark_strategy import Watermark
from penstock.datastream import (
    CoFlatMapFunction,
    CoMapFunction,
    CoProcessFunction,
    DataStream,
    KeyedCoProcessFunction,
    OutputTag,
    TimeDomain,
)
from penstock.datastream.state import ListStateDescriptor, ValueStateDescriptor
from penstock.testing import Clock, Cut, Element, Idle
from penstock.testing.transcripts import NO_WATERMARK, End, Input, Left, On, Step, Transcript

LATE = OutputTag("late")
UNPAID = OutputTag("unpaid")
MEET = "which input is first decides what is late"
FIRST = "the record that comes first is the one that waits"


def word(value: Any) -> Any:
    return value[0]


class Sides(CoMapFunction):
    """Marks where a value came from; zero becomes None."""

    def map1(self, value: int) -> Any:
        return ("left", value) if value else None

    def map2(self, value: str) -> Any:
        return "right", value


class Letters(CoFlatMapFunction):
    """Yields for one input, collects for the other."""

    def flat_map1(self, value: str) -> Iterator[str]:
        yield from value

    def flat_map2(self, value: int, out: Any) -> None:
        for number in range(value):
            out.collect(number)


class Bonus(CoMapFunction):
    """Adds to what it has of a key what the other stream said last; a keyed function with state."""

    def open(self, context: Any) -> None:
        self.bonus = context.get_state(ValueStateDescriptor("bonus"))

    def map1(self, value: tuple[str, int]) -> Any:
        return value[0], value[1] + (self.bonus.value() or 0)

    def map2(self, value: tuple[str, int]) -> Any:
        self.bonus.update(value[1])
        return value[0], "from now on", value[1]


class Pair(CoFlatMapFunction):
    """Pairs the values of a key off: the first of one stream with the first of the other, and so on."""

    def open(self, context: Any) -> None:
        self.waiting = [context.get_list_state(ListStateDescriptor(name)) for name in ("left", "right")]

    def flat_map1(self, value: tuple[str, int]) -> Iterator[Any]:
        return self._match(0, value)

    def flat_map2(self, value: tuple[str, int]) -> Iterator[Any]:
        return self._match(1, value)

    def _match(self, side: int, value: tuple[str, int]) -> Iterator[Any]:
        first, *rest = [*self.waiting[1 - side].get(), None]
        if first is None:
            self.waiting[side].add(value[1])
            return
        self.waiting[1 - side].update(rest[:-1])
        yield value[0], *((value[1], first) if side == 0 else (first, value[1]))


class Seen(CoProcessFunction):
    """Says at what time it saw a record, and sends late ones aside too: it gets them all the same."""

    def process_element1(self, value: Any, ctx: Any) -> Iterator[Any]:
        return self._seen("left", value, ctx)

    def process_element2(self, value: Any, ctx: Any, out: Any) -> None:
        for result in self._seen("right", value, ctx):
            if isinstance(result[0], OutputTag):
                ctx.output(*result)
            else:
                out.collect(result)

    def _seen(self, side: str, value: Any, ctx: Any) -> Iterator[Any]:
        watermark = ctx.timer_service().current_watermark()
        yield side, value, None if watermark == NO_WATERMARK else watermark
        if ctx.timestamp() is not None and ctx.timestamp() <= watermark:
            yield LATE, value


class Payments(KeyedCoProcessFunction):
    """An order waits ten for its payment; a payment without an order waits too. What waits in vain goes aside."""

    def open(self, context: Any) -> None:
        self.order = context.get_state(ValueStateDescriptor("order"))
        self.payment = context.get_state(ValueStateDescriptor("payment"))

    def process_element1(self, value: tuple[str, Any], ctx: Any) -> Iterator[Any]:
        return self._met(self.order, self.payment, value, ctx)

    def process_element2(self, value: tuple[str, Any], ctx: Any) -> Iterator[Any]:
        return self._met(self.payment, self.order, value, ctx)

    def _met(self, mine: Any, other: Any, value: tuple[str, Any], ctx: Any) -> Iterator[Any]:
        waiting = other.value()
        if waiting is None:
            mine.update((value[1], ctx.timestamp()))
            ctx.timer_service().register_event_time_timer(ctx.timestamp() + 10)
            return
        other.clear()
        # The timer was set by the other side.
        ctx.timer_service().delete_event_time_timer(waiting[1] + 10)
        yield value[0], *sorted((waiting[0], value[1]))

    def on_timer(self, timestamp: int, ctx: Any) -> Iterator[Any]:
        yield UNPAID, (ctx.get_current_key(), self.order.value(), self.payment.value())
        self.order.clear()
        self.payment.clear()


class Alarm(KeyedCoProcessFunction):
    """One side sets processing-time timers, the other stops them."""

    def process_element1(self, value: tuple[str, int], ctx: Any) -> None:
        ctx.timer_service().register_processing_time_timer(value[1])

    def process_element2(self, value: tuple[str, int], ctx: Any) -> None:
        ctx.timer_service().delete_processing_time_timer(value[1])

    def on_timer(self, timestamp: int, ctx: Any) -> Iterator[Any]:
        assert ctx.time_domain() == TimeDomain.PROCESSING_TIME
        yield ctx.get_current_key(), timestamp


def sides(left: DataStream, right: DataStream) -> DataStream:
    return left.connect(right).map(Sides())


def letters(left: DataStream, right: DataStream) -> DataStream:
    return left.connect(right).flat_map(Letters())


def bonus(left: DataStream, right: DataStream) -> DataStream:
    return left.connect(right).key_by(word, word).map(Bonus())


def paired(left: DataStream, right: DataStream) -> DataStream:
    return left.key_by(word).connect(right.key_by(word)).flat_map(Pair())


def seen(left: DataStream, right: DataStream) -> DataStream:
    return left.connect(right).process(Seen())


def seen_swapped(right: DataStream, left: DataStream) -> DataStream:
    return seen(left, right)


def seen_half_keyed(left: DataStream, right: DataStream) -> DataStream:
    return left.key_by(str).connect(right).process(Seen())


def payments(orders: DataStream, paid: DataStream) -> DataStream:
    return orders.key_by(word).connect(paid.key_by(word)).process(Payments())


def payments_swapped(paid: DataStream, orders: DataStream) -> DataStream:
    return payments(orders, paid)


def alarm(left: DataStream, right: DataStream) -> DataStream:
    return left.connect(right).key_by(word, word).process(Alarm())


def with_itself(stream: DataStream) -> DataStream:
    return stream.connect(stream).process(Seen())


def of_unions(first: DataStream, second: DataStream, third: DataStream) -> DataStream:
    return first.union(second).connect(third.broadcast()).process(Seen())


def of_side_output(left: DataStream, right: DataStream) -> DataStream:
    first = left.connect(right).process(Seen())
    return first.connect(first.get_side_output(LATE)).map(Sides())


def union_of_three(first: DataStream, second: DataStream, third: DataStream) -> DataStream:
    return first.union(second, third).map(lambda value: value)


FUNCTIONS = [
    Transcript(
        "map of connected streams gives one result for each record, and none for None",
        sides,
        [
            Step(Element(1, 5), out=[(("left", 1), 5)]),
            Step(Input(1, Element("b", 3)), out=[(("right", "b"), 3)]),
            Step(0),
            Step(Input(1, "c"), out=[(("right", "c"), None)]),
        ],
        inputs=2,
    ),
    Transcript(
        "flat_map of connected streams yields or collects",
        letters,
        [
            Step(Input(1, Element(2, 7)), out=[(0, 7), (1, 7)]),
            Step(Element("ab", 3), "", out=[("a", 3), ("b", 3)]),
            Step(Input(1, 0)),
        ],
        inputs=2,
    ),
    Transcript(
        "a keyed map of connected streams has state in common",
        bonus,
        [
            Step(("a", 1), out=[(("a", 1), None)]),
            Step(Input(1, ("a", 10)), out=[(("a", "from now on", 10), None)]),
            Step(("a", 1), ("b", 1), out=[(("a", 11), None), (("b", 1), None)]),
        ],
        left=Left(state_entries=1),
        inputs=2,
        stepwise_only=FIRST,
    ),
    Transcript(
        "it does not matter which of two connected streams is first, if the function does not care",
        paired,
        [
            Step(Element(("a", 1), 3), Element(("b", 2), 3)),
            Step(Input(1, Element(("b", 3), 3)), out=[(("b", 2, 3), 3)], left=Left(state_entries=1)),
            Step(Input(1, Element(("c", 4), 3), Element(("a", 5), 3)), out=[(("a", 1, 5), 3)]),
            Step(Element(("c", 6), 3), out=[(("c", 6, 4), 3)], left=Left()),
            Step(Element(("d", 7), 3)),
        ],
        left=Left(state_entries=1),
        inputs=2,
    ),
]

TIME = [
    Transcript(
        "event time of connected streams is that of the slower one",
        seen,
        [
            Step(Watermark(20), watermark=NO_WATERMARK),
            Step(Element("a", 3), out=[(("left", "a", None), 3)]),
            Step(Input(1, Watermark(10)), watermark=10),
            Step(Element("b", 15), out=[(("left", "b", 10), 15)]),
            Step(Input(1, Element("c", 10)), out=[(("right", "c", 10), 10)], side={LATE: [("c", 10)]}),
            Step(Input(1, Watermark(30)), watermark=20),
            Step(Element("d", 20), out=[(("left", "d", 20), 20)], side={LATE: [("d", 20)]}),
        ],
        inputs=2,
        stepwise_only=MEET,
    ),
    Transcript(
        "an idle input of connected streams holds nobody up, and counts again when it is back",
        seen,
        [
            Step(Watermark(20), Input(1, Watermark(5)), watermark=5),
            Step(Input(1, Idle()), watermark=20),
            Step(Watermark(40), watermark=40),
            Step(Input(1, Element("a", 8)), out=[(("right", "a", 40), 8)], side={LATE: [("a", 8)]}),
            Step(Watermark(60), watermark=40),
            Step(Input(1, Watermark(30)), watermark=40),
            Step(Input(1, Watermark(50)), watermark=50),
        ],
        inputs=2,
        stepwise_only=MEET,
    ),
    Transcript(
        "when all inputs are idle event time stands still",
        seen,
        [
            Step(Watermark(20), Input(1, Watermark(5)), watermark=5),
            Step(Idle(), watermark=5),
            Step(Input(1, Idle()), watermark=5),
            Step(Watermark(21), watermark=21),
            Step(Idle()),
            Step(Input(1, Watermark(30)), watermark=30),
        ],
        inputs=2,
        stepwise_only=MEET,
    ),
    Transcript(
        "the last input to become idle still says how far its channels got",
        seen,
        [
            Step(Watermark(3), Input(1, Watermark(5), On(1, Watermark(9))), watermark=3),
            Step(Idle(), watermark=5),
            Step(Input(1, On(1, Idle())), watermark=5),
            Step(Input(1, Idle()), watermark=9),
        ],
        inputs=2,
        stepwise_only=MEET,
    ),
    Transcript(
        "the second of connected streams ends early and holds nobody up",
        seen,
        [
            Step(Watermark(20), Input(1, Watermark(5)), watermark=5),
            Step(Input(1, Element("a", 8), End()), out=[(("right", "a", 5), 8)], watermark=20),
            Step(Element("b", 25), out=[(("left", "b", 20), 25)]),
            Step(Watermark(30), watermark=30),
        ],
        inputs=2,
        stepwise_only=MEET,
    ),
    Transcript(
        "the first of connected streams ends early and holds nobody up",
        seen_swapped,
        [
            Step(Watermark(20), Input(1, Watermark(5), End()), watermark=20),
            Step(Element("b", 25), out=[(("right", "b", 20), 25)]),
            Step(End()),
        ],
        inputs=2,
        stepwise_only=MEET,
    ),
    Transcript(
        "streams of which one is keyed are connected as if none was",
        seen_half_keyed,
        [
            Step(Element("a", 3), out=[(("left", "a", None), 3)]),
            Step(Input(1, Element("b", 4)), out=[(("right", "b", None), 4)]),
        ],
        inputs=2,
    ),
]

KEYED = [
    Transcript(
        "connected keyed streams meet in either order, and one side deletes the timer of the other",
        payments,
        [
            Step(Element(("a", "order"), 4), left=Left(1, 0, 1)),
            Step(Input(1, Element(("a", "paid"), 4)), out=[(("a", "order", "paid"), 4)], left=Left()),
            Step(Input(1, Element(("b", "paid"), 7)), left=Left(1, 0, 1)),
            Step(Element(("b", "order"), 7), out=[(("b", "order", "paid"), 7)], left=Left()),
            Step(End(), side={UNPAID: []}),
        ],
        inputs=2,
    ),
    Transcript(
        "a timer of connected streams fires when both inputs have reached it, and sees the state of both",
        payments,
        [
            Step(Element(("a", "order"), 1), Element(("c", "order"), 9)),
            Step(Input(1, Element(("b", "paid"), 2))),
            Step(Watermark(50), watermark=NO_WATERMARK),
            Step(Input(1, Watermark(11)), side={UNPAID: [(("a", ("order", 1), None), 11)]}, watermark=11),
            Step(Input(1, Watermark(12)), side={UNPAID: [(("b", None, ("paid", 2)), 12)]}, left=Left(1, 0, 1)),
            Step(Input(1, Element(("c", "paid"), 3)), out=[(("c", "order", "paid"), 3)], left=Left()),
        ],
        inputs=2,
        stepwise_only=MEET,
    ),
    Transcript(
        "timers of connected streams fire when the last input has ended",
        payments_swapped,
        [
            Step(Input(1, Element(("a", "order"), 2), Element(("b", "order"), 2), End())),
            Step(Element(("a", "paid"), 2), out=[(("a", "order", "paid"), 2)]),
            Step(Watermark(11)),
            Step(End(), side={UNPAID: [(("b", ("order", 2), None), 12)]}),
        ],
        inputs=2,
    ),
    Transcript(
        "an idle input of connected streams lets the timers of the other fire",
        payments,
        [
            Step(Element(("a", "order"), 1), Watermark(20)),
            Step(Input(1, Idle()), side={UNPAID: [(("a", ("order", 1), None), 11)]}, watermark=20),
        ],
        inputs=2,
    ),
    Transcript(
        "a processing-time timer set by one input is stopped by the other",
        alarm,
        [
            Step(Clock(100), Element(("a", 200), 1), Element(("b", 200), 2)),
            Step(Clock(199), Input(1, Element(("b", 200), 3)), left=Left(0, 1, 0)),
            Step(Clock(200), out=[(("a", 200), None)]),
            Step(Clock(300), End()),
        ],
        inputs=2,
        stepwise_only="the clock goes with the first input alone",
    ),
]

SHAPES = [
    Transcript(
        "a stream connected with itself is both inputs",
        with_itself,
        [
            Step(Element("a", 3), out=[(("left", "a", None), 3), (("right", "a", None), 3)]),
            Step(Watermark(5), watermark=5),
            Step(Element("b", 6), out=[(("left", "b", 5), 6), (("right", "b", 5), 6)], side={LATE: []}),
        ],
        any_order=True,
        stepwise_only=MEET,
    ),
    Transcript(
        "a union is connected with a broadcast stream",
        of_unions,
        [
            Step(Watermark(9), Input(1, Watermark(7)), watermark=NO_WATERMARK),
            Step(Input(2, Watermark(8)), watermark=7),
            Step(Input(1, Element("b", 7)), out=[(("left", "b", 7), 7)], side={LATE: [("b", 7)]}),
            Step(Input(2, Element("c", 9)), out=[(("right", "c", 7), 9)]),
            Step(Input(1, End()), watermark=8),
            Step(Input(2, End()), watermark=9),
        ],
        inputs=3,
        stepwise_only=MEET,
    ),
    Transcript(
        "an operator is connected with a side output of its own",
        of_side_output,
        [
            Step(Watermark(5), Input(1, Watermark(5)), watermark=5),
            Step(Element("a", 4), out=[(("left", ("left", "a", 5)), 4), (("right", "a"), 4)]),
            Step(Input(1, Watermark(9)), Watermark(8), Cut(), watermark=8),
        ],
        inputs=2,
        any_order=True,
        stepwise_only=MEET,
    ),
    Transcript(
        "a union of three goes by the slowest that is neither idle nor at its end",
        union_of_three,
        [
            Step(Watermark(20), Input(1, Watermark(5)), watermark=NO_WATERMARK),
            Step(Input(2, Element("c", 1), Watermark(9)), out=[("c", 1)], watermark=5),
            Step(Input(1, Element("b", 2)), Element("a", 3), out=[("a", 3), ("b", 2)]),
            Step(Input(1, Idle()), watermark=9),
            Step(Input(2, End()), watermark=20),
            Step(Input(1, Element("d", 4)), out=[("d", 4)], watermark=20),
            Step(Watermark(30), watermark=30),
            Step(Input(1, Watermark(40)), watermark=30),
        ],
        inputs=3,
        any_order=True,
    ),
]

TRANSCRIPTS = [*FUNCTIONS, *TIME, *KEYED, *SHAPES]
