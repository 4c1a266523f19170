"""Windows that do not merge: namespaces of state, contexts, purging, eviction, failures and what is refused."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

import pytest

from penstock.common.constants import MAX_WATERMARK
from penstock.common.typeinfo import Types
from penstock.datastream import OutputTag
from penstock.datastream.functions import AggregateFunction, ProcessAllWindowFunction, ProcessWindowFunction
from penstock.datastream.state import ListStateDescriptor, MapStateDescriptor, ValueStateDescriptor
from penstock.datastream.window import (
    CountEvictor,
    CountTrigger,
    CountTumblingWindowAssigner,
    CumulativeEventTimeWindows,
    EventTimeTrigger,
    GlobalWindows,
    PurgingTrigger,
    SlidingEventTimeWindows,
    TimeEvictor,
    TriggerResult,
    TumblingEventTimeWindows,
)
from penstock.errors import GraphError
from penstock.runtime.failure import OperatorFailure
from penstock.runtime.operators.window import Evaluation, WindowOperator, WindowSpec
from penstock.testing.harness import KeyedHarness

LATE = OutputTag("late")
SIDE = OutputTag("side")
TENS: TumblingEventTimeWindows[Any] = TumblingEventTimeWindows.of(10)


def spec_of(assigner: Any = TENS, trigger: Any = None, **settings: Any) -> WindowSpec:
    settings = {"evaluation": Evaluation.APPLY, "function": told, **settings}
    return WindowSpec(assigner, trigger or EventTimeTrigger(), **settings)


def told(key: Any, window: Any, inputs: Any) -> list[Any]:
    return [(key, window.max_timestamp(), [value[1] for value in inputs])]


def added(first: Any, second: Any) -> Any:
    return first[0], first[1] + second[1]


def harness_of(spec: WindowSpec, **settings: Any) -> KeyedHarness:
    return KeyedHarness(WindowOperator(spec), key=lambda value: value[0], side_outputs=[LATE, SIDE], **settings)


def feed(harness: KeyedHarness, *events: tuple[str, int, int]) -> None:
    harness.process_elements([((key, number), time) for key, number, time in events])


def assert_nothing_left(harness: KeyedHarness) -> None:
    assert harness.num_event_time_timers() == harness.num_processing_time_timers() == 0
    assert harness.num_keyed_state_entries() == 0


class Scopes(ProcessWindowFunction[Any, Any, Any, Any]):
    """Counts firings by window, by key (two ways), and in a list and a map of the key."""

    def open(self, runtime_context: Any) -> None:
        self.opened = runtime_context.get_state(ValueStateDescriptor("count", Types.LONG()))
        self.ends = runtime_context.get_list_state(ListStateDescriptor("ends", Types.LONG()))
        self.by_end = runtime_context.get_map_state(MapStateDescriptor("by_end", Types.LONG(), Types.LONG()))

    def process(self, key: Any, context: Any, elements: Any) -> Iterator[Any]:
        mine = context.window_state().get_state(ValueStateDescriptor("count", Types.LONG()))
        mine.update((mine.value() or 0) + 1)
        yield "in between"  # the rest runs while results are taken
        shared = context.global_state().get_state(ValueStateDescriptor("count", Types.LONG()))
        shared.update((shared.value() or 0) + 1)
        end = context.window().end
        self.ends.add(end)
        self.by_end[end] = self.by_end[end] or 0
        self.by_end[end] += 1
        context.output(SIDE, (list(self.ends), dict(self.by_end.items()), end in self.by_end, sorted(self.by_end)))
        yield end, mine.value(), self.opened.value(), context.current_watermark(), context.current_processing_time()

    def clear(self, context: Any) -> None:
        context.window_state().get_state(ValueStateDescriptor("count", Types.LONG())).clear()


def test_state_of_the_window_and_state_of_the_key_are_apart() -> None:
    spec = spec_of(evaluation=Evaluation.PROCESS, function=Scopes(), allowed_lateness=5)
    with harness_of(spec, processing_time=77) as harness:
        feed(harness, ("a", 1, 3), ("a", 2, 13))
        harness.process_watermark(9)
        feed(harness, ("a", 3, 4))
        harness.process_watermark(30)
        results = [value for value in harness.output_values() if value != "in between"]
        assert results == [(10, 1, 1, 9, 77), (10, 2, 2, 9, 77), (20, 1, 3, 30, 77)]
        assert [each.timestamp for each in harness.output()] == [9, 9, 9, 9, 19, 19]
        assert harness.side_output(SIDE)[-1].value == ([10, 10, 20], {10: 2, 20: 1}, True, [10, 20])
        assert harness.side_output(SIDE)[-1].timestamp == 19
        assert harness.state("a", "count") == 3
        assert harness.num_keyed_state_entries() == 3  # of the key: nothing of a window
        assert harness.num_event_time_timers() == 0


def test_a_window_is_late_when_the_watermark_is_at_its_clean_up_not_before() -> None:
    with harness_of(spec_of(allowed_lateness=5, late_tag=LATE)) as harness:
        harness.process_watermark(13)
        feed(harness, ("a", 1, 9))
        assert harness.output_values() == [("a", 9, [1])]
        harness.process_watermark(14)
        feed(harness, ("a", 2, 9))
        assert [(each.value, each.timestamp) for each in harness.side_output(LATE)] == [(("a", 2), 9)]
        assert "numLateRecordsDropped" not in {
            name for name, value in harness._running().head.context.metrics.values().items() if value
        }
        assert_nothing_left(harness)


def test_purged_contents_are_gone_for_late_records() -> None:
    with harness_of(spec_of(trigger=PurgingTrigger.of(EventTimeTrigger()), allowed_lateness=5)) as harness:
        feed(harness, ("a", 1, 1))
        harness.process_watermark(9)
        feed(harness, ("a", 2, 2))
        assert harness.output_values() == [("a", 9, [1]), ("a", 9, [2])]
        harness.process_watermark(14)
        assert len(harness.output_values()) == 2
        assert_nothing_left(harness)


def test_what_left_does_not_change_with_the_window() -> None:
    def absorb(first: list[Any], second: list[Any]) -> list[Any]:
        first.append(second[1])
        return first

    spec = spec_of(evaluation=Evaluation.RESULT, function=None, combine=absorb, allowed_lateness=5)
    with harness_of(spec) as harness:
        harness.process_elements([(["a", 1], 1), (["a", 2], 1)])
        harness.process_watermark(9)
        harness.process_element(["a", 3], 1)
        assert harness.output_values() == [["a", 1, 2], ["a", 1, 2, 3]]


def test_windows_that_share_a_record_do_not_share_what_becomes_of_it() -> None:
    def absorb(first: list[Any], second: list[Any]) -> list[Any]:
        first.append(second[1])
        return first

    spec = spec_of(CumulativeEventTimeWindows.of(10, 5), evaluation=Evaluation.RESULT, function=None, combine=absorb)
    with harness_of(spec) as harness:
        harness.process_elements([(["a", 1], 1), (["a", 2], 6)])
        harness.process_watermark(9)
        assert harness.output_values() == [["a", 1], ["a", 1, 2]]
        assert_nothing_left(harness)


def test_an_evictor_sees_all_and_what_it_leaves_stays() -> None:
    spec = spec_of(GlobalWindows.create(), CountTrigger.of(2), evictor=CountEvictor.of(3), combine=added, function=told)
    with harness_of(spec) as harness:
        feed(harness, *(("a", number, number) for number in (1, 2, 4, 8, 16, 32)))
        assert harness.output_values() == [
            ("a", MAX_WATERMARK, [3]),
            ("a", MAX_WATERMARK, [14]),
            ("a", MAX_WATERMARK, [56]),
        ]


def test_eviction_after_leaves_less_for_the_next_firing() -> None:
    spec = spec_of(GlobalWindows.create(), CountTrigger.of(2), evictor=TimeEvictor.of(3, True))
    with harness_of(spec) as harness:
        feed(harness, ("a", 1, 0), ("a", 2, 10))
        harness.snapshot()
        feed(harness, ("a", 3, 11), ("a", 4, 12))
        assert [numbers for _, _, numbers in harness.output_values()] == [[1, 2], [2, 3, 4]]


class Everything(CountEvictor):
    def evict_before(self, elements: Any, size: int, window: Any, evictor_context: Any) -> None:
        elements.clear()


class Count(AggregateFunction):
    def create_accumulator(self) -> int:
        return 0

    def add(self, value: Any, accumulator: int) -> int:
        return accumulator + 1

    def get_result(self, accumulator: int) -> int:
        return accumulator

    def merge(self, acc_a: int, acc_b: int) -> int:
        return acc_a + acc_b


@pytest.mark.parametrize(
    ("settings", "expected"),
    [
        ({}, [("a", 9, [])]),
        ({"combine": added}, [("a", 9, [])]),
        ({"combine": added, "evaluation": Evaluation.RESULT, "function": None}, []),
        ({"combine": Count(), "evaluation": Evaluation.RESULT, "function": None}, [0]),
    ],
)
def test_a_window_is_evaluated_even_if_the_evictor_took_everything(settings: Any, expected: list[Any]) -> None:
    with harness_of(spec_of(evictor=Everything(1, False), **settings)) as harness:
        feed(harness, ("a", 1, 1))
        harness.process_watermark(20)
        assert harness.output_values() == expected
        assert_nothing_left(harness)


def test_count_windows_count_in_the_state_of_the_key() -> None:
    assigner: CountTumblingWindowAssigner[Any] = CountTumblingWindowAssigner.of(2)
    with harness_of(spec_of(assigner, assigner.get_default_trigger(None))) as harness:
        feed(harness, ("a", 1, 0), ("b", 5, 0), ("a", 2, 0), ("a", 3, 0))
        harness.snapshot()
        feed(harness, ("a", 4, 0))
        assert [(key, numbers) for key, _, numbers in harness.output_values()] == [("a", [1, 2]), ("a", [3, 4])]


class AllWindows(ProcessAllWindowFunction[Any, Any, Any]):
    def process(self, context: Any, elements: Any) -> list[Any]:
        return [(context.window().start, sum(value[1] for value in elements))]


def collecting(key: Any, window: Any, inputs: Any, out: Any) -> None:
    out.collect((key, window.end, len(list(inputs))))


@pytest.mark.parametrize(
    ("evaluation", "function", "expected"),
    [
        (Evaluation.PROCESS_ALL, AllWindows(), (0, 3)),
        (Evaluation.APPLY_ALL, lambda window, inputs: [(window.end, len(inputs))], (10, 2)),
        (Evaluation.APPLY, collecting, ("a", 10, 2)),
    ],
)
def test_functions_come_in_all_shapes(evaluation: Evaluation, function: Any, expected: Any) -> None:
    with harness_of(spec_of(evaluation=evaluation, function=function)) as harness:
        feed(harness, ("a", 1, 1), ("a", 2, 2))
        harness.process_watermark(9)
        assert harness.output_values() == [expected]


def test_a_window_function_that_fails_names_key_and_time() -> None:
    with (
        harness_of(spec_of(function=lambda key, window, inputs: 1 / 0)) as harness,
        pytest.raises(OperatorFailure, match=r"(?s)ZeroDivisionError.*key 'a' that was due at event time 9"),
    ):
        feed(harness, ("a", 1, 1))
        harness.process_watermark(9)


def test_a_window_function_that_returns_no_iterable_is_told() -> None:
    with (
        harness_of(spec_of(function=lambda key, window, inputs: 5)) as harness,
        pytest.raises(OperatorFailure, match="apply returned a int"),
    ):
        feed(harness, ("a", 1, 1))
        harness.process_watermark(9)


class Undecided(CountTrigger):
    def on_element(self, element: Any, timestamp: int | None, window: Any, ctx: Any) -> TriggerResult:
        return None  # type: ignore[return-value]


def test_a_trigger_that_decides_nothing_is_told() -> None:
    with (
        harness_of(spec_of(trigger=Undecided(1))) as harness,
        pytest.raises(OperatorFailure, match=r"Undecided\.on_element must return a TriggerResult"),
    ):
        feed(harness, ("a", 1, 1))


@pytest.mark.parametrize(
    ("settings", "message"),
    [
        ({"allowed_lateness": -1}, "must not be negative"),
        ({"evaluation": Evaluation.RESULT}, "needs a reduce or aggregate function"),
        ({"function": None}, "needs a window function"),
        ({"takes_partials": True, "combine": added, "evictor": CountEvictor.of(1)}, "CountEvictor needs every element"),
        ({"takes_partials": True}, "to merge it"),
        (
            {"takes_partials": True, "combine": added, "trigger": CountTrigger.of(1)},
            "not with CountTrigger and Tumbling",
        ),
        (
            {"takes_partials": True, "combine": added, "assigner": GlobalWindows.create()},
            "not with EventTimeTrigger and GlobalWindows",
        ),
    ],
)
def test_what_cannot_work_is_refused_when_it_is_made(settings: dict[str, Any], message: str) -> None:
    with pytest.raises(GraphError, match=message):
        WindowOperator(spec_of(**settings))


def test_an_assigner_without_a_serializer_is_refused() -> None:
    class Bare(SlidingEventTimeWindows[Any]):
        def get_window_serializer(self) -> Any:
            return None

    with pytest.raises(GraphError, match=r"Bare\.get_window_serializer\(\) must return a TypeSerializer"):
        WindowOperator(spec_of(Bare(10, 5, 0)))
