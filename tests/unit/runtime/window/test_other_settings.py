"""Windows that go on from state which other settings have left: as in Flink where that can be, else refused."""

from __future__ import annotations

import json
import re
from collections.abc import Iterable, Iterator
from typing import Any

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from penstock.datastream import count, sum_of
from penstock.datastream.functions import AggregateFunction, ProcessWindowFunction
from penstock.datastream.window import (
    CountEvictor,
    CountSlidingWindowAssigner,
    CountTrigger,
    CountTumblingWindowAssigner,
    CumulativeEventTimeWindows,
    EventTimeSessionWindows,
    EventTimeTrigger,
    GlobalWindows,
    SlidingEventTimeWindows,
    TumblingEventTimeWindows,
    TumblingProcessingTimeWindows,
)
from penstock.runtime.failure import OperatorFailure
from penstock.runtime.operators.window import Evaluation, WindowOperator, WindowSpec
from penstock.runtime.operators.window import layout as layouts
from penstock.runtime.operators.window.panes import uses_panes
from penstock.testing.harness import KeyedHarness
from penstock.vocabulary.commutativity import commutative
from penstock.vocabulary.field_aggregation import FieldAggregation

FOREVER = 2**63 - 1


class Tell(ProcessWindowFunction[Any, Any, Any, Any]):
    def process(self, key: Any, context: Any, elements: Iterable[Any]) -> Iterator[Any]:
        for element in elements:
            yield key, context.window().start, context.window().end, element[1]


def added(first: Any, second: Any) -> Any:
    return (first[0], first[1] + second[1])


in_parts = commutative(lambda first, second: (first[0], first[1] + second[1]))


def spec_of(assigner: Any, combine: Any = added, **more: Any) -> WindowSpec:
    more = {"trigger": EventTimeTrigger(), **more}
    return WindowSpec(assigner, evaluation=Evaluation.PROCESS, function=Tell(), combine=combine, **more)


def harness_of(spec: WindowSpec) -> KeyedHarness:
    return KeyedHarness(WindowOperator(spec), key=lambda value: value[0])


def change(harness: KeyedHarness, spec: WindowSpec) -> KeyedHarness:
    taken = harness.snapshot()
    harness.close()
    again = harness_of(spec)
    again.restore(taken)
    return again.open()


ASSIGNERS = [
    SlidingEventTimeWindows.of(10, 5),
    SlidingEventTimeWindows.of(10, 2),
    SlidingEventTimeWindows.of(12, 4, 1),
    TumblingEventTimeWindows.of(10),
    TumblingEventTimeWindows.of(4),
    CumulativeEventTimeWindows.of(20, 5),
]
SPECS = st.builds(
    spec_of,
    st.sampled_from(ASSIGNERS),
    st.sampled_from([added, in_parts]),
    allowed_lateness=st.sampled_from([0, 0, 6]),
)
BLOCKS = st.lists(
    st.tuples(st.lists(st.tuples(st.sampled_from("ab"), st.integers(0, 15)), max_size=5), st.integers(0, 8)),
    max_size=3,
)


class Flink:
    """Windows as namespaces: what is in one stays there, whatever the settings; none is late here."""

    def __init__(self) -> None:
        self.windows: dict[tuple[str, int, int], int] = {}
        self.fired: list[Any] = []

    def take(self, assigner: Any, key: str, number: int, time: int) -> None:
        for window in assigner.assign_windows(None, time, None):
            place = (key, window.start, window.end)
            self.windows[place] = self.windows.get(place, 0) + number

    def advance(self, watermark: int) -> None:
        due = [place for place in self.windows if place[2] - 1 <= watermark]
        self.fired += [(*place, self.windows.pop(place)) for place in due]


