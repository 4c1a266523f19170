"""Late records: dropped, put aside, or let in for as long as the window is kept."""

from __future__ import annotations

from penstock.common.watermark_strategy import Watermark
from penstock.datastream.window import (
    CountEvictor,
    CountTrigger,
    CumulativeEventTimeWindows,
    EventTimeSessionWindows,
    EventTimeTrigger,
    GlobalWindows,
    PurgingTrigger,
    SlidingEventTimeWindows,
    TumblingEventTimeWindows,
    TumblingProcessingTimeWindows,
)
from penstock.testing import Clock, Cut, Element
from penstock.testing.transcripts import End, Left, Step, Transcript
from tests.transcripts.cases.window_pipelines import (
    LATE,
    Gather,
    GatherSorted,
    Show,
    ShowResult,
    ShowSorted,
    Windowed,
    joined,
)

TEN = TumblingEventTimeWindows.of(10)
GAP = EventTimeSessionWindows.with_gap(10)
SORTED = ShowSorted()

_DROPPED = [
    Transcript(
        "a record is late when its window has fired, not when it is behind the watermark",
        Windowed(TEN),
        [
            Step(Element("ax", 5), Watermark(8), Element("ay", 2)),
            Step(Watermark(9), Element("az", 3), Element("aw", 10), out=[("a[0,10)xy", 9)], left=Left(1, 0, 1)),
            Step(End(), out=[("a[10,20)w", 19)]),
        ],
    ),
    Transcript(
        "late records go aside with their timestamps, if one asks for them",
        Windowed(TEN, "reduce", joined, late=LATE),
        [
            Step(Element("ax", 5), Watermark(9), out=[("ax", 9)], side={LATE: []}),
            Step(Element("ay", 9), Element("az", -50), side={LATE: [("ay", 9), ("az", -50)]}, left=Left()),
            Step(Element("aw", 10), Cut(), Watermark(19), out=[("aw", 19)]),
        ],
    ),
    Transcript(
        "a record is let in by those of its windows that are open",
        Windowed(SlidingEventTimeWindows.of(10, 5), late=LATE),
        [
            Step(Element("ax", 3), Watermark(4), Element("ay", 2), out=[("a[-5,5)x", 4)]),
            Step(Watermark(9), Element("az", 4), out=[("a[0,10)xy", 9)], side={LATE: [("az", 4)]}, left=Left()),
            Step(Element("aw", 7), Element("av", 13), left=Left(2, 0, 2)),
            Step(End(), out=[("a[5,15)wv", 14), ("a[10,20)v", 19)]),
        ],
    ),
    Transcript(
        "a reduced record is let in by those of its sliding windows that are open",
        Windowed(SlidingEventTimeWindows.of(10, 5), "reduce", (joined, Show()), late=LATE),
        [
            Step(Element("ax", 3), Watermark(4), Element("ay", 2), out=[("a[-5,5)x", 4)]),
            Step(Watermark(9), Element("az", 4), out=[("a[0,10)xy", 9)], side={LATE: [("az", 4)]}, left=Left()),
            Step(Element("aw", 7), Element("av", 13)),
            Step(End(), out=[("a[5,15)wv", 14), ("a[10,20)v", 19)]),
        ],
    ),
    Transcript(
        "a late record of a session that is gone starts no new one",
        Windowed(GAP, late=LATE),
        [
            Step(Element("ax", 0), Watermark(9), out=[("a[0,10)x", 9)]),
            Step(Element("ay", 0), side={LATE: [("ay", 0)]}, left=Left()),
            Step(Element("az", 1), left=Left(1, 0, 2)),
            Step(Watermark(10), out=[("a[1,11)z", 10)]),
        ],
    ),
    Transcript(
        "a record behind the watermark is not late if it falls into a session that is open",
        Windowed(GAP, late=LATE),
        [
            Step(Element("ax", 5), Element("ay", 14), Watermark(15)),
            Step(Element("az", 0), Element("aw", 5), out=[], side={LATE: []}),
            Step(Watermark(23), out=[("a[0,24)xyzw", 23)], left=Left()),
        ],
    ),
    Transcript(
        "nothing is late in windows of processing time",
        Windowed(TumblingProcessingTimeWindows.of(100), late=LATE, lateness=50),
        [
            Step(Clock(100), Watermark(1000), Element("ax", 5), side={LATE: []}),
            Step(Clock(199), out=[("a[100,200)x", 199)], left=Left()),
            Step(Clock(200), End()),
        ],
    ),
    Transcript(
        "nothing is late in global windows",
        Windowed(GlobalWindows.create(), "reduce", joined, trigger=CountTrigger.of(2), late=LATE, lateness=50),
        [
            Step(Watermark(1000), Element("ax", 5), side={LATE: []}),
            Step(Element("ay", 7), out=[("axy", 7)]),
        ],
        left=Left(state_entries=1),
    ),
]

