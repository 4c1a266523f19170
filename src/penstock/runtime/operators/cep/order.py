"""The order in which partial matches are looked at where it decides which matches come out.

With a skip strategy a match that comes out removes others, and of matches with the same first event the one that is
looked at first wins. Flink leaves that order open and in fact has that of a binary heap ordered by first event. To give
the same matches the queue here is the same kind of heap: a list where the parent of place i is at (i - 1) // 2.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator
from typing import Any


class StartQueue:
    """Objects by the number of their first event; `rank` gives it. Iteration is in the order of the heap's list."""

    __slots__ = ("_rank", "items")

    def __init__(self, rank: Callable[[Any], float], items: list[Any] | None = None) -> None:
        """Start with the list of another queue, or with nothing."""
        self._rank = rank
        self.items: list[Any] = [] if items is None else items

    def __iter__(self) -> Iterator[Any]:
        return iter(self.items)

    def __len__(self) -> int:
        return len(self.items)

    def add(self, item: Any) -> None:
        """Add at the end, and move up as far as it belongs before others."""
        items, rank = self.items, self._rank
        own, place = rank(item), len(items)
        items.append(item)
        while place > 0:
            parent = (place - 1) >> 1
            if own >= rank(items[parent]):
                break
            items[place] = items[parent]
            place = parent
        items[place] = item

    def first(self) -> Any:
        """The object that comes first, or None."""
        return self.items[0] if self.items else None

    def take(self) -> Any:
        """Remove and return the object that comes first."""
        found, last = self.items[0], self.items.pop()
        if self.items:
            self._move_down(0, last)
        return found

    def keep(self, wanted: Callable[[Any], bool]) -> list[Any]:
        """Keep some objects; those that went."""
        kept: list[Any] = []
        gone: list[Any] = []
        for item in self.items:
            (kept if wanted(item) else gone).append(item)
        if gone:
            self.items = kept
            for place in reversed(range(len(kept) >> 1)):
                self._move_down(place, kept[place])
        return gone

    def _move_down(self, place: int, item: Any) -> None:
        items, rank = self.items, self._rank
        own, size = rank(item), len(items)
        while place < size >> 1:
            child = 2 * place + 1
            if child + 1 < size and rank(items[child]) > rank(items[child + 1]):
                child += 1
            if own <= rank(items[child]):
                break
            items[place] = items[child]
            place = child
        items[place] = item