@settings(max_examples=60)
@given(specs=st.lists(SPECS, min_size=2, max_size=3), parts=st.lists(BLOCKS, min_size=3, max_size=3))
def test_open_windows_fire_at_their_own_ends_with_all_they_got(specs: list[WindowSpec], parts: list[Any]) -> None:
    flink, watermark, number = Flink(), -1, 0
    harness = harness_of(specs[0]).open()
    results: list[Any] = []
    for spec, blocks in zip(specs, parts, strict=False):
        if spec is not specs[0]:
            results += harness.output_values()
            harness = change(harness, spec)
        # Ahead of every window that is open: late for none of them, whatever their size.
        base = watermark + 20
        for records, step in blocks:
            elements = []
            for key, ahead in records:
                number += 1
                elements.append(((key, number), base + ahead))
                flink.take(spec.assigner, key, number, base + ahead)
            harness.process_elements(elements)
            watermark += step
            harness.process_watermark(watermark)
            flink.advance(watermark)
    harness.process_watermark(FOREVER)
    flink.advance(FOREVER)
    results += harness.output_values()
    assert sorted(results) == sorted(flink.fired)
    assert harness.num_event_time_timers() == harness.num_keyed_state_entries() == 0
    harness.close()


def test_panes_of_another_slide_become_windows() -> None:
    # Was: counted wrongly, fired twice, or struct.error.
    harness = harness_of(spec_of(SlidingEventTimeWindows.of(10, 5), in_parts)).open()
    harness.process_elements([(("a", 1), 3), (("a", 2), 7)])
    harness.process_watermark(4)
    assert harness.output_values() == [("a", -5, 5, 1)]
    harness = change(harness, spec_of(SlidingEventTimeWindows.of(10, 2), in_parts))
    harness.process_element(("a", 4), 8)
    harness.process_watermark(14)
    # [0, 10) is a window of both, and has what both put there.
    assert harness.output_values() == [("a", 0, 10, 7), ("a", 2, 12, 4), ("a", 4, 14, 4), ("a", 5, 15, 2)]
    harness.process_watermark(100)
    assert harness.num_event_time_timers() == harness.num_keyed_state_entries() == 0


def test_windows_that_could_be_panes_now_stay_windows_and_so_they_do_at_the_next_start() -> None:
    assigner = SlidingEventTimeWindows.of(10, 5)
    assert uses_panes(spec_of(assigner, in_parts)) and not uses_panes(spec_of(assigner))
    harness = harness_of(spec_of(assigner)).open()
    harness.process_element(("a", 1), 3)
    for _ in range(2):
        harness = change(harness, spec_of(assigner, in_parts))
        harness.process_element(("a", 1), 3)
    harness.process_watermark(100)
    assert harness.output_values() == [("a", -5, 5, 3), ("a", 0, 10, 3)]


def test_panes_of_a_version_that_did_not_write_settings_down_become_windows(monkeypatch: pytest.MonkeyPatch) -> None:
    assigner = SlidingEventTimeWindows.of(10, 5)
    with monkeypatch.context() as patched:
        patched.setattr(WindowOperator, "layout", lambda self: None)
        harness = harness_of(spec_of(assigner, in_parts)).open()
        harness.process_element(("a", 1), 3)
        taken = harness.snapshot()
        harness.close()
    harness = harness_of(spec_of(assigner))
    harness.restore(taken)
    with harness:
        harness.process_element(("a", 2), 3)
        harness.process_watermark(100)
        assert harness.output_values() == [("a", -5, 5, 3), ("a", 0, 10, 3)]
    harness = harness_of(spec_of(TumblingEventTimeWindows.of(10)))
    harness.restore(taken)
    with pytest.raises(
        OperatorFailure, match=r"panes of sliding windows.*run the job once with its old SlidingEventTimeWindows"
    ):
        harness.open()


@pytest.mark.parametrize("assigner", [TumblingEventTimeWindows.of(10), EventTimeSessionWindows.with_gap(10)])
def test_windows_are_kept_as_long_as_the_lateness_says_now(assigner: Any) -> None:
    harness = harness_of(spec_of(assigner, allowed_lateness=0)).open()
    harness.process_element(("a", 1), 0)
    harness = change(harness, spec_of(assigner, allowed_lateness=20))
    harness.process_watermark(12)
    harness.process_element(("a", 2), 1)  # late, and fires again
    assert [value[3] for value in harness.output_values()] == [1, 3]
    harness = change(harness, spec_of(assigner, allowed_lateness=0))
    assert harness.num_keyed_state_entries() == harness.num_event_time_timers() == 0
    harness.process_watermark(100)
    assert harness.output_values() == []


