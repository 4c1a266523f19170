"""Panes of sliding windows: their arithmetic against the assigner, and what is kept, fired and dropped when."""

from __future__ import annotations

from typing import Any

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from penstock.datastream.functions import AggregateFunction, ProcessWindowFunction
from penstock.datastream.state import ValueStateDescriptor
from penstock.datastream.window import EventTimeTrigger, SlidingEventTimeWindows
from penstock.runtime.failure import OperatorFailure
from penstock.runtime.operators.window import Evaluation, WindowOperator, WindowSpec
from penstock.runtime.operators.window.panes import STATE_NAME, cleanup_time, uses_panes
from penstock.testing.harness import KeyedHarness
from penstock.vocabulary.commutativity import commutative
from penstock.vocabulary.window.pane_grid import PaneGrid


@settings(max_examples=60)
@given(
    slide=st.integers(1, 7),
    size=st.integers(2, 20),
    offset=st.integers(-3, 3),
    time=st.integers(-40, 40),
    data=st.data(),
)
def test_times_agree_with_the_assigner(slide: int, size: int, offset: int, time: int, data: Any) -> None:
    offset = offset % slide
    lateness = 4
    times = PaneGrid.sliding(size, slide, offset)
    windows = SlidingEventTimeWindows.of(size, slide, offset).assign_windows(None, time, None)  # type: ignore[arg-type]
    pane = times.pane_of(time)
    ends = sorted(window.max_timestamp() for window in windows)
    if not ends:
        return
    assert (times.first_end(pane), times.last_end(pane)) == (ends[0], ends[-1])
    assert all(times.is_end(end) for end in ends)
    after = data.draw(st.integers(-60, 60))
    assert times.next_end(pane, after) == min((end for end in ends if end > after), default=None)
    assert (pane < times.needed_from(after - lateness)) == (cleanup_time(ends[-1], lateness) <= after)


class Total(AggregateFunction):
    is_commutative = True

    def create_accumulator(self) -> int:
        return 0

    def add(self, value: Any, accumulator: int) -> int:
        return accumulator + int(value[1])

    def get_result(self, accumulator: int) -> int:
        return accumulator

    def merge(self, acc_a: int, acc_b: int) -> int:
        return acc_a + acc_b


class Unmergeable(Total):
    def merge(self, acc_a: int, acc_b: int) -> int:
        raise NotImplementedError


class OnlyEmpties(Total):
    """Can merge when it is tried out, and no more when it matters."""

    def merge(self, acc_a: int, acc_b: int) -> int:
        return 0 if acc_a == acc_b == 0 else None  # type: ignore[return-value]


class Frees(ProcessWindowFunction[Any, Any, Any, Any]):
    def process(self, key: Any, context: Any, elements: Any) -> list[Any]:
        context.window_state().get_state(ValueStateDescriptor("seen", None)).update(1)
        return [*elements]

    def clear(self, context: Any) -> None:
        context.window_state().get_state(ValueStateDescriptor("seen", None)).clear()


def sliding(size: int, slide: int, combine: Any = None, **settings: Any) -> WindowSpec:
    settings = {"evaluation": Evaluation.RESULT, "combine": combine or Total(), **settings}
    return WindowSpec(SlidingEventTimeWindows.of(size, slide), EventTimeTrigger(), **settings)


def harness_of(spec: WindowSpec) -> KeyedHarness:
    return KeyedHarness(WindowOperator(spec), key=lambda value: value[0])


def test_a_key_has_one_state_entry_and_one_timer_whatever_the_number_of_windows() -> None:
    with harness_of(sliding(100, 1)) as harness:
        harness.process_elements([(("a", 1), 0), (("a", 2), 50), (("a", 3), 0)])
        assert harness.num_keyed_state_entries() == harness.num_event_time_timers() == 1
        assert harness.state("a", STATE_NAME)[1] == {0: 4, 50: 2}
        harness.process_watermark(49)
        assert harness.output_values() == [4] * 50
        assert harness.num_event_time_timers() == 1
        harness.process_watermark(1_000)
        assert harness.output_values() == [4] * 50 + [6] * 50 + [2] * 50
        assert harness.num_keyed_state_entries() == harness.num_event_time_timers() == 0


