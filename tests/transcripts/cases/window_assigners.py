"""Assigners: which windows a record falls into, when they fire, and what they leave behind.

Cases that set the clock set it to 100, 199, 200, 300, ... step by step, as the timer cases do: so they share a job on
Spark.
"""

from __future__ import annotations

from collections.abc import Collection
from typing import Any

from penstock.common.constants import MAX_WATERMARK
from penstock.common.watermark_strategy import Watermark
from penstock.datastream import DataStream
from penstock.datastream.window import (
    CumulativeEventTimeWindows,
    CumulativeProcessingTimeWindows,
    EventTimeTrigger,
    GlobalWindows,
    SlidingEventTimeWindows,
    SlidingProcessingTimeWindows,
    TimeWindow,
    TimeWindowSerializer,
    TumblingEventTimeWindows,
    TumblingProcessingTimeWindows,
    WindowAssigner,
)
from penstock.testing import Clock, Cut, Element, Idle
from penstock.testing.transcripts import NO_WATERMARK, End, Left, On, Step, Transcript
from tests.transcripts.cases.window_pipelines import LATE, Gather, GatherSorted, Show, ShowResult, Windowed, joined

FOREVER = MAX_WATERMARK


class ByDigit(WindowAssigner[Any, TimeWindow]):
    """Takes the end of the window from the record itself; a record without digits falls into none."""

    def assign_windows(self, element: str, timestamp: int, context: Any) -> Collection[TimeWindow]:
        digits = [int(each) for each in element if each.isdigit()]
        return [TimeWindow(0, 10 * digit) for digit in digits]

    def get_default_trigger(self, env: Any) -> EventTimeTrigger:
        return EventTimeTrigger.create()

    def get_window_serializer(self) -> TimeWindowSerializer:
        return TimeWindowSerializer()

    def is_event_time(self) -> bool:
        return True


def count_windows(size: int, slide: int = 0) -> Any:
    def pipeline(stream: DataStream) -> DataStream:
        return stream.key_by(lambda record: record[0]).count_window(size, slide).process(Show())

    return pipeline


TUMBLING = Windowed(TumblingEventTimeWindows.of(10))

