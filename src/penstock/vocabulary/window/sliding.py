"""Windows of one size that start in regular steps, so that they overlap."""

from __future__ import annotations

from typing import Any

from penstock.common.type_variables import T
from penstock.vocabulary.window.durations import Length, checked_offset, positive_millis
from penstock.vocabulary.window.pane_grid import PaneGrid, SlidingPaneGrid, start_of
from penstock.vocabulary.window.time_assigners import ByEventTime, ByProcessingTime, TimeWindowAssigner
from penstock.vocabulary.window.windows import TimeWindow

__all__ = ["SlidingEventTimeWindows", "SlidingProcessingTimeWindows"]


class _SlidingWindows(TimeWindowAssigner[T]):
    """Puts each element into every window that holds its time."""

    ignores_elements = True

    def __init__(self, size: Length, slide: Length, offset: Length | None) -> None:
        owner = type(self).__name__
        self.size = positive_millis(size, owner, "size")
        self.slide = positive_millis(slide, owner, "slide")
        self.offset = checked_offset(offset, self.slide, owner, "slide")

    def windows_at(self, time: int, element: T) -> list[TimeWindow]:
        """Return the windows that hold the time, the latest first as in Flink; none if it falls between windows."""
        size, slide = self.size, self.slide
        latest = start_of(time, slide, self.offset)
        return [TimeWindow(start, start + size) for start in range(latest, time - size, -slide)]

    def pane_grid(self) -> SlidingPaneGrid:
        """Return the panes of the windows."""
        return PaneGrid.sliding(self.size, self.slide, self.offset)

    def __repr__(self) -> str:
        return f"{type(self).__name__}({self.size}, {self.slide}, {self.offset})"


class SlidingEventTimeWindows(_SlidingWindows[T], ByEventTime[T]):
    """Puts each element into every window that holds its timestamp."""

    state_identity = "SlidingEventTimeWindows"

    @staticmethod
    def of(size: Length, slide: Length, offset: Length | None = None) -> SlidingEventTimeWindows[Any]:
        """Return windows of this size that start at multiples of the slide, shifted by the offset."""
        return SlidingEventTimeWindows(size, slide, offset)


class SlidingProcessingTimeWindows(_SlidingWindows[T], ByProcessingTime[T]):
    """Puts each element into every window that holds the present."""

    state_identity = "SlidingProcessingTimeWindows"

    @staticmethod
    def of(size: Length, slide: Length, offset: Length | None = None) -> SlidingProcessingTimeWindows[Any]:
        """Return windows of this size that start at multiples of the slide, shifted by the offset."""
        return SlidingProcessingTimeWindows(size, slide, offset)
