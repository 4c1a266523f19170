"""Watermarks of many channels become one: against a model that is nothing but the rules."""

from __future__ import annotations

from typing import Any

from hypothesis import given, settings
from hypothesis import strategies as st

from penstock.common.constants import MAX_WATERMARK, MIN_WATERMARK
from penstock.graph.plan import InEdge
from penstock.runtime.valve import InputValve, combine

STABLE = InEdge(source=1, number=0, input_index=0, channels=3, is_ephemeral=False, is_pointwise=False)
POINTWISE = InEdge(source=2, number=0, input_index=0, channels=3, is_ephemeral=False, is_pointwise=True)
EPHEMERAL = InEdge(source=3, number=0, input_index=0, channels=2, is_ephemeral=True, is_pointwise=False)


def stable_valve() -> InputValve:
    return InputValve.for_edges([STABLE], 0)


class Model:
    """Flink's rules for one input, written down channel by channel."""

    def __init__(self, channels: int) -> None:
        self.marks = [MIN_WATERMARK] * channels
        self.idle = [False] * channels
        self.aligned = [True] * channels
        self.out = MIN_WATERMARK

    def watermark(self, channel: int, mark: int) -> None:
        self.idle[channel] = False
        self.marks[channel] = max(mark, self.marks[channel])
        self.settle(channel)

    def status(self, channel: int, is_idle: bool) -> None:
        self.idle[channel] = is_idle
        self.settle(channel)

    def settle(self, channel: int) -> None:
        self.aligned[channel] = not self.idle[channel] and self.marks[channel] >= self.out
        counted = [mark for mark, is_aligned in zip(self.marks, self.aligned, strict=True) if is_aligned]
        if counted:
            self.out = max(self.out, min(counted))
        elif all(self.idle):
            self.out = max(self.out, *self.marks)


STEPS = st.lists(
    st.one_of(
        st.tuples(st.just("watermark"), st.integers(0, 2), st.integers(0, 20)),
        st.tuples(st.just("status"), st.integers(0, 2), st.booleans()),
    ),
    max_size=40,
)


@settings(max_examples=80)
@given(steps=STEPS)
def test_the_valve_agrees_with_the_model_and_never_goes_back(steps: list[tuple[str, int, Any]]) -> None:
    valve, model = stable_valve(), Model(3)
    before = valve.watermark
    for what, channel, value in steps:
        getattr(valve, f"on_{what}")(STABLE.sender, channel, value)
        valve.advance()
        getattr(model, what)(channel, value)
        assert (valve.watermark, valve.is_idle) == (model.out, all(model.idle))
        assert valve.watermark >= before
        before = valve.watermark


def advanced(valve: InputValve, *watermarks: int, sender: tuple[int, int] = STABLE.sender) -> int:
    for channel, watermark in enumerate(watermarks):
        valve.on_watermark(sender, channel, watermark)
    valve.advance()
    return valve.watermark


def test_the_slowest_channel_counts_and_unheard_ones_are_slowest() -> None:
    assert advanced(stable_valve(), 5, 7) == MIN_WATERMARK
    assert advanced(stable_valve(), 5, 7, 6) == 5


def test_idle_channels_hold_nobody_up_and_all_idle_means_the_furthest() -> None:
    valve = stable_valve()
    advanced(valve, 5, 7, 9)
    valve.on_status(STABLE.sender, 0, True)
    valve.advance()
    assert (valve.watermark, valve.is_idle) == (7, False)
    for channel in (1, 2):
        valve.on_status(STABLE.sender, channel, True)
    valve.advance()
    assert (valve.watermark, valve.is_idle) == (9, True)


def test_a_channel_back_from_idleness_counts_again_once_it_has_caught_up() -> None:
    valve = stable_valve()
    advanced(valve, 5, 50, 50)
    valve.on_status(STABLE.sender, 0, True)
    valve.advance()
    assert advanced(valve, 6, 60, 60) == 60
    assert advanced(valve, 61, 70, 70) == 61


def test_only_the_end_of_every_channel_is_the_end() -> None:
    valve = stable_valve()
    for channel in range(3):
        assert not valve.has_ended()
        valve.on_end(STABLE.sender, channel, whole_sender=False)
        valve.advance()
    assert valve.has_ended()
    assert valve.watermark == MAX_WATERMARK


