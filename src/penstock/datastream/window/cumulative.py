"""Windows that share a start and grow step by step to their largest size; owns neither clock nor content."""

from __future__ import annotations

from typing import Any, TypeVar

from penstock.common.serializer import TypeSerializer
from penstock.datastream.window.assigner import WindowAssigner
from penstock.datastream.window.durations import Length, checked_offset, checked_timestamp, positive_millis
from penstock.datastream.window.event_time_trigger import EventTimeTrigger
from penstock.datastream.window.processing_time_trigger import ProcessingTimeTrigger
from penstock.datastream.window.serializers import TimeWindowSerializer
from penstock.datastream.window.trigger import Trigger
from penstock.datastream.window.windows import TimeWindow
from penstock.errors import GraphError

__all__ = ["CumulativeEventTimeWindows", "CumulativeProcessingTimeWindows"]

T = TypeVar("T")


def _windows_at(time: int, size: int, step: int, offset: int) -> list[TimeWindow]:
    """All windows that hold the time, the shortest first."""
    since_start = (time - offset) % size
    start = time - since_start
    return [TimeWindow(start, start + length) for length in range(since_start // step * step + step, size + 1, step)]


def _checked_step(step: Length, size: int, owner: str) -> int:
    millis = positive_millis(step, owner, "step")
    if size % millis:
        raise GraphError(f"{owner}: the largest size must be a multiple of the step, got {size} ms and {millis} ms")
    return millis


class CumulativeEventTimeWindows(WindowAssigner[T, TimeWindow]):
    """Puts each element into every window of its cycle that ends after its timestamp."""

    def __init__(self, max_size: Length, step: Length, offset: Length | None = None) -> None:
        self.size = positive_millis(max_size, "CumulativeEventTimeWindows", "largest size")
        self.step = _checked_step(step, self.size, "CumulativeEventTimeWindows")
        self.offset = checked_offset(offset, self.size, "CumulativeEventTimeWindows", "largest size")

    @staticmethod
    def of(max_size: Length, step: Length, offset: Length | None = None) -> CumulativeEventTimeWindows[Any]:
        """Return windows that start at multiples of the largest size, shifted by the offset, and grow by the step."""
        return CumulativeEventTimeWindows(max_size, step, offset)

    def assign_windows(
        self, element: T, timestamp: int | None, context: WindowAssigner.WindowAssignerContext
    ) -> list[TimeWindow]:
        """Return the windows of the timestamp, the shortest first."""
        time = checked_timestamp(timestamp, "CumulativeEventTimeWindows")
        return _windows_at(time, self.size, self.step, self.offset)

    def get_default_trigger(self, env: Any) -> Trigger[T, TimeWindow]:
        """Return an `EventTimeTrigger`."""
        return EventTimeTrigger()

    def get_window_serializer(self) -> TypeSerializer[TimeWindow]:
        """Return how time windows are written."""
        return TimeWindowSerializer()

    def is_event_time(self) -> bool:
        """Return True."""
        return True

    def __repr__(self) -> str:
        return f"CumulativeEventTimeWindows({self.size}, {self.step}, {self.offset})"


class CumulativeProcessingTimeWindows(WindowAssigner[T, TimeWindow]):
    """Puts each element into every window of the present cycle that has not ended."""

    def __init__(self, max_size: Length, step: Length, offset: Length | None = None) -> None:
        self.size = positive_millis(max_size, "CumulativeProcessingTimeWindows", "largest size")
        self.step = _checked_step(step, self.size, "CumulativeProcessingTimeWindows")
        self.offset = checked_offset(offset, self.size, "CumulativeProcessingTimeWindows", "largest size")

    @staticmethod
    def of(max_size: Length, step: Length, offset: Length | None = None) -> CumulativeProcessingTimeWindows[Any]:
        """Return windows that start at multiples of the largest size, shifted by the offset, and grow by the step."""
        return CumulativeProcessingTimeWindows(max_size, step, offset)

    def assign_windows(
        self, element: T, timestamp: int | None, context: WindowAssigner.WindowAssignerContext
    ) -> list[TimeWindow]:
        """Return the windows of the present, the shortest first."""
        return _windows_at(context.get_current_processing_time(), self.size, self.step, self.offset)

    def get_default_trigger(self, env: Any) -> Trigger[T, TimeWindow]:
        """Return a `ProcessingTimeTrigger`."""
        return ProcessingTimeTrigger()

    def get_window_serializer(self) -> TypeSerializer[TimeWindow]:
        """Return how time windows are written."""
        return TimeWindowSerializer()

    def is_event_time(self) -> bool:
        """Return False."""
        return False

    def __repr__(self) -> str:
        return f"CumulativeProcessingTimeWindows({self.size}, {self.step}, {self.offset})"
