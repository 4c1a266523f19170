"""What a pattern is made of, as data: elements with their contiguity, quantifier and conditions."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

STRICT = "next"
RELAXED = "followed by"
ANY = "followed by any"
NOT_NEXT = "not next"
NOT_FOLLOW = "not followed by"
NEGATIVE = frozenset({NOT_NEXT, NOT_FOLLOW})


@dataclass(frozen=True)
class Element:
    """One element of a pattern, or a group of them.

    `contiguity` is how it follows what is before it, `inner` how its repetitions follow each other. It is taken
    `least` to `most` times; without `most` it is a loop. `gap` and `within_previous` bound the time since the event
    before, `within_first` the time since the first event of the match; milliseconds.
    """

    name: str
    contiguity: str = STRICT
    inner: str = RELAXED
    condition: Any = None
    until: Any = None
    group: tuple[Element, ...] = ()
    least: int = 1
    most: int | None = 1
    is_quantified: bool = False
    is_optional: bool = False
    is_greedy: bool = False
    gap: int | None = None
    within_first: int | None = None
    within_previous: int | None = None

    @property
    def is_loop(self) -> bool:
        """Whether it may be repeated without end."""
        return self.most is None

    @property
    def is_negative(self) -> bool:
        """Whether it says what must not come."""
        return self.contiguity in NEGATIVE
