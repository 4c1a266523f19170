"""When triggers fire, which timers and state they keep, how they merge, and that they leave nothing behind."""

from __future__ import annotations

import pickle
from typing import Any

import cloudpickle
import pytest

from penstock.common import Time, Types
from penstock.datastream.window import (
    ContinuousEventTimeTrigger,
    ContinuousProcessingTimeTrigger,
    CountTrigger,
    DeltaTrigger,
    EndOfStreamTrigger,
    EventTimeTrigger,
    GlobalWindow,
    NeverTrigger,
    ProcessingTimeoutTrigger,
    ProcessingTimeTrigger,
    PurgingTrigger,
    TimeWindow,
    Trigger,
    TriggerResult,
)
from penstock.errors import GraphError, StateError
from tests.unit.datastream.window.contexts import TriggerRig

CONTINUE, FIRE, PURGE, FIRE_AND_PURGE = (
    TriggerResult.CONTINUE,
    TriggerResult.FIRE,
    TriggerResult.PURGE,
    TriggerResult.FIRE_AND_PURGE,
)
WINDOW = TimeWindow(0, 100)
WORLD = GlobalWindow.get()


class Distance:
    def __call__(self, old: float, new: float) -> float:
        return abs(new - old)


TRIGGERS: list[Trigger[Any, Any]] = [
    EventTimeTrigger.create(),
    ProcessingTimeTrigger.create(),
    CountTrigger.of(3),
    ContinuousEventTimeTrigger.of(Time.milliseconds(30)),
    ContinuousProcessingTimeTrigger.of(Time.milliseconds(30)),
    PurgingTrigger.of(EventTimeTrigger.create()),
    ProcessingTimeoutTrigger.of(CountTrigger.of(3), Time.milliseconds(30)),
    NeverTrigger(),
    EndOfStreamTrigger(),
    DeltaTrigger.of(5, Distance(), Types.LONG()),
]


def name(trigger: Trigger[Any, Any]) -> str:
    return type(trigger).__name__


def merge(trigger: Trigger[Any, Any], window: TimeWindow, *merged: TriggerRig, **rig: int) -> TriggerRig:
    """The context of the window that others were merged into."""
    result = TriggerRig(**rig)
    result.merged = [other.cells for other in merged]
    trigger.on_merge(window, result)
    return result


def test_results_say_what_happens() -> None:
    assert [r.is_fire() for r in (CONTINUE, FIRE, PURGE, FIRE_AND_PURGE)] == [False, True, False, True]
    assert [r.is_purge() for r in (CONTINUE, FIRE, PURGE, FIRE_AND_PURGE)] == [False, False, True, True]


def test_results_keep_their_identity_when_pickled() -> None:
    assert all(pickle.loads(pickle.dumps(result)) is result for result in TriggerResult)


@pytest.mark.parametrize("trigger", TRIGGERS, ids=name)
def test_clearing_leaves_nothing_behind(trigger: Trigger[Any, Any]) -> None:
    window = WORLD if isinstance(trigger, EndOfStreamTrigger | NeverTrigger) else WINDOW
    rig = TriggerRig(watermark=-1, now=5)
    trigger.on_element(1, 5, window, rig)
    assert isinstance(trigger, NeverTrigger) or not rig.is_clean()
    trigger.clear(window, rig)
    assert rig.is_clean()


@pytest.mark.parametrize("trigger", TRIGGERS, ids=name)
def test_triggers_travel_to_workers(trigger: Trigger[Any, Any]) -> None:
    again, rig = pickle.loads(cloudpickle.dumps(trigger)), TriggerRig(now=5)
    assert again.on_element(1, 5, WINDOW, rig) is CONTINUE
    assert repr(again) == repr(trigger)


def test_which_triggers_can_merge() -> None:
    assert [name(trigger) for trigger in TRIGGERS if not trigger.can_merge()] == [
        "NeverTrigger",
        "EndOfStreamTrigger",
        "DeltaTrigger",
    ]
    with pytest.raises(StateError, match="DeltaTrigger cannot be used with windows that merge"):
        TRIGGERS[-1].on_merge(WINDOW, TriggerRig())


def test_event_time_waits_for_the_end_and_fires_once() -> None:
    trigger, rig = EventTimeTrigger[Any](), TriggerRig(watermark=50)
    assert trigger.on_element(1, 60, WINDOW, rig) is CONTINUE
    assert (rig.event_timers, rig.clock_timers) == ({99}, set())
    assert trigger.on_event_time(99, WINDOW, rig) is FIRE
    # Flink calls the trigger at the clean-up time of a window with allowed lateness, too.
    assert trigger.on_event_time(149, WINDOW, rig) is CONTINUE
    assert trigger.on_processing_time(99, WINDOW, rig) is CONTINUE


