"""Triggers that fire in regular intervals while a window is open."""

from __future__ import annotations

from typing import Any

from penstock.common.constants import MAX_WATERMARK
from penstock.common.type_variables import T
from penstock.common.typeinfo import Types
from penstock.vocabulary.functions import ReduceFunction
from penstock.vocabulary.state import ReducingState, ReducingStateDescriptor
from penstock.vocabulary.window.durations import Length, positive_millis
from penstock.vocabulary.window.trigger import Trigger, TriggerResult
from penstock.vocabulary.window.windows import TimeWindow

__all__ = ["ContinuousEventTimeTrigger", "ContinuousProcessingTimeTrigger", "Min"]


class Min(ReduceFunction):
    """Keeps the smaller of two values: merged windows fire at the earliest of their next firings."""

    def reduce(self, value1: Any, value2: Any) -> Any:
        """Return the smaller one."""
        return min(value1, value2)


class ContinuousEventTimeTrigger(Trigger[T, TimeWindow]):
    """Fires whenever the watermark passes a multiple of the interval, and at the end of the window."""

    state_identity = "ContinuousEventTimeTrigger"

    ignores_elements = True

    def __init__(self, interval: Length) -> None:
        self.interval = positive_millis(interval, "ContinuousEventTimeTrigger", "interval")
        self._fire_time = ReducingStateDescriptor("fire-time", Min(), Types.LONG())

    @staticmethod
    def of(interval: Length) -> ContinuousEventTimeTrigger[Any]:
        """Return a trigger with this interval."""
        return ContinuousEventTimeTrigger(interval)

    def on_element(
        self, element: T, timestamp: int | None, window: TimeWindow, ctx: Trigger.TriggerContext
    ) -> TriggerResult:
        """Fire for a late element; else make sure that the next firing and the last one will happen."""
        last = window.max_timestamp()
        if last <= ctx.get_current_watermark():
            return TriggerResult.FIRE
        ctx.register_event_time_timer(last)
        fire_time = ctx.get_partitioned_state(self._fire_time)
        if fire_time.get() is None:
            seen = last if timestamp is None else timestamp
            self.register_next_fire_timestamp(seen - seen % self.interval, window, ctx, fire_time)
        return TriggerResult.CONTINUE

    def on_processing_time(self, time: int, window: TimeWindow, ctx: Trigger.TriggerContext) -> TriggerResult:
        """Ignore the clock."""
        return TriggerResult.CONTINUE

    def on_event_time(self, time: int, window: TimeWindow, ctx: Trigger.TriggerContext) -> TriggerResult:
        """Fire at the end of the window, and at the end of an interval, where the next one starts."""
        if time == window.max_timestamp():
            return TriggerResult.FIRE
        fire_time = ctx.get_partitioned_state(self._fire_time)
        if fire_time.get() != time:
            return TriggerResult.CONTINUE
        fire_time.clear()
        self.register_next_fire_timestamp(time, window, ctx, fire_time)
        return TriggerResult.FIRE

    def can_merge(self) -> bool:
        """Return True."""
        return True

    def on_merge(self, window: TimeWindow, ctx: Trigger.OnMergeContext) -> None:
        """Go on with the earliest of the next firings."""
        ctx.merge_partitioned_state(self._fire_time)
        next_fire = ctx.get_partitioned_state(self._fire_time).get()
        if next_fire is not None:
            ctx.register_event_time_timer(next_fire)

    def clear(self, window: TimeWindow, ctx: Trigger.TriggerContext) -> None:
        """Take back the timers and forget the next firing."""
        ctx.delete_event_time_timer(window.max_timestamp())
        fire_time = ctx.get_partitioned_state(self._fire_time)
        next_fire = fire_time.get()
        if next_fire is not None:
            ctx.delete_event_time_timer(next_fire)
            fire_time.clear()

    def register_next_fire_timestamp(
        self, time: int, window: TimeWindow, ctx: Trigger.TriggerContext, fire_timestamp_state: ReducingState[int]
    ) -> None:
        """Plan the firing one interval after `time`, or at the end of the window if that comes first."""
        last = window.max_timestamp()
        # The global window ends with time itself: once the input has ended, Flink would fire at every interval up to
        # then, in effect for ever. Here it fires a last time.
        is_ended = last == MAX_WATERMARK == ctx.get_current_watermark()
        next_fire = last if is_ended else min(time + self.interval, last)
        fire_timestamp_state.add(next_fire)
        ctx.register_event_time_timer(next_fire)

    def __repr__(self) -> str:
        return f"ContinuousEventTimeTrigger({self.interval} ms)"