def test_windows_of_another_trigger_fire_at_their_end() -> None:
    tumbling = TumblingEventTimeWindows.of(10)
    harness = harness_of(spec_of(tumbling, trigger=CountTrigger.of(9), allowed_lateness=5)).open()
    harness.process_element(("a", 1), 0)
    harness = change(harness, spec_of(tumbling, allowed_lateness=5))
    harness.process_element(("a", 2), 1)
    harness.process_watermark(9)
    assert harness.output_values() == [("a", 0, 10, 3)]


class Gather(AggregateFunction):
    def create_accumulator(self) -> Any:
        return ()

    def add(self, value: Any, accumulator: Any) -> Any:
        return (*accumulator, value)

    def get_result(self, accumulator: Any) -> Any:
        return accumulator

    def merge(self, acc_a: Any, acc_b: Any) -> Any:
        return acc_a + acc_b


TEN = TumblingEventTimeWindows.of(10)
REFUSED = [
    (spec_of(TEN), spec_of(EventTimeSessionWindows.with_gap(10)), "merges False, but now .*merges True"),
    (spec_of(TEN), spec_of(TumblingProcessingTimeWindows.of(10)), "time event, but now .*time processing"),
    (spec_of(TEN), spec_of(GlobalWindows.create()), "window TimeWindow.*window GlobalWindow"),
    (spec_of(TEN, None), spec_of(TEN), "contents elements, but now .*contents reduced elements"),
    (spec_of(TEN), spec_of(TEN, Gather()), "contents reduced elements, but now .*contents accumulators"),
    (spec_of(TEN, None), spec_of(TEN, None, evictor=CountEvictor.of(1)), "contents elements with timestamps"),
    (
        spec_of(TEN, FieldAggregation((count(),))),
        spec_of(TEN, FieldAggregation((count(), sum_of(1)))),
        r"contents \[\['count', None\]\], but now .*\[\['count', None\], \['sum', 1\]\]",
    ),
    (
        spec_of(CountTumblingWindowAssigner.of(2), trigger=CountTrigger.of(2)),
        spec_of(CountTumblingWindowAssigner.of(3), trigger=CountTrigger.of(3)),
        r"window_size 2\), but now has assigner \(of CountTumblingWindowAssigner, window_size 3\)",
    ),
    (
        spec_of(CountTumblingWindowAssigner.of(2), trigger=CountTrigger.of(2)),
        spec_of(CountSlidingWindowAssigner.of(2, 1), trigger=CountTrigger.of(2)),
        r"CountTumblingWindowAssigner, window_size 2\), but now has .*window_slide 1",
    ),
]


@pytest.mark.parametrize(("before", "after", "reason"), REFUSED)
def test_what_cannot_be_told_any_more_is_refused(before: WindowSpec, after: WindowSpec, reason: str) -> None:
    written = WindowOperator(before).layout()
    found = WindowOperator(after).layout_refusal(written)
    assert found is not None
    assert re.search(reason, found), found
    harness = harness_of(before).open()
    taken = harness.snapshot()
    again = harness_of(after)
    again.restore(taken)
    with pytest.raises(OperatorFailure, match=r"(?s)cannot resume from the state: it was written with"):
        again.open()


@pytest.mark.parametrize(
    ("before", "after"),
    [
        (spec_of(EventTimeSessionWindows.with_gap(10)), spec_of(EventTimeSessionWindows.with_gap(3))),
        (spec_of(TEN), spec_of(TEN, lambda a, b: b)),
        (spec_of(TEN, None), spec_of(TumblingEventTimeWindows.of(60), None)),
        (spec_of(TEN, takes_partials=True), spec_of(TEN, takes_partials=False)),
    ],
)
def test_what_flink_allows_is_allowed(before: WindowSpec, after: WindowSpec) -> None:
    assert WindowOperator(after).layout_refusal(WindowOperator(before).layout()) is None


def test_a_layout_is_plain_data() -> None:
    for spec in (spec_of(each) for each in ASSIGNERS):
        layout = layouts.layout_of(spec, in_panes=False)
        assert json.loads(json.dumps(layout)) == layout
