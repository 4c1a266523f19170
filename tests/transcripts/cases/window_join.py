"""Window joins and co-groups: pairs and lists of one key and window, and what triggers and evictors see of them."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from typing import Any

from penstock.common import Time
from penstock.common.constants import MAX_WATERMARK
from penstock.common.watermark_strategy import Watermark
from penstock.datastream import CoGroupFunction, DataStream, FlatJoinFunction, JoinFunction
from penstock.datastream.window import (
    DeltaEvictor,
    DeltaTrigger,
    EventTimeSessionWindows,
    GlobalWindows,
    PurgingTrigger,
    SlidingEventTimeWindows,
    TumblingEventTimeWindows,
)
from penstock.testing import Cut, Element, Idle
from penstock.testing.transcripts import End, Input, Left, Step, Transcript

MEET = "how far the other input has come decides what is late"
TEN = TumblingEventTimeWindows.of(Time.milliseconds(10))

Settings = Callable[[Any], Any]


class Pairs(JoinFunction):
    def join(self, first: Any, second: Any) -> Any:
        return first[1], second["number"]


class Larger(FlatJoinFunction):
    """Pairs whose first number is the larger one; two results for each."""

    def join(self, first: Any, second: Any, out: Any) -> None:
        if first[1] > second["number"]:
            out.collect(first[1])
            out.collect(second["number"])


class Lists(CoGroupFunction):
    def co_group(self, first: list[Any], second: list[Any]) -> Iterator[Any]:
        yield [value[1] for value in first], [value["number"] for value in second]


def as_it_is(windows: Any) -> Any:
    return windows


def first_field(value: Any) -> Any:
    return value[0]


def join(function: Any, assigner: Any = TEN, more: Settings = as_it_is) -> Callable[..., DataStream]:
    def pipeline(left: DataStream, right: DataStream) -> DataStream:
        return more(left.join(right).where(first_field).equal_to("key").window(assigner)).apply(function)

    return pipeline


def co_group(function: Any, assigner: Any = TEN, more: Settings = as_it_is) -> Callable[..., DataStream]:
    def pipeline(left: DataStream, right: DataStream) -> DataStream:
        return more(left.co_group(right).where(first_field).equal_to("key").window(assigner)).apply(function)

    return pipeline


def left(number: int, time: int, key: str = "k") -> Element:
    return Element((key, number), time)


def right(number: int, time: int, key: str = "k") -> Element:
    return Element({"key": key, "number": number}, time)


def number_of(value: Any) -> int:
    return value["number"] if isinstance(value, dict) else value[1]


def distance(old: Any, new: Any) -> float:
    return number_of(new) - number_of(old)


def every_ten(windows: Any) -> Any:
    return windows.trigger(PurgingTrigger.of(DeltaTrigger.of(10, distance)))


def near_the_last(windows: Any) -> Any:
    return windows.evictor(DeltaEvictor.of(10, lambda value, last: abs(distance(value, last))))


def five_late(windows: Any) -> Any:
    return windows.allowed_lateness(5)


TRANSCRIPTS = [
    Transcript(
        "window join: all pairs of one key and window, at the window's end",
        join(Pairs()),
        [
            Step(left(1, 1), left(2, 9), left(3, 10), left(4, 5, key="j")),
            Step(Input(1, right(5, 8), right(6, 0), right(7, 19), right(8, 25))),
            Step(Watermark(9)),
            Step(Input(1, Watermark(8))),
            Step(Input(1, Watermark(9)), out=[((1, 5), 9), ((1, 6), 9), ((2, 5), 9), ((2, 6), 9)], watermark=9),
            Step(Watermark(20), Input(1, Watermark(19)), out=[((3, 7), 19)], watermark=19),
            Step(End(), watermark=MAX_WATERMARK),
        ],
        inputs=2,
        any_order=True,
    ),
    Transcript(
        "window join: a plain function of two elements",
        join(lambda first, second: first[1] + second["number"]),
        [
            Step(Input(1, right(5, 8))),
            Step(left(1, 1)),
            Step(Watermark(9), Input(1, Watermark(9)), out=[(6, 9)]),
        ],
        inputs=2,
    ),
    Transcript(
        "window join: a flat function has any number of results for a pair",
        join(Larger()),
        [
            Step(left(1, 1), left(7, 2), Input(1, right(5, 8))),
            Step(End(), out=[(7, 9), (5, 9)]),
        ],
        inputs=2,
    ),
    Transcript(
        "window join: elements are in all their sliding windows",
        join(Pairs(), SlidingEventTimeWindows.of(Time.milliseconds(10), Time.milliseconds(5))),
        [
            Step(left(1, 6), Input(1, right(2, 12))),
            Step(Watermark(9), Input(1, Watermark(9))),
            Step(Watermark(14), Input(1, Watermark(14)), out=[((1, 2), 14)]),
        ],
        inputs=2,
    ),
    Transcript(
        "window join: sessions are made of elements of both streams",
        join(Pairs(), EventTimeSessionWindows.with_gap(Time.milliseconds(5))),
        [
            Step(left(1, 0), left(2, 8), left(3, 20)),
            Step(Input(1, right(4, 4))),
            Step(End(), out=[((1, 4), 12), ((2, 4), 12)]),
        ],
        inputs=2,
        any_order=True,
    ),
    Transcript(
        "co-group: one call with two lists, of which one may be empty",
        co_group(Lists()),
        [
            Step(left(1, 1), left(2, 2), left(3, 11)),
            Step(Input(1, right(5, 8), right(6, 22))),
            Step(Watermark(9), Input(1, Watermark(9)), out=[(([1, 2], [5]), 9)]),
            Step(Watermark(19), Input(1, Watermark(19)), out=[(([3], []), 19)]),
            Step(End(), out=[(([], [6]), 29)]),
        ],
        inputs=2,
    ),
    Transcript(
        "co-group: a late element fires its window again within the allowed lateness, later it is dropped",
        co_group(Lists(), more=five_late),
        [
            Step(left(1, 1), Watermark(9), Input(1, Watermark(9)), out=[(([1], []), 9)]),
            Step(Input(1, right(2, 2)), out=[(([1], [2]), 9)]),
            Step(Watermark(13), Input(1, Watermark(13)), left=Left(event_timers=1, state_entries=1)),
            Step(Watermark(14), Input(1, Watermark(14)), left=Left()),
            Step(Input(1, right(3, 3)), left=Left()),
        ],
        inputs=2,
        stepwise_only=MEET,
    ),
    Transcript(
        "co-group: an idle input holds nobody up",
        co_group(Lists()),
        [
            Step(left(1, 1), Watermark(30)),
            Step(Input(1, Idle()), out=[(([1], []), 9)], watermark=30),
        ],
        inputs=2,
        stepwise_only="an input is idle only until it says more, and the end says more",
    ),
    Transcript(
        "co-group: a trigger sees the elements of both streams as they are",
        co_group(Lists(), GlobalWindows.create(), every_ten),
        [
            Step(left(1, 1), Cut(), left(5, 2)),
            Step(Input(1, right(20, 3)), out=[(([1, 5], [20]), 3)]),
            Step(left(25, 4)),
            Step(Input(1, right(31, 5)), out=[(([25], [31]), 5)]),
        ],
        inputs=2,
        stepwise_only="the trigger compares elements in the order they come in",
        left=Left(state_entries=1),
    ),
    Transcript(
        "co-group: an evictor sees the elements of both streams as they are",
        co_group(Lists(), more=near_the_last),
        [
            Step(left(1, 1), left(20, 2)),
            Step(Input(1, right(2, 3), right(25, 3))),
            Step(End(), out=[(([20], [25]), 9)]),
        ],
        inputs=2,
        stepwise_only="the evictor compares with the element that came last",
    ),
]
