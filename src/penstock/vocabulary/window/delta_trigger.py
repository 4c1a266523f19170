"""`DeltaTrigger`: fires when an element is too far from that of the last firing."""

from __future__ import annotations

from typing import Any, overload

from penstock.common.type_variables import T
from penstock.common.typeinfo import TypeInformation
from penstock.errors import StateError
from penstock.vocabulary.state import ValueStateDescriptor
from penstock.vocabulary.window.delta_function import DeltaFunction, Distance, checked_threshold, distance_of
from penstock.vocabulary.window.trigger import Trigger, TriggerResult
from penstock.vocabulary.window.windows import Window

__all__ = ["DeltaTrigger"]


class DeltaTrigger(Trigger[T, Window]):
    """Fires when the distance from the element of the last firing (at first: the first element) exceeds a threshold."""

    state_identity = "DeltaTrigger"

    def __init__(
        self, threshold: float, delta_function: DeltaFunction[T] | Distance[T], type_info: TypeInformation | None = None
    ) -> None:
        self.threshold = checked_threshold(threshold, "DeltaTrigger")
        self._distance = distance_of(delta_function, "DeltaTrigger")
        self._last_element = ValueStateDescriptor("last-element", type_info)

    @overload
    @staticmethod
    def of(
        threshold: float, delta_function: DeltaFunction[T], type_info: TypeInformation | None = None
    ) -> DeltaTrigger[T]: ...

    @overload
    @staticmethod
    def of(
        threshold: float, delta_function: Distance[Any], type_info: TypeInformation | None = None
    ) -> DeltaTrigger[Any]: ...

    @staticmethod
    def of(
        threshold: float, delta_function: DeltaFunction[Any] | Distance[Any], type_info: TypeInformation | None = None
    ) -> DeltaTrigger[Any]:
        """Return a trigger with this threshold and measure; the type is that of the elements."""
        return DeltaTrigger(threshold, delta_function, type_info)

    def on_element(
        self, element: T, timestamp: int | None, window: Window, ctx: Trigger.TriggerContext
    ) -> TriggerResult:
        """Compare the element with the remembered one, and remember it if it is the first or fires."""
        remembered = ctx.get_partitioned_state(self._last_element)
        last = remembered.value()
        if last is None:
            remembered.update(element)
            return TriggerResult.CONTINUE
        if self._distance(last, element) > self.threshold:
            remembered.update(element)
            return TriggerResult.FIRE
        return TriggerResult.CONTINUE

    def on_processing_time(self, time: int, window: Window, ctx: Trigger.TriggerContext) -> TriggerResult:
        """Ignore the clock."""
        return TriggerResult.CONTINUE

    def on_event_time(self, time: int, window: Window, ctx: Trigger.TriggerContext) -> TriggerResult:
        """Ignore the watermark."""
        return TriggerResult.CONTINUE

    def on_merge(self, window: Window, ctx: Trigger.OnMergeContext) -> None:
        """Refuse, as Flink does: of several remembered elements none is the right one."""
        raise StateError(
            "DeltaTrigger cannot be used with windows that merge, such as sessions: choose another trigger"
        )

    def clear(self, window: Window, ctx: Trigger.TriggerContext) -> None:
        """Forget the remembered element."""
        ctx.get_partitioned_state(self._last_element).clear()

    def __repr__(self) -> str:
        return f"DeltaTrigger({self.threshold})"
