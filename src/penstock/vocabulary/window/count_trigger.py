"""`CountTrigger`: fires when a number of elements came."""

from __future__ import annotations

import operator
from typing import Any

from penstock.common.type_variables import T
from penstock.common.typeinfo import Types
from penstock.errors import GraphError
from penstock.vocabulary.state import ReducingStateDescriptor
from penstock.vocabulary.window.trigger import Trigger, TriggerResult
from penstock.vocabulary.window.windows import Window

__all__ = ["CountTrigger"]


class CountTrigger(Trigger[T, Window]):
    """Fires every time this many elements have been added to the window."""

    state_identity = "CountTrigger"

    ignores_elements = True

    def __init__(self, window_size: int) -> None:
        if isinstance(window_size, bool) or not isinstance(window_size, int) or window_size <= 0:
            raise GraphError(
                f"CountTrigger: the number of elements must be a positive whole number, got {window_size!r}"
            )
        self.window_size = window_size
        self._count = ReducingStateDescriptor("count", operator.add, Types.LONG())

    @staticmethod
    def of(window_size: int) -> CountTrigger[Any]:
        """Return a trigger that fires at this number of elements."""
        return CountTrigger(window_size)

    def on_element(
        self, element: T, timestamp: int | None, window: Window, ctx: Trigger.TriggerContext
    ) -> TriggerResult:
        """Count the element, and fire if the count is reached."""
        count = ctx.get_partitioned_state(self._count)
        count.add(1)
        if count.get() < self.window_size:  # type: ignore[operator]  # one has just been counted
            return TriggerResult.CONTINUE
        count.clear()
        return TriggerResult.FIRE

    def on_processing_time(self, time: int, window: Window, ctx: Trigger.TriggerContext) -> TriggerResult:
        """Ignore the clock."""
        return TriggerResult.CONTINUE

    def on_event_time(self, time: int, window: Window, ctx: Trigger.TriggerContext) -> TriggerResult:
        """Ignore the watermark."""
        return TriggerResult.CONTINUE

    def can_merge(self) -> bool:
        """Return True."""
        return True

    def on_merge(self, window: Window, ctx: Trigger.OnMergeContext) -> None:
        """Add up the counts; the element that made the windows merge looks at the sum."""
        ctx.merge_partitioned_state(self._count)

    def clear(self, window: Window, ctx: Trigger.TriggerContext) -> None:
        """Forget the count."""
        ctx.get_partitioned_state(self._count).clear()

    def __repr__(self) -> str:
        return f"CountTrigger({self.window_size})"
