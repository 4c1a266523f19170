"""`ProcessingTimeTrigger`: fires when the clock passes the end of the window."""

from __future__ import annotations

from typing import Any

from penstock.common.type_variables import T
from penstock.vocabulary.time_domain import TimeDomain
from penstock.vocabulary.window.trigger import Trigger, TriggerResult
from penstock.vocabulary.window.windows import TimeWindow

__all__ = ["ProcessingTimeTrigger"]


class ProcessingTimeTrigger(Trigger[T, TimeWindow]):
    """Fires once the clock passes the end of the window."""

    state_identity = "ProcessingTimeTrigger"

    fires_at_end_of = TimeDomain.PROCESSING_TIME
    ignores_elements = True

    def on_element(
        self, element: T, timestamp: int | None, window: TimeWindow, ctx: Trigger.TriggerContext
    ) -> TriggerResult:
        """Wait for the end of the window."""
        ctx.register_processing_time_timer(window.max_timestamp())
        return TriggerResult.CONTINUE

    def on_processing_time(self, time: int, window: TimeWindow, ctx: Trigger.TriggerContext) -> TriggerResult:
        """Fire."""
        return TriggerResult.FIRE

    def on_event_time(self, time: int, window: TimeWindow, ctx: Trigger.TriggerContext) -> TriggerResult:
        """Ignore the watermark."""
        return TriggerResult.CONTINUE

    def can_merge(self) -> bool:
        """Return True."""
        return True

    def on_merge(self, window: TimeWindow, ctx: Trigger.OnMergeContext) -> None:
        """Wait for the end of the resulting window, unless it is past."""
        last = window.max_timestamp()
        if last > ctx.get_current_processing_time():
            ctx.register_processing_time_timer(last)

    def clear(self, window: TimeWindow, ctx: Trigger.TriggerContext) -> None:
        """Take back the timer."""
        ctx.delete_processing_time_timer(window.max_timestamp())

    @staticmethod
    def create() -> ProcessingTimeTrigger[Any]:
        """Return the trigger."""
        return ProcessingTimeTrigger()

    def __repr__(self) -> str:
        return "ProcessingTimeTrigger()"
