"""When timers of both kinds fire, in which order, and what they see.

Transcripts that set the clock set it to the same times in the same steps (100, 199, 200, 300, ...), also at their end:
so they can share a job on Spark, where the clock is common to all.
"""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

from penstock.common import Types
from penstock.common.constants import MAX_WATERMARK
from penstock.common.watermark_strategy import Watermark
from penstock.datastream import DataStream, KeyedProcessFunction, OutputTag
from penstock.datastream.state import ValueStateDescriptor
from penstock.testing import Clock, Cut, Element, Idle
from penstock.testing.transcripts import End, Left, Step, Transcript

FIRED = OutputTag("fired")
_SHORT = {"event": "event_time", "processing": "processing_time"}


class Orders(KeyedProcessFunction):
    """Does what records order, (key, "set" or "delete", domain, time, ...), and tells which timers fire."""

    def process_element(self, value: Any, ctx: Any) -> None:
        orders = value[1:]
        for order, domain, time in zip(orders[::3], orders[1::3], orders[2::3], strict=True):
            verb = "register" if order == "set" else "delete"
            getattr(ctx.timer_service(), f"{verb}_{_SHORT[domain]}_timer")(time)

    def on_timer(self, timestamp: int, ctx: Any) -> Iterator[Any]:
        yield ctx.get_current_key(), timestamp


class Domains(Orders):
    """Tells the domain of each timer, too."""

    def on_timer(self, timestamp: int, ctx: Any) -> Iterator[Any]:
        yield timestamp, ctx.time_domain().name, ctx.timestamp()


class Times(Orders):
    """Tells what both clocks show when a timer fires."""

    def on_timer(self, timestamp: int, ctx: Any) -> Iterator[Any]:
        service = ctx.timer_service()
        yield timestamp, service.current_watermark(), service.current_processing_time()


class Every(KeyedProcessFunction):
    """From the record's number on fires again and again until four periods have passed."""

    def __init__(self, domain: str, period: int) -> None:
        self._domain = domain
        self._period = period

    def process_element(self, value: Any, ctx: Any) -> None:
        self._register(ctx, value[1])

    def on_timer(self, timestamp: int, ctx: Any) -> Iterator[Any]:
        yield ctx.get_current_key(), timestamp
        if timestamp < 4 * self._period:
            self._register(ctx, timestamp + self._period)

    def _register(self, ctx: Any, timestamp: int) -> None:
        getattr(ctx.timer_service(), f"register_{_SHORT[self._domain]}_timer")(timestamp)


class OneOfTwo(KeyedProcessFunction):
    """Sets two timers; the first to fire deletes the other."""

    def process_element(self, value: Any, ctx: Any) -> None:
        ctx.timer_service().register_event_time_timer(10)
        ctx.timer_service().register_event_time_timer(20)

    def on_timer(self, timestamp: int, ctx: Any) -> Iterator[Any]:
        yield ctx.get_current_key(), timestamp
        ctx.timer_service().delete_event_time_timer(20)


class Again(KeyedProcessFunction):
    """Sets its timer anew, for the same time, while it fires; three times."""

    def open(self, context: Any) -> None:
        self.count = context.get_state(ValueStateDescriptor("count", Types.LONG()))

    def process_element(self, value: Any, ctx: Any) -> None:
        ctx.timer_service().register_event_time_timer(10)

    def on_timer(self, timestamp: int, ctx: Any) -> Iterator[Any]:
        count = (self.count.value() or 0) + 1
        self.count.update(count)
        yield ctx.get_current_key(), count
        if count < 3:
            ctx.timer_service().register_event_time_timer(10)


