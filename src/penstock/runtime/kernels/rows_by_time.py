"""Rows in the order of their times, to find those that are close to a time: `rows.between(first, last)`."""

from __future__ import annotations

from bisect import bisect_left, bisect_right
from typing import Any

__all__ = ["RowsByTime"]


class RowsByTime:
    """Rows and, at the same positions, their times in ascending order; rows of one time stay in order of arrival.

    >>> found = RowsByTime()
    >>> for time, row in [(3, "c"), (1, "a"), (2, "b")]:
    ...     found.add(time, row)
    >>> begin, end = found.between(2, 5)
    >>> found.rows[begin:end]
    ['b', 'c']
    """

    __slots__ = ("rows", "times")

    def __init__(self) -> None:
        """Start without rows."""
        self.times: list[int] = []
        self.rows: list[Any] = []

    def add(self, time: int, row: Any) -> None:
        """Add a row, after those of its time."""
        times = self.times
        if not times or time >= times[-1]:
            times.append(time)
            self.rows.append(row)
        else:
            position = bisect_right(times, time)
            times.insert(position, time)
            self.rows.insert(position, row)

    def add_earlier(self, time: int, rows: tuple[Any, ...]) -> None:
        """Add rows of one time, before those of it that are there."""
        position = bisect_left(self.times, time)
        self.times[position:position] = [time] * len(rows)
        self.rows[position:position] = rows

    def between(self, first: int, last: int) -> tuple[int, int]:
        """Return the positions of the first row from `first` to `last`, both included, and after the last one."""
        begin = bisect_left(self.times, first)
        return begin, bisect_right(self.times, last, begin)

    def drop_until(self, time: int) -> list[int]:
        """Remove the rows up to a time, and return the time of each."""
        times = self.times
        if not times or times[0] > time:
            return []
        end = bisect_right(times, time)
        gone = times[:end]
        del times[:end], self.rows[:end]
        return gone