_TUMBLING = [
    Transcript(
        "a window holds its start and not its end, and fires with its last timestamp when the watermark reaches that",
        TUMBLING,
        [
            Step(Element("ax", 0), Element("ay", 9), Element("az", 10), left=Left(event_timers=2, state_entries=2)),
            Step(Watermark(8), watermark=8),
            Step(Watermark(9), out=[("a[0,10)xy", 9)], watermark=9, left=Left(event_timers=1, state_entries=1)),
            Step(End(), out=[("a[10,20)z", 19)], watermark=FOREVER),
        ],
    ),
    Transcript(
        "windows fire in the order of their ends, also when one watermark passes several",
        TUMBLING,
        [
            Step(Element("az", 25), Element("bx", 5), Cut(), Element("ay", 15)),
            Step(Watermark(28), out=[("b[0,10)x", 9), ("a[10,20)y", 19)]),
            Step(Watermark(29), out=[("a[20,30)z", 29)], left=Left()),
        ],
    ),
    Transcript(
        "every key has windows of its own",
        TUMBLING,
        [
            Step(Element("ax", 1), Element("by", 2), Element("az", 3)),
            Step(Watermark(10), out=[("a[0,10)xz", 9), ("b[0,10)y", 9)]),
        ],
        any_order=True,
    ),
    Transcript(
        "a window keeps its elements in the order they came",
        TUMBLING,
        [Step(Element("ax", 7), Element("ay", 2), Cut(), Element("az", 5)), Step(End(), out=[("a[0,10)xyz", 9)])],
    ),
    Transcript(
        "tumbling windows may be shifted",
        Windowed(TumblingEventTimeWindows.of(10, 3)),
        [
            Step(Element("ax", 2), Element("ay", 3), Element("az", 12), Element("aw", 13)),
            Step(Watermark(12), out=[("a[-7,3)x", 2), ("a[3,13)yz", 12)]),
            Step(End(), out=[("a[13,23)w", 22)]),
        ],
    ),
    Transcript(
        "tumbling windows may be shifted back",
        Windowed(TumblingEventTimeWindows.of(10, -3)),
        [
            Step(Element("ax", -4), Element("ay", -3), Element("az", 6), Element("aw", 7)),
            Step(Watermark(6), out=[("a[-13,-3)x", -4), ("a[-3,7)yz", 6)]),
            Step(End(), out=[("a[7,17)w", 16)]),
        ],
    ),
    Transcript(
        "windows before 1970 are like others",
        TUMBLING,
        [
            Step(Element("ax", -1), Element("ay", -10), Element("az", -11)),
            Step(Watermark(-12)),
            Step(Watermark(-11), out=[("a[-20,-10)z", -11)]),
            Step(Watermark(-1), out=[("a[-10,0)xy", -1)], left=Left()),
        ],
    ),
    Transcript(
        "the end of input fires every event-time window",
        TUMBLING,
        [
            Step(Element("ax", 10**15), Element("ay", 5), Watermark(3)),
            Step(End(), out=[("a[0,10)y", 9), (f"a[{10**15},{10**15 + 10})x", 10**15 + 9)]),
        ],
    ),
    Transcript(
        "an idle input fires nothing",
        TUMBLING,
        [
            Step(Element("ax", 5), Watermark(8), Idle(), watermark=8),
            Step(Element("ay", 6)),
            Step(Idle(), Cut(), Watermark(9), out=[("a[0,10)xy", 9)], watermark=9),
        ],
    ),
    Transcript(
        "a window waits for the slower of two splits",
        TUMBLING,
        [
            Step(Element("ax", 3), Watermark(50), watermark=NO_WATERMARK),
            Step(On(1, Element("ay", 4), Watermark(8))),
            Step(On(1, Watermark(9)), out=[("a[0,10)xy", 9)], watermark=9),
            Step(On(1, Idle()), Element("az", 55), Watermark(59), out=[("a[50,60)z", 59)], watermark=59),
        ],
        stepwise_only="records of two channels meet in any order",
    ),
    Transcript(
        "windows of windows: what a window emits is not late for the next, whose window ends at the same time",
        lambda stream: Windowed(TumblingEventTimeWindows.of(20), "reduce", joined)(
            Windowed(TumblingEventTimeWindows.of(10), "reduce", joined)(stream)
        ),
        [
            Step(Element("ax", 3), Element("ay", 12), Element("az", 23)),
            Step(Watermark(19), out=[("axy", 19)], watermark=19),
            Step(End(), out=[("az", 39)]),
        ],
    ),
]