def test_a_gap_between_records_fires_no_empty_windows() -> None:
    with harness_of(sliding(4, 2)) as harness:
        harness.process_elements([(("a", 1), 0), (("a", 2), 100)])
        harness.process_watermark(1_000)
        assert [(each.value, each.timestamp) for each in harness.output()] == [(1, 1), (1, 3), (2, 101), (2, 103)]


def test_a_late_record_fires_each_window_that_still_takes_it_latest_first() -> None:
    with harness_of(sliding(6, 2, allowed_lateness=3)) as harness:
        harness.process_element(("a", 1), 4)
        harness.process_watermark(7)
        harness.clear_output()
        harness.process_element(("a", 10), 5)  # windows end at 5, 7 and 9: two have fired, the last is to come
        assert [(each.value, each.timestamp) for each in harness.output()] == [(11, 7), (11, 5)]
        harness.process_watermark(8)
        harness.clear_output()
        harness.process_element(("a", 100), 4)  # that which ends at 5 is over by now
        assert [(each.value, each.timestamp) for each in harness.output()] == [(111, 7)]
        harness.process_watermark(12)
        assert harness.output_values()[-1] == 111
        assert harness.num_keyed_state_entries() == 0


def test_lateness_without_end_keeps_panes_without_a_timer() -> None:
    with harness_of(sliding(4, 2, allowed_lateness=2**63 - 1)) as harness:
        harness.process_element(("a", 1), 0)
        harness.process_watermark(100)
        assert harness.num_event_time_timers() == 0
        harness.process_element(("a", 2), 1)
        assert [(each.value, each.timestamp) for each in harness.output()][2:] == [(3, 3), (3, 1)]


def test_firing_leaves_the_panes_as_they_are() -> None:
    @commutative  # in this test they come in the order of time
    def absorb(first: list[Any], second: list[Any]) -> list[Any]:
        first.extend(second[1:])
        return first

    with harness_of(sliding(4, 2, absorb)) as harness:
        harness.process_elements([(["a", 1], 0), (["a", 2], 2)])
        harness.process_watermark(100)
        assert harness.output_values() == [["a", 1], ["a", 1, 2], ["a", 2]]


def test_panes_go_on_after_a_restore() -> None:
    operator = WindowOperator(sliding(6, 2, allowed_lateness=2))
    with KeyedHarness(operator, key=lambda value: value[0]) as harness:
        harness.process_elements([(("a", 1), 0), (("a", 2), 3)])
        harness.process_watermark(2)
        taken = harness.snapshot()
    again = KeyedHarness(operator, key=lambda value: value[0])
    again.restore(taken)
    with again:
        again.process_element(("a", 10), 4)
        again.process_watermark(100)
        assert again.output_values() == [3 + 0, 13, 12, 10]
        assert again.num_keyed_state_entries() == again.num_event_time_timers() == 0


@pytest.mark.parametrize(
    ("spec", "results"),
    [
        (sliding(4, 3), [3, 2]),
        (sliding(4, 2, Unmergeable()), [3, 3]),
        (sliding(4, 2, evaluation=Evaluation.PROCESS, function=Frees()), [3, 3]),
    ],
    ids=["hardly overlapping", "no merge", "function frees windows"],
)
def test_windows_of_their_own_where_panes_are_no_use(spec: WindowSpec, results: list[int]) -> None:
    assert not uses_panes(spec)
    with harness_of(spec) as harness:
        harness.process_elements([(("a", 1), 2), (("a", 2), 3)])
        harness.process_watermark(100)
        assert harness.output_values() == results
        assert harness.num_keyed_state_entries() == harness.num_event_time_timers() == 0


def test_a_merge_that_gives_nothing_is_told() -> None:
    with harness_of(sliding(4, 2, OnlyEmpties())) as harness:
        harness.process_elements([(("a", 1), 0), (("a", 2), 2)])
        with pytest.raises(OperatorFailure, match=r"OnlyEmpties\.merge\(\) must return"):
            harness.process_watermark(100)
