"""What a fast path leaves of a block: the elements to process one by one."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

__all__ = ["ALL", "NOTHING", "Rest"]


@dataclass(frozen=True, slots=True)
class Rest:
    """The elements of a block that were not taken: `ALL` of them, `NOTHING`, or those at some `positions`.

    Positions are in ascending order: a list, or an array for columns. With `is_all` there are none, because not one
    element was looked at.
    """

    positions: Sequence[int] | Any = ()
    is_all: bool = False

    @property
    def is_nothing(self) -> bool:
        """Whether every element was taken."""
        return not self.is_all and len(self.positions) == 0


ALL = Rest(is_all=True)
"""The fast path cannot take this block: it goes the ordinary way as a whole."""

NOTHING = Rest()
"""The fast path took the block."""
