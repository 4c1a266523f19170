"""The kinds of windows as values: what they span and how they merge."""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections.abc import Iterable
from operator import attrgetter
from typing import TYPE_CHECKING, Any

from penstock.common.constants import MAX_WATERMARK
from penstock.common.user_pickles import name_in_pickles
from penstock.vocabulary.window.pane_grid import start_of

if TYPE_CHECKING:
    from penstock.vocabulary.window.assigner import MergingWindowAssigner

__all__ = ["CountWindow", "GlobalWindow", "TimeWindow", "Window"]

# The order of time windows, for sorting: a key is compared many times faster than `__lt__` is called.
_SPAN = attrgetter("start", "end")


class Window(ABC):
    """A finite group of elements."""

    __slots__ = ()

    @abstractmethod
    def max_timestamp(self) -> int:
        """Return the largest timestamp that still belongs to the window."""


class TimeWindow(Window):
    """An interval of time: from `start` (included) to `end` (excluded), in milliseconds."""

    __slots__ = ("end", "start")

    def __init__(self, start: int, end: int) -> None:
        self.start = start
        self.end = end

    def max_timestamp(self) -> int:
        """Return the last millisecond of the window."""
        return self.end - 1

    def intersects(self, other: TimeWindow) -> bool:
        """Return whether both windows overlap or touch each other."""
        return self.start <= other.end and self.end >= other.start

    def cover(self, other: TimeWindow) -> TimeWindow:
        """Return the smallest window that spans both."""
        return TimeWindow(min(self.start, other.start), max(self.end, other.end))

    @staticmethod
    def get_window_start_with_offset(timestamp: int, offset: int, window_size: int) -> int:
        """Return the start of the window of that size which holds the timestamp."""
        return start_of(timestamp, window_size, offset)

    @staticmethod
    def merge_windows(windows: Iterable[TimeWindow], callback: MergingWindowAssigner.MergeCallback[TimeWindow]) -> None:
        """Find the windows that overlap or touch, and tell the callback which become one."""
        groups: list[tuple[TimeWindow, list[TimeWindow]]] = []
        # Equal windows count once: Flink collects them in a set, and one window alone is not merged.
        for window in sorted(set(windows), key=_SPAN):
            if groups and groups[-1][0].intersects(window):
                span, members = groups[-1]
                members.append(window)
                groups[-1] = (span.cover(window), members)
            else:
                groups.append((window, [window]))
        for span, members in groups:
            if len(members) > 1:
                callback.merge(members, span)

    def __eq__(self, other: object) -> bool:
        return isinstance(other, TimeWindow) and self.start == other.start and self.end == other.end

    def __hash__(self) -> int:
        return hash((self.start, self.end))

    def __lt__(self, other: TimeWindow) -> bool:
        if not isinstance(other, TimeWindow):
            return NotImplemented
        return (self.start, self.end) < (other.start, other.end)

    def __le__(self, other: TimeWindow) -> bool:
        if not isinstance(other, TimeWindow):
            return NotImplemented
        return (self.start, self.end) <= (other.start, other.end)

    def __reduce__(self) -> tuple[Any, ...]:
        return TimeWindow, (self.start, self.end)

    def __repr__(self) -> str:
        return f"TimeWindow(start={self.start}, end={self.end})"


class CountWindow(Window):
    """A window made of a number of elements; `id` counts the windows of a key from 0."""

    __slots__ = ("id",)

    def __init__(self, id: int) -> None:
        self.id = id

    def max_timestamp(self) -> int:
        """Return the end of time: elements of any timestamp belong to it."""
        return MAX_WATERMARK

    def __eq__(self, other: object) -> bool:
        return isinstance(other, CountWindow) and self.id == other.id

    def __hash__(self) -> int:
        return hash((CountWindow, self.id))

    def __reduce__(self) -> tuple[Any, ...]:
        return CountWindow, (self.id,)

    def __repr__(self) -> str:
        return f"CountWindow(id={self.id})"


class GlobalWindow(Window):
    """The one window that holds all elements of a key."""

    __slots__ = ()

    @staticmethod
    def get() -> GlobalWindow:
        """Return the window; all its instances are equal."""
        return _THE_GLOBAL_WINDOW

    def max_timestamp(self) -> int:
        """Return the end of time."""
        return MAX_WATERMARK

    def __eq__(self, other: object) -> bool:
        return isinstance(other, GlobalWindow)

    def __hash__(self) -> int:
        return hash(GlobalWindow)

    def __repr__(self) -> str:
        return "GlobalWindow()"


_THE_GLOBAL_WINDOW = GlobalWindow()

name_in_pickles(TimeWindow, "time window")
name_in_pickles(CountWindow, "count window")
name_in_pickles(GlobalWindow, "global window")