@pytest.mark.parametrize("trigger", [EventTimeTrigger(), ContinuousEventTimeTrigger(10)], ids=name)
def test_late_elements_fire_at_once(trigger: Trigger[Any, Any]) -> None:
    rig = TriggerRig(watermark=99)
    assert trigger.on_element(1, 60, WINDOW, rig) is FIRE
    assert rig.is_clean()
    rig.watermark = 98
    assert trigger.on_element(1, 60, WINDOW, rig) is CONTINUE


def test_event_time_waits_for_the_end_of_the_merged_window() -> None:
    assert merge(EventTimeTrigger(), WINDOW, watermark=98).event_timers == {99}
    assert merge(EventTimeTrigger(), WINDOW, watermark=99).event_timers == set()


def test_processing_time_waits_for_the_end() -> None:
    trigger, rig = ProcessingTimeTrigger[Any](), TriggerRig(now=50)
    assert trigger.on_element(1, None, WINDOW, rig) is CONTINUE
    assert (rig.event_timers, rig.clock_timers) == (set(), {99})
    assert trigger.on_processing_time(99, WINDOW, rig) is FIRE
    assert trigger.on_event_time(99, WINDOW, rig) is CONTINUE
    assert merge(trigger, WINDOW, now=98).clock_timers == {99}
    assert merge(trigger, WINDOW, now=99).clock_timers == set()


def test_counting_starts_anew_after_a_firing() -> None:
    trigger, rig = CountTrigger[Any].of(2), TriggerRig()
    assert [trigger.on_element("x", None, WORLD, rig) for _ in range(5)] == [CONTINUE, FIRE, CONTINUE, FIRE, CONTINUE]
    assert trigger.on_event_time(99, WORLD, rig) is trigger.on_processing_time(99, WORLD, rig) is CONTINUE


def test_counts_of_merged_windows_add_up() -> None:
    trigger, one, other = CountTrigger[Any].of(4), TriggerRig(), TriggerRig()
    for rig in (one, one, other):
        trigger.on_element("x", None, WINDOW, rig)
    result = merge(trigger, WINDOW, one, other)
    assert one.is_clean() and other.is_clean()
    assert trigger.on_element("x", None, WINDOW, result) is FIRE


def test_continuous_event_time_fires_at_multiples_and_at_the_end() -> None:
    trigger, rig = ContinuousEventTimeTrigger[Any].of(40), TriggerRig(watermark=-1)
    assert trigger.on_element("x", 15, WINDOW, rig) is CONTINUE
    assert trigger.on_element("x", 50, WINDOW, rig) is CONTINUE
    for due in (40, 80, 99):
        assert min(rig.event_timers) == due
        rig.event_timers.remove(due)
        assert trigger.on_event_time(due, WINDOW, rig) is FIRE
    assert rig.event_timers == set()
    assert trigger.on_event_time(149, WINDOW, rig) is CONTINUE


def test_continuous_event_time_floors_negative_timestamps() -> None:
    rig = TriggerRig()
    ContinuousEventTimeTrigger[Any].of(40).on_element("x", -50, TimeWindow(-100, 0), rig)
    assert rig.event_timers == {-40, -1}


def test_continuous_event_time_ignores_timers_of_others() -> None:
    trigger, rig = ContinuousEventTimeTrigger[Any].of(40), TriggerRig()
    trigger.on_element("x", 15, WINDOW, rig)
    assert trigger.on_event_time(41, WINDOW, rig) is trigger.on_processing_time(40, WINDOW, rig) is CONTINUE
    assert rig.event_timers == {40, 99}


def test_continuous_event_time_without_timestamps_fires_at_the_end() -> None:
    rig = TriggerRig()
    ContinuousEventTimeTrigger[Any].of(40).on_element("x", None, WINDOW, rig)
    assert rig.event_timers == {99}


def test_continuous_processing_time_fires_at_multiples_and_at_the_end() -> None:
    trigger, rig = ContinuousProcessingTimeTrigger[Any].of(40), TriggerRig(now=15)
    assert trigger.on_element("x", 3, WINDOW, rig) is CONTINUE
    rig.now = 50
    assert trigger.on_element("x", 3, WINDOW, rig) is CONTINUE
    assert trigger.on_event_time(40, WINDOW, rig) is CONTINUE
    fired = []
    for due in (40, 80, 99):
        assert rig.clock_timers == {due}
        rig.clock_timers.remove(due)
        assert trigger.on_processing_time(due - 1, WINDOW, rig) is CONTINUE
        fired.append(trigger.on_processing_time(due, WINDOW, rig))
    assert fired == [FIRE] * 3
    trigger.clear(WINDOW, rig)
    assert rig.is_clean()


