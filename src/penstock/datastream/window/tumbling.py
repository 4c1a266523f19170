"""Windows of one size that follow each other without gaps; owns neither clock nor content."""

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

__all__ = ["TumblingEventTimeWindows", "TumblingProcessingTimeWindows"]

T = TypeVar("T")


class TumblingEventTimeWindows(WindowAssigner[T, TimeWindow]):
    """Puts each element into the one window that holds its timestamp."""

    def __init__(self, size: Length, offset: Length | None) -> None:
        self.size = positive_millis(size, "TumblingEventTimeWindows", "size")
        self.offset = checked_offset(offset, self.size, "TumblingEventTimeWindows", "size")

    @staticmethod
    def of(size: Length, offset: Length | None = None) -> TumblingEventTimeWindows[Any]:
        """Return windows of this size that start at multiples of it, shifted by the offset."""
        return TumblingEventTimeWindows(size, offset)

    def assign_windows(
        self, element: T, timestamp: int | None, context: WindowAssigner.WindowAssignerContext
    ) -> list[TimeWindow]:
        """Return the window of the timestamp."""
        time = checked_timestamp(timestamp, "TumblingEventTimeWindows")
        start = time - (time - self.offset) % self.size
        return [TimeWindow(start, start + self.size)]

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
        return f"TumblingEventTimeWindows({self.size}, {self.offset})"


class TumblingProcessingTimeWindows(WindowAssigner[T, TimeWindow]):
    """Puts each element into the one window that holds the present."""

    def __init__(self, size: Length, offset: Length | None) -> None:
        self.size = positive_millis(size, "TumblingProcessingTimeWindows", "size")
        self.offset = checked_offset(offset, self.size, "TumblingProcessingTimeWindows", "size")

    @staticmethod
    def of(size: Length, offset: Length | None = None) -> TumblingProcessingTimeWindows[Any]:
        """Return windows of this size that start at multiples of it, shifted by the offset."""
        return TumblingProcessingTimeWindows(size, offset)

    def assign_windows(
        self, element: T, timestamp: int | None, context: WindowAssigner.WindowAssignerContext
    ) -> list[TimeWindow]:
        """Return the window of the present."""
        now = context.get_current_processing_time()
        start = now - (now - self.offset) % self.size
        return [TimeWindow(start, start + self.size)]

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
        return f"TumblingProcessingTimeWindows({self.size}, {self.offset})"
