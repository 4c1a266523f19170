"""User code that gives None back, or records at the ends of time: the same with and without shortcuts, and told."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

import pytest

from penstock.common.constants import MAX_WATERMARK, MIN_WATERMARK
from penstock.common.typeinfo import Types
from penstock.datastream import OutputTag
from penstock.datastream.functions import AggregateFunction, ProcessWindowFunction
from penstock.datastream.state import ValueStateDescriptor
from penstock.datastream.window import (
    ContinuousEventTimeTrigger,
    CountEvictor,
    CumulativeEventTimeWindows,
    EventTimeSessionWindows,
    EventTimeTrigger,
    GlobalWindows,
    SlidingEventTimeWindows,
    TumblingEventTimeWindows,
)
from penstock.runtime.failure import OperatorFailure
from penstock.runtime.operators.window import Evaluation, Partial, WindowOperator, WindowSpec
from penstock.runtime.operators.window.local import LocalWindowAggregation
from penstock.testing.harness import KeyedHarness, OperatorHarness

LATE = OutputTag("late")
ASSIGNERS = [
    TumblingEventTimeWindows.of(10),
    SlidingEventTimeWindows.of(20, 10),
    SlidingEventTimeWindows.of(15, 10),
    CumulativeEventTimeWindows.of(20, 10),
    EventTimeSessionWindows.with_gap(5),
]


class OneByOne(EventTimeTrigger[Any]):
    """Not exactly the default trigger, so there are no shortcuts."""


def key_of(value: Any) -> Any:
    return value[0]


def cancelled(first: Any, second: Any) -> Any:
    """The sum, or None where it is zero."""
    total = first[1] + second[1]
    return (first[0], total) if total else None


def harness_of(assigner: Any, trigger: Any = None, combine: Any = cancelled, **settings: Any) -> KeyedHarness:
    settings = {"evaluation": Evaluation.RESULT, **settings}
    spec = WindowSpec(assigner, trigger or EventTimeTrigger(), combine=combine, **settings)
    return KeyedHarness(WindowOperator(spec), key=key_of, side_outputs=[LATE])


@pytest.mark.parametrize("assigner", ASSIGNERS)
def test_a_reduce_function_that_returns_none_empties_its_window_and_no_other(assigner: Any) -> None:
    records = [(("a", 1), 1), (("a", -1), 2), (("a", 5), 12), (("a", 7), 25), (("b", 2), 41), (("b", -2), 41)]
    with harness_of(assigner) as harness, harness_of(assigner, OneByOne()) as slow:
        for each in (harness, slow):
            each.process_elements(records)
            each.end_input()
        assert harness.output() == slow.output() != []
        assert harness.num_keyed_state_entries() == harness.num_event_time_timers() == 0


def test_a_reduce_function_that_returns_none_before_the_exchange_starts_anew() -> None:
    grid = TumblingEventTimeWindows.of(10).pane_grid()
    assert grid is not None
    with OperatorHarness(LocalWindowAggregation(key_of, grid, cancelled)) as harness:
        harness.process_elements([(("a", 1), 1), (("a", -1), 2), (("a", 5), 3), (("b", 1), 1), (("b", -1), 2)])
        harness.end_input()
        assert harness.output_values() == [Partial("a", 0, ("a", 5), 3), Partial("b", 0, None, 2)]


def test_a_partial_result_of_nothing_adds_nothing() -> None:
    with harness_of(ASSIGNERS[0], takes_partials=True) as harness:
        for accumulator in (("a", 5), None):
            harness.process_element(Partial("a", 0, accumulator, 2), 0)
        harness.end_input()
        assert harness.output_values() == [("a", 5)]


def test_a_late_partial_result_of_one_record_is_counted_and_no_side_output() -> None:
    with harness_of(ASSIGNERS[0], takes_partials=True, late_tag=LATE) as harness:
        harness.process_watermark(20)
        harness.process_element(Partial("a", 0, ("a", 5), 1), 0)
        harness.process_element(("a", 1), 4)
        assert harness.side_output_values(LATE) == [("a", 1)]
        assert harness.late_records_dropped() == 1


def test_a_failure_shows_the_element_and_not_how_it_travelled() -> None:
    with (
        harness_of(ASSIGNERS[0], takes_partials=True) as harness,
        pytest.raises(OperatorFailure, match=r"record: \('a', 1\)$"),
    ):
        harness.process_element(("a", 1), None)


class Forgetful(AggregateFunction):
    def create_accumulator(self) -> list[Any]:
        return []

    def add(self, value: Any, accumulator: list[Any]) -> Any:
        accumulator.append(value)

    def get_result(self, accumulator: list[Any]) -> list[Any]:
        return accumulator

    def merge(self, acc_a: list[Any], acc_b: list[Any]) -> list[Any]:
        return acc_a + acc_b


class Largest(Forgetful):
    """Has no accumulator to begin with, which is not the same as losing one."""

    def create_accumulator(self) -> Any:
        return None

    def add(self, value: Any, accumulator: Any) -> Any:
        return value[1] if accumulator is None or (value[1] or 0) > accumulator else accumulator

    def merge(self, acc_a: Any, acc_b: Any) -> Any:
        return max(acc_a, acc_b)


@pytest.mark.parametrize("assigner", ASSIGNERS)
def test_an_aggregate_function_that_forgets_to_return_is_told(assigner: Any) -> None:
    with (
        harness_of(assigner, combine=Forgetful()) as harness,
        pytest.raises(OperatorFailure, match=r"Forgetful.add\(\) must return the accumulator"),
    ):
        harness.process_element(("a", 1), 1)


@pytest.mark.parametrize("assigner", ASSIGNERS)
def test_none_is_an_accumulator_where_it_is_one_to_begin_with(assigner: Any) -> None:
    with harness_of(assigner, combine=Largest()) as harness:
        harness.process_elements([(("a", None), 1), (("a", 3), 2), (("a", 2), 2), (("b", None), 1)])
        harness.end_input()
        assert set(harness.output_values()) == {3}


@pytest.mark.parametrize("time", [MIN_WATERMARK, MIN_WATERMARK + 1, MAX_WATERMARK - 1, MAX_WATERMARK])
@pytest.mark.parametrize("assigner", ASSIGNERS)
def test_a_timestamp_without_windows_is_refused_with_operator_and_record(assigner: Any, time: int) -> None:
    if time == MIN_WATERMARK + 1 and isinstance(assigner, EventTimeSessionWindows):
        return  # a session starts with its record
    with (
        harness_of(assigner) as harness,
        pytest.raises(OperatorFailure, match=r"(?s)(no timestamp|64-bit).*in operator.*record: \('a', 2\)"),
    ):
        harness.process_elements([(("a", 1), 5), (("a", 2), time)])


class ByName(ProcessWindowFunction[Any, Any, Any, Any]):
    def open(self, runtime_context: Any) -> None:
        self.state = runtime_context.get_state(ValueStateDescriptor("seen", Types.LONG()))

    def process(self, key: Any, context: Any, elements: Any) -> Iterator[Any]:
        self.state.update(value=(self.state.value() or 0) + 1)
        yield self.state.value()


def test_state_of_the_key_takes_arguments_by_name() -> None:
    with harness_of(ASSIGNERS[0], combine=None, function=ByName(), evaluation=Evaluation.PROCESS) as harness:
        harness.process_elements([(("a", 1), 5), (("a", 2), 15)])
        harness.end_input()
        assert harness.output_values() == [1, 2]


def test_a_global_window_that_fires_by_event_time_ends_with_the_input() -> None:
    with harness_of(GlobalWindows.create(), ContinuousEventTimeTrigger.of(10), cancelled) as harness:
        harness.process_element(("a", 1), 5)
        harness.process_watermark(25)
        assert len(harness.output()) == 2
        harness.end_input()  # the firing that was planned, and the last one
        assert len(harness.output()) == 4
        assert harness.num_event_time_timers() == 0


class Marks(ProcessWindowFunction[Any, Any, Any, Any]):
    """Changes the elements it is shown."""

    def process(self, key: Any, context: Any, elements: Any) -> Iterator[Any]:
        for element in elements:
            element.append("seen")
            yield list(element)


@pytest.mark.parametrize("evictor", [None, CountEvictor.of(9)])
@pytest.mark.parametrize("is_cut", [False, True])
def test_a_function_that_changes_elements_changes_them_for_no_other_window(evictor: Any, is_cut: bool) -> None:
    settings = {"function": Marks(), "evaluation": Evaluation.PROCESS, "evictor": evictor}
    with harness_of(SlidingEventTimeWindows.of(20, 10), combine=None, **settings) as harness:
        harness.process_element(["a", 1], 12)
        if is_cut:
            harness.snapshot()
        harness.process_watermark(19)
        assert harness.output_values() == [["a", 1, "seen"]]
        harness.process_watermark(29)
        assert harness.output_values() == [["a", 1, "seen"]] * 2
