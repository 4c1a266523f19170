"""Windows that merge: their contents, timers, trigger state and lateness, with built-in and custom parts."""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from typing import Any

import pytest

from penstock.common.constants import MIN_WATERMARK
from penstock.common.serializer import TypeSerializer
from penstock.common.typeinfo import Types
from penstock.datastream import OutputTag
from penstock.datastream.functions import AggregateFunction, ProcessWindowFunction
from penstock.datastream.state import (
    AggregatingStateDescriptor,
    ListStateDescriptor,
    ReducingStateDescriptor,
    ValueStateDescriptor,
)
from penstock.datastream.window import (
    CountEvictor,
    EventTimeSessionWindows,
    EventTimeTrigger,
    MergingWindowAssigner,
    ProcessingTimeSessionWindows,
    ProcessingTimeTrigger,
    PurgingTrigger,
    TimeWindow,
    Trigger,
    TriggerResult,
    Window,
)
from penstock.errors import GraphError
from penstock.runtime.failure import OperatorFailure
from penstock.runtime.operators.window import Evaluation, WindowOperator, WindowSpec
from penstock.testing.harness import KeyedHarness

LATE = OutputTag("late")
SESSIONS: EventTimeSessionWindows[Any] = EventTimeSessionWindows.with_gap(3)


class Tell(ProcessWindowFunction[Any, Any, Any, Any]):
    """Start and end of the window, and the numbers in it."""

    def process(self, key: Any, context: Any, elements: Any) -> Iterator[Any]:
        window = context.window()
        yield window.start, window.end, [value[1] for value in elements]


class Numbers(AggregateFunction):
    """All numbers, in a list that is changed in place."""

    def create_accumulator(self) -> list[int]:
        return []

    def add(self, value: Any, accumulator: list[int]) -> list[int]:
        accumulator.append(value[1])
        return accumulator

    def get_result(self, accumulator: list[int]) -> list[int]:
        return accumulator

    def merge(self, acc_a: list[int], acc_b: list[int]) -> list[int]:
        acc_a.extend(acc_b)
        return acc_a


class Census(Trigger[Any, TimeWindow]):
    """Fires at the third element of a window, counted in three kinds of state that must survive merges."""

    def __init__(self) -> None:
        self.sum = ReducingStateDescriptor("sum", lambda a, b: a + b, Types.LONG())
        self.list = ListStateDescriptor("list", Types.LONG())
        self.numbers = AggregatingStateDescriptor("numbers", Numbers(), Types.PICKLED_BYTE_ARRAY())

    def _states(self, ctx: Any) -> list[Any]:
        return [ctx.get_partitioned_state(each) for each in (self.sum, self.list, self.numbers)]

    def on_element(self, element: Any, timestamp: int | None, window: TimeWindow, ctx: Any) -> TriggerResult:
        counter, seen, numbers = self._states(ctx)
        counter.add(1)
        seen.add(element[1])
        numbers.add(element)
        assert counter.get() == len(list(seen.get())) == len(numbers.get())
        ctx.register_event_time_timer(window.max_timestamp())
        return TriggerResult.FIRE if counter.get() == 3 else TriggerResult.CONTINUE

    def on_processing_time(self, time: int, window: TimeWindow, ctx: Any) -> TriggerResult:
        return TriggerResult.CONTINUE

    def on_event_time(self, time: int, window: TimeWindow, ctx: Any) -> TriggerResult:
        return TriggerResult.CONTINUE

    def can_merge(self) -> bool:
        return True

    def on_merge(self, window: TimeWindow, ctx: Any) -> None:
        for descriptor in (self.sum, self.list, self.numbers):
            ctx.merge_partitioned_state(descriptor)
        ctx.register_event_time_timer(window.max_timestamp())

    def clear(self, window: TimeWindow, ctx: Any) -> None:
        for state in self._states(ctx):
            state.clear()
        ctx.delete_event_time_timer(window.max_timestamp())


class MergesValues(Census):
    def on_merge(self, window: TimeWindow, ctx: Any) -> None:
        ctx.merge_partitioned_state(ValueStateDescriptor("value", Types.LONG()))


def sessions(trigger: Any = None, **settings: Any) -> WindowSpec:
    settings = {"assigner": SESSIONS, "evaluation": Evaluation.PROCESS, "function": Tell(), **settings}
    return WindowSpec(trigger=trigger or EventTimeTrigger(), **settings)


def harness_of(spec: WindowSpec, **settings: Any) -> KeyedHarness:
    return KeyedHarness(WindowOperator(spec), key=lambda value: value[0], side_outputs=[LATE], **settings)


def feed(harness: KeyedHarness, *events: tuple[int, int]) -> None:
    harness.process_elements([(("k", number), time) for number, time in events])


