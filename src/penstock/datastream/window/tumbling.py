"""Windows of one size that follow each other without gaps; owns neither clock nor content."""

from __future__ import annotations

from typing import Any, TypeVar

from penstock.datastream.window.durations import Length, checked_offset, positive_millis
from penstock.datastream.window.time_assigners import ByEventTime, ByProcessingTime, TimeWindowAssigner
from penstock.datastream.window.windows import TimeWindow

__all__ = ["TumblingEventTimeWindows", "TumblingProcessingTimeWindows"]

T = TypeVar("T")


class _TumblingWindows(TimeWindowAssigner[T]):
    """Puts each element into the one window that holds its time."""

    def __init__(self, size: Length, offset: Length | None) -> None:
        owner = type(self).__name__
        self.size = positive_millis(size, owner, "size")
        self.offset = checked_offset(offset, self.size, owner, "size")

    def windows_at(self, time: int, element: T) -> list[TimeWindow]:
        """Return the window of the time."""
        start = time - (time - self.offset) % self.size
        return [TimeWindow(start, start + self.size)]

    def __repr__(self) -> str:
        return f"{type(self).__name__}({self.size}, {self.offset})"


class TumblingEventTimeWindows(_TumblingWindows[T], ByEventTime[T]):
    """Puts each element into the one window that holds its timestamp."""

    @staticmethod
    def of(size: Length, offset: Length | None = None) -> TumblingEventTimeWindows[Any]:
        """Return windows of this size that start at multiples of it, shifted by the offset."""
        return TumblingEventTimeWindows(size, offset)


class TumblingProcessingTimeWindows(_TumblingWindows[T], ByProcessingTime[T]):
    """Puts each element into the one window that holds the present."""

    @staticmethod
    def of(size: Length, offset: Length | None = None) -> TumblingProcessingTimeWindows[Any]:
        """Return windows of this size that start at multiples of it, shifted by the offset."""
        return TumblingProcessingTimeWindows(size, offset)
