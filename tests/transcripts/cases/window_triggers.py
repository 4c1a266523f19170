"""Triggers: when a window is evaluated, with what, and what a trigger leaves behind.

A result has the last timestamp of its window whatever made it fire. The clock goes as in `window_assigners`.
"""

from __future__ import annotations

from typing import Any

from penstock.common import Types
from penstock.common.watermark_strategy import Watermark
from penstock.datastream.state import ReducingStateDescriptor, ValueStateDescriptor
from penstock.datastream.window import (
    ContinuousEventTimeTrigger,
    ContinuousProcessingTimeTrigger,
    CountTrigger,
    DeltaTrigger,
    EventTimeSessionWindows,
    EventTimeTrigger,
    GlobalWindows,
    NeverTrigger,
    ProcessingTimeoutTrigger,
    ProcessingTimeTrigger,
    PurgingTrigger,
    SlidingEventTimeWindows,
    Trigger,
    TriggerResult,
    TumblingEventTimeWindows,
    TumblingProcessingTimeWindows,
)
from penstock.testing import Clock, Cut, Element
from penstock.testing.transcripts import End, Left, Step, Transcript
from tests.transcripts.cases.window_pipelines import ShowSorted, Windowed, joined

MARKS = {"!": TriggerResult.FIRE, "-": TriggerResult.PURGE, "?": TriggerResult.FIRE_AND_PURGE}


class Marks(Trigger[Any, Any]):
    """Does what the last character of a record says; fires at the end of the window, too."""

    def on_element(self, element: str, timestamp: int, window: Any, ctx: Any) -> TriggerResult:
        ctx.register_event_time_timer(window.max_timestamp())
        return MARKS.get(element[-1], TriggerResult.CONTINUE)

    def on_processing_time(self, time: int, window: Any, ctx: Any) -> TriggerResult:
        return TriggerResult.CONTINUE

    def on_event_time(self, time: int, window: Any, ctx: Any) -> TriggerResult:
        return TriggerResult.FIRE if time == window.max_timestamp() else TriggerResult.CONTINUE

    def on_merge(self, window: Any, ctx: Any) -> None:
        pass

    def clear(self, window: Any, ctx: Any) -> None:
        ctx.delete_event_time_timer(window.max_timestamp())


class FiveAfterFirst(Trigger[Any, Any]):
    """Fires once, five after the first record of the window, which it remembers in state."""

    _due = ValueStateDescriptor("due", Types.LONG())

    def on_element(self, element: str, timestamp: int, window: Any, ctx: Any) -> TriggerResult:
        due = ctx.get_partitioned_state(self._due)
        if due.value() is None:
            due.update(timestamp + 5)
            ctx.register_event_time_timer(timestamp + 5)
        return TriggerResult.CONTINUE

    def on_processing_time(self, time: int, window: Any, ctx: Any) -> TriggerResult:
        return TriggerResult.CONTINUE

    def on_event_time(self, time: int, window: Any, ctx: Any) -> TriggerResult:
        is_due = time == ctx.get_partitioned_state(self._due).value()
        return TriggerResult.FIRE if is_due else TriggerResult.CONTINUE

    def on_merge(self, window: Any, ctx: Any) -> None:
        pass

    def clear(self, window: Any, ctx: Any) -> None:
        due = ctx.get_partitioned_state(self._due)
        if due.value() is not None:
            ctx.delete_event_time_timer(due.value())
        due.clear()


class ThreeLetters(Trigger[Any, Any]):
    """Fires with every record of a session that has at least three letters; their number is merged with sessions."""

    _letters = ReducingStateDescriptor("letters", lambda left, right: left + right, Types.LONG())

    def on_element(self, element: str, timestamp: int, window: Any, ctx: Any) -> TriggerResult:
        letters = ctx.get_partitioned_state(self._letters)
        letters.add(len(element) - 1)
        return TriggerResult.FIRE if letters.get() >= 3 else TriggerResult.CONTINUE

    def on_processing_time(self, time: int, window: Any, ctx: Any) -> TriggerResult:
        return TriggerResult.CONTINUE

    def on_event_time(self, time: int, window: Any, ctx: Any) -> TriggerResult:
        return TriggerResult.CONTINUE

    def can_merge(self) -> bool:
        return True

    def on_merge(self, window: Any, ctx: Any) -> None:
        ctx.merge_partitioned_state(self._letters)

    def clear(self, window: Any, ctx: Any) -> None:
        ctx.get_partitioned_state(self._letters).clear()


def distance(old: str, new: str) -> float:
    return abs(int(new[1:]) - int(old[1:]))


