"""Which windows an element belongs to, and what assigners refuse."""

from __future__ import annotations

import pickle
from datetime import timedelta
from typing import Any

import cloudpickle
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from penstock.common import Duration, Time
from penstock.datastream.window import (
    CountSlidingWindowAssigner,
    CountTumblingWindowAssigner,
    CountWindow,
    CountWindowSerializer,
    CumulativeEventTimeWindows,
    CumulativeProcessingTimeWindows,
    DynamicEventTimeSessionWindows,
    DynamicProcessingTimeSessionWindows,
    EndOfStreamTrigger,
    EventTimeSessionWindows,
    EventTimeTrigger,
    GlobalWindow,
    GlobalWindows,
    GlobalWindowSerializer,
    MergingWindowAssigner,
    NeverTrigger,
    ProcessingTimeSessionWindows,
    ProcessingTimeTrigger,
    PurgingTrigger,
    SessionWindowTimeGapExtractor,
    SlidingEventTimeWindows,
    SlidingProcessingTimeWindows,
    TimeWindow,
    TimeWindowSerializer,
    TumblingEventTimeWindows,
    TumblingProcessingTimeWindows,
    WindowAssigner,
)
from penstock.errors import GraphError
from tests.unit.datastream.window.contexts import AssignerRig

TIMES = st.integers(-(2**40), 2**40)


class GapOfElement(SessionWindowTimeGapExtractor[int]):
    def extract(self, element: int) -> int:
        return element


EVENT_TIME: list[WindowAssigner[Any, Any]] = [
    TumblingEventTimeWindows.of(10, 3),
    SlidingEventTimeWindows.of(10, 4, -1),
    CumulativeEventTimeWindows.of(12, 4, 1),
    EventTimeSessionWindows.with_gap(10),
    EventTimeSessionWindows.with_dynamic_gap(GapOfElement()),
]
PROCESSING_TIME: list[WindowAssigner[Any, Any]] = [
    TumblingProcessingTimeWindows.of(10, 3),
    SlidingProcessingTimeWindows.of(10, 4, -1),
    CumulativeProcessingTimeWindows.of(12, 4, 1),
    ProcessingTimeSessionWindows.with_gap(10),
    ProcessingTimeSessionWindows.with_dynamic_gap(GapOfElement()),
]


def spans(assigner: WindowAssigner[Any, Any], time: int | None, element: Any = 5) -> list[tuple[int, int]]:
    """The windows of an element; event-time assigners get the time as timestamp, others from the clock."""
    rig = AssignerRig(now=-1 if assigner.is_event_time() or time is None else time)
    found = assigner.assign_windows(element, time if assigner.is_event_time() else None, rig)
    return [(window.start, window.end) for window in found]


@pytest.mark.parametrize("kind", [TumblingEventTimeWindows, TumblingProcessingTimeWindows])
@pytest.mark.parametrize(
    ("time", "offset", "expected"),
    [(0, None, (0, 10)), (19, 0, (10, 20)), (-1, 0, (-10, 0)), (2, 3, (-7, 3)), (3, 3, (3, 13)), (8, -3, (7, 17))],
)
def test_tumbling(kind: Any, time: int, offset: int | None, expected: tuple[int, int]) -> None:
    assert spans(kind.of(10, offset), time) == [expected]


@pytest.mark.parametrize("kind", [SlidingEventTimeWindows, SlidingProcessingTimeWindows])
@pytest.mark.parametrize(
    ("size", "slide", "offset", "time", "expected"),
    [
        (10, 5, 0, 12, [(10, 20), (5, 15)]),
        (10, 5, 0, -1, [(-5, 5), (-10, 0)]),
        (10, 4, 0, 8, [(8, 18), (4, 14), (0, 10)]),
        (10, 4, 0, 11, [(8, 18), (4, 14)]),
        (10, 5, 2, 12, [(12, 22), (7, 17)]),
        (10, 5, -2, 12, [(8, 18), (3, 13)]),
        (2, 5, 0, 11, [(10, 12)]),
        (2, 5, 0, 12, []),
    ],
)
def test_sliding_latest_first(
    kind: Any, size: int, slide: int, offset: int, time: int, expected: list[tuple[int, int]]
) -> None:
    assert spans(kind.of(size, slide, offset), time) == expected