_SLIDING = [
    Transcript(
        "a record is in every sliding window that covers it",
        Windowed(SlidingEventTimeWindows.of(10, 5)),
        [
            Step(Element("ax", 3), Element("ay", 7), left=Left(event_timers=3, state_entries=3)),
            Step(Watermark(4), out=[("a[-5,5)x", 4)]),
            Step(Watermark(14), out=[("a[0,10)xy", 9), ("a[5,15)y", 14)], left=Left()),
        ],
    ),
    Transcript(
        "sliding windows of an aggregation are the same",
        Windowed(SlidingEventTimeWindows.of(10, 5), "aggregate", (Gather(), ShowResult())),
        [
            Step(Element("ax", 3), Cut(), Element("ay", 7), Element("az", 8)),
            Step(Watermark(4), out=[("a[-5,5)x", 4)]),
            Step(Watermark(9), Element("aw", 11), out=[("a[0,10)xyz", 9)]),
            Step(Watermark(14), out=[("a[5,15)yzw", 14)]),
            Step(Element("av", 15), End(), out=[("a[10,20)wv", 19), ("a[15,25)v", 24)]),
        ],
    ),
    Transcript(
        "sliding windows of an aggregation that does not mind the order are the same, kept as panes",
        Windowed(SlidingEventTimeWindows.of(10, 5), "aggregate", (GatherSorted(), ShowResult())),
        [
            Step(Element("ax", 3), Cut(), Element("ay", 7), Element("az", 8)),
            Step(Watermark(4), out=[("a[-5,5)x", 4)]),
            Step(Watermark(9), Element("aw", 11), out=[("a[0,10)xyz", 9)]),
            Step(Watermark(14), out=[("a[5,15)wyz", 14)]),
            Step(Element("av", 15), End(), out=[("a[10,20)vw", 19), ("a[15,25)v", 24)]),
        ],
    ),
    Transcript(
        "the size of sliding windows need not be a multiple of the slide",
        Windowed(SlidingEventTimeWindows.of(10, 4, 1), "reduce", (joined, Show())),
        [
            Step(Element("az", -2), Element("ax", 3), Element("ay", 9)),
            Step(Watermark(6), out=[("a[-11,-1)z", -2), ("a[-7,3)z", 2), ("a[-3,7)zx", 6)]),
            Step(End(), out=[("a[1,11)xy", 10), ("a[5,15)y", 14), ("a[9,19)y", 18)]),
        ],
    ),
    Transcript(
        "between sliding windows with gaps a record is lost, and late once the watermark has passed it",
        Windowed(SlidingEventTimeWindows.of(5, 10), late=LATE),
        [
            Step(Element("ax", 4), Element("ay", 5), Element("az", 9), Element("aw", 10)),
            Step(Watermark(7), Element("av", 7), Element("au", 8), out=[("a[0,5)x", 4)], side={LATE: [("av", 7)]}),
            Step(End(), out=[("a[10,15)w", 14)]),
        ],
    ),
    Transcript(
        "sliding windows with nothing in between fire when they hold something, and not before",
        Windowed(SlidingEventTimeWindows.of(10, 5), "reduce", (joined, Show())),
        [
            Step(Element("ax", 3), Element("ay", 93), Element("bz", 46)),
            Step(Watermark(50), out=[("a[-5,5)x", 4), ("a[0,10)x", 9), ("b[40,50)z", 49)]),
            Step(Element("aw", 61), Watermark(64), out=[("b[45,55)z", 54), ("a[55,65)w", 64)]),
            Step(End(), out=[("a[60,70)w", 69), ("a[85,95)y", 94), ("a[90,100)y", 99)]),
        ],
    ),
    Transcript(
        "cumulative windows grow step by step up to their size",
        Windowed(CumulativeEventTimeWindows.of(30, 10)),
        [
            Step(Element("ax", 15), Element("ay", 3), Element("az", 29)),
            Step(Watermark(9), out=[("a[0,10)y", 9)]),
            Step(Watermark(28), out=[("a[0,20)xy", 19)]),
            Step(Element("aw", 30), Watermark(29), out=[("a[0,30)xyz", 29)]),
            Step(End(), out=[("a[30,40)w", 39), ("a[30,50)w", 49), ("a[30,60)w", 59)]),
        ],
    ),
    Transcript(
        "cumulative windows may be shifted, and aggregated",
        Windowed(CumulativeEventTimeWindows.of(20, 10, -5), "reduce", (joined, Show())),
        [
            Step(Element("ax", -6), Element("ay", -5), Element("az", 5)),
            Step(Watermark(4), out=[("a[-25,-5)x", -6), ("a[-5,5)y", 4)]),
            Step(End(), out=[("a[-5,15)yz", 14)]),
        ],
    ),
]

