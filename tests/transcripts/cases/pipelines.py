"""Several operators, splits and channels: where watermarks meet, who holds whom up, and what is late where."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

from penstock.common import Duration, Types, WatermarkStrategy
from penstock.common.watermark_strategy import Watermark
from penstock.datastream import DataStream, KeyedProcessFunction, OutputTag, ProcessFunction
from penstock.datastream.state import ValueStateDescriptor
from penstock.testing import Clock, Cut, Element, Idle
from penstock.testing.transcripts import NO_WATERMARK, End, Left, On, Step, Transcript

LATE = OutputTag("late")
SMALL = OutputTag("small")
MEET = "records of two channels meet in any order, and what is late depends on it"


def same(value: Any) -> str:
    return "all"


class Tumble(KeyedProcessFunction):
    """Sums numbers in windows of ten by hand, as Flink's users did before there were windows; late ones go aside."""

    def __init__(self, size: int = 10) -> None:
        self._size = size

    def open(self, context: Any) -> None:
        self.sum = context.get_state(ValueStateDescriptor("sum", Types.PICKLED_BYTE_ARRAY()))

    def process_element(self, value: int, ctx: Any) -> Iterator[Any]:
        end = ctx.timestamp() // self._size * self._size + self._size - 1
        if end <= ctx.timer_service().current_watermark():
            yield LATE, value
            return
        sums = self.sum.value() or {}
        self.sum.update({**sums, end: sums.get(end, 0) + value})
        ctx.timer_service().register_event_time_timer(end)

    def on_timer(self, timestamp: int, ctx: Any) -> Iterator[Any]:
        sums = self.sum.value()
        yield sums.pop(timestamp)
        if sums:
            self.sum.update(sums)
        else:
            self.sum.clear()


class Sizes(ProcessFunction):
    """Sends small numbers aside."""

    def process_element(self, value: int, ctx: Any) -> Iterator[Any]:
        yield (SMALL, value) if value < 10 else value


def tumble(stream: DataStream) -> DataStream:
    return stream.key_by(same).process(Tumble())


def tumble_bounded(stream: DataStream) -> DataStream:
    strategy = WatermarkStrategy.for_bounded_out_of_orderness(Duration.of_millis(5))
    return tumble(stream.assign_timestamps_and_watermarks(strategy))


def tumble_twice(stream: DataStream) -> DataStream:
    return tumble(stream).key_by(same).process(Tumble(20))


def tumble_union(stream: DataStream) -> DataStream:
    odd, even = stream.filter(lambda value: value % 2 == 1), stream.filter(lambda value: value % 2 == 0)
    return tumble(odd.union(even))


def tumble_sides(stream: DataStream) -> DataStream:
    sizes = stream.process(Sizes())
    return tumble(sizes.union(sizes.get_side_output(SMALL)))


def tumble_idle(stream: DataStream) -> DataStream:
    strategy = WatermarkStrategy.for_monotonous_timestamps().with_idleness(Duration.of_millis(100))
    return tumble(stream.assign_timestamps_and_watermarks(strategy))


def chain(stream: DataStream) -> DataStream:
    words = stream.flat_map(lambda line: line.split()).filter(lambda word: word != "the")
    return (
        words.map(lambda word: (word, 1)).key_by(lambda pair: pair[0]).sum(1).map(lambda pair: f"{pair[0]}={pair[1]}")
    )


