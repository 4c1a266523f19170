"""Functions of windows: every kind of them, the state they may keep, and what is known of the window."""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from typing import Any

from penstock.common import Types
from penstock.common.constants import MAX_WATERMARK
from penstock.common.watermark_strategy import Watermark
from penstock.datastream import DataStream, OutputTag, ProcessWindowFunction
from penstock.datastream.state import ValueStateDescriptor
from penstock.datastream.window import (
    CountTrigger,
    EventTimeSessionWindows,
    PurgingTrigger,
    SlidingEventTimeWindows,
    TumblingEventTimeWindows,
    TumblingProcessingTimeWindows,
)
from penstock.testing import Clock, Cut, Element
from penstock.testing.transcripts import End, Left, Step, Transcript
from tests.transcripts.cases.window_pipelines import (
    Apply,
    ApplyAll,
    Gather,
    GatherSorted,
    Show,
    ShowAll,
    ShowResult,
    Windowed,
    WindowedAll,
    joined,
)

FOREVER = MAX_WATERMARK
TEN = TumblingEventTimeWindows.of(10)
SIZES = OutputTag("sizes")
CLEARED = OutputTag("cleared")


class ApplyResult(Apply):
    """The window, and the one result of an aggregation; the key is not in the result."""

    def apply(self, key: Any, window: Any, inputs: Iterable[str]) -> Iterable[str]:
        return super().apply(key, window, [" " + result for result in inputs])


class Firings(ProcessWindowFunction):
    """Counts how often the window fired, and how often windows of the key did; forgets the first when it should."""

    _mine = ValueStateDescriptor("firings", Types.LONG())
    _all = ValueStateDescriptor("all firings", Types.LONG())

    def process(self, key: Any, context: Any, elements: Iterable[str]) -> Iterator[Any]:
        yield key, context.window().start, self._next(context.window_state()), self._next(context.global_state(), True)

    def _next(self, store: Any, is_global: bool = False) -> int:
        state = store.get_state(self._all if is_global else self._mine)
        state.update((state.value() or 0) + 1)
        return int(state.value())

    def clear(self, context: Any) -> None:
        context.window_state().get_state(self._mine).clear()
        context.output(CLEARED, context.window().start)


class OneNameForBoth(ProcessWindowFunction):
    """The state of the window and that of the key have one name and do not meet; the first is never cleared."""

    _seen = ValueStateDescriptor("seen", Types.LONG())

    def process(self, key: Any, context: Any, elements: Iterable[str]) -> Iterator[Any]:
        window, everything = (
            context.window_state().get_state(self._seen),
            context.global_state().get_state(self._seen),
        )
        everything.update((everything.value() or 0) + len(list(elements)))
        window.update((window.value() or 0) + 1)
        yield window.value(), everything.value()


class OpenedState(ProcessWindowFunction):
    """State asked for in open() belongs to the key and not to a window."""

    def open(self, runtime_context: Any) -> None:
        self._total = runtime_context.get_state(ValueStateDescriptor("total", Types.LONG()))

    def process(self, key: Any, context: Any, elements: Iterable[str]) -> Iterator[Any]:
        self._total.update((self._total.value() or 0) + len(list(elements)))
        yield key, self._total.value()


class Times(ProcessWindowFunction):
    """Tells the time, both kinds, and the size of the window on a side output in both ways."""

    def process(self, key: Any, context: Any, elements: Iterable[str]) -> Iterator[Any]:
        context.output(SIZES, len(list(elements)))
        yield key, context.current_watermark(), context.current_processing_time()
        yield SIZES, key


def field_of(method: str, record: tuple[str, int, str]) -> Transcript:
    """The same records for each aggregation of field 1; the third field tells which record the result comes from."""
    return Transcript(
        f"{method} of the records of a window",
        Windowed(TEN, method, 1),
        [
            Step(Element(("a", 3, "r"), 1), Element(("a", 5, "s"), 8), Element(("a", 1, "t"), 3)),
            Step(Element(("a", 7, "u"), 11), Element(("a", 1, "v"), 4), Element(("a", 5, "w"), 5)),
            Step(Watermark(9), out=[(record, 9)]),
            Step(Watermark(19), out=[(("a", 7, "u"), 19)], left=Left()),
        ],
    )


def count_windows_of_all(size: int, slide: int = 0) -> Any:
    def pipeline(stream: DataStream) -> DataStream:
        return stream.count_window_all(size, slide).process(ShowAll())

    return pipeline


def same_elements(name: str, method: str, arguments: Any, *results: str) -> Transcript:
    """The same elements for each kind of function, two windows."""
    return Transcript(
        name,
        Windowed(TEN, method, arguments),
        [
            Step(Element("ax", 3), Element("az", 12), left=Left(event_timers=2, state_entries=2)),
            Step(Element("ay", 1), Watermark(9), out=[(results[0], 9)], left=Left(event_timers=1, state_entries=1)),
            Step(Watermark(19), out=[(results[1], 19)], left=Left()),
        ],
    )


