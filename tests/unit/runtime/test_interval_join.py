"""The interval join on one subtask: pairs, lateness, rows without a partner, and what stays in the store."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

import pytest

from penstock.common.constants import MAX_WATERMARK
from penstock.common.watermark_strategy import Watermark
from penstock.datastream import OutputTag, ProcessJoinFunction, RuntimeContext
from penstock.datastream.state import ValueStateDescriptor
from penstock.runtime.failure import OperatorFailure
from penstock.runtime.operators import IntervalJoinOperator
from penstock.runtime.operators.interval_join import IntervalJoinSpec
from penstock.testing.harness import StreamRecord
from penstock.testing.two_input_harness import KeyedTwoInputHarness

LEFT_LATE, RIGHT_LATE, SEEN = OutputTag("left-late"), OutputTag("right-late"), OutputTag("seen")
MAX = 2**63 - 1


class Pairs(ProcessJoinFunction):
    """The pair itself."""

    def process_element(self, left: Any, right: Any, ctx: Any) -> Iterator[Any]:
        yield left, right


class Times(ProcessJoinFunction):
    """What the context says."""

    def process_element(self, left: Any, right: Any, ctx: Any) -> Iterator[Any]:
        yield ctx.get_left_timestamp(), ctx.get_right_timestamp(), ctx.get_timestamp()


def key_of(value: Any) -> Any:
    return value[0]


def harness_of(function: Any, lower: int, upper: int, **settings: Any) -> KeyedTwoInputHarness:
    operator = IntervalJoinOperator(function, IntervalJoinSpec(lower, upper, **settings))
    return KeyedTwoInputHarness(operator, key1=key_of, key2=key_of, side_outputs=[LEFT_LATE, RIGHT_LATE, SEEN])


def test_partners_come_in_order_of_time_and_results_carry_the_later_time() -> None:
    with harness_of(Times(), -5, 5) as harness:
        for time in (12, 8, 10, 4, 16):
            harness.process_element2(("k", time), time)
        harness.process_element1(("k", "l"), 10)
        assert harness.output() == [
            StreamRecord((10, 8, 10), 10),
            StreamRecord((10, 10, 10), 10),
            StreamRecord((10, 12, 12), 12),
        ]


@pytest.mark.parametrize("time", [-(2**62), -7, 0, 7, 2**62])
def test_both_ends_of_the_interval_belong_to_it_wherever_buckets_end(time: int) -> None:
    with harness_of(Pairs(), 3, 6) as harness:
        for distance in range(10):
            harness.process_element2(("k", distance), time + distance)
        harness.process_element1(("k", "l"), time)
        assert [right[1] for _, right in harness.output_values()] == [3, 4, 5, 6]


def test_rows_of_other_keys_are_no_partners_and_equal_keys_of_other_types_are() -> None:
    with harness_of(Pairs(), 0, 0) as harness:
        harness.process_element2((1, "r"), 5)
        harness.process_element2(([1], "r"), 5)
        harness.process_elements1([((2, "l"), 5), ((1.0, "l"), 5), (([1], "l"), 5)])
        assert harness.output_values() == [((1.0, "l"), (1, "r")), (([1], "l"), ([1], "r"))]


def test_a_row_leaves_the_store_when_no_partner_can_come() -> None:
    with harness_of(Pairs(), -2, 5) as harness:
        harness.process_elements1([(("k", "l"), 10), (("k", "m"), 10), (("k", "n"), 30)])
        harness.process_element2(("k", "r"), 20)
        assert harness.num_event_time_timers() == 3
        harness.process_watermark(14)
        assert harness.num_event_time_timers() == 3
        harness.process_watermark(15)
        assert harness.num_event_time_timers() == 2
        assert harness.num_keyed_state_entries() == 2
        harness.process_watermark(22)
        assert harness.num_keyed_state_entries() == 1
        harness.process_watermark(35)
        assert harness.num_event_time_timers() == harness.num_keyed_state_entries() == 0


def test_a_row_that_was_removed_is_no_partner_of_one_that_is_just_in_time() -> None:
    # Flink counts a record as late only below the watermark, but removes at it.
    with harness_of(Pairs(), 0, 5, left_outer=True) as harness:
        harness.process_element1(("k", "l"), 10)
        harness.process_watermark(15)
        harness.process_element2(("k", "r"), 15)
        assert harness.output_values() == [(("k", "l"), None)]


def test_of_rows_of_one_time_only_those_without_partner_are_emitted_alone() -> None:
    with harness_of(Pairs(), -2, 5, left_outer=True) as harness:
        harness.process_element2(("k", "r"), 8)
        harness.process_element1(("k", "has one"), 10)
        harness.process_watermark(10)
        harness.process_element1(("k", "has none"), 10)
        harness.end_input()
        assert harness.output_values() == [(("k", "has one"), ("k", "r")), (("k", "has none"), None)]


def test_late_rows_are_dropped_and_counted_or_go_to_their_side_output() -> None:
    with harness_of(Pairs(), 0, 5, left_late_tag=LEFT_LATE, right_outer=True) as harness:
        harness.process_watermark(10)
        harness.process_elements1([(("k", "late"), 9), (("k", "in time"), 10)])
        harness.process_elements2([(("k", "late"), 9), (("k", "in time"), 10)])
        assert harness.side_output(LEFT_LATE) == [StreamRecord(("k", "late"), 9)]
        assert harness.output_values() == [(("k", "in time"), ("k", "in time"))]
        assert late_count(harness) == 1
        harness.end_input()
        assert len(harness.output()) == 1


def late_count(harness: KeyedTwoInputHarness) -> int:
    return harness._running().head.context.metrics.counter("numLateRecordsDropped").get_count()


def test_an_outer_join_holds_back_the_watermark_until_the_end() -> None:
    with harness_of(Times(), -3, 5, left_outer=True, right_outer=True) as harness:
        harness.process_element1(("k", "l"), 10)
        harness.process_element2(("k", "r"), 20)
        for watermark in (14, 15, 23):
            harness.process_watermark(watermark)
        harness.end_input()
        assert harness.output_with_watermarks() == [
            Watermark(9),
            StreamRecord((10, None, 10), 10),
            Watermark(10),
            StreamRecord((None, 20, 20), 20),
            Watermark(18),
            Watermark(MAX_WATERMARK),
        ]


@pytest.mark.parametrize(
    ("spec", "delay"), [({}, 0), ({"left_outer": True}, 5), ({"right_outer": True}, 3)], ids=["inner", "left", "right"]
)
def test_the_watermark_is_held_back_as_long_as_a_row_may_wait(spec: dict[str, bool], delay: int) -> None:
    with harness_of(Pairs(), -3, 5, **spec) as harness:
        harness.process_watermark(-(2**63) + 2)
        harness.process_watermark(100)
        held = [item.timestamp for item in harness.output_with_watermarks() if isinstance(item, Watermark)]
        assert held[-1] == 100 - delay
        assert len(held) == (1 if delay else 2)


def test_a_row_without_partner_at_the_end_of_time_is_emitted() -> None:
    with harness_of(Pairs(), 0, 5, left_outer=True) as harness:
        harness.process_element1(("k", "l"), MAX - 1)
        harness.process_element1(("k", "m"), MAX)
        harness.end_input()
        assert harness.output() == [StreamRecord((("k", "l"), None), MAX - 1), StreamRecord((("k", "m"), None), MAX)]


class Collecting(ProcessJoinFunction):
    """Emits by collector and side output, and counts the pairs of the key in keyed state."""

    def open(self, runtime_context: RuntimeContext) -> None:
        self._count = runtime_context.get_state(ValueStateDescriptor("count"))

    def process_element(self, left: Any, right: Any, ctx: Any, out: Any) -> None:
        self._count.update((self._count.value() or 0) + 1)
        out.collect(self._count.value())
        ctx.output(SEEN, right[1])


def test_the_function_may_take_a_collector_use_side_outputs_and_keep_state_of_the_key() -> None:
    with harness_of(Collecting(), 0, 5) as harness:
        harness.process_element1(("k", "l"), 10)
        harness.process_elements2([(("k", "r"), 11), (("j", "s"), 11), (("k", "t"), 12)])
        assert harness.output() == [StreamRecord(1, 11), StreamRecord(2, 12)]
        assert harness.side_output(SEEN) == [StreamRecord("r", 11), StreamRecord("t", 12)]
        assert harness.state("k", "count") == 2


class Broken(ProcessJoinFunction):
    def process_element(self, left: Any, right: Any, ctx: Any) -> Any:
        return {"number": 7, "error": 1 // 0}[left[1]] if right is None or right[1] == "bad" else None


def test_a_failure_names_the_record_it_came_with() -> None:
    with harness_of(Broken(), 0, 5) as harness:
        harness.process_element1(("k", "error"), 10)
        with pytest.raises(OperatorFailure, match=r"(?s)ZeroDivisionError.*'Broken'.*record: \('k', 'bad'\)"):
            harness.process_elements2([(("k", "good"), 11), (("k", "bad"), 11), (("k", "good"), 11)])


def test_a_failure_for_a_row_without_partner_names_the_row() -> None:
    with harness_of(Broken(), 0, 5, left_outer=True) as harness:
        harness.process_element1(("k", "error"), 10)
        with pytest.raises(
            OperatorFailure, match=r"(?s)ZeroDivisionError.*without a partner.*record: \('k', 'error'\)"
        ):
            harness.process_watermark(15)


def test_a_record_without_timestamp_is_refused() -> None:
    with harness_of(Pairs(), 0, 5) as harness, pytest.raises(OperatorFailure, match="assign_timestamps_and_watermarks"):
        harness.process_element2(("k", "r"))


def test_many_pairs_of_one_block_leave_in_pieces_and_complete() -> None:
    with harness_of(Pairs(), 0, 0) as harness:
        harness.process_elements1([(("k", number), 1) for number in range(200)])
        harness.process_elements2([(("k", number), 1) for number in range(100)])
        assert len(set(harness.output_values())) == 20_000
