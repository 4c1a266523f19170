"""Harnesses of two inputs: each is fed alone or both together, and their time is the slower one's."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from typing import Any

import pytest

from penstock.common.constants import MAX_WATERMARK, MIN_WATERMARK
from penstock.common.watermark_strategy import Watermark
from penstock.datastream import CoProcessFunction, KeyedCoProcessFunction, OutputTag
from penstock.datastream.state import ListStateDescriptor
from penstock.errors import StateError
from penstock.testing import CoProcessHarness, HarnessSnapshot, KeyedCoProcessHarness, StreamRecord

ODD = OutputTag("odd")


class Signs(CoProcessFunction):
    """The second input is negative; odd ones go aside."""

    def process_element1(self, value: int, ctx: Any) -> Iterator[Any]:
        yield (ODD, value) if value % 2 else value

    def process_element2(self, value: int, ctx: Any) -> Iterator[Any]:
        yield (ODD, -value) if value % 2 else -value


class Gather(KeyedCoProcessFunction):
    """Keeps what comes for a key, with a timer in each domain for each input."""

    def open(self, context: Any) -> None:
        self.kept = context.get_list_state(ListStateDescriptor("kept"))

    def process_element1(self, value: tuple[str, int], ctx: Any) -> None:
        self.kept.add(value[1])
        ctx.timer_service().register_event_time_timer(value[1])

    def process_element2(self, value: str, ctx: Any) -> None:
        self.kept.add(value)
        ctx.timer_service().register_processing_time_timer(100)

    def on_timer(self, timestamp: int, ctx: Any) -> Iterator[Any]:
        yield ctx.get_current_key(), timestamp, ctx.time_domain().name


def gather(**settings: Any) -> KeyedCoProcessHarness:
    return KeyedCoProcessHarness(Gather(), key1=lambda value: value[0], key2=lambda value: value[:1], **settings)


def test_each_input_is_fed_alone() -> None:
    with CoProcessHarness(Signs(), side_outputs=[ODD]) as harness:
        harness.process_element1(2, timestamp=5)
        harness.process_element2(2)
        harness.process_elements1([(4, 6), (5, 7)])
        harness.process_elements2([(4, None), (5, 8)])
        assert harness.output() == [StreamRecord(2, 5), StreamRecord(-2), StreamRecord(4, 6), StreamRecord(-4)]
        assert harness.side_output(ODD) == [StreamRecord(5, 7), StreamRecord(-5, 8)]


def test_time_is_that_of_the_slower_input() -> None:
    with CoProcessHarness(Signs()) as harness:
        harness.process_watermark1(9)
        assert harness.current_watermark == MIN_WATERMARK
        harness.process_watermark2(Watermark(5))
        assert harness.current_watermark == 5
        harness.process_watermark(7)
        assert harness.current_watermark == 7
        assert harness.output_with_watermarks() == [Watermark(5), Watermark(7)]


@pytest.mark.parametrize("idle", [1, 2])
def test_an_idle_input_holds_nobody_up_until_it_is_back(idle: int) -> None:
    with CoProcessHarness(Signs()) as harness:
        slow, fast = (
            (harness.process_watermark1, harness.process_watermark2)
            if idle == 1
            else (harness.process_watermark2, harness.process_watermark1)
        )
        mark: Callable[..., None] = harness.idle1 if idle == 1 else harness.idle2
        slow(3)
        fast(9)
        mark()
        assert harness.current_watermark == 9
        mark(False)
        fast(20)
        assert harness.current_watermark == 9
        slow(15)
        assert harness.current_watermark == 15


@pytest.mark.parametrize("ends_first", [1, 2])
def test_the_end_is_the_end_of_both(ends_first: int) -> None:
    with CoProcessHarness(Signs()) as harness:
        ends = [harness.end_input1, harness.end_input2]
        ends[ends_first - 1]()
        assert harness.current_watermark == MIN_WATERMARK
        ends[2 - ends_first]()
        assert harness.current_watermark == MAX_WATERMARK


def test_end_input_ends_both() -> None:
    with CoProcessHarness(Signs()) as harness:
        harness.end_input()
        assert harness.output_with_watermarks() == [Watermark(MAX_WATERMARK)]


def test_state_and_timers_of_both_inputs_can_be_seen() -> None:
    with gather() as harness:
        harness.process_element1(("a", 10))
        harness.process_element2("axe")
        assert harness.state("a", "kept") == [10, "axe"]
        assert (harness.num_event_time_timers(), harness.num_processing_time_timers()) == (1, 1)
        assert harness.num_keyed_state_entries() == 1
        harness.set_processing_time(100)
        harness.process_watermark(10)
        assert harness.output_values() == [("a", 100, "PROCESSING_TIME"), ("a", 10, "EVENT_TIME")]


def test_a_record_of_another_subtask_is_refused_on_either_input() -> None:
    with gather(parallelism=2) as harness:
        strange = next(key for key in "abcdefgh" if not harness.owns(key))
        with pytest.raises(StateError, match="another subtask"):
            harness.process_element1((strange, 1))
        with pytest.raises(StateError, match="another subtask"):
            harness.process_element2(strange)


def test_a_snapshot_has_the_time_of_each_input() -> None:
    with gather() as before:
        for key in "abcdefgh":
            before.process_element1((key, 10))
        before.process_watermark1(50)
        before.process_watermark2(5)
        snapshot = before.snapshot()
    after = gather()
    after.restore(snapshot)
    with after:
        assert after.current_watermark == 5
        after.process_watermark2(60)
        assert after.current_watermark == 50
        assert sorted(value[0] for value in after.output_values()) == list("abcdefgh")
    found = []
    for subtask, part in enumerate(HarnessSnapshot.rescaled([snapshot], 2)):
        rescaled = gather(parallelism=2, subtask=subtask)
        rescaled.restore(part)
        with rescaled:
            rescaled.process_watermark2(60)
            found.append(len(rescaled.output()))
    assert sum(found) == 8 and 0 not in found


def test_the_fixture_makes_them(penstock_harness: Callable[..., Any]) -> None:
    harness = penstock_harness(Gather(), key1=lambda value: value[0], key2=lambda value: value[:1])
    assert isinstance(harness, KeyedCoProcessHarness)
    assert isinstance(penstock_harness(Signs(), side_outputs=[ODD]), CoProcessHarness)
    given = CoProcessHarness(Signs())
    assert penstock_harness(given) is given
    with pytest.raises(TypeError, match="Gather works on two keyed streams: pass key1="):
        penstock_harness(Gather(), key1=str)