def assert_nothing_left(harness: KeyedHarness) -> None:
    assert harness.num_event_time_timers() == harness.num_processing_time_timers() == 0
    assert harness.num_keyed_state_entries() == 0


def test_state_of_a_trigger_follows_its_window_through_merges_and_restores() -> None:
    operator = WindowOperator(sessions(Census()))
    first = KeyedHarness(operator, key=lambda value: value[0])
    with first:
        feed(first, (1, 0), (2, 5))
        taken = first.snapshot()
    second = KeyedHarness(operator, key=lambda value: value[0])
    second.restore(taken)
    with second:
        feed(second, (3, 2))  # joins both sessions
        assert second.output_values() == [(0, 8, [1, 2, 3])]
        assert second.num_event_time_timers() == 1
        second.process_watermark(7)
        assert_nothing_left(second)


def test_timers_of_merged_windows_go_with_them() -> None:
    with harness_of(sessions(Census(), allowed_lateness=10)) as harness:
        feed(harness, (1, 0), (2, 5))
        assert harness.num_event_time_timers() == 4  # an end and a clean-up each
        feed(harness, (3, 2))
        assert harness.num_event_time_timers() == 2


def test_value_state_of_a_trigger_cannot_be_merged() -> None:
    with (
        harness_of(sessions(MergesValues())) as harness,
        pytest.raises(OperatorFailure, match="cannot merge value state 'value'"),
    ):
        feed(harness, (1, 0), (2, 1))


def test_a_trigger_that_cannot_merge_is_refused_by_name() -> None:
    class Loner(Census):
        def can_merge(self) -> bool:
            return False

    with pytest.raises(GraphError, match=r"EventTimeSessionWindows merge, but Loner cannot"):
        WindowOperator(sessions(Loner()))


@pytest.mark.parametrize(
    "settings", [{}, {"evictor": CountEvictor.of(10)}, {"trigger": PurgingTrigger.of(EventTimeTrigger())}]
)
def test_sessions_fire_when_they_are_over(settings: dict[str, Any]) -> None:
    with harness_of(sessions(**settings)) as harness:
        feed(harness, (1, 0), (2, 10), (3, 2))
        feed(harness, (4, 4), (5, 20))
        harness.process_watermark(6)
        assert harness.output_values() == [(0, 7, [1, 3, 4])]
        harness.process_watermark(100)
        assert harness.output_values()[1:] == [(10, 13, [2]), (20, 23, [5])]
        assert_nothing_left(harness)


def test_the_lowest_watermark_is_no_timestamp_of_a_session() -> None:
    with harness_of(sessions()) as harness, pytest.raises(OperatorFailure, match=r"no timestamp(.|\n)*\('k', 2\)"):
        feed(harness, (1, 0), (2, MIN_WATERMARK))


def test_a_late_record_within_lateness_fires_its_session_again_and_joins_fired_ones() -> None:
    with harness_of(sessions(allowed_lateness=10, late_tag=LATE)) as harness:
        feed(harness, (1, 0), (2, 5))
        harness.process_watermark(9)
        assert harness.output_values() == [(0, 3, [1]), (5, 8, [2])]
        feed(harness, (3, 1))
        assert harness.output_values()[2:] == [(0, 4, [1, 3])]
        feed(harness, (4, 3))  # touches both
        assert harness.output_values()[3:] == [(0, 8, [1, 3, 2, 4])]
        harness.process_watermark(16)
        assert harness.num_keyed_state_entries() > 0
        harness.process_watermark(17)
        assert_nothing_left(harness)
        feed(harness, (5, 1))
        assert [(each.value[1], each.timestamp) for each in harness.side_output(LATE)] == [(5, 1)]
        assert_nothing_left(harness)


def test_a_late_record_is_saved_by_a_session_that_is_not_over() -> None:
    with harness_of(sessions()) as harness:
        harness.process_watermark(4)
        feed(harness, (1, 4))
        feed(harness, (2, 1))  # its own window is over, the session it joins is not
        feed(harness, (3, -5))
        harness.process_watermark(50)
        assert harness.output_values() == [(1, 7, [1, 2])]
        assert harness._running().head.context.metrics.values()["numLateRecordsDropped"] == 1
        assert_nothing_left(harness)


def test_a_purged_session_starts_with_nothing_when_a_late_record_comes() -> None:
    with harness_of(sessions(PurgingTrigger.of(EventTimeTrigger()), allowed_lateness=10)) as harness:
        feed(harness, (1, 0), (2, 1))
        harness.process_watermark(5)
        feed(harness, (3, 2))
        assert harness.output_values() == [(0, 4, [1, 2]), (0, 5, [3])]
        harness.process_watermark(100)
        assert len(harness.output_values()) == 2
        assert_nothing_left(harness)