@given(TIMES, st.integers(1, 40), st.integers(1, 40), st.data())
@settings(max_examples=60, deadline=None)
def test_sliding_finds_every_aligned_window_and_no_other(time: int, size: int, slide: int, data: st.DataObject) -> None:
    offset = data.draw(st.integers(1 - slide, slide - 1))
    expected = [(s, s + size) for s in range(time, time - size, -1) if (s - offset) % slide == 0]
    assert spans(SlidingEventTimeWindows.of(size, slide, offset), time) == expected
    assert len(expected) in {size // slide, -(-size // slide)}


@pytest.mark.parametrize("kind", [CumulativeEventTimeWindows, CumulativeProcessingTimeWindows])
@pytest.mark.parametrize(
    ("offset", "time", "expected"),
    [
        (0, 0, [(0, 4), (0, 8), (0, 12)]),
        (0, 3, [(0, 4), (0, 8), (0, 12)]),
        (0, 4, [(0, 8), (0, 12)]),
        (0, 11, [(0, 12)]),
        (0, -1, [(-12, 0)]),
        (1, 0, [(-11, 1)]),
        (-3, 0, [(-3, 1), (-3, 5), (-3, 9)]),
    ],
)
def test_cumulative_shortest_first(kind: Any, offset: int, time: int, expected: list[tuple[int, int]]) -> None:
    assert spans(kind.of(12, 4, offset), time) == expected


@pytest.mark.parametrize("assigner", EVENT_TIME + PROCESSING_TIME, ids=repr)
@given(time=TIMES)
@settings(max_examples=15, deadline=None)
def test_an_element_is_inside_each_of_its_windows(assigner: WindowAssigner[Any, Any], time: int) -> None:
    found = spans(assigner, time)
    assert found and all(start <= time < end for start, end in found)
    assert len(set(found)) == len(found)


@pytest.mark.parametrize("assigner", EVENT_TIME[3:] + PROCESSING_TIME[3:], ids=repr)
def test_a_session_starts_at_its_element(assigner: WindowAssigner[Any, Any]) -> None:
    is_dynamic = isinstance(assigner, DynamicEventTimeSessionWindows | DynamicProcessingTimeSessionWindows)
    assert spans(assigner, -7, element=4) == [(-7, -3 if is_dynamic else 3)]


@pytest.mark.parametrize("assigner", EVENT_TIME[3:] + PROCESSING_TIME[3:], ids=repr)
def test_sessions_that_touch_merge(assigner: MergingWindowAssigner[Any, TimeWindow]) -> None:
    calls = []

    class Callback(MergingWindowAssigner.MergeCallback[TimeWindow]):
        def merge(self, to_be_merged: Any, merge_result: TimeWindow) -> None:
            calls.append(merge_result)

    assigner.merge_windows([TimeWindow(0, 5), TimeWindow(5, 9), TimeWindow(10, 11)], Callback())
    assert calls == [TimeWindow(0, 9)]


@pytest.mark.parametrize("gap", [lambda element: element * 2, lambda element: Duration.of_millis(element * 2)])
def test_a_gap_may_be_a_plain_callable(gap: Any) -> None:
    assert spans(EventTimeSessionWindows.with_dynamic_gap(gap), 1, element=3) == [(1, 7)]
    assert spans(DynamicProcessingTimeSessionWindows.with_dynamic_gap(gap), 1, element=3) == [(1, 7)]


@pytest.mark.parametrize("gap", [0, -1])
def test_a_dynamic_gap_must_be_positive(gap: int) -> None:
    for assigner in (EVENT_TIME[4], PROCESSING_TIME[4]):
        with pytest.raises(ValueError, match=f"{type(assigner).__name__}: the session gap.*returned {gap} ms"):
            spans(assigner, 0, element=gap)


@pytest.mark.parametrize("assigner", EVENT_TIME, ids=repr)
@pytest.mark.parametrize("timestamp", [None, -(2**63)])
def test_event_time_needs_timestamps(assigner: WindowAssigner[Any, Any], timestamp: int | None) -> None:
    with pytest.raises(ValueError, match=f"{type(assigner).__name__}.*assign_timestamps_and_watermarks"):
        spans(assigner, timestamp)


@pytest.mark.parametrize("length", [Time.seconds(2), Duration.of_seconds(2), timedelta(seconds=2), 2000])
def test_lengths_of_all_kinds(length: Any) -> None:
    assert TumblingEventTimeWindows.of(length).size == 2000
    sliding = SlidingProcessingTimeWindows.of(Time.seconds(4), length, Time.milliseconds(-1))
    assert (sliding.size, sliding.slide, sliding.offset) == (4000, 2000, -1)
    cumulative = CumulativeEventTimeWindows.of(Time.seconds(4), length)
    assert (cumulative.size, cumulative.step, cumulative.offset) == (4000, 2000, 0)
    assert EventTimeSessionWindows.with_gap(length).gap == 2000


@pytest.mark.parametrize(
    ("make", "reason"),
    [
        (lambda: TumblingEventTimeWindows.of(0), "size must be at least"),
        (lambda: TumblingProcessingTimeWindows.of(Duration.of_nanos(1)), "size must be at least"),
        (lambda: TumblingEventTimeWindows.of(10, 10), "offset must be shorter than the size"),
        (lambda: TumblingProcessingTimeWindows.of(10, -10), "offset must be shorter than the size"),
        (lambda: SlidingEventTimeWindows.of(10, 0), "slide must be at least"),
        (lambda: SlidingEventTimeWindows.of(10, 5, 5), "offset must be shorter than the slide"),
        (lambda: SlidingProcessingTimeWindows.of(-1, 5), "size must be at least"),
        (lambda: CumulativeEventTimeWindows.of(10, 4), "multiple of the step"),
        (lambda: CumulativeProcessingTimeWindows.of(10, 5, -10), "offset must be shorter"),
        (lambda: EventTimeSessionWindows.with_gap(0), "session gap must be at least"),
        (lambda: ProcessingTimeSessionWindows.with_gap(-5), "session gap must be at least"),
        (lambda: EventTimeSessionWindows.with_dynamic_gap(5), "SessionWindowTimeGapExtractor or a callable, got int"),  # type: ignore[arg-type]
        (lambda: CountTumblingWindowAssigner.of(0), "positive whole number"),
        (lambda: CountSlidingWindowAssigner.of(2, -1), "slide must be a positive whole number"),
        (lambda: CountSlidingWindowAssigner.of(2.5, 1), "size must be a positive whole number"),  # type: ignore[arg-type]
    ],
)
def test_what_makes_no_windows_is_refused(make: Any, reason: str) -> None:
    with pytest.raises(GraphError, match=reason):
        make()


def count_windows(assigner: WindowAssigner[Any, CountWindow], elements: int) -> list[list[int]]:
    rig = AssignerRig()
    return [[window.id for window in assigner.assign_windows("x", None, rig)] for _ in range(elements)]


def test_tumbling_by_count() -> None:
    assert count_windows(CountTumblingWindowAssigner.of(2), 5) == [[0], [0], [1], [1], [2]]


def test_sliding_by_count() -> None:
    assert count_windows(CountSlidingWindowAssigner.of(3, 1), 4) == [[0], [1, 0], [2, 1, 0], [3, 2, 1]]
    assert count_windows(CountSlidingWindowAssigner.of(1, 3), 5) == [[0], [], [], [1], []]


@given(st.integers(1, 7), st.integers(1, 7))
@settings(max_examples=30, deadline=None)
def test_each_count_window_gets_its_elements(size: int, slide: int) -> None:
    assigned = count_windows(CountSlidingWindowAssigner.of(size, slide), 20)
    for number, ids in enumerate(assigned):
        holding = [i for i in range(number + 1) if i * slide <= number < i * slide + size]
        assert ids == holding[::-1]


def test_keys_are_counted_apart_by_one_assigner() -> None:
    assigner = CountTumblingWindowAssigner[str].of(2)
    one, other = AssignerRig(), AssignerRig()
    found = [assigner.assign_windows("x", None, rig)[0].id for rig in (one, other, one, one, other)]
    assert found == [0, 0, 0, 1, 0]


def test_the_global_window_holds_all() -> None:
    assert list(GlobalWindows.create().assign_windows("x", None, AssignerRig())) == [GlobalWindow.get()]


@pytest.mark.parametrize(
    ("assigners", "trigger", "serializer", "is_event_time"),
    [
        (EVENT_TIME, EventTimeTrigger, TimeWindowSerializer, True),
        (PROCESSING_TIME, ProcessingTimeTrigger, TimeWindowSerializer, False),
        ([GlobalWindows.create()], NeverTrigger, GlobalWindowSerializer, False),
        ([GlobalWindows.create_with_end_of_stream_trigger()], EndOfStreamTrigger, GlobalWindowSerializer, False),
        (
            [CountTumblingWindowAssigner.of(2), CountSlidingWindowAssigner.of(2, 1)],
            PurgingTrigger,
            CountWindowSerializer,
            False,
        ),
    ],
)
def test_defaults(assigners: list[Any], trigger: type, serializer: type, is_event_time: bool) -> None:
    for assigner in assigners:
        assert type(assigner.get_default_trigger(None)) is trigger
        assert type(assigner.get_window_serializer()) is serializer
        assert assigner.is_event_time() is is_event_time


@pytest.mark.parametrize(
    "assigner",
    [*EVENT_TIME, *PROCESSING_TIME, GlobalWindows.create(), CountSlidingWindowAssigner.of(2, 1)],
    ids=repr,
)
def test_assigners_travel_to_workers(assigner: WindowAssigner[Any, Any]) -> None:
    again = pickle.loads(cloudpickle.dumps(assigner))
    assert repr(again) == repr(assigner)
    assert list(again.assign_windows(4, 7, AssignerRig(7))) == list(assigner.assign_windows(4, 7, AssignerRig(7)))
