"""`EventTimeTrigger`: fires when the watermark passes the end of the window."""

from __future__ import annotations

from typing import Any

from penstock.common.type_variables import T
from penstock.vocabulary.time_domain import TimeDomain
from penstock.vocabulary.window.trigger import Trigger, TriggerResult
from penstock.vocabulary.window.windows import TimeWindow

__all__ = ["EventTimeTrigger"]


class EventTimeTrigger(Trigger[T, TimeWindow]):
    """Fires once the watermark passes the end of the window, and again for each late element."""

    state_identity = "EventTimeTrigger"

    fires_at_end_of = TimeDomain.EVENT_TIME
    ignores_elements = True

    def on_element(
        self, element: T, timestamp: int | None, window: TimeWindow, ctx: Trigger.TriggerContext
    ) -> TriggerResult:
        """Fire for a late element; else wait for the watermark."""
        last = window.max_timestamp()
        if last <= ctx.get_current_watermark():
            return TriggerResult.FIRE
        ctx.register_event_time_timer(last)
        return TriggerResult.CONTINUE

    def on_processing_time(self, time: int, window: TimeWindow, ctx: Trigger.TriggerContext) -> TriggerResult:
        """Ignore the clock."""
        return TriggerResult.CONTINUE

    def on_event_time(self, time: int, window: TimeWindow, ctx: Trigger.TriggerContext) -> TriggerResult:
        """Fire at the end of the window, and not at its clean-up."""
        return TriggerResult.FIRE if time == window.max_timestamp() else TriggerResult.CONTINUE

    def can_merge(self) -> bool:
        """Return True."""
        return True

    def on_merge(self, window: TimeWindow, ctx: Trigger.OnMergeContext) -> None:
        """Wait for the end of the resulting window, unless it is past: then `on_element` fires."""
        last = window.max_timestamp()
        if last > ctx.get_current_watermark():
            ctx.register_event_time_timer(last)

    def clear(self, window: TimeWindow, ctx: Trigger.TriggerContext) -> None:
        """Take back the timer."""
        ctx.delete_event_time_timer(window.max_timestamp())

    @staticmethod
    def create() -> EventTimeTrigger[Any]:
        """Return the trigger."""
        return EventTimeTrigger()

    def __repr__(self) -> str:
        return "EventTimeTrigger()"