class Debounce(KeyedProcessFunction):
    """Gives the last record of a key once nothing came for ten: each record moves the timer."""

    def open(self, context: Any) -> None:
        self.last = context.get_state(ValueStateDescriptor("last", Types.PICKLED_BYTE_ARRAY()))

    def process_element(self, value: Any, ctx: Any) -> None:
        if self.last.value() is not None:
            ctx.timer_service().delete_event_time_timer(self.last.value()[1] + 10)
        self.last.update((value, ctx.timestamp()))
        ctx.timer_service().register_event_time_timer(ctx.timestamp() + 10)

    def on_timer(self, timestamp: int, ctx: Any) -> Iterator[Any]:
        yield self.last.value()[0]
        self.last.clear()


class Aside(Orders):
    """Tells of its timers on a side output."""

    def on_timer(self, timestamp: int, ctx: Any) -> Iterator[Any]:
        ctx.output(FIRED, timestamp)
        yield FIRED, ctx.get_current_key()


class Silent(KeyedProcessFunction):
    """Sets timers and has no use for them."""

    def process_element(self, value: Any, ctx: Any) -> Iterator[Any]:
        ctx.timer_service().register_event_time_timer(10)
        yield value


class Pipeline:
    """A keyed process function behind a key."""

    def __init__(self, function: KeyedProcessFunction) -> None:
        self._function = function

    def __call__(self, stream: DataStream) -> DataStream:
        return stream.key_by(lambda value: value[0]).process(self._function)