def same_elements_of_all(name: str, method: str, arguments: Any, *results: str) -> Transcript:
    """The same elements of several keys for each kind of function of a whole stream."""
    return Transcript(
        name,
        WindowedAll(TEN, method, arguments),
        [
            Step(Element("ax", 3), Element("cz", 12), left=Left(event_timers=2, state_entries=2)),
            Step(Element("by", 1), Watermark(9), out=[(results[0], 9)]),
            Step(Watermark(19), out=[(results[1], 19)], left=Left()),
        ],
    )


_KINDS = [
    same_elements("windows may be reduced", "reduce", joined, "axy", "az"),
    same_elements("windows may be aggregated", "aggregate", Gather(), "xy", "z"),
    same_elements("a function may be applied to windows", "apply", Apply(), "a[0,10)xy", "a[10,20)z"),
    same_elements("a window function sees what was reduced", "reduce", (joined, Apply()), "a[0,10)xy", "a[10,20)z"),
    same_elements("a process function sees what was reduced", "reduce", (joined, Show()), "a[0,10)xy", "a[10,20)z"),
    same_elements(
        "a window function sees what was aggregated", "aggregate", (Gather(), ApplyResult()), "a[0,10)xy", "a[10,20)z"
    ),
    same_elements(
        "a process function sees what was aggregated", "aggregate", (Gather(), ShowResult()), "a[0,10)xy", "a[10,20)z"
    ),
    same_elements_of_all("the windows of all records may be reduced", "reduce", lambda a, b: a + b, "axby", "cz"),
    same_elements_of_all("the windows of all records may be aggregated", "aggregate", Gather(), "xy", "z"),
    same_elements_of_all("a function may process all records", "process", ShowAll(), "[0,10)axby", "[10,20)cz"),
    same_elements_of_all("a function may be applied to all records", "apply", ApplyAll(), "[0,10)axby", "[10,20)cz"),
    same_elements_of_all(
        "what was reduced of all records may be processed",
        "reduce",
        (lambda a, b: a + b, ShowAll()),
        "[0,10)axby",
        "[10,20)cz",
    ),
    Transcript(
        "count windows of all records",
        count_windows_of_all(2),
        [Step("ax", "by", "cz", out=[("#0 axby", None)]), Step("dw", out=[("#1 czdw", None)])],
        left=Left(state_entries=1),
    ),
    Transcript(
        "sliding count windows of all records",
        count_windows_of_all(2, 1),
        [Step("ax", "by", "cz", out=[("#0 axby", None), ("#1 bycz", None)])],
        left=Left(state_entries=3),
    ),
    Transcript(
        "sessions of all records",
        WindowedAll(EventTimeSessionWindows.with_gap(10), "reduce", lambda a, b: a + b),
        [
            Step(Element("ax", 1), Element("by", 8), Element("cz", 30)),
            Step(Watermark(17), out=[("axby", 17)]),
            Step(End(), out=[("cz", 39)]),
        ],
    ),
    field_of("sum", ("a", 15, "r")),
    field_of("min", ("a", 1, "r")),
    field_of("max", ("a", 5, "r")),
    field_of("min_by", ("a", 1, "t")),
    field_of("max_by", ("a", 5, "s")),
    Transcript(
        "plain numbers of a window are their own field 0",
        WindowedAll(TEN, "sum", ()),
        [Step(Element(1, 1), Element(2, 2), Element(4, 11)), Step(End(), out=[(3, 9), (4, 19)])],
    ),
    Transcript(
        "a sliding sum holds each record in several windows",
        Windowed(SlidingEventTimeWindows.of(20, 10), "sum", 1),
        [
            Step(Element(("a", 1), 5), Element(("a", 2), 15), Element(("a", 4), 16)),
            Step(Watermark(9), out=[(("a", 1), 9)]),
            Step(Element(("a", 8), 12), Watermark(19), out=[(("a", 15), 19)]),
            Step(End(), out=[(("a", 14), 29)]),
        ],
    ),
]