TEN = TumblingEventTimeWindows.of(10)

_COUNTING = [
    Transcript(
        "a count trigger fires every so many records, keeps the elements, and not at the window's end",
        Windowed(TEN, trigger=CountTrigger.of(2)),
        [
            Step(Element("ax", 1), left=Left(event_timers=1, state_entries=2)),
            Step(Element("ay", 2), Element("az", 3), out=[("a[0,10)xy", 9)]),
            Step(Element("aw", 4), Cut(), Element("av", 5), out=[("a[0,10)xyzw", 9)]),
            Step(Watermark(9), left=Left()),
        ],
    ),
    Transcript(
        "a count trigger counts every window for itself",
        Windowed(SlidingEventTimeWindows.of(10, 5), "reduce", joined, trigger=CountTrigger.of(2)),
        [
            Step(Element("ax", 3), Element("ay", 7), Element("bz", 7), out=[("axy", 9)]),
            Step(Element("aw", 8), Element("bv", 4), out=[("ayw", 14), ("bzv", 9)]),
            Step(Watermark(4), Watermark(14), left=Left()),
        ],
    ),
    Transcript(
        "a purging trigger empties the window whenever it fires",
        Windowed(TEN, "reduce", joined, trigger=PurgingTrigger.of(CountTrigger.of(2))),
        [
            Step(Element("ax", 1), Element("ay", 2), out=[("axy", 9)], left=Left(event_timers=1)),
            Step(Element("az", 3), Element("aw", 4), Element("av", 5), out=[("azw", 9)]),
            Step(Watermark(9), left=Left()),
        ],
    ),
    Transcript(
        "a trigger that never fires lets the window go unseen",
        Windowed(TEN, trigger=NeverTrigger()),
        [Step(Element("ax", 1), left=Left(event_timers=1, state_entries=1)), Step(Watermark(9), left=Left())],
    ),
    Transcript(
        "a delta trigger fires when a record is further than the threshold from the one of the last firing",
        Windowed(GlobalWindows.create(), trigger=DeltaTrigger.of(5, distance)),
        [
            Step(Element("a1", 1), Element("a6", 2), Cut(), Element("a7", 3), out=[("a* 167", 3)]),
            Step("a9", "a2", "a1", out=[("a* 167921", None)]),
        ],
        left=Left(state_entries=2),
    ),
]

_TIMED = [
    Transcript(
        "a continuous trigger of event time fires every interval and at the window's end",
        Windowed(TumblingEventTimeWindows.of(20), trigger=ContinuousEventTimeTrigger.of(5)),
        [
            Step(Element("ax", 1), Watermark(4)),
            Step(Watermark(5), Element("ay", 7), out=[("a[0,20)x", 19)]),
            Step(Watermark(12), out=[("a[0,20)xy", 19)]),
            Step(Watermark(30), out=[("a[0,20)xy", 19)] * 2, left=Left()),
        ],
    ),
    Transcript(
        "a continuous trigger of event time goes with sessions that merge",
        Windowed(EventTimeSessionWindows.with_gap(10), trigger=ContinuousEventTimeTrigger.of(4)),
        [
            Step(Element("ax", 0), Cut(), Element("ay", 3)),
            Step(Watermark(4), out=[("a[0,13)xy", 12)]),
            Step(Watermark(20), out=[("a[0,13)xy", 12)] * 2, left=Left()),
        ],
    ),
    Transcript(
        "a continuous trigger of processing time fires every interval and at the window's end",
        Windowed(TumblingProcessingTimeWindows.of(300), trigger=ContinuousProcessingTimeTrigger.of(50)),
        [
            Step(Clock(100), "ax"),
            Step(Clock(199), "ay", out=[("a[0,300)x", 299)]),
            Step(Clock(200), out=[("a[0,300)xy", 299)]),
            Step(Clock(300), out=[("a[0,300)xy", 299)] * 2, left=Left()),
            Step(Clock(400), End()),
        ],
    ),
    Transcript(
        "a trigger of processing time in a window of event time: the clock fires it, the watermark ends it",
        Windowed(TumblingEventTimeWindows.of(100), trigger=ProcessingTimeTrigger.create()),
        [
            Step(Clock(100), Element("ax", 110), left=Left(1, 1, 1)),
            Step(Clock(199), out=[("a[100,200)x", 199)], left=Left(1, 0, 1)),
            Step(Clock(200), Element("ay", 150), out=[("a[100,200)xy", 199)]),
            Step(Clock(300), Watermark(199), Element("bz", 500), left=Left(1, 1, 1)),
            Step(Clock(400), End()),
        ],
    ),
    Transcript(
        "a trigger of event time in a window of processing time: the watermark fires it, the clock ends it",
        Windowed(TumblingProcessingTimeWindows.of(100), trigger=EventTimeTrigger.create()),
        [
            Step(Clock(100), Element("ax", 7), left=Left(1, 1, 1)),
            Step(Clock(199), left=Left()),
            Step(Clock(200), Element("ay", 7), Watermark(299), out=[("a[200,300)y", 299)], left=Left(0, 1, 1)),
            Step(Clock(300), End()),
        ],
    ),
    Transcript(
        "a timeout fires what the nested trigger left waiting since the first record",
        Windowed(
            GlobalWindows.create(), trigger=PurgingTrigger.of(ProcessingTimeoutTrigger.of(CountTrigger.of(3), 100))
        ),
        [
            Step(Clock(100), "ax"),
            Step(Clock(199), "ay"),
            Step(Clock(200), "az", "aw", "av", out=[("a* xy", 200), ("a* zwv", None)], left=Left()),
            Step(Clock(300), "au"),
            Step(Clock(400), End(), out=[("a* u", 400)]),
        ],
    ),
    Transcript(
        "a timeout may count from the last record",
        Windowed(
            GlobalWindows.create(),
            trigger=PurgingTrigger.of(ProcessingTimeoutTrigger.of(CountTrigger.of(9), 120, True)),
        ),
        [
            Step(Clock(100), "ax"),
            Step(Clock(199), "ay"),
            Step(Clock(200), "az"),
            Step(Clock(300)),
            Step(Clock(400), End(), out=[("a* xyz", 320)]),
        ],
    ),
]