TRANSCRIPTS = [
    Transcript(
        "an event-time timer fires when the watermark reaches it, with its own timestamp",
        Pipeline(Orders()),
        [
            Step(Element(("a", "set", "event", 10), 3), left=Left(event_timers=1)),
            Step(Watermark(9), watermark=9),
            Step(Watermark(10), out=[(("a", 10), 10)], watermark=10, left=Left()),
            Step(Watermark(20)),
        ],
    ),
    Transcript(
        "timers fire in the order of their timestamps, whatever the order they were set in",
        Pipeline(Orders()),
        [
            Step(("a", "set", "event", 30), ("b", "set", "event", 10), Cut(), ("a", "set", "event", 20)),
            Step(("c", "set", "event", 5), ("b", "set", "event", 40), ("b", "set", "event", 25)),
            Step(
                Watermark(35),
                out=[(("c", 5), 5), (("b", 10), 10), (("a", 20), 20), (("b", 25), 25), (("a", 30), 30)],
                left=Left(event_timers=1),
            ),
            Step(End(), out=[(("b", 40), 40)]),
        ],
    ),
    Transcript(
        "a key has one timer for a timestamp, however often it is set",
        Pipeline(Orders()),
        [
            Step(("a", "set", "event", 10), ("a", "set", "event", 10), Cut(), ("a", "set", "event", 10)),
            Step(left=Left(event_timers=1)),
            Step(Watermark(10), out=[(("a", 10), 10)]),
            Step(Watermark(11)),
        ],
    ),
    Transcript(
        "keys have timers of their own for one timestamp",
        Pipeline(Orders()),
        [
            Step(("a", "set", "event", 10), ("b", "set", "event", 10), ("c", "set", "event", 10)),
            Step(("b", "delete", "event", 10), left=Left(event_timers=2)),
            Step(Watermark(10), out=[(("a", 10), 10), (("c", 10), 10)]),
        ],
        any_order=True,
    ),
    Transcript(
        "a timer that was deleted does not fire, and one that never was may be deleted",
        Pipeline(Orders()),
        [
            Step(("a", "set", "event", 10, "set", "event", 20), ("b", "delete", "event", 7)),
            Step(Cut(), ("a", "delete", "event", 10), left=Left(event_timers=1)),
            Step(Watermark(15)),
            Step(("a", "delete", "event", 20, "set", "event", 20), Watermark(20), out=[(("a", 20), 20)]),
            Step(("a", "set", "event", 30, "delete", "event", 30), left=Left()),
        ],
    ),
    Transcript(
        "a timer set while timers fire joins them if it is due",
        Pipeline(Every("event", 10)),
        [
            Step(("a", 10)),
            Step(Watermark(29), out=[(("a", 10), 10), (("a", 20), 20)], left=Left(event_timers=1)),
            Step(Watermark(30), out=[(("a", 30), 30)]),
            Step(End(), out=[(("a", 40), 40)]),
        ],
    ),
    Transcript(
        "a timer may be set for the very time that fires",
        Pipeline(Again()),
        [Step("a"), Step(Watermark(10), out=[(("a", 1), 10), (("a", 2), 10), (("a", 3), 10)])],
        left=Left(state_entries=1),
    ),
    Transcript(
        "a timer that fires may delete one that is due as well",
        Pipeline(OneOfTwo()),
        [Step("a"), Step(Watermark(50), out=[(("a", 10), 10)], left=Left())],
    ),
    Transcript(
        "a timer for the past fires with the next watermark, not at once",
        Pipeline(Orders()),
        [
            Step(Watermark(100)),
            Step(Element(("a", "set", "event", 50), 200), left=Left(event_timers=1)),
            Step(Watermark(100)),
            Step(Watermark(101), out=[(("a", 50), 50)]),
        ],
    ),
    Transcript(
        "the end of input fires all event-time timers",
        Pipeline(Orders()),
        [
            Step(Element(("a", "set", "event", 10**15), 3), Element(("b", "set", "event", MAX_WATERMARK), 3)),
            Step(End(), out=[(("a", 10**15), 10**15), (("b", MAX_WATERMARK), MAX_WATERMARK)], watermark=MAX_WATERMARK),
        ],
    ),
    Transcript(
        "timers set by the last timers fire too",
        Pipeline(Every("event", 10)),
        [Step(("a", 25)), Step(End(), out=[(("a", 25), 25), (("a", 35), 35), (("a", 45), 45)])],
    ),
    Transcript(
        "event time may be negative",
        Pipeline(Orders()),
        [
            Step(("a", "set", "event", -10), ("a", "set", "event", 0), ("a", "set", "event", -1)),
            Step(Watermark(-11)),
            Step(Watermark(-1), out=[(("a", -10), -10), (("a", -1), -1)]),
            Step(Watermark(0), out=[(("a", 0), 0)]),
        ],
    ),
    Transcript(
        "a firing timer sees the watermark that fires it",
        Pipeline(Times()),
        [
            Step(Clock(100), ("a", "set", "event", 10, "set", "event", 20)),
            Step(Clock(199), Watermark(33), out=[((10, 33, 199), 10), ((20, 33, 199), 20)]),
            Step(Clock(200), End()),
        ],
    ),
    Transcript(
        "timers come before the watermark, records behind the watermark after the timers",
        Pipeline(Debounce()),
        [
            Step(Element("a1", 0), Element("a2", 5)),
            Step(Watermark(12), Element("a3", 14)),
            Step(Watermark(23), Element("b1", 23)),
            Step(Watermark(24), out=[("a3", 24)], watermark=24),
            Step(Element("a4", 30), Watermark(60), Element("a5", 61), out=[("b1", 33), ("a4", 40)]),
            Step(End(), out=[("a5", 71)]),
        ],
    ),
    Transcript(
        "timers may write to side outputs",
        Pipeline(Aside()),
        [
            Step(("a", "set", "event", 10), side={FIRED: []}),
            Step(Watermark(10), side={FIRED: [(10, 10), ("a", 10)]}),
        ],
    ),
    Transcript(
        "timers of a function without on_timer just pass",
        Pipeline(Silent()),
        [Step(Element("a", 1), out=[("a", 1)], left=Left(event_timers=1)), Step(Watermark(10), left=Left())],
    ),
    Transcript(
        "an idle input keeps its timers, and its watermark",
        Pipeline(Orders()),
        [
            Step(("a", "set", "event", 10), Watermark(5), Idle(), watermark=5),
            Step(("b", "set", "event", 7), watermark=5),
            Step(Idle(), Cut(), Watermark(10), out=[(("b", 7), 7), (("a", 10), 10)], watermark=10),
        ],
    ),
    Transcript(
        "a processing-time timer fires when the clock reaches it; what it emits has no timestamp",
        Pipeline(Orders()),
        [
            Step(Clock(100), Element(("a", "set", "processing", 200), 3), left=Left(processing_timers=1)),
            Step(Clock(199)),
            Step(Clock(200), out=[(("a", 200), None)], left=Left()),
            Step(Clock(300), End()),
        ],
    ),
    Transcript(
        "processing-time timers fire once each and in their order",
        Pipeline(Orders()),
        [
            Step(Clock(100), ("a", "set", "processing", 250), ("b", "set", "processing", 150)),
            Step(Clock(199), out=[(("b", 150), None)]),
            Step(Clock(200), ("a", "set", "processing", 250), ("c", "set", "processing", 240)),
            Step(Clock(300), out=[(("c", 240), None), (("a", 250), None)], left=Left()),
            Step(Clock(400), End()),
        ],
    ),
    Transcript(
        "a processing-time timer that was deleted does not fire",
        Pipeline(Orders()),
        [
            Step(Clock(100), ("a", "set", "processing", 200), ("b", "set", "processing", 210)),
            Step(Clock(199), ("a", "delete", "processing", 200), ("a", "delete", "processing", 210), left=Left(0, 1)),
            Step(Clock(200)),
            Step(Clock(300), out=[(("b", 210), None)], left=Left()),
            Step(Clock(400), End()),
        ],
    ),
    Transcript(
        "a processing-time timer for the past fires at once",
        Pipeline(Orders()),
        [
            Step(Clock(100), ("a", "set", "processing", 40), out=[(("a", 40), None)], left=Left()),
            Step(Clock(199), Element(("a", "set", "processing", 199), 7), out=[(("a", 199), None)]),
            Step(Clock(200), End()),
        ],
    ),
    Transcript(
        "a processing-time timer may set the next",
        Pipeline(Every("processing", 50)),
        [
            Step(Clock(100), ("a", 100), out=[(("a", 100), None)], left=Left(processing_timers=1)),
            Step(Clock(199), out=[(("a", 150), None)]),
            Step(Clock(200), out=[(("a", 200), None)], left=Left()),
            Step(Clock(300), ("b", 150), out=[(("b", 150), None), (("b", 200), None)]),
            Step(Clock(400), ("b", 390), ("c", 410), out=[(("b", 390), None)]),
            Step(Clock(500), End(), out=[(("c", 410), None)]),
        ],
    ),
    Transcript(
        "the two kinds of time are apart",
        Pipeline(Domains()),
        [
            Step(Clock(100), ("a", "set", "processing", 199, "set", "event", 199), left=Left(1, 1)),
            Step(Clock(199), out=[((199, "PROCESSING_TIME", 199), None)], left=Left(1, 0)),
            Step(Clock(200), Watermark(199), out=[((199, "EVENT_TIME", 199), 199)], left=Left()),
            Step(Clock(300), ("a", "set", "event", 400, "delete", "processing", 400), left=Left(1, 0)),
            Step(Clock(400), ("a", "delete", "event", 400), End()),
        ],
    ),
    Transcript(
        "the end of input fires no processing-time timers",
        Pipeline(Orders()),
        [
            Step(Clock(100), ("a", "set", "processing", 950, "set", "event", 950)),
            Step(Clock(199), End(), out=[(("a", 950), 950)]),
        ],
        left=Left(processing_timers=1),
    ),
    Transcript(
        "timers that are due fire before the records of a later time",
        Pipeline(Orders()),
        [
            Step(Clock(100), ("a", "set", "processing", 150)),
            Step(Clock(199), ("a", "delete", "processing", 150), out=[(("a", 150), None)]),
            Step(Clock(200), End()),
        ],
    ),
]
