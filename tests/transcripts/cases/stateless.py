"""What map, flat_map, filter and a plain process function owe their records."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

from penstock.common.constants import MAX_WATERMARK, MIN_WATERMARK
from penstock.common.watermark_strategy import Watermark
from penstock.datastream import OutputTag, ProcessFunction
from penstock.testing import Cut, Element
from penstock.testing.transcripts import NO_WATERMARK, End, Step, Transcript

LATE = OutputTag("late")
ODD = OutputTag("odd")


def spell(word: str) -> Iterator[str]:
    yield from word


def collect_twice(value: Any, out: Any) -> None:
    out.collect(value)
    out.collect(value)


class ShowTime(ProcessFunction):
    """Gives each value with the time the function sees."""

    def process_element(self, value: Any, ctx: Any) -> Iterator[Any]:
        yield value, ctx.timestamp(), ctx.timer_service().current_watermark()


class SortOut(ProcessFunction):
    """Sends odd numbers aside, by both ways there are."""

    def process_element(self, value: int, ctx: Any) -> Iterator[Any]:
        if value % 2 == 0:
            yield value
        elif value > 10:
            ctx.output(ODD, value)
        else:
            yield ODD, value


class SortLate(ProcessFunction):
    """Sends records aside that event time has overtaken."""

    def process_element(self, value: Any, ctx: Any) -> Iterator[Any]:
        if ctx.timestamp() <= ctx.timer_service().current_watermark():
            yield LATE, value
        else:
            yield value


class OnlyAside(ProcessFunction):
    """Has nothing for the main output."""

    def process_element(self, value: Any, ctx: Any) -> None:
        ctx.output(ODD, (value, 1))
        ctx.output(ODD, (value, 2))


TRANSCRIPTS = [
    Transcript(
        "map keeps timestamps, and the lack of them",
        lambda stream: stream.map(lambda value: value * 2),
        [
            Step(Element(1, 10), out=[(2, 10)]),
            Step(Element(2), out=[(4, None)]),
            Step(Element(3, -5), Element(4, 0), out=[(6, -5), (8, 0)]),
        ],
    ),
    Transcript(
        "an operator passes watermarks on, never backwards, and ends with the last of all",
        lambda stream: stream.map(str),
        [
            Step("x", out=[("x", None)], watermark=NO_WATERMARK),
            Step(Watermark(5), watermark=5),
            Step(Watermark(3), watermark=5),
            Step(Watermark(5), Element("y", 2), out=[("y", 2)], watermark=5),
            Step(End(), watermark=MAX_WATERMARK),
        ],
    ),
    Transcript(
        "flat_map gives none, one or many, each with the timestamp of its record",
        lambda stream: stream.flat_map(spell),
        [
            Step(Element("", 1)),
            Step(Element("a", 2), out=[("a", 2)]),
            Step(Element("bcd", 3), "e", out=[("b", 3), ("c", 3), ("d", 3), ("e", None)]),
        ],
    ),
    Transcript(
        "flat_map may return a list",
        lambda stream: stream.flat_map(lambda word: word.split()),
        [Step(Element("to be", 7), out=[("to", 7), ("be", 7)]), Step(Element("", 8))],
    ),
    Transcript(
        "flat_map may use a collector",
        lambda stream: stream.flat_map(collect_twice),
        [Step(Element("a", 7), Element("b", 8), out=[("a", 7), ("a", 7), ("b", 8), ("b", 8)])],
    ),
    Transcript(
        "filter keeps the record as it is",
        lambda stream: stream.filter(lambda value: value > 2),
        [
            Step(Element(1, 1)),
            Step(Element(3, 2), Element(2, 3), Element(4), out=[(3, 2), (4, None)]),
        ],
    ),
    Transcript(
        "a process function sees the timestamp of the record and the watermark before it",
        lambda stream: stream.process(ShowTime()),
        [
            Step(Element("a", 4), out=[(("a", 4, MIN_WATERMARK), 4)]),
            Step(Watermark(9), Element("b", 8), out=[(("b", 8, 9), 8)]),
            Step("c", out=[(("c", None, 9), None)]),
            Step(Cut(), Watermark(11), Cut(), Element("d", 12), out=[(("d", 12, 11), 12)]),
        ],
    ),
    Transcript(
        "side outputs take what is yielded with a tag and what is given to ctx.output",
        lambda stream: stream.process(SortOut()),
        [
            Step(Element(2, 1), out=[(2, 1)], side={ODD: []}),
            Step(Element(3, 2), side={ODD: [(3, 2)]}),
            Step(Element(13, 3), Element(4, 4), 15, out=[(4, 4)], side={ODD: [(13, 3), (15, None)]}),
        ],
    ),
    Transcript(
        "a side output needs no main output",
        lambda stream: stream.process(OnlyAside()),
        [Step(Element("a", 1), side={ODD: [(("a", 1), 1), (("a", 2), 1)]})],
    ),
    Transcript(
        "a side output that nobody reads is dropped",
        lambda stream: stream.process(SortOut()),
        [Step(Element(3, 2)), Step(Element(4, 2), out=[(4, 2)])],
    ),
    Transcript(
        "a record at the watermark is late, one behind it is not",
        lambda stream: stream.process(SortLate()),
        [
            Step(Element("early", -100), out=[("early", -100)], side={LATE: []}),
            Step(Watermark(10)),
            Step(Element("before", 9), Element("at", 10), side={LATE: [("before", 9), ("at", 10)]}),
            Step(Element("after", 11), out=[("after", 11)]),
            Step(Watermark(11), Element("after", 11), side={LATE: [("after", 11)]}),
        ],
    ),
    Transcript("an empty input gives nothing", lambda stream: stream.map(str), []),
]
