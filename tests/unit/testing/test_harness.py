"""Operator harnesses: what comes out, timers, state of each kind, snapshots, also at another parallelism."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

import pytest

from penstock.common.constants import MAX_WATERMARK, MIN_WATERMARK
from penstock.common.watermark_strategy import Watermark
from penstock.datastream import KeyedProcessFunction, OutputTag, ProcessFunction, RuntimeContext
from penstock.datastream.state import (
    AggregatingStateDescriptor,
    ListStateDescriptor,
    MapStateDescriptor,
    ReducingStateDescriptor,
    ValueStateDescriptor,
)
from penstock.errors import ConfigurationError, StateError
from penstock.runtime.failure import OperatorFailure
from penstock.runtime.operators import MapOperator, ReduceOperator
from penstock.testing import HarnessSnapshot, KeyedHarness, KeyedProcessHarness, OperatorHarness, ProcessHarness
from penstock.testing.harness import StreamRecord
from tests.simulation.functions import SumOfParts

SIDE = OutputTag("side")
OTHER = OutputTag("other")


class Aside(ProcessFunction):
    def process_element(self, value: int, ctx: Any) -> Iterator[Any]:
        yield value
        yield SIDE, -value
        yield OTHER, "dropped"


class EveryState(KeyedProcessFunction):
    """A state of each kind, and a timer in each domain."""

    def open(self, runtime_context: RuntimeContext) -> None:
        self._value = runtime_context.get_state(ValueStateDescriptor("value"))
        self._list = runtime_context.get_list_state(ListStateDescriptor("list"))
        self._map = runtime_context.get_map_state(MapStateDescriptor("map"))
        self._reducing = runtime_context.get_reducing_state(ReducingStateDescriptor("reducing", lambda a, b: a + b))
        self._aggregating = runtime_context.get_aggregating_state(
            AggregatingStateDescriptor("aggregating", SumOfParts())
        )

    def process_element(self, value: tuple[str, int], ctx: Any) -> None:
        amount = value[1]
        self._value.update(amount)
        self._list.add(amount)
        self._map.put(amount, -amount)
        self._reducing.add(amount)
        self._aggregating.add(amount)
        ctx.timer_service().register_event_time_timer(100)
        ctx.timer_service().register_processing_time_timer(200)

    def on_timer(self, timestamp: int, ctx: Any) -> Iterator[Any]:
        yield ctx.get_current_key(), timestamp, ctx.time_domain().name, self._reducing.get()


def every_state(**settings: Any) -> KeyedProcessHarness:
    return KeyedProcessHarness(EveryState(), key=lambda value: value[0], **settings)


# ---- what comes out ----


def test_outputs_have_their_timestamps_and_watermarks_their_place() -> None:
    with OperatorHarness(MapOperator(lambda value: value * 2)) as harness:
        harness.process_element(1, timestamp=5)
        harness.process_element(2)
        harness.process_watermark(7)
        harness.process_elements([(3, 8), (4, None)])
        assert harness.output() == [StreamRecord(2, 5), StreamRecord(4, None), StreamRecord(6, 8), StreamRecord(8)]
        assert harness.output_with_watermarks()[2] == Watermark(7)
        assert harness.output_values() == [2, 4, 6, 8]
        assert harness.current_watermark == 7
        harness.clear_output()
        assert harness.output_with_watermarks() == []


def test_a_watermark_never_falls() -> None:
    with OperatorHarness(MapOperator(str)) as harness:
        harness.process_watermark(Watermark(7))
        harness.process_watermark(3)
        assert harness.output_with_watermarks() == [Watermark(7)]


def test_side_outputs_come_by_their_tag() -> None:
    with ProcessHarness(Aside(), side_outputs=[SIDE]) as harness:
        harness.process_element(4, timestamp=1)
        assert harness.output_values() == [4]
        assert harness.side_output(SIDE) == [StreamRecord(-4, 1)]
        assert harness.side_output_values(SIDE) == [-4]
        with pytest.raises(StateError, match="name it in side_outputs"):
            harness.side_output(OTHER)


def test_idle_input_is_no_output_and_the_end_brings_the_last_watermark() -> None:
    with OperatorHarness(MapOperator(str)) as harness:
        harness.process_idle()
        harness.process_idle(False)
        assert harness.output_with_watermarks() == []
        harness.end_input()
        assert harness.output_with_watermarks() == [Watermark(MAX_WATERMARK)]


# ---- life ----


NOTES: list[str] = []


class Noted(ProcessFunction):
    def open(self, runtime_context: RuntimeContext) -> None:
        NOTES.append(f"open {runtime_context.get_job_parameter('who', '')}")

    def close(self) -> None:
        NOTES.append("close")

    def process_element(self, value: str, ctx: Any) -> None:
        NOTES.append(value)


def test_functions_are_opened_and_closed() -> None:
    NOTES.clear()
    harness = ProcessHarness(Noted(), job_parameters={"who": "me"})
    with harness:
        harness.process_element("a")
    harness.close()
    assert NOTES == ["open me", "a", "close"]


def test_a_closed_harness_says_what_to_do() -> None:
    harness = OperatorHarness(MapOperator(str))
    with pytest.raises(StateError, match="`with` block"):
        harness.process_element(1)
    with harness, pytest.raises(StateError, match="before the harness is opened"):
        harness.restore(harness.snapshot())


def test_a_failing_function_names_itself_and_the_record() -> None:
    with (
        OperatorHarness(MapOperator(lambda value: 1 // value)) as harness,
        pytest.raises(OperatorFailure, match=r"(?s)ZeroDivisionError.*record: 0"),
    ):
        harness.process_element(0)


# ---- timers and state ----


def test_timers_fire_in_their_domain() -> None:
    with every_state(processing_time=50) as harness:
        harness.process_element(("a", 1), timestamp=1)
        harness.process_element(("b", 2), timestamp=1)
        harness.process_element(("a", 3), timestamp=1)
        assert (harness.num_event_time_timers(), harness.num_processing_time_timers()) == (2, 2)
        harness.process_watermark(99)
        harness.set_processing_time(199)
        assert harness.output() == []
        harness.process_watermark(100)
        assert sorted(harness.output_values()) == [("a", 100, "EVENT_TIME", 4), ("b", 100, "EVENT_TIME", 2)]
        harness.clear_output()
        harness.set_processing_time(200)
        assert sorted(harness.output_values()) == [("a", 200, "PROCESSING_TIME", 4), ("b", 200, "PROCESSING_TIME", 2)]
        assert (harness.num_event_time_timers(), harness.num_processing_time_timers()) == (0, 0)


def test_the_state_of_a_key_can_be_seen_in_each_kind() -> None:
    with every_state() as harness:
        harness.process_elements([(("a", 1), 1), (("b", 5), 1), (("a", 2), 1)])
        seen = {name: harness.state("a", name) for name in ("value", "list", "map", "reducing", "aggregating")}
        assert seen == {"value": 2, "list": [1, 2], "map": {1: -1, 2: -2}, "reducing": 3, "aggregating": 3}
        assert harness.state("b", "list") == [5]
        assert harness.state("nobody", "value") is None
        assert not harness.state("nobody", "list")
        assert harness.num_keyed_state_entries() == 10
        with pytest.raises(StateError, match="There is no state 'misspelt'"):
            harness.state("a", "misspelt")


def test_looking_at_a_state_changes_nothing() -> None:
    with every_state() as harness:
        harness.process_element(("a", 1), timestamp=1)
        before = harness.num_keyed_state_entries()
        for name in ("value", "list", "map", "reducing", "aggregating"):
            harness.state("nobody", name)
        assert harness.num_keyed_state_entries() == before
        harness.process_element(("a", 2), timestamp=1)
        assert harness.state("a", "reducing") == 3


# ---- snapshots ----


def test_a_fresh_copy_goes_on_from_a_snapshot() -> None:
    with every_state() as first:
        first.process_element(("a", 1), timestamp=1)
        first.process_watermark(40)
        taken = first.snapshot()
        first.process_element(("a", 10), timestamp=1)
        assert first.state("a", "reducing") == 11, "the first goes on too"
    second = every_state()
    second.restore(taken)
    with second:
        assert second.current_watermark == 40
        assert second.state("a", "list") == [1]
        second.process_element(("a", 2), timestamp=41)
        second.process_watermark(30)
        assert second.output_with_watermarks() == []
        second.process_watermark(100)
        assert second.output_values() == [("a", 100, "EVENT_TIME", 3)]


def test_a_snapshot_can_be_restored_twice() -> None:
    with every_state() as harness:
        harness.process_element(("a", 1), timestamp=1)
        taken = harness.snapshot()
    for _ in range(2):
        copy = every_state()
        copy.restore(taken)
        with copy:
            copy.process_element(("a", 2), timestamp=1)
            assert copy.state("a", "list") == [1, 2]


def test_a_rolling_result_goes_on_from_a_snapshot() -> None:
    def make() -> KeyedHarness:
        return KeyedHarness(ReduceOperator(lambda a, b: (a[0], a[1] + b[1])), key=lambda value: value[0])

    with make() as harness:
        harness.process_element(("a", 1))
        taken = harness.snapshot()
    again = make()
    again.restore(taken)
    with again:
        again.process_element(("a", 5))
        assert again.output_values() == [("a", 6)]


def at_parallelism(count: int, snapshots: list[HarnessSnapshot] | None) -> list[KeyedProcessHarness]:
    harnesses = [every_state(parallelism=count, subtask=number, max_parallelism=16) for number in range(count)]
    for harness, snapshot in zip(harnesses, snapshots or [], strict=False):
        harness.restore(snapshot)
    for harness in harnesses:
        harness.open()
    return harnesses


def owner(harnesses: list[KeyedProcessHarness], key: str) -> KeyedProcessHarness:
    owners = [harness for harness in harnesses if harness.owns(key)]
    assert len(owners) == 1
    return owners[0]


def feed(harnesses: list[KeyedProcessHarness], keys: list[str], amount: int) -> None:
    for key in keys:
        owner(harnesses, key).process_element((key, amount), timestamp=1)


def test_keys_and_timers_survive_every_change_of_parallelism() -> None:
    keys = [f"key {number}" for number in range(40)]
    harnesses = at_parallelism(2, None)
    feed(harnesses, keys, 1)
    for count, amount in ((3, 10), (1, 100)):
        snapshots = HarnessSnapshot.rescaled([harness.snapshot() for harness in harnesses], count, 16)
        assert len(snapshots) == count
        harnesses = at_parallelism(count, snapshots)
        assert sum(harness.num_event_time_timers() for harness in harnesses) == len(keys)
        assert sum(harness.num_processing_time_timers() for harness in harnesses) == len(keys)
        assert sum(harness.num_keyed_state_entries() for harness in harnesses) == 5 * len(keys)
        assert all(harness.num_event_time_timers() > 0 for harness in harnesses), "all have some"
        feed(harnesses, keys, amount)
    (last,) = harnesses
    assert all(last.state(key, "list") == [1, 10, 100] for key in keys)
    assert all(last.state(key, "map") == {1: -1, 10: -10, 100: -100} for key in keys)
    last.process_watermark(100)
    assert sorted(last.output_values()) == sorted((key, 100, "EVENT_TIME", 111) for key in keys)


def test_after_rescaling_event_time_goes_on_from_the_slowest() -> None:
    keys = [f"key {number}" for number in range(40)]
    harnesses = at_parallelism(2, None)
    feed(harnesses, keys, 1)
    harnesses[1].process_watermark(150)
    fired = len(harnesses[1].output())
    snapshots = HarnessSnapshot.rescaled([harness.snapshot() for harness in harnesses], 3, 16)
    rescaled = at_parallelism(3, snapshots)
    assert [harness.current_watermark for harness in rescaled] == [MIN_WATERMARK] * 3
    for harness in rescaled:
        harness.process_watermark(100)
    assert fired + sum(len(harness.output()) for harness in rescaled) == len(keys)


def test_a_record_of_another_subtask_is_refused() -> None:
    with every_state(parallelism=2, subtask=0) as harness:
        foreign = next(key for key in map(str, range(100)) if not harness.owns(key))
        with pytest.raises(StateError, match="belongs to another subtask"):
            harness.process_element((foreign, 1))
        assert harness.num_keyed_state_entries() == 0


def test_rescaling_wants_snapshots_and_a_possible_parallelism() -> None:
    with pytest.raises(StateError, match="got none"):
        HarnessSnapshot.rescaled([], 2)
    with every_state() as harness:
        taken = harness.snapshot()
    with pytest.raises(ConfigurationError, match="between 1 and 128"):
        HarnessSnapshot.rescaled([taken], 129)