class ContinuousProcessingTimeTrigger(Trigger[T, TimeWindow]):
    """Fires whenever the clock passes a multiple of the interval, and at the end of the window."""

    state_identity = "ContinuousProcessingTimeTrigger"

    ignores_elements = True

    def __init__(self, interval: Length) -> None:
        self.interval = positive_millis(interval, "ContinuousProcessingTimeTrigger", "interval")
        self._fire_time = ReducingStateDescriptor("fire-time", Min(), Types.LONG())

    @staticmethod
    def of(interval: Length) -> ContinuousProcessingTimeTrigger[Any]:
        """Return a trigger with this interval."""
        return ContinuousProcessingTimeTrigger(interval)

    def on_element(
        self, element: T, timestamp: int | None, window: TimeWindow, ctx: Trigger.TriggerContext
    ) -> TriggerResult:
        """Make sure that the next firing will happen."""
        fire_time = ctx.get_partitioned_state(self._fire_time)
        if fire_time.get() is None:
            now = ctx.get_current_processing_time()
            self.register_next_fire_timestamp(now - now % self.interval, window, ctx, fire_time)
        return TriggerResult.CONTINUE

    def on_processing_time(self, time: int, window: TimeWindow, ctx: Trigger.TriggerContext) -> TriggerResult:
        """Fire at the end of an interval, where the next one starts."""
        fire_time = ctx.get_partitioned_state(self._fire_time)
        if fire_time.get() != time:
            return TriggerResult.CONTINUE
        fire_time.clear()
        self.register_next_fire_timestamp(time, window, ctx, fire_time)
        return TriggerResult.FIRE

    def on_event_time(self, time: int, window: TimeWindow, ctx: Trigger.TriggerContext) -> TriggerResult:
        """Ignore the watermark."""
        return TriggerResult.CONTINUE

    def can_merge(self) -> bool:
        """Return True."""
        return True

    def on_merge(self, window: TimeWindow, ctx: Trigger.OnMergeContext) -> None:
        """Go on with the earliest of the next firings."""
        ctx.merge_partitioned_state(self._fire_time)
        next_fire = ctx.get_partitioned_state(self._fire_time).get()
        if next_fire is not None:
            ctx.register_processing_time_timer(next_fire)

    def clear(self, window: TimeWindow, ctx: Trigger.TriggerContext) -> None:
        """Take back the timer and forget the next firing."""
        fire_time = ctx.get_partitioned_state(self._fire_time)
        next_fire = fire_time.get()
        if next_fire is not None:
            ctx.delete_processing_time_timer(next_fire)
            fire_time.clear()

    def register_next_fire_timestamp(
        self, time: int, window: TimeWindow, ctx: Trigger.TriggerContext, fire_timestamp_state: ReducingState[int]
    ) -> None:
        """Plan the firing one interval after `time`, or at the end of the window if that comes first."""
        next_fire = time + self.interval
        last = window.max_timestamp()
        # A window of event time may have ended long ago by the clock. Flink then plans the firing at that end for ever,
        # which is always due at once, and hangs; here the interval counts.
        if time < last < next_fire:
            next_fire = last
        fire_timestamp_state.add(next_fire)
        ctx.register_processing_time_timer(next_fire)

    def __repr__(self) -> str:
        return f"ContinuousProcessingTimeTrigger({self.interval} ms)"