def test_continuous_processing_time_goes_on_in_a_window_that_ended_by_the_clock() -> None:
    trigger, rig = ContinuousProcessingTimeTrigger[Any].of(40), TriggerRig(now=1005)
    trigger.on_element("x", 3, WINDOW, rig)
    assert rig.clock_timers == {1040}
    rig.clock_timers.clear()
    assert trigger.on_processing_time(1040, WINDOW, rig) is FIRE
    assert rig.clock_timers == {1080}


@pytest.mark.parametrize("trigger", [ContinuousEventTimeTrigger(40), ContinuousProcessingTimeTrigger(40)], ids=name)
def test_continuous_triggers_go_on_with_the_earliest_firing(trigger: Trigger[Any, Any]) -> None:
    one, other = TriggerRig(now=45), TriggerRig(now=15)
    trigger.on_element("x", 45, TimeWindow(0, 60), one)
    trigger.on_element("x", 15, TimeWindow(0, 60), other)
    result = merge(trigger, WINDOW, one, other)
    assert result.event_timers | result.clock_timers == {40}
    assert result.cells.contents() == {"fire-time": 40}
    assert merge(trigger, WINDOW).is_clean()


class Scripted(Trigger[Any, Any]):
    """Answers what it is told to and notes what it was asked."""

    def __init__(self, answer: TriggerResult, mergeable: bool = True) -> None:
        self.answer = answer
        self.mergeable = mergeable
        self.asked: list[str] = []

    def on_element(self, element: Any, timestamp: int | None, window: Any, ctx: Any) -> TriggerResult:
        return self._answer("element")

    def on_processing_time(self, time: int, window: Any, ctx: Any) -> TriggerResult:
        return self._answer("processing time")

    def on_event_time(self, time: int, window: Any, ctx: Any) -> TriggerResult:
        return self._answer("event time")

    def can_merge(self) -> bool:
        return self.mergeable

    def on_merge(self, window: Any, ctx: Any) -> None:
        self.asked.append("merge")

    def clear(self, window: Any, ctx: Any) -> None:
        self.asked.append("clear")

    def _answer(self, question: str) -> TriggerResult:
        self.asked.append(question)
        return self.answer


@pytest.mark.parametrize(
    ("nested", "result"),
    [(CONTINUE, CONTINUE), (FIRE, FIRE_AND_PURGE), (PURGE, PURGE), (FIRE_AND_PURGE, FIRE_AND_PURGE)],
)
def test_purging_adds_a_purge_to_every_firing(nested: TriggerResult, result: TriggerResult) -> None:
    trigger, rig = PurgingTrigger[Any].of(Scripted(nested)), TriggerRig()
    assert trigger.on_element("x", 1, WINDOW, rig) is result
    assert trigger.on_event_time(1, WINDOW, rig) is result
    assert trigger.on_processing_time(1, WINDOW, rig) is result


@pytest.mark.parametrize("wrap", [PurgingTrigger.of, lambda nested: ProcessingTimeoutTrigger.of(nested, 10)])
def test_wrappers_pass_merging_and_clearing_on(wrap: Any) -> None:
    nested = Scripted(CONTINUE)
    trigger = wrap(nested)
    trigger.on_merge(WINDOW, TriggerRig())
    trigger.clear(WINDOW, TriggerRig())
    assert nested.asked == ["merge", "clear"]
    assert trigger.can_merge() and not wrap(Scripted(CONTINUE, mergeable=False)).can_merge()


def test_never() -> None:
    trigger, rig = NeverTrigger[Any](), TriggerRig(watermark=2**63 - 1)
    assert trigger.on_element("x", 1, WORLD, rig) is trigger.on_event_time(2**63 - 1, WORLD, rig) is CONTINUE
    assert trigger.on_processing_time(1, WORLD, rig) is CONTINUE
    assert rig.is_clean()


def test_the_end_of_the_stream_fires_once() -> None:
    trigger, rig = EndOfStreamTrigger[Any](), TriggerRig()
    assert trigger.on_element("x", None, WORLD, rig) is CONTINUE
    assert rig.event_timers == {2**63 - 1}
    assert trigger.on_event_time(5, WORLD, rig) is trigger.on_processing_time(5, WORLD, rig) is CONTINUE
    assert trigger.on_event_time(2**63 - 1, WORLD, rig) is FIRE_AND_PURGE


