"""What assigners, triggers and evictors promise about themselves, and when a promise no longer holds."""

from __future__ import annotations

import pickle
from typing import Any

import cloudpickle
import pytest

from penstock.common import Time, WatermarkStrategy
from penstock.datastream import DataStream, StreamExecutionEnvironment
from penstock.datastream.window import (
    CountEvictor,
    CumulativeEventTimeWindows,
    EventTimeSessionWindows,
    EventTimeTrigger,
    GlobalWindows,
    PurgingTrigger,
    SlidingEventTimeWindows,
    TimeWindow,
    TriggerResult,
    TumblingEventTimeWindows,
    TumblingProcessingTimeWindows,
)
from penstock.errors import GraphError
from penstock.vocabulary.time_domain import TimeDomain
from penstock.vocabulary.window.pane_grid import PaneGrid


class Renamed(TumblingEventTimeWindows[Any]):
    """Changes nothing about the windows."""

    def __repr__(self) -> str:
        return "Renamed"


class Odd(TumblingEventTimeWindows[Any]):
    """Puts elements into other windows than the class it is derived from."""

    def windows_at(self, time: int, element: Any) -> list[TimeWindow]:
        return [*super().windows_at(time, element), *super().windows_at(time + 5, element)]


class Shifted:
    """Not an assigner itself."""

    def assign_windows(self, element: Any, timestamp: int | None, context: Any) -> list[TimeWindow]:
        return [TimeWindow(element, element + 1)]


class Mixed(Shifted, TumblingEventTimeWindows[Any]):  # type: ignore[misc]
    """Gets another method from a class beside the assigner."""


class Declared(Odd):
    """Says again what holds for it."""

    ignores_elements = True


class FiresTwice(EventTimeTrigger[Any]):
    """Fires for each element, too."""

    def on_element(self, element: Any, timestamp: int | None, window: TimeWindow, ctx: Any) -> TriggerResult:
        super().on_element(element, timestamp, window, ctx)
        return TriggerResult.FIRE


def test_a_class_that_overrides_no_method_keeps_the_traits() -> None:
    assert Renamed.assigns_one_window and Renamed.ignores_elements
    assert Renamed(10, None).pane_grid() == PaneGrid.tumbling(10, 0)


@pytest.mark.parametrize("kind", [Odd, Mixed])
def test_a_class_that_overrides_a_method_starts_without_traits(kind: Any) -> None:
    assert not kind.assigns_one_window
    assert not kind.ignores_elements
    assert kind(10, None).pane_grid() is None


def test_traits_can_be_declared_again() -> None:
    assert Declared.ignores_elements
    assert not Declared.assigns_one_window


def test_sessions_have_one_gap_unless_a_derived_class_says_otherwise() -> None:
    class Longer(EventTimeSessionWindows[Any]):
        def windows_at(self, time: int, element: Any) -> list[TimeWindow]:
            return [TimeWindow(time, time + 8)]

    assert EventTimeSessionWindows.with_gap(5).fixed_gap() == 5
    assert EventTimeSessionWindows.with_dynamic_gap(lambda value: 5).fixed_gap() is None
    assert Longer(5).fixed_gap() is None
    assert _sums(EventTimeSessionWindows.with_gap(5)) == [("a", 5), ("a", 12)]
    assert _sums(Longer(5)) == [("a", 17)]


def test_traits_of_a_trigger_and_an_evictor() -> None:
    assert EventTimeTrigger.fires_at_end_of is TimeDomain.EVENT_TIME
    assert FiresTwice.fires_at_end_of is None
    assert PurgingTrigger.of(EventTimeTrigger.create()).fires_at_end_of is None
    assert CountEvictor.of(2).ignores_elements


def test_traits_travel_with_a_class_that_is_pickled_by_value() -> None:
    class Local(TumblingEventTimeWindows[Any]):
        def windows_at(self, time: int, element: Any) -> list[TimeWindow]:
            return []

    again = pickle.loads(cloudpickle.dumps(Local(10, None)))
    assert type(again).__name__ == "Local"
    assert not again.assigns_one_window
    assert again.pane_grid() is None


def _stream(environment: StreamExecutionEnvironment, *values: tuple[str, int]) -> DataStream:
    strategy = WatermarkStrategy.for_monotonous_timestamps().with_timestamp_assigner(lambda value, _: value[1])
    return environment.from_collection(list(values)).assign_timestamps_and_watermarks(strategy)


def _sums(assigner: Any, trigger: Any = None) -> list[Any]:
    environment = StreamExecutionEnvironment.in_process()
    windows = _stream(environment, ("a", 1), ("a", 4), ("a", 12)).key_by(lambda value: value[0]).window(assigner)
    if trigger is not None:
        windows = windows.trigger(trigger)
    with windows.reduce(lambda a, b: (a[0], a[1] + b[1])).execute_and_collect() as results:
        return list(results)


def test_an_assigner_derived_from_a_built_in_one_is_asked_itself() -> None:
    # Elements of 1, 4 and 12 go to the windows of their time, and of five milliseconds later.
    assert _sums(Renamed(10, None)) == [("a", 5), ("a", 12)]
    assert _sums(Odd(10, None)) == [("a", 10), ("a", 24)]


def test_a_trigger_derived_from_a_built_in_one_is_asked_itself() -> None:
    fired = _sums(TumblingEventTimeWindows.of(Time.milliseconds(10)), FiresTwice())
    assert sorted(total for _, total in fired) == [1, 5, 5, 12, 12]


@pytest.mark.parametrize(
    "assigner",
    [
        TumblingProcessingTimeWindows.of(10),
        Odd(10, None),
        SlidingEventTimeWindows.of(5, 8),
        EventTimeSessionWindows.with_gap(5),
        GlobalWindows.create(),
    ],
    ids=["clock", "derived", "gaps", "sessions", "global"],
)
def test_windows_without_panes_cannot_be_aggregated_in_parts(assigner: Any) -> None:
    keyed = _stream(StreamExecutionEnvironment.in_process(), ("a", 1)).key_by(lambda value: value[0])
    with pytest.raises(GraphError, match="only tumbling, cumulative and sliding event-time windows"):
        keyed.window(assigner).two_phase(True).reduce(max)


class EveryTen(TumblingEventTimeWindows[Any]):
    """An assigner of a user's own, with panes: they are declared after what is overridden."""

    def windows_at(self, time: int, element: Any) -> list[TimeWindow]:
        start = time // 10 * 10
        return [TimeWindow(start, start + 10)]

    def pane_grid(self) -> PaneGrid:
        return PaneGrid.tumbling(10, 0)


def test_an_assigner_of_a_users_own_can_have_panes() -> None:
    assert _sums(EveryTen(99, None)) == [("a", 5), ("a", 12)]
    keyed = _stream(StreamExecutionEnvironment.in_process(), ("a", 1), ("a", 4), ("a", 12)).key_by(lambda v: v[0])
    in_parts = keyed.window(EveryTen(99, None)).two_phase(True).reduce(lambda a, b: (a[0], a[1] + b[1]))
    with in_parts.execute_and_collect() as results:
        assert list(results) == [("a", 5), ("a", 12)]


def test_cumulative_windows_have_panes_of_a_step() -> None:
    grid = CumulativeEventTimeWindows.of(30, 10, 5).pane_grid()
    assert grid == PaneGrid.cumulative(10, 5)
    assert (grid.pane_of(4), grid.pane_of(5), grid.panes_of([14, 15])) == (-5, 5, [5, 15])