_LATENESS = [
    Transcript(
        "a window that is kept fires again with each late record",
        Windowed(TEN, lateness=5, late=LATE),
        [
            Step(Element("ax", 5), Watermark(9), out=[("a[0,10)x", 9)], left=Left(1, 0, 1)),
            Step(Element("ay", 3), Element("az", 3), out=[("a[0,10)xy", 9), ("a[0,10)xyz", 9)]),
            Step(Watermark(13), Element("aw", 9), out=[("a[0,10)xyzw", 9)], left=Left(1, 0, 1)),
            Step(Watermark(14), left=Left()),
            Step(Element("av", 9), Element("au", 10), side={LATE: [("av", 9)]}),
            Step(End(), out=[("a[10,20)u", 19)]),
        ],
    ),
    Transcript(
        "a window that held nothing when it was due fires with its first late record",
        Windowed(TEN, "aggregate", Gather(), lateness=5),
        [
            Step(Watermark(9), Element("ax", 5), out=[("x", 9)], left=Left(1, 0, 1)),
            Step(Element("ay", 5), out=[("xy", 9)]),
            Step(Watermark(14), left=Left()),
        ],
    ),
    Transcript(
        "a purging window that is kept fires again with what is new",
        Windowed(TEN, "reduce", joined, trigger=PurgingTrigger.of(EventTimeTrigger.create()), lateness=5),
        [
            Step(Element("ax", 5), Watermark(9), out=[("ax", 9)], left=Left(event_timers=1)),
            Step(Element("ay", 3), Element("az", 3), out=[("ay", 9), ("az", 9)], left=Left(event_timers=1)),
            Step(Watermark(14), left=Left()),
        ],
    ),
    Transcript(
        "each sliding window that is kept fires again, the latest first",
        Windowed(SlidingEventTimeWindows.of(10, 5), lateness=5, late=LATE),
        [
            Step(Element("ax", 3), Element("ay", 7), Watermark(9), out=[("a[-5,5)x", 4), ("a[0,10)xy", 9)]),
            Step(Element("az", 4), out=[("a[0,10)xyz", 9)]),
            Step(Watermark(14), out=[("a[5,15)y", 14)]),
            Step(Element("aw", 9), Element("av", 4), out=[("a[5,15)yw", 14)], side={LATE: [("av", 4)]}),
            Step(Watermark(19), left=Left()),
        ],
    ),
    Transcript(
        "each sliding window of an aggregation that is kept fires again, the latest first",
        Windowed(
            SlidingEventTimeWindows.of(10, 5), "aggregate", (GatherSorted(), ShowResult()), lateness=10, late=LATE
        ),
        [
            Step(Element("ax", 3), Element("ay", 7), Watermark(9), out=[("a[-5,5)x", 4), ("a[0,10)xy", 9)]),
            Step(Element("ay", 8), out=[("a[0,10)xyy", 9)]),
            Step(Watermark(14), Element("ay", 9), out=[("a[5,15)yy", 14), ("a[5,15)yyy", 14), ("a[0,10)xyyy", 9)]),
            Step(
                Watermark(23), Element("ay", 9), Element("ax", 2), out=[("a[5,15)yyyy", 14)], side={LATE: [("ax", 2)]}
            ),
            Step(Watermark(24), left=Left()),
        ],
    ),
    Transcript(
        "each cumulative window that is kept fires again",
        Windowed(CumulativeEventTimeWindows.of(20, 10), "reduce", (joined, Show()), lateness=5, late=LATE),
        [
            Step(Element("ax", 3), Watermark(9), out=[("a[0,10)x", 9)]),
            Step(Element("ay", 5), Watermark(14), out=[("a[0,10)xy", 9)]),
            Step(Element("az", 5), Watermark(19), out=[("a[0,20)xyz", 19)], side={LATE: []}),
            Step(Element("aw", 5), out=[("a[0,20)xyzw", 19)]),
            Step(Watermark(24), left=Left()),
        ],
    ),
    Transcript(
        "an evictor works again when a window that is kept fires again",
        Windowed(TEN, evictor=CountEvictor.of(2), lateness=5),
        [
            Step(Element("ax", 5), Element("ay", 5), Element("az", 5), Watermark(9), out=[("a[0,10)yz", 9)]),
            Step(Element("aw", 3), out=[("a[0,10)zw", 9)]),
            Step(Watermark(14), left=Left()),
        ],
    ),
    Transcript(
        "a count trigger goes on counting while the window is kept",
        Windowed(TEN, trigger=CountTrigger.of(2), lateness=5),
        [
            Step(Element("ax", 5), Watermark(9), left=Left(1, 0, 2)),
            Step(Element("ay", 3), out=[("a[0,10)xy", 9)]),
            Step(Watermark(14), left=Left()),
        ],
    ),
    Transcript(
        "so long a lateness that time ends before it keeps the window for good",
        Windowed(TEN, lateness=2**63 - 1),
        [
            Step(Element("ax", 5), Watermark(9), out=[("a[0,10)x", 9)], left=Left(0, 0, 1)),
            Step(Watermark(10**15), Element("ay", 5), out=[("a[0,10)xy", 9)]),
        ],
        left=Left(state_entries=1),
    ),
]

