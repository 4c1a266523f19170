"""What assigners of time windows share: which time an element is put by, and what follows from that."""

from __future__ import annotations

from abc import abstractmethod
from typing import Any

from penstock.common.serializer import TypeSerializer
from penstock.common.type_variables import T
from penstock.vocabulary.window.assigner import WindowAssigner
from penstock.vocabulary.window.durations import checked_timestamp
from penstock.vocabulary.window.event_time_trigger import EventTimeTrigger
from penstock.vocabulary.window.processing_time_trigger import ProcessingTimeTrigger
from penstock.vocabulary.window.serializers import TimeWindowSerializer
from penstock.vocabulary.window.trigger import Trigger
from penstock.vocabulary.window.windows import TimeWindow

__all__ = ["ByEventTime", "ByProcessingTime", "TimeWindowAssigner"]


class TimeWindowAssigner(WindowAssigner[T, TimeWindow]):
    """Puts elements into time windows by one kind of time."""

    @abstractmethod
    def time_of(self, timestamp: int | None, context: WindowAssigner.WindowAssignerContext) -> int:
        """Return the time that an element is put by."""

    @abstractmethod
    def windows_at(self, time: int, element: T) -> list[TimeWindow]:
        """Return the windows of an element that is put by this time."""

    def assign_windows(
        self, element: T, timestamp: int | None, context: WindowAssigner.WindowAssignerContext
    ) -> list[TimeWindow]:
        """Return the windows of the element."""
        return self.windows_at(self.time_of(timestamp, context), element)

    def get_window_serializer(self) -> TypeSerializer[TimeWindow]:
        """Return how time windows are written."""
        return TimeWindowSerializer()


class ByEventTime(TimeWindowAssigner[T]):
    """Elements are put by their timestamp."""

    def time_of(self, timestamp: int | None, context: WindowAssigner.WindowAssignerContext) -> int:
        """Return the timestamp; an element that has none is an error."""
        return checked_timestamp(timestamp, type(self).__name__)

    def get_default_trigger(self, env: Any) -> Trigger[T, TimeWindow]:
        """Return an `EventTimeTrigger`."""
        return EventTimeTrigger()

    def is_event_time(self) -> bool:
        """Return True."""
        return True


class ByProcessingTime(TimeWindowAssigner[T]):
    """Elements are put by the clock."""

    def time_of(self, timestamp: int | None, context: WindowAssigner.WindowAssignerContext) -> int:
        """Return the present."""
        return context.get_current_processing_time()

    def get_default_trigger(self, env: Any) -> Trigger[T, TimeWindow]:
        """Return a `ProcessingTimeTrigger`."""
        return ProcessingTimeTrigger()

    def is_event_time(self) -> bool:
        """Return False."""
        return False