def test_delta_compares_with_the_element_of_the_last_firing() -> None:
    trigger, rig = DeltaTrigger[int].of(5, Distance()), TriggerRig()
    results = [trigger.on_element(element, None, WORLD, rig) for element in (10, 15, 16, 12, 10, 9)]
    assert results == [CONTINUE, CONTINUE, FIRE, CONTINUE, FIRE, CONTINUE]
    assert trigger.on_event_time(1, WORLD, rig) is trigger.on_processing_time(1, WORLD, rig) is CONTINUE


def test_the_timeout_counts_from_the_first_element() -> None:
    trigger, rig = ProcessingTimeoutTrigger[Any].of(CountTrigger.of(3), 30), TriggerRig(now=5)
    assert trigger.on_element("x", None, WORLD, rig) is CONTINUE
    rig.now = 20
    assert trigger.on_element("x", None, WORLD, rig) is CONTINUE
    assert rig.clock_timers == {35}
    assert trigger.on_processing_time(35, WORLD, rig) is FIRE
    assert rig.is_clean(), "the timeout clears the count of the nested trigger"


def test_the_timeout_may_count_from_the_latest_element() -> None:
    trigger = ProcessingTimeoutTrigger[Any].of(CountTrigger.of(3), 30, reset_on_new_record=True)
    rig = TriggerRig(now=5)
    trigger.on_element("x", None, WORLD, rig)
    rig.now = 20
    trigger.on_element("x", None, WORLD, rig)
    assert rig.clock_timers == {50}


def test_a_firing_of_the_nested_trigger_takes_the_timeout_back() -> None:
    trigger, rig = ProcessingTimeoutTrigger[Any].of(PurgingTrigger.of(CountTrigger.of(2)), 30), TriggerRig(now=5)
    assert trigger.on_element("x", None, WORLD, rig) is CONTINUE
    assert trigger.on_element("x", None, WORLD, rig) is FIRE_AND_PURGE
    assert rig.is_clean()


@pytest.mark.parametrize(
    ("nested", "result"), [(CONTINUE, FIRE), (FIRE, FIRE), (PURGE, FIRE_AND_PURGE), (FIRE_AND_PURGE, FIRE_AND_PURGE)]
)
def test_a_timeout_purges_if_the_nested_trigger_does(nested: TriggerResult, result: TriggerResult) -> None:
    trigger, rig = ProcessingTimeoutTrigger[Any].of(Scripted(nested), 30), TriggerRig()
    assert trigger.on_processing_time(30, WORLD, rig) is trigger.on_event_time(30, WORLD, rig) is result


def test_a_timeout_may_leave_the_nested_trigger_alone() -> None:
    nested = Scripted(CONTINUE)
    trigger = ProcessingTimeoutTrigger[Any].of(nested, 30, clear_on_timeout=False)
    assert trigger.on_processing_time(30, WORLD, TriggerRig()) is FIRE
    assert nested.asked == ["processing time"]


def test_merged_windows_time_out_at_the_earliest() -> None:
    trigger, one, other = ProcessingTimeoutTrigger[Any].of(CountTrigger.of(9), 30), TriggerRig(now=9), TriggerRig(now=5)
    trigger.on_element("x", 1, WINDOW, one)
    trigger.on_element("x", 1, WINDOW, other)
    result = merge(trigger, WINDOW, one, other)
    assert result.clock_timers == {35}
    assert result.cells.contents() == {"count": 2, "timeout": 35}


@pytest.mark.parametrize(
    ("make", "reason"),
    [
        (lambda: CountTrigger.of(0), "CountTrigger.*positive whole number"),
        (lambda: ContinuousEventTimeTrigger.of(0), "ContinuousEventTimeTrigger.*interval must be at least"),
        (lambda: ContinuousProcessingTimeTrigger.of(-1), "ContinuousProcessingTimeTrigger.*interval must be at least"),
        (lambda: PurgingTrigger.of(3), "PurgingTrigger.of takes a trigger, got int"),  # type: ignore[arg-type]
        (lambda: ProcessingTimeoutTrigger.of(3, 10), "ProcessingTimeoutTrigger.of takes a trigger"),  # type: ignore[arg-type]
        (lambda: ProcessingTimeoutTrigger.of(NeverTrigger(), 0), "timeout must be at least"),
        (lambda: DeltaTrigger.of(5, None), "DeltaTrigger.of takes a DeltaFunction or a callable"),  # type: ignore[arg-type]
        (lambda: DeltaTrigger.of("5", Distance()), "DeltaTrigger.of takes a number"),  # type: ignore[arg-type]
    ],
)
def test_what_makes_no_trigger_is_refused(make: Any, reason: str) -> None:
    with pytest.raises(GraphError, match=reason):
        make()
