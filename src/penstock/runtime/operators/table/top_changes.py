"""What rows that come one after the other change in the first N rows of their keys. Rows are numbers here."""

from __future__ import annotations

from bisect import bisect_right
from collections.abc import Callable, Iterable
from dataclasses import dataclass, field
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
        """Some of the changes, by a mask."""
        return Changes(self.was[chosen], self.now[chosen], self.ranks[chosen])

    def told(self, *, with_before: bool) -> tuple[Numbers, Numbers, Numbers]:
        """The rows that tell of the changes, which change each is of, and whether it is what was there before."""
        counts = np.where((self.was == _NOTHING) | (not with_before), 1, 2)
        of_change = np.repeat(np.arange(len(counts)), counts)
        is_before = np.zeros(len(of_change), np.bool_)
        is_before[:-1] = of_change[1:] == of_change[:-1]
        return np.where(is_before, self.was[of_change], self.now[of_change]), of_change, is_before


@dataclass
class Placing:
    """Puts rows in their places: `places` are those of a row in the order, and `end` how many each key has."""

    places: list[int]
    end: int
    by_rank: bool
    """Whether all rows behind a new one change their rank, or only the last one goes."""
    was: list[int] = field(default_factory=list)
    now: list[int] = field(default_factory=list)
    arrivals: list[int] = field(default_factory=list)
    firsts: list[int] = field(default_factory=list)
    counts: list[int] = field(default_factory=list)

    def put(self, kept: list[int], rows: Iterable[int]) -> bool:
        """Put new rows of a key among those that are kept, in the order of arrival; tells whether one belongs there."""
        places, end, note = self.places, self.end, self._note_ranks if self.by_rank else self._note_row
        held = [places[row] for row in kept]
        before = len(self.arrivals)
        for row in rows:
            place = places[row]
            if len(held) == end and place >= held[-1]:
                continue  # as most rows: they are behind the last one
            at = bisect_right(held, place)
            last = kept.pop() if len(held) == end else _NOTHING
            del held[end - 1 :]
            note(kept, row, at, last)
            held.insert(at, place)
            kept.insert(at, row)
        return len(self.arrivals) > before

    def _note_ranks(self, kept: list[int], row: int, at: int, last: int) -> None:
        behind = kept[at:]
        self.was += behind
        self.was.append(last)
        self.now.append(row)
        self.now += behind
        self._note(row, at, len(behind) + 1)

    def _note_row(self, kept: list[int], row: int, at: int, last: int) -> None:
        self.was.append(last)
        self.now.append(row)
        self._note(row, at, 1)

    def _note(self, row: int, at: int, count: int) -> None:
        self.arrivals.append(row)
        self.firsts.append(at + 1)
        self.counts.append(count)

    def changes(self, are_equal: Callable[[Numbers, Numbers], Numbers], start: int) -> Changes:
        """The changes from a rank on, without those from a row to an equal one."""
        counts = np.array(self.counts, np.int64)
        steps = np.arange(counts.sum()) - np.repeat(np.cumsum(counts) - counts, counts)
        made = Changes(
            np.array(self.was, np.int64), np.array(self.now, np.int64), np.repeat(self.firsts, counts) + steps
        )
        order = np.argsort(np.repeat(np.array(self.arrivals, np.int64), counts), kind="stable")
        made = made.take(order)
        places = np.array(self.places, np.int64)
        may_be_equal = np.flatnonzero((made.was != _NOTHING) & (places[made.was] == places[made.now]))
        is_told = made.ranks >= start if self.by_rank else np.ones(len(order), np.bool_)
        if len(may_be_equal):
            is_told[may_be_equal] &= ~are_equal(made.was[may_be_equal], made.now[may_be_equal])
        return made.take(is_told)