_PROCESSING = [
    Transcript(
        "tumbling windows of processing time fire when the clock reaches their last millisecond",
        Windowed(TumblingProcessingTimeWindows.of(100)),
        [
            Step(Clock(100), Element("ax", 7), "ay", Watermark(1000), left=Left(processing_timers=1, state_entries=1)),
            Step(Clock(199), out=[("a[100,200)xy", 199)], left=Left()),
            Step(Clock(200), "az"),
            Step(Clock(300), "aw", out=[("a[200,300)z", 299)]),
            Step(Clock(400), End(), out=[("a[300,400)w", 399)]),
        ],
    ),
    Transcript(
        "a record of a window's last millisecond that comes after it has fired makes it fire again",
        Windowed(TumblingProcessingTimeWindows.of(100), "reduce", joined),
        [
            Step(Clock(100), "ax"),
            Step(Clock(199), "ay", out=[("ax", 199), ("ay", 199)], left=Left()),
            Step(Clock(200), End()),
        ],
    ),
    Transcript(
        "windows of processing time may be shifted",
        Windowed(TumblingProcessingTimeWindows.of(100, -1)),
        [
            Step(Clock(100), "ax"),
            Step(Clock(199), "ay", out=[("a[99,199)x", 198)]),
            Step(Clock(200), "az"),
            Step(Clock(300), End(), out=[("a[199,299)yz", 298)]),
        ],
    ),
    Transcript(
        "the end of input does not fire windows of processing time",
        Windowed(TumblingProcessingTimeWindows.of(1000)),
        [Step(Clock(100), Element("ax", 5)), Step(Clock(199), End())],
        left=Left(processing_timers=1, state_entries=1),
    ),
    Transcript(
        "sliding windows of processing time",
        Windowed(SlidingProcessingTimeWindows.of(200, 100), "reduce", (joined, Show())),
        [
            Step(Clock(100), "ax"),
            Step(Clock(199), out=[("a[0,200)x", 199)]),
            Step(Clock(200), "ay"),
            Step(Clock(300), out=[("a[100,300)xy", 299)]),
            Step(Clock(400), End(), out=[("a[200,400)y", 399)]),
        ],
    ),
    Transcript(
        "cumulative windows of processing time",
        Windowed(CumulativeProcessingTimeWindows.of(300, 100)),
        [
            Step(Clock(100), "ax"),
            Step(Clock(199), out=[("a[0,200)x", 199)]),
            Step(Clock(200), "ay"),
            Step(Clock(300), "az", out=[("a[0,300)xy", 299)]),
            Step(Clock(400), out=[("a[300,400)z", 399)]),
            Step(Clock(500), out=[("a[300,500)z", 499)]),
            Step(Clock(600), End(), out=[("a[300,600)z", 599)]),
        ],
    ),
]

_OTHERS = [
    Transcript(
        "global windows never fire by themselves",
        Windowed(GlobalWindows.create()),
        [Step(Element("ax", 5), "ay", left=Left(state_entries=1)), Step(Watermark(10**12))],
        left=Left(state_entries=1),
    ),
    Transcript(
        "global windows may fire when the input ends",
        Windowed(GlobalWindows.create_with_end_of_stream_trigger(), "reduce", joined),
        [Step(Element("ax", 5), Element("ay", 3)), Step(Watermark(10**12)), Step(End(), out=[("axy", FOREVER)])],
    ),
    Transcript(
        "count windows fire when they are full; one that is not stays, and each key counts its own",
        count_windows(2),
        [
            Step(Element("ax", 5), Element("bx", 6), Element("ay", 7), out=[("a#0 xy", 7)]),
            Step("az", Cut(), "aw", out=[("a#1 zw", None)], left=Left(state_entries=4)),
        ],
        # Two counters of the assigner; the element of b and the count of its trigger.
        left=Left(state_entries=4),
    ),
    Transcript(
        "sliding count windows fire only when they are full",
        count_windows(2, 1),
        [
            Step("a1"),
            Step("a3", "a5", out=[("a#0 13", None), ("a#1 35", None)]),
            Step("a7", out=[("a#2 57", None)]),
        ],
        left=Left(state_entries=3),
    ),
    Transcript(
        "sliding count windows overlap, and end where others go on",
        count_windows(3, 2),
        [
            Step("a0", "a1", "a2", "a3", out=[("a#0 012", None)]),
            Step("a4", "a5", "a6", out=[("a#1 234", None), ("a#2 456", None)]),
        ],
        left=Left(state_entries=3),
    ),
    Transcript(
        "an assigner of one's own chooses windows, several or none; a record in none is lost until it is late",
        Windowed(ByDigit(), late=LATE),
        [
            Step(Element("ax1", 3), Element("ay21", 5), Element("a", 6), left=Left(event_timers=2, state_entries=2)),
            Step(Watermark(9), Element("a", 9), out=[("a[0,10)x1y21", 9)], side={LATE: [("a", 9)]}),
            Step(Element("az1", 15), Element("aw1", 7), side={LATE: [("aw1", 7)]}),
            Step(End(), out=[("a[0,20)y21", 19)]),
        ],
    ),
]

TRANSCRIPTS = [*_TUMBLING, *_SLIDING, *_PROCESSING, *_OTHERS]