_STATE = [
    Transcript(
        "state of a window lasts as long as the window, that of the key for ever; clear() says when it ends",
        Windowed(TEN, arguments=Firings(), lateness=10),
        [
            Step(Element("ax", 3), Element("ay", 12), Watermark(9), out=[(("a", 0, 1, 1), 9)]),
            Step(Element("az", 5), out=[(("a", 0, 2, 2), 9)]),
            Step(Watermark(19), out=[(("a", 10, 1, 3), 19)], side={CLEARED: [(0, 9)]}),
            Step(End(), side={CLEARED: [(10, 19)]}),
        ],
        left=Left(state_entries=1),
    ),
    Transcript(
        "clear() is not called when a trigger only purges, and is when the window ends empty",
        Windowed(TEN, arguments=Firings(), trigger=PurgingTrigger.of(CountTrigger.of(2))),
        [
            Step(Element("ax", 3), Element("ay", 4), out=[(("a", 0, 1, 1), 9)], side={CLEARED: []}),
            Step(Element("az", 5), Element("aw", 6), out=[(("a", 0, 2, 2), 9)]),
            Step(Watermark(9), side={CLEARED: [(0, 9)]}),
        ],
        left=Left(state_entries=1),
    ),
    Transcript(
        "state of a window that the function does not clear stays, as in Flink",
        Windowed(TEN, arguments=OneNameForBoth(), trigger=CountTrigger.of(2)),
        [
            Step(
                Element("ax", 3),
                Element("ay", 4),
                Cut(),
                Element("az", 5),
                Element("aw", 6),
                out=[((1, 2), 9), ((2, 6), 9)],
            ),
            Step(Element("ax", 13), Element("ay", 14), Watermark(19), out=[((1, 8), 19)]),
        ],
        left=Left(state_entries=3),
    ),
    Transcript(
        "state that a window function asks for in open() belongs to the key",
        Windowed(TEN, arguments=OpenedState()),
        [
            Step(Element("ax", 3), Element("ay", 4), Element("az", 15), Watermark(9), out=[(("a", 2), 9)]),
            Step(End(), out=[(("a", 3), 19)]),
        ],
        left=Left(state_entries=1),
    ),
    Transcript(
        "state of the key works in sessions",
        Windowed(EventTimeSessionWindows.with_gap(10), arguments=OpenedState()),
        [
            Step(Element("ax", 3), Element("ay", 4), Element("az", 35), Watermark(13), out=[(("a", 2), 13)]),
            Step(End(), out=[(("a", 3), 44)]),
        ],
        left=Left(state_entries=1),
    ),
    Transcript(
        "a window function knows both times and may write to side outputs, with the timestamp of the window",
        Windowed(TEN, arguments=Times()),
        [
            Step(Clock(100), Element("ax", 3), Element("ay", 4)),
            Step(Clock(199), Watermark(14), out=[(("a", 14, 199), 9)], side={SIZES: [(2, 9), ("a", 9)]}),
            Step(
                Clock(200),
                Element("az", 25),
                End(),
                out=[(("a", FOREVER, 200), 29)],
                side={SIZES: [(1, 29), ("a", 29)]},
            ),
        ],
    ),
    Transcript(
        "a window of processing time shows the clock to its function",
        Windowed(TumblingProcessingTimeWindows.of(100), arguments=Times()),
        [
            Step(Clock(100), "ax", Watermark(7)),
            Step(Clock(199), out=[(("a", 7, 199), 199)], side={SIZES: [(1, 199), ("a", 199)]}),
            Step(Clock(200), End()),
        ],
    ),
]

_TWO_PHASES = [
    Transcript(
        "two phases: a sum of a tumbling window",
        Windowed(TEN, "sum", 1, two_phase=True),
        [
            Step(Element(("a", 1), 5), Element(("a", 2), 6), Cut(), Element(("a", 4), 3), Element(("a", 8), 12)),
            Step(Watermark(8)),
            Step(Element(("a", 16), 9), Watermark(9), out=[(("a", 23), 9)], watermark=9),
            Step(End(), out=[(("a", 8), 19)]),
        ],
    ),
    Transcript(
        "two phases: an aggregation of sliding windows",
        Windowed(SlidingEventTimeWindows.of(20, 10), "aggregate", (GatherSorted(), ShowResult()), two_phase=True),
        [
            Step(Element("ax", 5), Element("ay", 15), Element("az", 16)),
            Step(Watermark(9), out=[("a[-10,10)x", 9)]),
            Step(Watermark(19), out=[("a[0,20)xyz", 19)]),
            Step(End(), out=[("a[10,30)yz", 29)]),
        ],
        stepwise_only="several subtasks gather in any order",
    ),
    Transcript(
        "two phases: all records, reduced and processed",
        WindowedAll(TEN, "reduce", (joined, ShowAll()), two_phase=True),
        [
            Step(Element("ax", 3), Element("cz", 12), Element("by", 1), Watermark(9), out=[("[0,10)axy", 9)]),
            Step(End(), out=[("[10,20)cz", 19)]),
        ],
        stepwise_only="several subtasks reduce in any order",
    ),
]

TRANSCRIPTS = [*_KINDS, *_STATE, *_TWO_PHASES]
