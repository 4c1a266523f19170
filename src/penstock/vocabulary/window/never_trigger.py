"""Triggers of the global window: one that never fires, one that fires at the end of the stream."""

from __future__ import annotations

from penstock.common.type_variables import T
from penstock.vocabulary.window.trigger import Trigger, TriggerResult
from penstock.vocabulary.window.windows import GlobalWindow

__all__ = ["EndOfStreamTrigger", "NeverTrigger"]


class NeverTrigger(Trigger[T, GlobalWindow]):
    """Never fires: the default of the global window, which is of use only with another trigger."""

    state_identity = "NeverTrigger"

    ignores_elements = True

    def on_element(
        self, element: T, timestamp: int | None, window: GlobalWindow, ctx: Trigger.TriggerContext
    ) -> TriggerResult:
        """Do nothing."""
        return TriggerResult.CONTINUE

    def on_processing_time(self, time: int, window: GlobalWindow, ctx: Trigger.TriggerContext) -> TriggerResult:
        """Do nothing."""
        return TriggerResult.CONTINUE

    def on_event_time(self, time: int, window: GlobalWindow, ctx: Trigger.TriggerContext) -> TriggerResult:
        """Do nothing."""
        return TriggerResult.CONTINUE

    def on_merge(self, window: GlobalWindow, ctx: Trigger.OnMergeContext) -> None:
        """Do nothing."""

    def clear(self, window: GlobalWindow, ctx: Trigger.TriggerContext) -> None:
        """Do nothing."""

    def __repr__(self) -> str:
        return "NeverTrigger()"


class EndOfStreamTrigger(Trigger[T, GlobalWindow]):
    """Fires once, when the input has ended: the watermark is then the end of time."""

    state_identity = "EndOfStreamTrigger"

    ignores_elements = True

    def on_element(
        self, element: T, timestamp: int | None, window: GlobalWindow, ctx: Trigger.TriggerContext
    ) -> TriggerResult:
        """Wait for the end of time."""
        ctx.register_event_time_timer(window.max_timestamp())
        return TriggerResult.CONTINUE

    def on_processing_time(self, time: int, window: GlobalWindow, ctx: Trigger.TriggerContext) -> TriggerResult:
        """Ignore the clock."""
        return TriggerResult.CONTINUE

    def on_event_time(self, time: int, window: GlobalWindow, ctx: Trigger.TriggerContext) -> TriggerResult:
        """Fire at the end of time."""
        return TriggerResult.FIRE_AND_PURGE if time == window.max_timestamp() else TriggerResult.CONTINUE

    def on_merge(self, window: GlobalWindow, ctx: Trigger.OnMergeContext) -> None:
        """Do nothing: there is only one window."""

    def clear(self, window: GlobalWindow, ctx: Trigger.TriggerContext) -> None:
        """Take back the timer."""
        ctx.delete_event_time_timer(window.max_timestamp())

    def __repr__(self) -> str:
        return "EndOfStreamTrigger()"
