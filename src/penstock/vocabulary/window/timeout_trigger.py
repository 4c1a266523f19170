"""`ProcessingTimeoutTrigger`: makes another trigger fire when too much time passed."""

from __future__ import annotations

from typing import Any

from penstock.common.type_variables import T
from penstock.common.typeinfo import Types
from penstock.errors import GraphError
from penstock.vocabulary.state import ReducingStateDescriptor
from penstock.vocabulary.window.continuous_triggers import Min
from penstock.vocabulary.window.durations import Length, positive_millis
from penstock.vocabulary.window.trigger import Trigger, TriggerResult
from penstock.vocabulary.window.windows import Window

__all__ = ["ProcessingTimeoutTrigger"]


class ProcessingTimeoutTrigger(Trigger[T, Window]):
    """Fires when the nested trigger does, or when the timeout since the first (or latest) element has passed."""

    state_identity = "ProcessingTimeoutTrigger"

    def __init__(
        self,
        nested_trigger: Trigger[T, Any],
        timeout: Length,
        reset_on_new_record: bool = False,
        clear_on_timeout: bool = True,
    ) -> None:
        if not isinstance(nested_trigger, Trigger):
            raise GraphError(f"ProcessingTimeoutTrigger.of takes a trigger, got {type(nested_trigger).__name__}")
        self.nested_trigger = nested_trigger
        self.timeout = positive_millis(timeout, "ProcessingTimeoutTrigger", "timeout")
        self.reset_on_new_record = reset_on_new_record
        self.clear_on_timeout = clear_on_timeout
        self._deadline = ReducingStateDescriptor("timeout", Min(), Types.LONG())

    @staticmethod
    def of(
        nested_trigger: Trigger[T, Any],
        timeout: Length,
        reset_on_new_record: bool = False,
        clear_on_timeout: bool = True,
    ) -> ProcessingTimeoutTrigger[T]:
        """Add a timeout to a trigger: from the first element of a firing on, or anew from each element.

        `clear_on_timeout` clears the nested trigger when the timeout makes the window fire.
        """
        return ProcessingTimeoutTrigger(nested_trigger, timeout, reset_on_new_record, clear_on_timeout)

    def on_element(
        self, element: T, timestamp: int | None, window: Window, ctx: Trigger.TriggerContext
    ) -> TriggerResult:
        """Ask the nested trigger; as long as it does not fire, let the timeout run."""
        result = self.nested_trigger.on_element(element, timestamp, window, ctx)
        if result.is_fire():
            self.clear(window, ctx)
            return result
        deadline = ctx.get_partitioned_state(self._deadline)
        planned = deadline.get()
        if planned is not None and self.reset_on_new_record:
            ctx.delete_processing_time_timer(planned)
            deadline.clear()
            planned = None
        if planned is None:
            planned = ctx.get_current_processing_time() + self.timeout
            deadline.add(planned)
            ctx.register_processing_time_timer(planned)
        return result

    def on_processing_time(self, time: int, window: Window, ctx: Trigger.TriggerContext) -> TriggerResult:
        """Fire: the timeout has passed, or the nested trigger is due."""
        return self._fire(self.nested_trigger.on_processing_time(time, window, ctx), window, ctx)

    def on_event_time(self, time: int, window: Window, ctx: Trigger.TriggerContext) -> TriggerResult:
        """Fire, as Flink does for any event-time timer."""
        return self._fire(self.nested_trigger.on_event_time(time, window, ctx), window, ctx)

    def can_merge(self) -> bool:
        """Return whether the nested trigger can; Flink always refuses."""
        return self.nested_trigger.can_merge()

    def on_merge(self, window: Window, ctx: Trigger.OnMergeContext) -> None:
        """Merge the nested trigger, and go on with the earliest timeout."""
        self.nested_trigger.on_merge(window, ctx)
        ctx.merge_partitioned_state(self._deadline)
        planned = ctx.get_partitioned_state(self._deadline).get()
        if planned is not None:
            ctx.register_processing_time_timer(planned)

    def clear(self, window: Window, ctx: Trigger.TriggerContext) -> None:
        """Take back the timeout and clear the nested trigger."""
        deadline = ctx.get_partitioned_state(self._deadline)
        planned = deadline.get()
        if planned is not None:
            ctx.delete_processing_time_timer(planned)
            deadline.clear()
        self.nested_trigger.clear(window, ctx)

    def _fire(self, nested: TriggerResult, window: Window, ctx: Trigger.TriggerContext) -> TriggerResult:
        if self.clear_on_timeout:
            self.clear(window, ctx)
        return TriggerResult.FIRE_AND_PURGE if nested.is_purge() else TriggerResult.FIRE

    def __repr__(self) -> str:
        return f"ProcessingTimeoutTrigger({self.nested_trigger!r}, {self.timeout} ms)"