def test_an_ended_channel_holds_nobody_up() -> None:
    valve = stable_valve()
    advanced(valve, 5, 7, 9)
    valve.on_end(STABLE.sender, 0, whole_sender=False)
    valve.advance()
    assert valve.watermark == 7


def test_a_pointwise_edge_has_the_channel_of_its_own_subtask_only() -> None:
    valve = InputValve.for_edges([POINTWISE], 2)
    assert list(valve.channels) == [((2, 0), 2)]


def test_two_edges_of_one_sender_are_channels_of_their_own() -> None:
    other = InEdge(source=1, number=1, input_index=0, channels=1, is_ephemeral=False, is_pointwise=False)
    valve = InputValve.for_edges([STABLE, other], 0)
    assert advanced(valve, 5, 5, 5) == MIN_WATERMARK
    assert advanced(valve, 3, sender=other.sender) == 3


def ephemeral_batch(valve: InputValve, watermarks: dict[int, int]) -> int:
    valve.begin_batch(EPHEMERAL.sender, set(watermarks))
    for channel, watermark in watermarks.items():
        valve.on_watermark(EPHEMERAL.sender, channel, watermark)
    valve.advance()
    valve.end_batch(EPHEMERAL.sender)
    return valve.watermark


@settings(max_examples=50)
@given(st.lists(st.dictionaries(st.integers(0, 3), st.integers(0, 20), max_size=3), max_size=6))
def test_an_ephemeral_sender_is_as_far_as_its_slowest_task_has_got(batches: list[dict[int, int]]) -> None:
    valve = InputValve.for_edges([EPHEMERAL], 0)
    merged = MIN_WATERMARK
    for watermarks in batches:
        if watermarks:
            merged = min(max(merged, watermark) for watermark in watermarks.values())
        assert ephemeral_batch(valve, watermarks) == merged


def test_the_tasks_of_an_ephemeral_sender_end_together() -> None:
    valve = InputValve.for_edges([EPHEMERAL], 0)
    valve.begin_batch(EPHEMERAL.sender, {0, 1, 2})
    valve.on_end(EPHEMERAL.sender, 0, whole_sender=True)
    assert valve.has_ended()
    valve.end_batch(EPHEMERAL.sender)
    assert valve.has_ended()


def test_an_idle_ephemeral_sender_is_active_again_when_it_shows_up() -> None:
    valve = InputValve.for_edges([EPHEMERAL], 0)
    valve.begin_batch(EPHEMERAL.sender, {0})
    valve.on_status(EPHEMERAL.sender, 0, True)
    valve.end_batch(EPHEMERAL.sender)
    valve.advance()
    assert valve.is_idle
    valve.begin_batch(EPHEMERAL.sender, set())
    valve.advance()
    assert valve.is_idle
    valve.begin_batch(EPHEMERAL.sender, {5})
    valve.advance()
    assert not valve.is_idle


def test_inputs_are_combined_by_the_slowest_that_is_not_idle() -> None:
    slow, fast = InputValve(watermark=5), InputValve(watermark=9)
    assert combine([slow, fast]) == (5, False)
    slow.is_idle = True
    assert combine([slow, fast]) == (9, False)
    slow.is_idle, fast.is_idle = False, True
    assert combine([slow, fast]) == (5, False)


def test_when_all_inputs_are_idle_none_of_them_takes_event_time_on() -> None:
    slow, fast = InputValve(watermark=5, is_idle=True), InputValve(watermark=9, is_idle=True)
    assert combine([slow, fast]) == (MIN_WATERMARK, True)


def test_an_input_that_becomes_idle_says_first_how_far_it_has_got() -> None:
    idle, last = InputValve(watermark=3, is_idle=True), stable_valve()
    advanced(last, 5, 9, 7)
    for channel in (1, 2):
        last.on_status(STABLE.sender, channel, True)
        assert not last.advance()
    last.on_status(STABLE.sender, 0, True)
    assert last.advance()
    assert combine([idle, last], last) == (9, True)
    assert not last.advance()


def test_an_ended_input_holds_nobody_up() -> None:
    ended, other = InputValve.for_edges([POINTWISE], 0), InputValve(watermark=9)
    ended.on_end(POINTWISE.sender, 0, whole_sender=False)
    assert ended.advance()
    assert combine([ended, other], ended) == (9, False)
