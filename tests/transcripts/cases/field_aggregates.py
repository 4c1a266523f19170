"""Field aggregates: rows of running values or of windows, what None does, and what a window's row is made of."""

from __future__ import annotations

from typing import Any

from penstock.common import Row
from penstock.common.watermark_strategy import Watermark
from penstock.datastream import DataStream, OutputTag, avg_of, count, count_of, max_of, min_of, sum_of
from penstock.datastream.window import EventTimeSessionWindows, SlidingEventTimeWindows, TumblingEventTimeWindows
from penstock.testing import Cut, Element
from penstock.testing.transcripts import End, Left, Step, Transcript

LATE = OutputTag("late")


def windowed(assigner: Any, lateness: int = 0) -> Any:
    def build(stream: DataStream) -> DataStream:
        windows = stream.key_by("name").window(assigner).allowed_lateness(lateness).side_output_late_data(LATE)
        return windows.aggregate_fields(count(), sum_of("v"), max_of("v"))

    return build


def record(name: str, v: Any, time: int) -> Element:
    return Element(Row(name=name, v=v), time)


def result(name: str, start: int, end: int, *aggregates: Any) -> tuple[Row, int]:
    names = ("name", "window_start", "window_end", "count", "sum_v", "max_v")
    return Row.of_fields(names, [name, start, end, *aggregates]), end - 1


def running(key: Any, *aggregates: Any) -> tuple[Row, None]:
    return Row.of_fields(("key", "count", "n", "sum_1", "least", "max_1", "avg_1"), [key, *aggregates]), None


TRANSCRIPTS = [
    Transcript(
        "rolling field aggregates pass over None, and are None until there is something",
        lambda stream: stream.key_by(lambda pair: pair[0]).aggregate_fields(
            count(), count_of(1).alias("n"), sum_of(1), min_of(1).alias("least"), max_of(1), avg_of(1)
        ),
        [
            Step(("a", None), out=[running("a", 1, 0, None, None, None, None)]),
            Step(("a", 4), ("b", 1), out=[running("a", 2, 1, 4, 4, 4, 4.0), running("b", 1, 1, 1, 1, 1, 1.0)]),
            Step(
                Cut(), ("a", None), ("a", 1), out=[running("a", 3, 1, 4, 4, 4, 4.0), running("a", 4, 2, 5, 1, 4, 2.5)]
            ),
        ],
        left=Left(state_entries=2),
    ),
    Transcript(
        "field aggregates of a window come with its key, start and end",
        windowed(TumblingEventTimeWindows.of(10)),
        [
            Step(record("a", 3, 1), record("b", None, 2), Cut(), record("a", 2, 11), record("a", 1, 9)),
            Step(Watermark(9), out=[result("a", 0, 10, 2, 4, 3), result("b", 0, 10, 1, None, None)]),
            Step(record("a", 7, 5), side={LATE: [(Row(name="a", v=7), 5)]}),
            Step(End(), out=[result("a", 10, 20, 1, 2, 2)], left=Left()),
        ],
        any_order=True,
    ),
    Transcript(
        "field aggregates of a window that is kept are shown again with what came late",
        windowed(TumblingEventTimeWindows.of(10), lateness=5),
        [
            Step(record("a", 3, 1), Watermark(9), out=[result("a", 0, 10, 1, 3, 3)]),
            Step(record("a", 2, 2), out=[result("a", 0, 10, 2, 5, 3)]),
            Step(Watermark(14), record("a", 1, 3), side={LATE: [(Row(name="a", v=1), 3)]}, left=Left()),
        ],
    ),
    Transcript(
        "field aggregates of sliding windows are merged from panes",
        windowed(SlidingEventTimeWindows.of(10, 5)),
        [
            Step(record("a", 3, 1), record("a", None, 6), Watermark(4), out=[result("a", -5, 5, 1, 3, 3)]),
            Step(record("a", 8, 7), Cut(), Watermark(9), out=[result("a", 0, 10, 3, 11, 8)]),
            Step(End(), out=[result("a", 5, 15, 2, 8, 8)], left=Left()),
        ],
    ),
    Transcript(
        "field aggregates of sessions are merged with them",
        windowed(EventTimeSessionWindows.with_gap(5)),
        [
            Step(record("a", 1, 1), record("a", 2, 9), Cut(), record("a", 4, 5)),
            Step(End(), out=[result("a", 1, 14, 3, 7, 4)], left=Left()),
        ],
    ),
]
