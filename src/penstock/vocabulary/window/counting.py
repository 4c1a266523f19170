"""Windows made of a number of elements of a key, counted in keyed state."""

from __future__ import annotations

from typing import Any

from penstock.common.serializer import TypeSerializer
from penstock.common.type_variables import T
from penstock.common.typeinfo import Types
from penstock.errors import GraphError
from penstock.vocabulary.state import ValueStateDescriptor
from penstock.vocabulary.window.assigner import WindowAssigner
from penstock.vocabulary.window.count_trigger import CountTrigger
from penstock.vocabulary.window.purging_trigger import PurgingTrigger
from penstock.vocabulary.window.serializers import CountWindowSerializer
from penstock.vocabulary.window.trigger import Trigger
from penstock.vocabulary.window.windows import CountWindow

__all__ = ["CountSlidingWindowAssigner", "CountTumblingWindowAssigner"]


def _checked_count(count: int, owner: str, what: str) -> int:
    if isinstance(count, bool) or not isinstance(count, int) or count <= 0:
        raise GraphError(f"{owner}: the {what} must be a positive whole number of elements, got {count!r}")
    return count


def _next_number(descriptor: ValueStateDescriptor, context: WindowAssigner.WindowAssignerContext) -> int:
    """The number of the present element among those of its key, from 0."""
    counter = context.get_runtime_context().get_state(descriptor)
    number: int = counter.value() or 0
    counter.update(number + 1)
    return number


class CountTumblingWindowAssigner(WindowAssigner[T, CountWindow]):
    """Groups the elements of a key by `size`; an incomplete group never fires."""

    state_identity = "CountTumblingWindowAssigner"

    assigns_one_window = True
    ignores_elements = True

    def __init__(self, window_size: int) -> None:
        self.window_size = _checked_count(window_size, "CountTumblingWindowAssigner", "size")
        self._counter = ValueStateDescriptor("tumble-count-assigner", Types.LONG())

    @staticmethod
    def of(window_size: int) -> CountTumblingWindowAssigner[Any]:
        """Return windows of this many elements."""
        return CountTumblingWindowAssigner(window_size)

    def assign_windows(
        self, element: T, timestamp: int | None, context: WindowAssigner.WindowAssignerContext
    ) -> list[CountWindow]:
        """Count the element and return its window."""
        return [CountWindow(_next_number(self._counter, context) // self.window_size)]

    def get_default_trigger(self, env: Any) -> Trigger[T, CountWindow]:
        """Return a trigger that fires the full window and frees its content."""
        return _full_window(self.window_size)

    def get_window_serializer(self) -> TypeSerializer[CountWindow]:
        """Return how count windows are written."""
        return CountWindowSerializer()

    def is_event_time(self) -> bool:
        """Return False."""
        return False

    def __repr__(self) -> str:
        return f"CountTumblingWindowAssigner({self.window_size})"


class CountSlidingWindowAssigner(WindowAssigner[T, CountWindow]):
    """Starts a window every `window_slide` elements of a key; only full windows fire."""

    state_identity = "CountSlidingWindowAssigner"

    ignores_elements = True

    def __init__(self, window_size: int, window_slide: int) -> None:
        self.window_size = _checked_count(window_size, "CountSlidingWindowAssigner", "size")
        self.window_slide = _checked_count(window_slide, "CountSlidingWindowAssigner", "slide")
        self._counter = ValueStateDescriptor("slide-count-assigner", Types.LONG())

    @staticmethod
    def of(window_size: int, window_slide: int) -> CountSlidingWindowAssigner[Any]:
        """Return windows of `window_size` elements that start every `window_slide` elements."""
        return CountSlidingWindowAssigner(window_size, window_slide)

    def assign_windows(
        self, element: T, timestamp: int | None, context: WindowAssigner.WindowAssignerContext
    ) -> list[CountWindow]:
        """Count the element and return its windows, the latest first; none if it falls between windows."""
        number = _next_number(self._counter, context)
        latest = number // self.window_slide
        # The earliest window that still holds the element is the first that ends after it.
        earliest = max(0, (number - self.window_size) // self.window_slide + 1)
        return [CountWindow(window_id) for window_id in range(latest, earliest - 1, -1)]

    def get_default_trigger(self, env: Any) -> Trigger[T, CountWindow]:
        """Return a trigger that fires the full window and frees its content."""
        return _full_window(self.window_size)

    def get_window_serializer(self) -> TypeSerializer[CountWindow]:
        """Return how count windows are written."""
        return CountWindowSerializer()

    def is_event_time(self) -> bool:
        """Return False."""
        return False

    def __repr__(self) -> str:
        return f"CountSlidingWindowAssigner({self.window_size}, {self.window_slide})"


def _full_window(size: int) -> Trigger[Any, Any]:
    # Flink's only fires. No more elements come into a full window and it has no end in time, so nothing else frees it.
    return PurgingTrigger.of(CountTrigger.of(size))
