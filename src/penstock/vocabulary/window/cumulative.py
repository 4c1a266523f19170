"""Windows that share a start and grow step by step to their largest size."""

from __future__ import annotations

from typing import Any

from penstock.common.type_variables import T
from penstock.errors import GraphError
from penstock.vocabulary.window.durations import Length, checked_offset, positive_millis
from penstock.vocabulary.window.pane_grid import PaneGrid, start_of
from penstock.vocabulary.window.time_assigners import ByEventTime, ByProcessingTime, TimeWindowAssigner
from penstock.vocabulary.window.windows import TimeWindow

__all__ = ["CumulativeEventTimeWindows", "CumulativeProcessingTimeWindows"]


class _CumulativeWindows(TimeWindowAssigner[T]):
    """Puts each element into every window of its cycle that ends after its time."""

    ignores_elements = True

    def __init__(self, max_size: Length, step: Length, offset: Length | None = None) -> None:
        owner = type(self).__name__
        self.size = positive_millis(max_size, owner, "largest size")
        self.step = positive_millis(step, owner, "step")
        if self.size % self.step:
            raise GraphError(
                f"{owner}: the largest size must be a multiple of the step, got {self.size} ms and {self.step} ms"
            )
        self.offset = checked_offset(offset, self.size, owner, "largest size")

    def windows_at(self, time: int, element: T) -> list[TimeWindow]:
        """Return the windows that hold the time, the shortest first."""
        step = self.step
        start = start_of(time, self.size, self.offset)
        lengths = range((time - start) // step * step + step, self.size + 1, step)
        return [TimeWindow(start, start + length) for length in lengths]

    def pane_grid(self) -> PaneGrid:
        """Return the panes of the windows."""
        return PaneGrid.cumulative(self.step, self.offset)

    def __repr__(self) -> str:
        return f"{type(self).__name__}({self.size}, {self.step}, {self.offset})"


class CumulativeEventTimeWindows(_CumulativeWindows[T], ByEventTime[T]):
    """Puts each element into every window of its cycle that ends after its timestamp."""

    state_identity = "CumulativeEventTimeWindows"

    @staticmethod
    def of(max_size: Length, step: Length, offset: Length | None = None) -> CumulativeEventTimeWindows[Any]:
        """Return windows that start at multiples of the largest size, shifted by the offset, and grow by the step."""
        return CumulativeEventTimeWindows(max_size, step, offset)


class CumulativeProcessingTimeWindows(_CumulativeWindows[T], ByProcessingTime[T]):
    """Puts each element into every window of the present cycle that has not ended."""

    state_identity = "CumulativeProcessingTimeWindows"

    @staticmethod
    def of(max_size: Length, step: Length, offset: Length | None = None) -> CumulativeProcessingTimeWindows[Any]:
        """Return windows that start at multiples of the largest size, shifted by the offset, and grow by the step."""
        return CumulativeProcessingTimeWindows(max_size, step, offset)
