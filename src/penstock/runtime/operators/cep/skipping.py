"""Which other matches a match that came out removes: the five strategies of skipping, as data and a rule each."""

from __future__ import annotations

from dataclasses import dataclass, replace
from typing import Any

from penstock.runtime.operators.cep.buffer import Link


class SkipFailure(Exception):
    """A match has no event to skip to, and the user wants to know."""


@dataclass(frozen=True)
class AfterMatchSkipStrategy:
    """What happens to other matches when one has come out.

    The first event of a partial or complete match decides whether it stays. Make one with `no_skip`, `skip_to_next`,
    `skip_past_last_event`, `skip_to_first` or `skip_to_last`, and give it to `Pattern.begin`.
    """

    kind: str = "no_skip"
    pattern_name: str | None = None
    is_miss_an_error: bool = False

    @staticmethod
    def no_skip() -> AfterMatchSkipStrategy:
        """Emit every match."""
        return AfterMatchSkipStrategy()

    @staticmethod
    def skip_to_next() -> AfterMatchSkipStrategy:
        """Drop matches that start with the same event."""
        return AfterMatchSkipStrategy("skip_to_next")

    @staticmethod
    def skip_past_last_event() -> AfterMatchSkipStrategy:
        """Drop matches that start before the end of the match."""
        return AfterMatchSkipStrategy("skip_past_last_event")

    @staticmethod
    def skip_to_first(pattern_name: str) -> AfterMatchSkipStrategy:
        """Drop matches that start before the first event of an element."""
        return AfterMatchSkipStrategy("skip_to_first", pattern_name)

    @staticmethod
    def skip_to_last(pattern_name: str) -> AfterMatchSkipStrategy:
        """Drop matches that start before the last event of an element."""
        return AfterMatchSkipStrategy("skip_to_last", pattern_name)

    def throw_exception_on_miss(self) -> AfterMatchSkipStrategy:
        """Fail if a match has no event of the element, or starts with the event to skip to.

        Without this nothing is dropped for a match that lacks the element.
        """
        if self.pattern_name is None:
            raise ValueError(f"throw_exception_on_miss() has no effect on {self.kind}(), which skips to no element.")
        return replace(self, is_miss_an_error=True)

    def get_pattern_name(self) -> str | None:
        """The element that is skipped to, if there is one."""
        return self.pattern_name

    def is_skip_strategy(self) -> bool:
        """Whether matches are dropped at all."""
        return self.kind != "no_skip"

    def __str__(self) -> str:
        """Read as the call that makes it."""
        call = f"{self.kind}({'' if self.pattern_name is None else repr(self.pattern_name)})"
        return f"{call}.throw_exception_on_miss()" if self.is_miss_an_error else call

    def first_to_stay(self, links: list[Link], names: tuple[str, ...]) -> int | None:
        """The number of the first event that a match must have to stay; None: all stay. `links`: of the match."""
        if self.kind == "skip_to_next":
            return links[0][1] + 1
        if self.kind == "skip_past_last_event":
            return links[-1][1] + 1
        if self.pattern_name is None:
            return None
        events = [event for element, event, _ in links if names[element] == self.pattern_name]
        return self._checked(events, links)

    def _checked(self, events: list[int], links: list[Link]) -> int | None:
        if not events:
            if self.is_miss_an_error:
                raise SkipFailure(f"{self}: the match has no event of {self.pattern_name!r} to skip to")
            return None
        target = events[0] if self.kind == "skip_to_first" else events[-1]
        if self.is_miss_an_error and target == links[0][1]:
            raise SkipFailure(f"{self}: the match starts with that event, so nothing would be skipped")
        return target


Strategy = AfterMatchSkipStrategy
NO_SKIP: Any = AfterMatchSkipStrategy()
