"""Evictors: what a window function is shown, and what the window keeps after it."""

from __future__ import annotations

from typing import Any

from penstock.common.watermark_strategy import Watermark
from penstock.datastream.window import (
    ContinuousEventTimeTrigger,
    CountEvictor,
    CountTrigger,
    DeltaEvictor,
    EventTimeSessionWindows,
    Evictor,
    GlobalWindows,
    TimeEvictor,
    TumblingEventTimeWindows,
)
from penstock.testing import Cut, Element
from penstock.testing.transcripts import End, Left, Step, Transcript
from tests.transcripts.cases.window_pipelines import Gather, Show, ShowResult, Windowed, joined

TEN = TumblingEventTimeWindows.of(10)


def distance(old: str, new: str) -> float:
    return abs(int(new[1:]) - int(old[1:]))


class Capitals(Evictor[Any, Any]):
    """Takes capital letters away before the function sees them, and `x` once it has."""

    def evict_before(self, elements: list[Any], size: int, window: Any, evictor_context: Any) -> None:
        elements[:] = [element for element in elements if not element.get_value()[1:].isupper()]

    def evict_after(self, elements: list[Any], size: int, window: Any, evictor_context: Any) -> None:
        elements[:] = [element for element in elements if element.get_value()[1:] != "x"]


class EveryThing(Evictor[Any, Any]):
    """Leaves nothing, after the function or before it."""

    def __init__(self, *, before: bool) -> None:
        self._before = before

    def evict_before(self, elements: list[Any], size: int, window: Any, evictor_context: Any) -> None:
        if self._before:
            elements.clear()

    def evict_after(self, elements: list[Any], size: int, window: Any, evictor_context: Any) -> None:
        elements.clear()


class OlderThanWatermark(Evictor[Any, Any]):
    """Keeps what lies within eight of the watermark; wants to know the size it was told, too."""

    def evict_before(self, elements: list[Any], size: int, window: Any, evictor_context: Any) -> None:
        assert size == len(elements)
        bound = evictor_context.get_current_watermark() - 8
        elements[:] = [element for element in elements if element.get_timestamp() > bound]

    def evict_after(self, elements: list[Any], size: int, window: Any, evictor_context: Any) -> None:
        pass


