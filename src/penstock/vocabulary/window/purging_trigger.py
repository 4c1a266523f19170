"""`PurgingTrigger`: makes another trigger drop the content whenever it fires."""

from __future__ import annotations

from typing import Any

from penstock.common.type_variables import T
from penstock.errors import GraphError
from penstock.vocabulary.window.trigger import Trigger, TriggerResult
from penstock.vocabulary.window.windows import Window

__all__ = ["PurgingTrigger"]


class PurgingTrigger(Trigger[T, Window]):
    """Does what the nested trigger does, but drops the content of the window with every firing."""

    state_identity = "PurgingTrigger"

    def __init__(self, nested_trigger: Trigger[T, Any]) -> None:
        if not isinstance(nested_trigger, Trigger):
            raise GraphError(f"PurgingTrigger.of takes a trigger, got {type(nested_trigger).__name__}")
        self.nested_trigger = nested_trigger

    @staticmethod
    def of(nested_trigger: Trigger[T, Any]) -> PurgingTrigger[T]:
        """Return a purging version of a trigger."""
        return PurgingTrigger(nested_trigger)

    def on_element(
        self, element: T, timestamp: int | None, window: Window, ctx: Trigger.TriggerContext
    ) -> TriggerResult:
        """Ask the nested trigger."""
        return _purging(self.nested_trigger.on_element(element, timestamp, window, ctx))

    def on_event_time(self, time: int, window: Window, ctx: Trigger.TriggerContext) -> TriggerResult:
        """Ask the nested trigger."""
        return _purging(self.nested_trigger.on_event_time(time, window, ctx))

    def on_processing_time(self, time: int, window: Window, ctx: Trigger.TriggerContext) -> TriggerResult:
        """Ask the nested trigger."""
        return _purging(self.nested_trigger.on_processing_time(time, window, ctx))

    def clear(self, window: Window, ctx: Trigger.TriggerContext) -> None:
        """Clear the nested trigger."""
        self.nested_trigger.clear(window, ctx)

    def can_merge(self) -> bool:
        """Return whether the nested trigger can."""
        return self.nested_trigger.can_merge()

    def on_merge(self, window: Window, ctx: Trigger.OnMergeContext) -> None:
        """Merge the nested trigger."""
        self.nested_trigger.on_merge(window, ctx)

    def __repr__(self) -> str:
        return f"PurgingTrigger({self.nested_trigger!r})"


def _purging(result: TriggerResult) -> TriggerResult:
    return TriggerResult.FIRE_AND_PURGE if result is TriggerResult.FIRE else result
