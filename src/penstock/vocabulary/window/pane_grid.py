"""Panes: spans of time whose elements all go to the same windows, and when those windows end."""

from __future__ import annotations

import math
from collections.abc import Iterable
from dataclasses import dataclass
from typing import Any

from penstock.common.constants import MIN_WATERMARK

__all__ = ["PaneGrid", "SlidingPaneGrid", "start_of"]


def start_of(time: int, width: int, offset: int) -> int:
    """Return the start of the stretch of that width which holds the time; stretches are counted from the offset."""
    return time - (time - offset) % width


@dataclass(frozen=True)
class PaneGrid:
    """The panes of an assigner: each is `width` milliseconds long, counted from `offset`.

    Windows end every `end_every` milliseconds, counted from `end_from`; no pane straddles the end of a window. With
    `is_window` a pane is a window. With `has_gaps` there are panes that belong to no window.
    """

    width: int
    offset: int
    end_every: int
    end_from: int
    is_window: bool = False
    has_gaps: bool = False

    @staticmethod
    def tumbling(size: int, offset: int) -> PaneGrid:
        """Return the panes of windows that follow each other: each is a pane."""
        return PaneGrid(size, offset, size, offset, is_window=True)

    @staticmethod
    def sliding(size: int, slide: int, offset: int) -> SlidingPaneGrid:
        """Return the panes of windows of one size that start every `slide`."""
        width, has_gaps = math.gcd(size, slide), slide > size
        return SlidingPaneGrid(width, offset, slide, offset + size, has_gaps=has_gaps, size=size, slide=slide)

    @staticmethod
    def cumulative(step: int, offset: int) -> PaneGrid:
        """Return the panes of windows that grow by `step`."""
        return PaneGrid(step, offset, step, offset)

    def pane_of(self, time: int) -> int:
        """Return the start of the pane that holds the time."""
        return start_of(time, self.width, self.offset)

    def panes_of(self, times: Iterable[int]) -> list[int]:
        """Return the start of the pane of each time."""
        width, offset = self.width, self.offset
        return [time - (time - offset) % width for time in times]

    def panes_of_column(self, times: Any) -> Any:
        """Return the starts of the panes of an array of times, as an array."""
        return times - (times - self.offset) % self.width

    def open_from(self, watermark: int) -> int:
        """Return the time from which on an element is in no window that the watermark has passed."""
        # The lowest watermark, as a timestamp, stands for "none": such records go alone, to be refused with the others.
        return max(MIN_WATERMARK + 1, start_of(watermark + 1, self.end_every, self.end_from))


@dataclass(frozen=True)
class SlidingPaneGrid(PaneGrid):
    """The panes of windows of one `size` that start every `slide`; an end is the last timestamp of a window."""

    size: int = 0
    slide: int = 0

    def first_end(self, pane: int) -> int:
        """Return the end of the earliest window with the pane."""
        before = pane - self.size  # not `start_of`: this is asked for every key
        return before - (before - self.offset) % self.slide + self.slide + self.size - 1

    def last_end(self, pane: int) -> int:
        """Return the end of the latest window with the pane."""
        return pane - (pane - self.offset) % self.slide + self.size - 1

    def is_end(self, timestamp: int) -> bool:
        """Return whether a window has this end."""
        return (timestamp + 1 - self.end_from) % self.end_every == 0

    def next_end(self, pane: int, after: int) -> int | None:
        """Return the end of the earliest window with the pane that ends later than `after`; None if there is none."""
        first = self.first_end(pane)
        end = first if first > after else first + ((after - first) // self.slide + 1) * self.slide
        return end if end <= self.last_end(pane) else None

    def needed_from(self, timestamp: int) -> int:
        """Return the start of the earliest pane with a window that ends later than the timestamp."""
        return start_of(timestamp + 1 - self.size, self.slide, self.offset) + self.slide
