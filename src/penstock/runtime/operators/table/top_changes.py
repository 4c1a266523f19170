"""What rows that come one after the other change in the first N rows of their keys. Rows are numbers here."""

from __future__ import annotations

from bisect import bisect_right
from collections.abc import Callable, Iterable
from typing import NamedTuple

import numpy as np

from penstock.runtime.field_columns import Numbers

__all__ = ["Changes", "Placing"]

_NOTHING = -1


class Changes(NamedTuple):
    """Changes in the order of arrival: what a place held, or -1, what it holds now, and its rank from 1."""

    was: Numbers
    now: Numbers
    ranks: Numbers

    def take(self, chosen: Numbers) -> Changes:
        """Some of the changes."""
        return Changes(self.was[chosen], self.now[chosen], self.ranks[chosen])

    def told(self, *, with_before: bool) -> tuple[Numbers, Numbers, Numbers]:
        """The rows that tell of the changes, which change each is of, and whether it is what was there before."""
        counts = np.where((self.was == _NOTHING) | (not with_before), 1, 2)
        of_change = np.repeat(np.arange(len(counts)), counts)
        is_before = np.zeros(len(of_change), np.bool_)
        is_before[:-1] = of_change[1:] == of_change[:-1]
        return np.where(is_before, self.was[of_change], self.now[of_change]), of_change, is_before


class Placing:
    """Puts rows in their places among the first `end` of their keys, and notes what that changes.

    `places` has a number for each row that says where it is in the order. With `by_rank` all rows behind a new one
    change their rank; otherwise only the last one goes.
    """

    def __init__(self, places: list[int], end: int, *, by_rank: bool) -> None:
        self._places = places
        self._end = end
        self._by_rank = by_rank
        # For each row that found a place: itself, the rows behind it, and the one that had to go, or nothing. Each of
        # these but the first was where the one before it is now.
        self._moved: list[int] = []
        self._firsts: list[int] = []
        self._counts: list[int] = []

    def put(self, kept: list[int], rows: Iterable[int]) -> bool:
        """Put new rows of a key among those that are kept, in the order of arrival; tells whether one belongs there."""
        places, end, by_rank, moved = self._places, self._end, self._by_rank, self._moved
        held = [places[row] for row in kept]
        before = len(moved)
        for row in rows:
            place, last = places[row], _NOTHING
            if len(held) == end:
                if place >= held[-1]:
                    continue  # as most rows: they are behind the last one
                last = kept.pop()
                held.pop()
            at = bisect_right(held, place)
            behind = kept[at:] if by_rank else ()
            moved.append(row)
            moved += behind
            moved.append(last)
            self._firsts.append(at + 1)
            self._counts.append(len(behind) + 1)
            held.insert(at, place)
            kept.insert(at, row)
        return len(moved) > before

    def changes(self, are_equal: Callable[[Numbers, Numbers], Numbers], start: int) -> Changes:
        """The changes from a rank on, without those from a row to an equal one."""
        made = self._all_changes()
        places = np.array(self._places, np.int64)
        may_be_equal = np.flatnonzero((made.was != _NOTHING) & (places[made.was] == places[made.now]))
        is_told = made.ranks >= start if self._by_rank else np.ones(len(made.was), np.bool_)
        if len(may_be_equal):
            is_told[may_be_equal] &= ~are_equal(made.was[may_be_equal], made.now[may_be_equal])
        return made.take(is_told)

    def _all_changes(self) -> Changes:
        moved, counts = np.array(self._moved, np.int64), np.array(self._counts, np.int64)
        ends = np.cumsum(counts + 1)
        starts = ends - counts - 1
        steps = np.arange(counts.sum()) - np.repeat(np.cumsum(counts) - counts, counts)
        ranks = np.repeat(np.array(self._firsts, np.int64), counts) + steps
        made = Changes(np.delete(moved, starts), np.delete(moved, ends - 1), ranks)
        return made.take(np.argsort(np.repeat(moved[starts], counts), kind="stable"))
