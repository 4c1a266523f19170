"""Windows of one size that follow each other without gaps."""

from __future__ import annotations

from typing import Any

from penstock.common.type_variables import T
from penstock.vocabulary.window.durations import Length, checked_offset, positive_millis
from penstock.vocabulary.window.pane_grid import PaneGrid, start_of
from penstock.vocabulary.window.time_assigners import ByEventTime, ByProcessingTime, TimeWindowAssigner
from penstock.vocabulary.window.windows import TimeWindow

__all__ = ["TumblingEventTimeWindows", "TumblingProcessingTimeWindows"]


class _TumblingWindows(TimeWindowAssigner[T]):
    """Puts each element into the one window that holds its time."""

    assigns_one_window = True
    ignores_elements = True

    def __init__(self, size: Length, offset: Length | None) -> None:
        owner = type(self).__name__
        self.size = positive_millis(size, owner, "size")
        self.offset = checked_offset(offset, self.size, owner, "size")

    def windows_at(self, time: int, element: T) -> list[TimeWindow]:
        """Return the window of the time."""
        start = start_of(time, self.size, self.offset)
        return [TimeWindow(start, start + self.size)]

    def pane_grid(self) -> PaneGrid:
        """Return the panes of the windows."""
        return PaneGrid.tumbling(self.size, self.offset)

    def __repr__(self) -> str:
        return f"{type(self).__name__}({self.size}, {self.offset})"


class TumblingEventTimeWindows(_TumblingWindows[T], ByEventTime[T]):
    """Puts each element into the one window that holds its timestamp."""

    state_identity = "TumblingEventTimeWindows"

    @staticmethod
    def of(size: Length, offset: Length | None = None) -> TumblingEventTimeWindows[Any]:
        """Return windows of this size that start at multiples of it, shifted by the offset."""
        return TumblingEventTimeWindows(size, offset)


class TumblingProcessingTimeWindows(_TumblingWindows[T], ByProcessingTime[T]):
    """Puts each element into the one window that holds the present."""

    state_identity = "TumblingProcessingTimeWindows"

    @staticmethod
    def of(size: Length, offset: Length | None = None) -> TumblingProcessingTimeWindows[Any]:
        """Return windows of this size that start at multiples of it, shifted by the offset."""
        return TumblingProcessingTimeWindows(size, offset)