TRANSCRIPTS = [
    Transcript(
        "a count evictor keeps the last elements for the function",
        Windowed(TEN, evictor=CountEvictor.of(2)),
        [
            Step(Element("ax", 1), Element("ay", 5), Cut(), Element("az", 3), left=Left(1, 0, 1)),
            Step(Watermark(9), out=[("a[0,10)yz", 9)], left=Left()),
        ],
    ),
    Transcript(
        "what was evicted before the function does not come back at the next firing",
        Windowed(TEN, evictor=CountEvictor.of(1), trigger=CountTrigger.of(2), arguments=Show()),
        [
            Step(Element("ax", 1), Element("ay", 5), out=[("a[0,10)y", 9)]),
            Step(Element("az", 3), Cut(), Element("aw", 4), out=[("a[0,10)w", 9)]),
            Step(Watermark(9), left=Left()),
        ],
    ),
    Transcript(
        "a count evictor may let the function see everything first",
        Windowed(TEN, evictor=CountEvictor.of(1, True), trigger=CountTrigger.of(3)),
        [
            Step(Element("ax", 1), Element("ay", 5), Element("az", 3), out=[("a[0,10)xyz", 9)]),
            Step(Element("ab", 6), Element("ac", 4), Cut(), Element("ad", 4), out=[("a[0,10)zbcd", 9)]),
            Step(Watermark(9), left=Left()),
        ],
    ),
    Transcript(
        "a count trigger and a count evictor make the sliding count windows of Java, early ones not full",
        Windowed(GlobalWindows.create(), "reduce", joined, evictor=CountEvictor.of(3), trigger=CountTrigger.of(2)),
        [
            Step("a1", "a2", out=[("a12", None)]),
            Step("a3", Cut(), "a4", "a5", out=[("a234", None)]),
            Step("a6", out=[("a456", None)]),
        ],
        left=Left(state_entries=1),
    ),
    Transcript(
        "a time evictor keeps what is less than its time older than the newest",
        Windowed(TumblingEventTimeWindows.of(20), evictor=TimeEvictor.of(5)),
        [
            Step(Element("ax", 3), Element("ay", 8), Element("az", 4)),
            Step(End(), out=[("a[0,20)yz", 19)]),
        ],
    ),
    Transcript(
        "a time evictor may work after the function, and leaves elements without timestamps alone",
        Windowed(GlobalWindows.create(), evictor=TimeEvictor.of(5, True), trigger=CountTrigger.of(2)),
        [
            Step(Element("ax", 3), Element("ay", 8), out=[("a* xy", 8)]),
            Step(Element("az", 4), Element("aw", 9), out=[("a* yzw", 9)]),
            Step("bx", Element("by", 50), out=[("b* xy", 50)]),
            Step("bz", "bw", out=[("b* xyzw", None)]),
        ],
        left=Left(state_entries=2),
    ),
    Transcript(
        "a delta evictor drops what is as far as the threshold from the last",
        Windowed(TEN, evictor=DeltaEvictor.of(3, distance)),
        [
            Step(Element("a1", 1), Element("a5", 1), Element("a9", 1), Element("a8", 1)),
            Step(Watermark(9), out=[("a[0,10)98", 9)]),
        ],
    ),
    Transcript(
        "an evictor of one's own works before and after the function",
        Windowed(TEN, evictor=Capitals(), trigger=CountTrigger.of(3)),
        [
            Step(Element("ax", 1), Element("aB", 2), Element("ac", 3), out=[("a[0,10)xc", 9)]),
            Step(Element("aD", 4), Element("ax", 5), Cut(), Element("ae", 6), out=[("a[0,10)cxe", 9)]),
        ],
    ),
    Transcript(
        "a function is called even if nothing was left to show",
        Windowed(TEN, evictor=EveryThing(before=True)),
        [Step(Element("ax", 1)), Step(Watermark(9), out=[("a[0,10)", 9)], left=Left())],
    ),
    Transcript(
        "a window that was emptied is not evaluated until something new comes",
        Windowed(
            TumblingEventTimeWindows.of(20), evictor=EveryThing(before=False), trigger=ContinuousEventTimeTrigger.of(5)
        ),
        [
            Step(Element("ax", 1), Watermark(5), out=[("a[0,20)x", 19)]),
            Step(Watermark(11)),
            Step(Element("ay", 12), Watermark(15), out=[("a[0,20)y", 19)]),
            Step(Watermark(19), left=Left()),
        ],
    ),
    Transcript(
        "an evictor sees timestamps and the watermark",
        Windowed(TEN, evictor=OlderThanWatermark()),
        [
            Step(Element("ax", 1), Element("ay", 2), Element("bz", 2)),
            Step(Watermark(9), out=[("a[0,10)y", 9), ("b[0,10)z", 9)]),
        ],
        any_order=True,
    ),
    Transcript(
        "with an evictor an aggregation is made of what was left",
        Windowed(TEN, "aggregate", (Gather(), ShowResult()), evictor=CountEvictor.of(2)),
        [
            Step(Element("ax", 1), Element("ay", 5), Cut(), Element("az", 3)),
            Step(Watermark(9), out=[("a[0,10)yz", 9)], left=Left()),
        ],
    ),
    Transcript(
        "evictors see the elements of merged sessions with their timestamps",
        Windowed(EventTimeSessionWindows.with_gap(10), evictor=TimeEvictor.of(9)),
        [
            Step(Element("ax", 0), Element("ay", 8), Cut(), Element("az", 16)),
            Step(Watermark(25), out=[("a[0,26)yz", 25)], left=Left()),
        ],
    ),
]
