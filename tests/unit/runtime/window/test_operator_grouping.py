"""Records handled together give what they give one by one: same results in the same order, nothing more left behind."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import replace
from typing import Any

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from penstock.datastream import OutputTag
from penstock.datastream.functions import AggregateFunction, ProcessWindowFunction
from penstock.datastream.window import (
    CumulativeEventTimeWindows,
    DynamicEventTimeSessionWindows,
    EventTimeSessionWindows,
    EventTimeTrigger,
    ProcessingTimeTrigger,
    SlidingEventTimeWindows,
    SlidingProcessingTimeWindows,
    TumblingEventTimeWindows,
    TumblingProcessingTimeWindows,
)
from penstock.runtime.failure import OperatorFailure
from penstock.runtime.operators.window import Evaluation, Partial, WindowOperator, WindowSpec
from penstock.testing.harness import KeyedHarness

LATE = OutputTag("late")


class SlowEventTimeTrigger(EventTimeTrigger[Any]):
    """Not exactly the default trigger, so everything goes one by one."""


class SlowProcessingTimeTrigger(ProcessingTimeTrigger[Any]):
    """Not exactly the default trigger, so everything goes one by one."""


class Tell(ProcessWindowFunction[Any, Any, Any, Any]):
    """The window and all that is in it, in order."""

    def process(self, key: Any, context: Any, elements: Any) -> Iterator[Any]:
        yield key, context.window().start, context.window().end, context.current_watermark(), list(elements)


class Mutable(AggregateFunction):
    """Sums up in a list that it changes in place, and merges into its second argument."""

    is_commutative = True

    def create_accumulator(self) -> list[int]:
        return [0, 0]

    def add(self, value: Any, accumulator: list[int]) -> list[int]:
        accumulator[0] += 1
        accumulator[1] += value[1]
        return accumulator

    def get_result(self, accumulator: list[int]) -> list[int]:
        return accumulator

    def merge(self, acc_a: list[int], acc_b: list[int]) -> list[int]:
        acc_b[0] += acc_a[0]
        acc_b[1] += acc_a[1]
        return acc_b


def joined(first: Any, second: Any) -> Any:
    """Associative, but not commutative."""
    return (first[0], *first[1:], *second[1:])


def gap_of(value: Any) -> int:
    return 3 + int(value[1]) % 4


def key_of(value: Any) -> Any:
    return value.key if isinstance(value, Partial) else value[0]


def told(assigner: Any, **settings: Any) -> WindowSpec:
    return WindowSpec(assigner, EventTimeTrigger(), Evaluation.PROCESS, Tell(), **settings)


def summed(assigner: Any, **settings: Any) -> WindowSpec:
    return told(assigner, combine=Mutable(), **settings)


def reduced(assigner: Any, **settings: Any) -> WindowSpec:
    return WindowSpec(assigner, EventTimeTrigger(), Evaluation.RESULT, combine=joined, **settings)


SPECS = {
    "tumbling, elements": (told, TumblingEventTimeWindows.of(10, -3)),
    "tumbling, reduced": (reduced, TumblingEventTimeWindows.of(10)),
    "sliding, elements": (told, SlidingEventTimeWindows.of(10, 4)),
    "sliding, panes": (summed, SlidingEventTimeWindows.of(12, 5, 1)),
    "cumulative, reduced": (reduced, CumulativeEventTimeWindows.of(12, 4)),
    "sessions, elements": (told, EventTimeSessionWindows.with_gap(4)),
    "sessions, reduced": (reduced, EventTimeSessionWindows.with_gap(4)),
    "sessions with dynamic gaps": (summed, DynamicEventTimeSessionWindows.with_dynamic_gap(gap_of)),
}
KEYS = [0, 1, "a", (1, "b"), [2]]
records = st.tuples(st.sampled_from(KEYS), st.integers(0, 9), st.integers(-20, 40))
steps = st.one_of(st.lists(records, min_size=1, max_size=12), st.integers(-15, 45), st.just("snapshot"))


def run(spec: WindowSpec, script: list[Any]) -> tuple[Any, ...]:
    operator = WindowOperator(spec)
    harness = KeyedHarness(operator, key=key_of, side_outputs=[LATE]).open()
    outputs: list[Any] = []
    late: list[Any] = []
    watermark = -100
    for step in [*script, 1_000]:
        if step == "snapshot":
            outputs, late = outputs + harness.output(), late + harness.side_output(LATE)
            taken = harness.snapshot()
            harness.close()
            harness = KeyedHarness(operator, key=key_of, side_outputs=[LATE])
            harness.restore(taken)
            harness.open()
        elif isinstance(step, int):
            watermark = max(watermark, step)
            harness.process_watermark(watermark)
        else:
            harness.process_elements([((key, number), time) for key, number, time in step])
    left = harness.num_event_time_timers(), harness.num_keyed_state_entries()
    result = outputs + harness.output(), late + harness.side_output(LATE), left
    harness.close()
    return result


@pytest.mark.parametrize("name", SPECS)
@settings(max_examples=8)
@given(script=st.lists(steps, max_size=8), lateness=st.sampled_from([0, 0, 3, 20]))
def test_together_is_as_one_by_one(name: str, script: list[Any], lateness: int) -> None:
    make, assigner = SPECS[name]
    together = make(assigner, allowed_lateness=lateness, late_tag=LATE)
    alone = replace(together, trigger=SlowEventTimeTrigger())
    result = run(together, script)
    assert result == run(alone, script)
    assert result[2] == (0, 0)


@pytest.mark.parametrize("assigner", [TumblingProcessingTimeWindows.of(10), SlidingProcessingTimeWindows.of(10, 5)])
def test_processing_time_too(assigner: Any) -> None:
    results = []
    for trigger in (ProcessingTimeTrigger(), SlowProcessingTimeTrigger()):
        spec = WindowSpec(assigner, trigger, Evaluation.PROCESS, Tell(), combine=joined)
        with KeyedHarness(WindowOperator(spec), key=key_of, processing_time=3) as harness:
            harness.process_elements([(("a", 1), None), (("b", 2), None), (("a", 3), None)])
            harness.set_processing_time(9)
            harness.process_elements([(("a", 4), None)])
            harness.set_processing_time(30)
            results.append(harness.output())
            assert harness.num_processing_time_timers() == harness.num_keyed_state_entries() == 0
    assert results[0] == results[1]
    assert len(results[0]) > 2


def test_a_window_that_waits_keeps_the_order_of_records_of_which_some_fire_another_one() -> None:
    with KeyedHarness(
        WindowOperator(told(SlidingEventTimeWindows.of(10, 5), allowed_lateness=5)), key=key_of
    ) as harness:
        harness.process_watermark(9)
        harness.process_elements([(("a", 1), 8), (("b", 2), 12), (("a", 3), 12)])
        assert [value[4] for value in harness.output_values()] == [[("a", 1)]]
        harness.process_watermark(14)
        assert ("a", 5, 15, 14, [("a", 1), ("a", 3)]) in harness.output_values()


class Picky(AggregateFunction):
    def create_accumulator(self) -> int:
        return 0

    def add(self, value: Any, accumulator: int) -> int:
        return accumulator + 10 // value[1]

    def get_result(self, accumulator: int) -> int:
        return accumulator

    def merge(self, acc_a: int, acc_b: int) -> int:
        return acc_a + acc_b


@pytest.mark.parametrize(
    "assigner",
    [TumblingEventTimeWindows.of(10), SlidingEventTimeWindows.of(10, 5), EventTimeSessionWindows.with_gap(3)],
)
def test_a_failure_names_the_record(assigner: Any) -> None:
    spec = WindowSpec(assigner, EventTimeTrigger(), Evaluation.RESULT, combine=Picky())
    with (
        KeyedHarness(WindowOperator(spec), key=key_of) as harness,
        pytest.raises(OperatorFailure, match=r"(?s)division.*record: \('a', 0\)"),
    ):
        harness.process_elements([(("a", 2), 1), (("b", 5), 1), (("a", 0), 2), (("a", 1), 3)])


@pytest.mark.parametrize(
    "assigner",
    [TumblingEventTimeWindows.of(10), SlidingEventTimeWindows.of(10, 5), EventTimeSessionWindows.with_gap(3)],
)
def test_records_without_timestamps_are_refused(assigner: Any) -> None:
    spec = WindowSpec(assigner, EventTimeTrigger(), Evaluation.RESULT, combine=Picky())
    for timestamps in ([None, None], [5, None]):
        with (
            KeyedHarness(WindowOperator(spec), key=key_of) as harness,
            pytest.raises(OperatorFailure, match="assign_timestamps_and_watermarks"),
        ):
            harness.process_elements([(("a", 2), time) for time in timestamps])


@pytest.mark.parametrize(
    ("assigner", "width"),
    [
        (TumblingEventTimeWindows.of(10), 10),
        (SlidingEventTimeWindows.of(10, 5), 5),
        (SlidingEventTimeWindows.of(10, 8), 2),
        (CumulativeEventTimeWindows.of(12, 4), 4),
    ],
)
@settings(max_examples=6)
@given(
    blocks=st.lists(st.lists(st.tuples(st.sampled_from("ab"), st.integers(0, 40)), max_size=6), max_size=4),
    lateness=st.sampled_from([0, 6]),
)
def test_partial_results_stand_for_their_records(assigner: Any, width: int, blocks: Any, lateness: int) -> None:
    plain = summed(assigner, allowed_lateness=lateness)
    partial = replace(plain, takes_partials=True)
    with (
        KeyedHarness(WindowOperator(plain), key=key_of) as whole,
        KeyedHarness(WindowOperator(partial), key=key_of) as parts,
    ):
        for number, block in enumerate(blocks):
            watermark = number * 8
            for key, time in block:
                whole.process_element((key, 1), time)
                start = time - time % width
                parts.process_element(
                    Partial(key, start, [1, 1], 1) if time > watermark + 12 else (key, 1),
                    start if time > watermark + 12 else time,
                )
            whole.process_watermark(watermark)
            parts.process_watermark(watermark)
        whole.end_input()
        parts.end_input()
        assert parts.output() == whole.output()
        assert parts.num_keyed_state_entries() == parts.num_event_time_timers() == 0


def test_a_late_partial_result_counts_for_all_its_records() -> None:
    operator = WindowOperator(summed(TumblingEventTimeWindows.of(10), takes_partials=True))
    with KeyedHarness(operator, key=key_of) as harness:
        harness.process_watermark(20)
        harness.process_element(Partial("a", 0, [3, 3], 3), 0)
        harness.process_element(("a", 1), 4)
        assert harness.output() == []
        assert harness._running().head.context.metrics.values()["numLateRecordsDropped"] == 4
