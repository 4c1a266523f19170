"""Sessions and other windows that merge: what grows together, when, and that nothing of the parts stays behind.

The clock goes as in `window_assigners`.
"""

from __future__ import annotations

from collections.abc import Collection, Iterable
from typing import Any

from penstock.common.watermark_strategy import Watermark
from penstock.datastream.window import (
    EventTimeSessionWindows,
    EventTimeTrigger,
    MergingWindowAssigner,
    ProcessingTimeSessionWindows,
    PurgingTrigger,
    SessionWindowTimeGapExtractor,
    TimeWindow,
    TimeWindowSerializer,
)
from penstock.testing import Clock, Cut, Element
from penstock.testing.transcripts import End, Left, Step, Transcript
from tests.transcripts.cases.window_pipelines import LATE, Gather, Show, ShowResult, ShowSorted, Windowed, joined


class Payload(SessionWindowTimeGapExtractor):
    """The gap is what the record says."""

    def extract(self, element: str) -> int:
        return int(element[1:])


class UpToTheHour(MergingWindowAssigner[Any, TimeWindow]):
    """Windows from a record to the next multiple of a hundred; those with one end merge."""

    def assign_windows(self, element: str, timestamp: int, context: Any) -> Collection[TimeWindow]:
        return [TimeWindow(timestamp, timestamp // 100 * 100 + 100)]

    def merge_windows(self, windows: Iterable[TimeWindow], callback: Any) -> None:
        by_end: dict[int, list[TimeWindow]] = {}
        for window in windows:
            by_end.setdefault(window.end, []).append(window)
        for end, parts in by_end.items():
            if len(parts) > 1:
                callback.merge(parts, TimeWindow(min(part.start for part in parts), end))

    def get_default_trigger(self, env: Any) -> EventTimeTrigger:
        return EventTimeTrigger.create()

    def get_window_serializer(self) -> TimeWindowSerializer:
        return TimeWindowSerializer()

    def is_event_time(self) -> bool:
        return True


GAP = EventTimeSessionWindows.with_gap(10)
SORTED = ShowSorted()

TRANSCRIPTS = [
    Transcript(
        "a session ends when nothing came for the gap",
        Windowed(GAP),
        [
            Step(Element("ax", 0), Element("ay", 9), Element("az", 30), left=Left(event_timers=2, state_entries=3)),
            Step(Watermark(17)),
            Step(Watermark(18), out=[("a[0,19)xy", 18)]),
            Step(Watermark(39), out=[("a[30,40)z", 39)], left=Left()),
        ],
    ),
    Transcript(
        "sessions that only touch are one",
        Windowed(GAP),
        [
            Step(Element("ax", 0), Element("ay", 10), Element("bx", 0), Element("by", 11)),
            Step(Watermark(18), out=[("b[0,10)x", 9)]),
            Step(End(), out=[("a[0,20)xy", 19), ("b[11,21)y", 20)]),
        ],
    ),
    Transcript(
        "a record between two sessions makes them one, and only one fires",
        Windowed(GAP, arguments=SORTED),
        [
            Step(Element("ax", 0), Element("az", 20), left=Left(event_timers=2, state_entries=3)),
            Step(Watermark(8), Element("ay", 10), left=Left(event_timers=1, state_entries=2)),
            Step(Watermark(28)),
            Step(Watermark(29), out=[("a[0,30)xyz", 29)], left=Left()),
        ],
    ),
    Transcript(
        "a record in the middle of a session changes nothing but its contents",
        Windowed(GAP),
        [
            Step(Element("ax", 0), Element("ay", 9)),
            Step(Element("az", 5), Element("aw", 0), left=Left(event_timers=1, state_entries=2)),
            Step(Watermark(18), out=[("a[0,19)xyzw", 18)], left=Left()),
        ],
    ),
    Transcript(
        "a session grows to the left, too",
        Windowed(GAP, "reduce", (joined, ShowSorted())),
        [
            Step(Element("ax", 20), Cut(), Element("ay", 15), Cut(), Element("az", 5)),
            Step(Watermark(28)),
            Step(Watermark(29), out=[("a[5,30)xyz", 29)], left=Left()),
        ],
    ),
    Transcript(
        "accumulators of sessions are merged",
        Windowed(GAP, "aggregate", (Gather(), ShowResult())),
        [
            Step(Element("ax", 0), Element("ax", 3), Element("ax", 18), Element("ax", 27), left=Left(2, 0, 3)),
            Step(Element("ax", 10), left=Left(1, 0, 2)),
            Step(Watermark(36), out=[("a[0,37)xxxxx", 36)], left=Left()),
        ],
    ),
    Transcript(
        "two sessions may merge again and again",
        Windowed(GAP, "reduce", (joined, ShowSorted())),
        [
            Step(Element("a1", 0), Element("a2", 20), Element("a3", 40), Element("a4", 60), left=Left(4, 0, 5)),
            Step(Element("a5", 10), Element("a6", 50), left=Left(2, 0, 3)),
            Step(Element("a7", 30), left=Left(1, 0, 2)),
            Step(Watermark(69), out=[("a[0,70)1234567", 69)], left=Left()),
        ],
    ),
    Transcript(
        "keys have sessions of their own",
        Windowed(GAP),
        [
            Step(Element("ax", 0), Element("by", 5), Element("az", 12), Element("bw", 13)),
            Step(Watermark(22), out=[("a[0,10)x", 9), ("a[12,22)z", 21), ("b[5,23)yw", 22)], left=Left()),
        ],
    ),
    Transcript(
        "sessions before 1970 are like others",
        Windowed(GAP),
        [
            Step(Element("ax", -15), Element("ay", -8), Element("az", 5)),
            Step(Watermark(2), out=[("a[-15,2)xy", 1)]),
            Step(End(), out=[("a[5,15)z", 14)]),
        ],
    ),
    Transcript(
        "the gap may depend on the record",
        Windowed(EventTimeSessionWindows.with_dynamic_gap(Payload()), arguments=SORTED),
        [
            Step(Element("a5", 0), Element("a20", 3), Element("a2", 30)),
            Step(Watermark(10)),
            Step(Element("a6", 24), Watermark(22), out=[("a[0,23)025", 22)]),
            Step(Watermark(31), out=[("a[24,32)26", 31)], left=Left()),
        ],
    ),
    Transcript(
        "a session that purges when it fires starts anew",
        Windowed(GAP, trigger=PurgingTrigger.of(EventTimeTrigger.create()), lateness=100),
        [
            Step(Element("ax", 0), Watermark(9), out=[("a[0,10)x", 9)]),
            Step(Element("ay", 5), left=Left(event_timers=2, state_entries=2)),
            Step(Watermark(14), out=[("a[0,15)y", 14)]),
            Step(Watermark(114), left=Left()),
        ],
    ),
    Transcript(
        "sessions of processing time",
        Windowed(ProcessingTimeSessionWindows.with_gap(150)),
        [
            Step(Clock(100), Element("ax", 10**6)),
            Step(Clock(199), "ay"),
            Step(Clock(200), "bz", left=Left(processing_timers=2, state_entries=4)),
            Step(Clock(300)),
            Step(Clock(400), End(), out=[("a[100,349)xy", 348), ("b[200,350)z", 349)]),
        ],
    ),
    Transcript(
        "sessions of processing time end, and others begin",
        Windowed(ProcessingTimeSessionWindows.with_dynamic_gap(Payload()), "reduce", (joined, Show())),
        [
            Step(Clock(100), "a50"),
            Step(Clock(199), "a1", out=[("a[100,150)50", 149), ("a[199,200)1", 199)]),
            Step(Clock(200), "a90"),
            Step(Clock(300), End(), out=[("a[200,290)90", 289)]),
        ],
    ),
    Transcript(
        "an assigner of one's own may merge windows by a rule of its own",
        Windowed(UpToTheHour(), arguments=SORTED, late=LATE),
        [
            Step(Element("ax", 50), Element("ay", 120), Element("az", 20), left=Left(2, 0, 3)),
            Step(Element("aw", 20), Watermark(99), out=[("a[20,100)wxz", 99)]),
            Step(Element("av", 99), Element("au", 110), side={LATE: [("av", 99)]}),
            Step(End(), out=[("a[110,200)uy", 199)]),
        ],
    ),
]