_OWN = [
    Transcript(
        "a trigger of one's own may fire, purge, or both; an empty window is not evaluated",
        Windowed(TEN, trigger=Marks()),
        [
            Step(Element("ax", 1), Element("ay!", 2), out=[("a[0,10)xy!", 9)]),
            Step(Element("az?", 3), out=[("a[0,10)xy!z?", 9)], left=Left(event_timers=1)),
            Step(Element("aw", 4), Element("av-", 5), Element("bu-", 6), left=Left(event_timers=2)),
            Step(Watermark(9), left=Left()),
        ],
    ),
    Transcript(
        "a window that was purged fires with what came after",
        Windowed(TEN, "reduce", joined, trigger=Marks()),
        [Step(Element("ax", 1), Element("ay-", 2), Element("az", 3)), Step(Watermark(9), out=[("az", 9)], left=Left())],
    ),
    Transcript(
        "a trigger of one's own may set timers and keep state, both of the window",
        Windowed(TEN, trigger=FiveAfterFirst()),
        [
            Step(Element("ax", 1), Element("ay", 11), left=Left(event_timers=4, state_entries=4)),
            Step(Element("az", 4), Watermark(5)),
            Step(Watermark(6), out=[("a[0,10)xz", 9)]),
            Step(Watermark(15), left=Left(event_timers=2, state_entries=2)),
            Step(Watermark(16), out=[("a[10,20)y", 19)]),
        ],
    ),
    Transcript(
        "a trigger's timer that outlives the window by its own fault is deleted with it",
        Windowed(TEN, trigger=FiveAfterFirst()),
        [Step(Element("ax", 8), left=Left(event_timers=2, state_entries=2)), Step(Watermark(9), left=Left())],
    ),
    Transcript(
        "a count trigger counts what sessions held before they merged",
        Windowed(EventTimeSessionWindows.with_gap(10), arguments=ShowSorted(), trigger=CountTrigger.of(3)),
        [
            Step(Element("ax", 0), Element("az", 20), left=Left(event_timers=2, state_entries=5)),
            Step(Element("ay", 10), out=[("a[0,30)xyz", 29)]),
            Step(Watermark(29), left=Left()),
        ],
    ),
    Transcript(
        "a trigger of one's own merges its state when sessions merge",
        Windowed(EventTimeSessionWindows.with_gap(10), arguments=ShowSorted(), trigger=ThreeLetters()),
        [
            Step(Element("ax", 0), Element("ab", 25)),
            Step(Element("ac", 5)),
            Step(Element("ay", 15), out=[("a[0,35)bcxy", 34)]),
            Step(Watermark(33), Element("aw", 34), out=[("a[0,44)bcwxy", 43)]),
            Step(Watermark(43), left=Left()),
        ],
    ),
]

TRANSCRIPTS = [*_COUNTING, *_TIMED, *_OWN]