_SESSIONS = [
    Transcript(
        "a session that has fired fires again at once if a late record does not make it longer",
        Windowed(GAP, lateness=20, late=LATE),
        [
            Step(Element("ax", 0), Element("ay", 5), Watermark(16), out=[("a[0,15)xy", 14)], left=Left(1, 0, 2)),
            Step(Element("az", 3), out=[("a[0,15)xyz", 14)]),
            Step(Watermark(33), Element("aw", 1), out=[("a[0,15)xyzw", 14)]),
            Step(Watermark(34), left=Left()),
            Step(Element("av", 1), side={LATE: [("av", 1)]}, left=Left()),
        ],
    ),
    Transcript(
        "a session that has fired waits for its new end if a late record makes it longer than the watermark",
        Windowed(GAP, lateness=20),
        [
            Step(Element("ax", 0), Watermark(9), out=[("a[0,10)x", 9)]),
            Step(Element("ay", 5), left=Left(event_timers=2, state_entries=2)),
            Step(Watermark(14), out=[("a[0,15)xy", 14)]),
            Step(Watermark(29), left=Left(event_timers=1, state_entries=2)),
            Step(Watermark(34), left=Left()),
        ],
    ),
    Transcript(
        "a late record merges two sessions that have fired, and the whole fires at once",
        Windowed(GAP, arguments=SORTED, lateness=50),
        [
            Step(
                Element("ax", 0),
                Element("az", 15),
                Watermark(30),
                out=[("a[0,10)x", 9), ("a[15,25)z", 24)],
                left=Left(event_timers=2, state_entries=3),
            ),
            Step(Element("ay", 8), out=[("a[0,25)xyz", 24)], left=Left(event_timers=1, state_entries=2)),
            Step(Watermark(59)),
            Step(Watermark(74), left=Left()),
        ],
    ),
    Transcript(
        "a late record merges a session that has fired with one that has not",
        Windowed(GAP, "reduce", (joined, ShowSorted()), lateness=50),
        [
            Step(Element("ax", 0), Element("az", 15), Watermark(20), out=[("a[0,10)x", 9)]),
            Step(Element("ay", 8)),
            Step(Watermark(24), out=[("a[0,25)xyz", 24)]),
            Step(Watermark(74), left=Left()),
        ],
    ),
]

_TWO_PHASES = [
    Transcript(
        "two phases: late records are as late as in one",
        Windowed(TEN, "sum", 1, lateness=5, late=LATE, two_phase=True),
        [
            Step(Element(("a", 1), 5), Watermark(9), out=[(("a", 1), 9)]),
            Step(Element(("a", 2), 3), Element(("a", 4), 3), out=[(("a", 3), 9), (("a", 7), 9)]),
            Step(Watermark(14), Element(("a", 8), 9), Element(("a", 16), 10), side={LATE: [(("a", 8), 9)]}),
            Step(End(), out=[(("a", 16), 19)]),
        ],
        stepwise_only="a record that comes through another subtask than the watermark may be in time",
    ),
    Transcript(
        "two phases: a record is let in by those of its sliding windows that are open",
        Windowed(SlidingEventTimeWindows.of(10, 5), "sum", 1, late=LATE, two_phase=True),
        [
            Step(Element(("a", 1), 3), Watermark(4), Element(("a", 2), 2), out=[(("a", 1), 4)]),
            Step(Watermark(9), Element(("a", 4), 4), out=[(("a", 3), 9)], side={LATE: [(("a", 4), 4)]}, left=Left()),
            Step(End()),
        ],
        stepwise_only="a record that comes through another subtask than the watermark may be in time",
    ),
]

TRANSCRIPTS = [*_DROPPED, *_LATENESS, *_SESSIONS, *_TWO_PHASES]