def test_accumulators_are_merged_and_results_do_not_change_afterwards() -> None:
    spec = sessions(evaluation=Evaluation.RESULT, function=None, combine=Numbers(), allowed_lateness=10)
    with harness_of(spec) as harness:
        feed(harness, (1, 0), (2, 5))
        harness.process_watermark(7)
        feed(harness, (3, 3))
        assert harness.output_values() == [[1], [2], [1, 2, 3]]
        harness.process_watermark(100)
        assert_nothing_left(harness)


def test_sessions_of_processing_time() -> None:
    spec = sessions(ProcessingTimeTrigger(), assigner=ProcessingTimeSessionWindows.with_gap(3))
    with harness_of(spec, processing_time=10) as harness:
        harness.process_element(("k", 1))
        harness.set_processing_time(11)
        harness.process_element(("k", 2))
        harness.set_processing_time(12)
        assert harness.output_values() == []
        harness.set_processing_time(13)
        assert harness.output_values() == [(10, 14, [1, 2])]
        assert_nothing_left(harness)


class Blocks(Window):
    """A custom window: a range of blocks of ten, which is all that its serializer writes."""

    def __init__(self, first: int, last: int) -> None:
        self.start, self.end = first, last

    def max_timestamp(self) -> int:
        return self.end * 10 + 9


class BlocksSerializer(TypeSerializer[Blocks]):
    def serialize(self, element: Blocks, stream: Any) -> None:
        stream.write(bytes([element.start, element.end]))

    def deserialize(self, stream: Any) -> Blocks:
        first, last = stream.read(2)
        return Blocks(first, last)


class Neighbours(MergingWindowAssigner[Any, Blocks]):
    """Blocks merge with the ones next to them, and everything merges into a first block if there is a zero."""

    def assign_windows(self, element: Any, timestamp: int | None, context: Any) -> list[Blocks]:
        assert timestamp is not None
        return [Blocks(timestamp // 10, timestamp // 10)]

    def merge_windows(self, windows: Iterable[Blocks], callback: Any) -> None:
        every = sorted(windows, key=lambda window: window.start)
        groups = [[every[0]]]
        for window in every[1:]:
            if window.start <= groups[-1][-1].end + 1:
                groups[-1].append(window)
            else:
                groups.append([window])
        for group in groups:
            if len(group) > 1:
                last = 0 if group[0].start == 0 else max(each.end for each in group)
                callback.merge(group, Blocks(group[0].start, last))

    def get_default_trigger(self, env: Any) -> Any:
        return EventTimeTrigger()

    def get_window_serializer(self) -> TypeSerializer[Blocks]:
        return BlocksSerializer()

    def is_event_time(self) -> bool:
        return True


def test_custom_windows_merge_with_nothing_but_a_serializer() -> None:
    with harness_of(sessions(assigner=Neighbours())) as harness:
        feed(harness, (1, 10), (2, 35), (3, 15))
        harness.snapshot()
        feed(harness, (4, 22))
        harness.process_watermark(100)
        assert harness.output_values() == [(1, 3, [1, 3, 2, 4])]
        assert_nothing_left(harness)


def test_a_merge_into_the_past_is_an_error_as_in_flink() -> None:
    with harness_of(sessions(assigner=Neighbours())) as harness:
        feed(harness, (1, 0), (2, 25))
        harness.process_watermark(9)
        with pytest.raises(OperatorFailure, match="cannot become earlier than the current watermark by merging"):
            feed(harness, (3, 10), (4, 5))


def test_a_window_named_again_stays_where_its_contents_are() -> None:
    """Two sessions became one; a record whose own window is exactly that one must find its contents."""
    spec = sessions(Census(), assigner=EventTimeSessionWindows.with_dynamic_gap(lambda value: value[2]))
    with harness_of(spec) as harness:
        harness.process_element(("k", 1, 4), 0)
        harness.process_element(("k", 2, 4), 2)
        harness.process_element(("k", 3, 6), 0)
        assert harness.output_values() == [(0, 6, [1, 2, 3])]
        harness.process_watermark(100)
        assert_nothing_left(harness)


class PerWindow(ProcessWindowFunction[Any, Any, Any, Any]):
    def process(self, key: Any, context: Any, elements: Any) -> list[Any]:
        total = context.global_state().get_state(ValueStateDescriptor("total", Types.LONG()))
        total.update((total.value() or 0) + len(list(elements)))
        if total.value() > 1:
            context.window_state().get_state(ValueStateDescriptor("mine", Types.LONG())).value()
        return [total.value()]


def test_merging_windows_have_state_of_the_key_but_none_of_their_own() -> None:
    with harness_of(sessions(function=PerWindow())) as harness:
        feed(harness, (1, 0), (2, 10))
        harness.process_watermark(5)
        assert harness.output_values() == [1]
        with pytest.raises(OperatorFailure, match=r"not allowed when using merging windows: use global_state\(\)"):
            harness.process_watermark(50)