TRANSCRIPTS = [
    Transcript(
        "a chain of operators is as good as one",
        chain,
        [
            Step(Element("the cat the dog", 1), out=[("cat=1", 1), ("dog=1", 1)]),
            Step(Element("the the", 2)),
            Step(Element("dog eats dog", 3), out=[("dog=2", 3), ("eats=1", 3), ("dog=3", 3)]),
        ],
        left=Left(state_entries=3),
    ),
    Transcript(
        "bounded out-of-orderness waits for late records, and no longer",
        tumble_bounded,
        [
            Step(Element(1, 3), Element(2, 12), watermark=6),
            Step(Element(4, 4), watermark=6),
            Step(Element(8, 15), out=[(5, 9)], watermark=9),
            Step(Element(16, 9), side={LATE: [(16, 9)]}),
            Step(Element(32, 24), watermark=18),
            Step(Element(64, 25), out=[(10, 19)], watermark=19),
            Step(End(), out=[(96, 29)]),
        ],
        stepwise_only="each subtask of the assigner sees a part of the records",
    ),
    Transcript(
        "what a timer emits is not late for the next operator",
        tumble_twice,
        [
            Step(Element(1, 3), Element(2, 12)),
            Step(Watermark(19), out=[(3, 19)], watermark=19),
            Step(Element(4, 25), Watermark(30), side={LATE: []}),
            Step(End(), out=[(4, 39)]),
        ],
    ),
    Transcript(
        "a union goes by its slowest side, and both sides of one stream go together",
        tumble_union,
        [
            Step(Element(1, 3), Element(2, 4)),
            Step(Watermark(8)),
            Step(Watermark(9), out=[(3, 9)], watermark=9),
            Step(Element(5, 9), Element(6, 10), side={LATE: [(5, 9)]}),
            Step(End(), out=[(6, 19)]),
        ],
    ),
    Transcript(
        "a side output carries the watermarks of its operator",
        tumble_sides,
        [
            Step(Element(1, 3), Element(20, 4)),
            Step(Watermark(9), out=[(21, 9)], watermark=9),
            Step(Element(2, 19), Element(30, 11), Watermark(15)),
            Step(Watermark(19), out=[(32, 19)]),
        ],
    ),
    Transcript(
        "two splits: the slower one is the time",
        tumble,
        [
            Step(Element(1, 3), Watermark(50), watermark=NO_WATERMARK),
            Step(On(1, Element(2, 4), Watermark(8)), watermark=8),
            Step(On(1, Watermark(9)), out=[(3, 9)], watermark=9),
            Step(On(1, Watermark(100)), watermark=50),
            Step(On(1, Element(4, 41)), Element(8, 60), side={LATE: [(4, 41)]}),
            Step(Watermark(69), out=[(8, 69)], watermark=69),
        ],
        stepwise_only=MEET,
    ),
    Transcript(
        "an idle split holds nobody up, and is late when it comes back behind the others",
        tumble,
        [
            Step(Element(1, 3), On(1, Element(2, 4), Watermark(5))),
            Step(Watermark(20), watermark=5),
            Step(On(1, Idle()), out=[(3, 9)], watermark=20),
            Step(On(1, Element(4, 7)), side={LATE: [(4, 7)]}, watermark=20),
            Step(Element(8, 31), Watermark(30), watermark=30),
            Step(On(1, Watermark(25)), watermark=30),
            Step(On(1, Watermark(35)), watermark=30),
            Step(Watermark(50), watermark=35),
            Step(On(1, Watermark(39)), out=[(8, 39)], watermark=39),
        ],
        stepwise_only=MEET,
    ),
    Transcript(
        "a split that has ended holds nobody up",
        tumble,
        [
            Step(Element(1, 3), On(1, Element(2, 4))),
            Step(Watermark(9), watermark=NO_WATERMARK),
            Step(On(1, End()), out=[(3, 9)], watermark=9),
            Step(Element(4, 15), Watermark(19), out=[(4, 19)], watermark=19),
        ],
        stepwise_only=MEET,
    ),
    Transcript(
        "when all splits are idle the furthest is the time",
        tumble,
        [
            Step(Element(1, 3), Watermark(20), On(1, Watermark(5)), watermark=5),
            Step(Idle(), watermark=5),
            Step(On(1, Idle()), out=[(1, 9)], watermark=20),
            Step(Element(2, 31), Cut(), Watermark(40), out=[(2, 39)], watermark=40),
        ],
        stepwise_only=MEET,
    ),
    Transcript(
        "a split that gives nothing for the idle timeout holds nobody up",
        tumble_idle,
        [
            Step(Clock(100), Element(1, 3), On(1, Element(2, 4)), watermark=2),
            Step(Clock(199), Element(4, 30), watermark=3),
            Step(Clock(200), Element(8, 31), out=[(3, 9)], watermark=30),
            Step(Clock(300), Element(16, 32), On(1, Element(32, 8)), side={LATE: [(32, 8)]}, watermark=31),
            Step(Clock(400), Element(0, 32), On(1, Element(64, 41)), watermark=31),
            Step(Clock(500), Element(128, 43), On(1, Element(0, 41)), out=[(28, 39)], watermark=40),
            Step(Clock(600), End(), out=[(192, 49)]),
        ],
        stepwise_only="a restart starts the idle timeout anew",
    ),
]
