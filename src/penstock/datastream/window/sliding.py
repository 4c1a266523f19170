"""Windows of one size that start in regular steps, so that they overlap; owns neither clock nor content."""

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

__all__ = ["SlidingEventTimeWindows", "SlidingProcessingTimeWindows"]

T = TypeVar("T")


def _windows_at(time: int, size: int, slide: int, offset: int) -> list[TimeWindow]:
    """All windows that hold the time, the latest first as in Flink; none if it falls between windows."""
    latest = time - (time - offset) % slide
    return [TimeWindow(start, start + size) for start in range(latest, time - size, -slide)]


class SlidingEventTimeWindows(WindowAssigner[T, TimeWindow]):
    """Puts each element into every window that holds its timestamp."""

    def __init__(self, size: Length, slide: Length, offset: Length | None) -> None:
        self.size = positive_millis(size, "SlidingEventTimeWindows", "size")
        self.slide = positive_millis(slide, "SlidingEventTimeWindows", "slide")
        self.offset = checked_offset(offset, self.slide, "SlidingEventTimeWindows", "slide")

    @staticmethod
    def of(size: Length, slide: Length, offset: Length | None = None) -> SlidingEventTimeWindows[Any]:
        """Return windows of this size that start at multiples of the slide, shifted by the offset."""
        return SlidingEventTimeWindows(size, slide, offset)

    def assign_windows(
        self, element: T, timestamp: int | None, context: WindowAssigner.WindowAssignerContext
    ) -> list[TimeWindow]:
        """Return the windows of the timestamp, the latest first."""
        time = checked_timestamp(timestamp, "SlidingEventTimeWindows")
        return _windows_at(time, self.size, self.slide, self.offset)

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
        return f"SlidingEventTimeWindows({self.size}, {self.slide}, {self.offset})"


class SlidingProcessingTimeWindows(WindowAssigner[T, TimeWindow]):
    """Puts each element into every window that holds the present."""

    def __init__(self, size: Length, slide: Length, offset: Length | None) -> None:
        self.size = positive_millis(size, "SlidingProcessingTimeWindows", "size")
        self.slide = positive_millis(slide, "SlidingProcessingTimeWindows", "slide")
        self.offset = checked_offset(offset, self.slide, "SlidingProcessingTimeWindows", "slide")

    @staticmethod
    def of(size: Length, slide: Length, offset: Length | None = None) -> SlidingProcessingTimeWindows[Any]:
        """Return windows of this size that start at multiples of the slide, shifted by the offset."""
        return SlidingProcessingTimeWindows(size, slide, offset)

    def assign_windows(
        self, element: T, timestamp: int | None, context: WindowAssigner.WindowAssignerContext
    ) -> list[TimeWindow]:
        """Return the windows of the present, the latest first."""
        return _windows_at(context.get_current_processing_time(), self.size, self.slide, self.offset)

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
        return f"SlidingProcessingTimeWindows({self.size}, {self.slide}, {self.offset})"
