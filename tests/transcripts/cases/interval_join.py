"""Interval joins: which rows are pairs, what is late, when rows without a partner come out and what is kept."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from typing import Any

from penstock.common import Duration, Time
from penstock.common.constants import MAX_WATERMARK
from penstock.common.watermark_strategy import Watermark
from penstock.datastream import DataStream, OutputTag, ProcessJoinFunction
from penstock.testing import Cut, Element, Idle
from penstock.testing.transcripts import NO_WATERMARK, End, Input, Left, Step, Transcript

LEFT_LATE, RIGHT_LATE = OutputTag("left-late"), OutputTag("right-late")
MEET = "how far the other input has come decides what is late"

Settings = Callable[[Any], Any]


def first(value: Any) -> Any:
    return value[0]


def name_of(row: Any) -> Any:
    return None if row is None else row[1]


class Pairs(ProcessJoinFunction):
    """Names of both rows; a row without partner stands with None."""

    def process_element(self, left: Any, right: Any, ctx: Any) -> Iterator[Any]:
        yield name_of(left), name_of(right)


class Times(ProcessJoinFunction):
    """What the context tells of the pair, by collector."""

    def process_element(self, left: Any, right: Any, ctx: Any, out: Any) -> None:
        out.collect((ctx.get_left_timestamp(), ctx.get_right_timestamp(), ctx.get_timestamp()))


def as_it_is(joined: Any) -> Any:
    return joined


def join(lower: Any, upper: Any, more: Settings = as_it_is, function: Any = None) -> Callable[..., DataStream]:
    def pipeline(left: DataStream, right: DataStream) -> DataStream:
        joined = left.key_by(first).interval_join(right.key_by(first)).between(lower, upper)
        return more(joined).process(function or Pairs())

    return pipeline


def with_late_tags(joined: Any) -> Any:
    return joined.side_output_left_late_data(LEFT_LATE).side_output_right_late_data(RIGHT_LATE)


def exclusive(joined: Any) -> Any:
    return joined.lower_bound_exclusive().upper_bound_exclusive()


def left_outer(joined: Any) -> Any:
    return joined.left_outer()


def right_outer(joined: Any) -> Any:
    return joined.right_outer()


def full_outer(joined: Any) -> Any:
    return joined.full_outer()


def with_itself(stream: DataStream) -> DataStream:
    keyed = stream.key_by(first)
    return keyed.interval_join(keyed).between(1, 5).process(Pairs())


def row(name: str, time: int, key: str = "k") -> Element:
    return Element((key, name), time)


TRANSCRIPTS = [
    Transcript(
        "interval join: pairs in both orders of arrival, with the later time",
        join(Time.milliseconds(-5), Duration.of_millis(5), function=Times()),
        [
            Step(row("l", 10)),
            Step(Input(1, row("r", 12)), out=[((10, 12, 12), 12)]),
            Step(Input(1, row("r", 5), row("r", 16)), out=[((10, 5, 10), 10)]),
            Step(row("l", 11), out=[((11, 12, 12), 12), ((11, 16, 16), 16)]),
            Step(row("l", 12, key="j")),
        ],
        inputs=2,
        any_order=True,
    ),
    Transcript(
        "interval join: both bounds belong to the interval",
        join(-2, 3),
        [
            Step(row("l", 10)),
            Step(
                Input(1, *(row(str(time), time) for time in range(6, 16))),
                out=[(("l", str(time)), max(time, 10)) for time in range(8, 14)],
            ),
        ],
        inputs=2,
        any_order=True,
    ),
    Transcript(
        "interval join: bounds may be exclusive",
        join(-2, 3, exclusive),
        [
            Step(Input(1, *(row(str(time), time) for time in range(6, 16)))),
            Step(row("l", 10), out=[(("l", "9"), 10), (("l", "10"), 10), (("l", "11"), 11), (("l", "12"), 12)]),
        ],
        inputs=2,
        any_order=True,
    ),
    Transcript(
        "interval join: an exclusive bound can leave nothing, and nothing is kept for ever",
        join(0, 0, lambda joined: joined.lower_bound_exclusive().left_outer()),
        [
            Step(row("l", 10), Input(1, row("r", 10)), left=Left(event_timers=2, state_entries=3)),
            Step(Watermark(10), Input(1, Watermark(10)), out=[(("l", None), 10)], watermark=10, left=Left()),
        ],
        inputs=2,
    ),
    Transcript(
        "interval join: rows are kept until the watermark has reached their last partner's time",
        join(-2, 5),
        [
            Step(row("l", 10), row("m", 10), Input(1, row("r", 20)), left=Left(event_timers=2, state_entries=2)),
            Step(Watermark(100), Input(1, Watermark(14)), left=Left(event_timers=2, state_entries=2)),
            Step(Input(1, Watermark(15)), watermark=15, left=Left(event_timers=1, state_entries=1)),
            Step(Input(1, Watermark(21)), left=Left(event_timers=1, state_entries=1)),
            Step(Input(1, Watermark(22)), watermark=22, left=Left()),
        ],
        inputs=2,
    ),
    Transcript(
        "interval join: where partners are all later, or all earlier, only one side waits",
        join(5, 10),
        [
            Step(row("l", 10), Input(1, row("r", 12)), left=Left(event_timers=2, state_entries=2)),
            Step(Watermark(12), Input(1, Watermark(12)), left=Left(event_timers=1, state_entries=1)),
            Step(Input(1, row("s", 20)), out=[(("l", "s"), 20)]),
            Step(Watermark(20), Input(1, Watermark(20)), left=Left()),
        ],
        inputs=2,
    ),
    Transcript(
        "interval join: late rows of both sides go to their side outputs",
        join(-5, 5, with_late_tags),
        [
            Step(row("l", 10), Watermark(10)),
            Step(Input(1, row("r", 9)), out=[(("l", "r"), 10)], watermark=NO_WATERMARK),
            Step(Input(1, Watermark(10)), watermark=10),
            Step(
                row("m", 9),
                Input(1, row("s", 8), row("t", 10)),
                out=[(("l", "t"), 10)],
                side={LEFT_LATE: [(("k", "m"), 9)], RIGHT_LATE: [(("k", "s"), 8)]},
            ),
            Step(row("n", 10), out=[(("n", "r"), 10), (("n", "t"), 10)]),
        ],
        inputs=2,
        stepwise_only=MEET,
    ),
    Transcript(
        "interval join: late rows without a side output are dropped, and never come out as rows without partner",
        join(-5, 5, full_outer),
        [
            Step(Watermark(10), Input(1, Watermark(10)), watermark=5),
            Step(row("l", 9), Input(1, row("r", 9)), left=Left()),
            Step(row("m", 10)),
            Step(End(), out=[(("m", None), 10)], watermark=MAX_WATERMARK),
        ],
        inputs=2,
        stepwise_only=MEET,
    ),
    Transcript(
        "interval join: an idle input holds nobody up",
        join(0, 5, with_late_tags),
        [
            Step(row("l", 10), Watermark(20), left=Left(event_timers=1, state_entries=1)),
            Step(Input(1, Idle()), watermark=20, left=Left()),
            Step(Input(1, row("r", 12)), side={RIGHT_LATE: [(("k", "r"), 12)]}),
        ],
        inputs=2,
        stepwise_only=MEET,
    ),
    Transcript(
        "interval join: when one input has ended, the other one is the time",
        join(0, 5),
        [
            Step(row("l", 10), Input(1, row("r", 11)), out=[(("l", "r"), 11)]),
            Step(Input(1, End())),
            Step(row("m", 8), out=[(("m", "r"), 11)]),
            Step(Watermark(15), watermark=15, left=Left()),
        ],
        inputs=2,
        any_order=True,
    ),
    Transcript(
        "interval join: left outer, rows without partner come when none can come any more",
        join(-2, 5, left_outer),
        [
            Step(row("l", 10), row("m", 11), row("n", 11), Input(1, row("r", 30))),
            Step(Input(1, row("s", 15)), out=[(("l", "s"), 15), (("m", "s"), 15), (("n", "s"), 15)]),
            Step(row("o", 12, key="j"), row("p", 14, key="j"), left=Left(event_timers=6, state_entries=5)),
            Step(Watermark(16), Input(1, Watermark(16)), watermark=11, left=Left(event_timers=4, state_entries=4)),
            Step(Watermark(17), Input(1, Watermark(17)), out=[(("o", None), 12)], watermark=12),
            Step(row("q", 18), left=Left(event_timers=3, state_entries=5)),
            Step(End(), out=[(("p", None), 14), (("q", None), 18)], watermark=MAX_WATERMARK),
        ],
        inputs=2,
        any_order=True,
    ),
    Transcript(
        "interval join: right outer",
        join(-2, 5, right_outer),
        [
            Step(row("l", 10), row("m", 40)),
            Step(Input(1, row("r", 15), row("s", 16), row("t", 41)), out=[(("l", "r"), 15), (("m", "t"), 41)]),
            Step(Watermark(17), Input(1, Watermark(17)), watermark=15),
            Step(Watermark(18), Input(1, Watermark(18)), out=[((None, "s"), 16)], watermark=16),
        ],
        inputs=2,
        any_order=True,
    ),
    Transcript(
        "interval join: full outer, the watermark waits for the side that waits longest",
        join(-7, 5, full_outer),
        [
            Step(row("l", 10), Input(1, row("r", 20)), left=Left(event_timers=2, state_entries=4)),
            Step(Watermark(16), Input(1, Watermark(16)), out=[(("l", None), 10)], watermark=9),
            Step(Cut(), row("m", 27), out=[(("m", "r"), 27)]),
            Step(Watermark(32), Input(1, Watermark(32)), watermark=25, left=Left()),
        ],
        inputs=2,
        stepwise_only="a row comes in time only because the watermark has not passed it yet",
    ),
    Transcript(
        "interval join: a row whose partners' times have all passed still waits for its own time",
        join(-5, -3, left_outer),
        [
            Step(Watermark(10), Input(1, Watermark(10)), watermark=10),
            Step(row("l", 12), left=Left(event_timers=1, state_entries=2)),
            Step(Watermark(12), Input(1, Watermark(12)), out=[(("l", None), 12)], watermark=12, left=Left()),
        ],
        inputs=2,
    ),
    Transcript(
        "interval join: a stream with itself",
        with_itself,
        [
            Step(row("a", 10), row("b", 12), row("c", 20), out=[(("a", "b"), 12)]),
            Step(row("d", 16), out=[(("b", "d"), 16), (("d", "c"), 20)]),
        ],
        any_order=True,
    ),
]
