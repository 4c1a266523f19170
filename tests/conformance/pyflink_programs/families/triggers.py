"""Triggers: the built-in ones and those that users write."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

from tests.conformance.pyflink_programs.families.windows import described, longest
from tests.conformance.pyflink_programs.program import Program, programs_of

EVENTS = [("a", 1), ("a", 2), ("b", 3), ("a", 4), ("a", 13), ("b", 14), ("a", 18), ("a", 19)]


def own_trigger(p: Any, on_element: str, on_time: str) -> Any:
    """Fires as it is told; counts the calls nowhere."""

    class Own(p.Trigger):
        def on_element(self, element: Any, timestamp: int, window: Any, ctx: Any) -> Any:
            ctx.register_event_time_timer(window.max_timestamp())
            return getattr(p.TriggerResult, on_element)

        def on_processing_time(self, time: int, window: Any, ctx: Any) -> Any:
            return p.TriggerResult.CONTINUE

        def on_event_time(self, time: int, window: Any, ctx: Any) -> Any:
            return getattr(p.TriggerResult, on_time)

        def can_merge(self) -> bool:
            return True

        def on_merge(self, window: Any, ctx: Any) -> None:
            ctx.register_event_time_timer(window.max_timestamp())

        def clear(self, window: Any, ctx: Any) -> None:
            ctx.delete_event_time_timer(window.max_timestamp())

    return Own()


def counting_trigger(p: Any) -> Any:
    """Fires at every second element of a window, by state of its own."""

    class EverySecond(p.Trigger):
        def on_element(self, element: Any, timestamp: int, window: Any, ctx: Any) -> Any:
            seen = ctx.get_partitioned_state(p.ValueStateDescriptor("seen", p.Types.INT()))
            count = (seen.value() or 0) + 1
            seen.update(count)
            return p.TriggerResult.FIRE if count % 2 == 0 else p.TriggerResult.CONTINUE

        def on_processing_time(self, time: int, window: Any, ctx: Any) -> Any:
            return p.TriggerResult.CONTINUE

        def on_event_time(self, time: int, window: Any, ctx: Any) -> Any:
            return p.TriggerResult.CONTINUE

        def on_merge(self, window: Any, ctx: Any) -> None:
            pass

        def clear(self, window: Any, ctx: Any) -> None:
            ctx.get_partitioned_state(p.ValueStateDescriptor("seen", p.Types.INT())).clear()

    return EverySecond()


TRIGGERS: dict[str, Callable[[Any], Any]] = {
    "event_time": lambda p: p.EventTimeTrigger.create(),
    "count_1": lambda p: p.CountTrigger.of(1),
    "count_2": lambda p: p.CountTrigger.of(2),
    "purging_count_2": lambda p: p.PurgingTrigger.of(p.CountTrigger.of(2)),
    "purging_event_time": lambda p: p.PurgingTrigger.of(p.EventTimeTrigger.create()),
    "every_second": counting_trigger,
    "fire_each": lambda p: own_trigger(p, "FIRE", "FIRE"),
    "fire_and_purge_each": lambda p: own_trigger(p, "FIRE_AND_PURGE", "FIRE"),
    "purge_each": lambda p: own_trigger(p, "PURGE", "FIRE"),
    "purge_at_end": lambda p: own_trigger(p, "CONTINUE", "PURGE"),
    "never": lambda p: own_trigger(p, "CONTINUE", "CONTINUE"),
    "continuous_event_time": lambda p: p.ContinuousEventTimeTrigger.of(p.Time.milliseconds(4)),
}
MERGING = tuple(name for name in TRIGGERS if name != "every_second")


def triggered(assigner: str, trigger: str, *, is_stepwise: bool = False) -> Callable[[Any], Any]:
    def build(p: Any) -> Any:
        ms = p.Time.milliseconds
        chosen = {
            "tumbling": lambda: p.TumblingEventTimeWindows.of(ms(10)),
            "session": lambda: p.EventTimeSessionWindows.with_gap(ms(5)),
            "global": lambda: p.GlobalWindows.create(),
        }[assigner]()
        stream = p.stepwise(EVENTS) if is_stepwise else p.events(EVENTS)
        windows = stream.key_by(lambda v: v[0]).window(chosen).trigger(TRIGGERS[trigger](p))
        if assigner == "global":
            return windows.reduce(longest)
        return windows.process(described(p, is_keyed=True)).map(lambda v: v[:4])

    return build


PROGRAMS: list[Program] = programs_of(
    {
        **{f"tumbling_{trigger}": triggered("tumbling", trigger) for trigger in TRIGGERS},
        **{f"session_{trigger}": triggered("session", trigger) for trigger in MERGING},
        **{
            f"global_{trigger}": triggered("global", trigger)
            for trigger in ("count_2", "purging_count_2", "every_second")
        },
        "tumbling_continuous_stepwise": triggered("tumbling", "continuous_event_time", is_stepwise=True),
        "tumbling_event_time_stepwise": triggered("tumbling", "event_time", is_stepwise=True),
    },
    is_ordered=False,
)
