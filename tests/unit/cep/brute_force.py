"""Matches found by trying everything: written from the rules of contiguity alone, without an automaton.

A match gives each element a run of events. It is one if, for each event taken, the events passed over since the event
taken before may be passed over:

- `next`: there are none; `followed_by`: none of them fits the element; `followed_by_any`: they may be anything;
- the same by the inner contiguity between two events of one element;
- none fits the `until` of a loop between two of its events;
- a greedy loop in front of the element fits neither them nor the event taken;
- `not_next` and `not_followed_by` in front of the element fit none of those they are about;
- the whole is shorter than the window;
- `not_followed_by` at the end: no event that fits it comes within the window of the match.

A group that is repeated is the same as its elements written so many times: the first of them follows as the group
does, in later rounds by the group's inner contiguity. So the matches of a pattern with groups are those of all patterns
that its groups stand for. Skip strategies and timeouts are not covered.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass, replace
from itertools import product
from typing import Any

Event = tuple[str, int]
Taken = tuple[tuple[int, int], ...]
"""Number of the element and number of the event, in order."""


@dataclass(frozen=True)
class Part:
    """An element: it fits events whose name starts with `name`."""

    name: str
    follows: str = "next"
    least: int = 1
    most: int | None = 1
    inner: str = "followed_by"
    is_optional: bool = False
    is_greedy: bool = False
    until: str | None = None

    @property
    def is_negative(self) -> bool:
        return self.follows.startswith("not")

    def fits(self, event: Event) -> bool:
        return event[0].startswith(self.name)


@dataclass(frozen=True)
class Group:
    """Elements that are repeated together."""

    parts: tuple[Part, ...]
    follows: str = "next"
    least: int = 1
    most: int = 1
    inner: str = "followed_by"
    is_optional: bool = False

    def rounds(self) -> Iterator[list[Part]]:
        """The lists of elements that it stands for."""
        for count in [*([0] if self.is_optional else []), *range(self.least, self.most + 1)]:
            yield [part for number in range(count) for part in self._round(number)]

    def _round(self, number: int) -> list[Part]:
        head, *rest = self.parts
        return [replace(head, follows=self.inner if number else self.follows), *rest]


Item = Part | Group


def matches(items: Sequence[Item], events: list[Event], window: int | None) -> list[tuple[str, ...]]:
    """The names of the events of all matches."""
    choices = [list(item.rounds()) if isinstance(item, Group) else [[item]] for item in items]
    found = []
    for chosen in product(*choices):
        parts = [part for each in chosen for part in each]
        for first in range(len(events)):
            for taken in _ways(parts, events, 0, (), first):
                if taken and taken[0][1] == first and _is_in_time(parts, taken, events, window):
                    found.append(tuple(events[event][0] for _, event in taken))
    return sorted(found)


def _is_in_time(parts: list[Part], taken: Taken, events: list[Event], window: int | None) -> bool:
    if window is None:
        return True
    end = events[taken[0][1]][1] + window
    after = [event for event in events[taken[-1][1] + 1 :] if event[1] < end]
    is_refused = parts[-1].follows == "not_followed_by" and any(map(parts[-1].fits, after))
    return not is_refused and _length(taken, events) < window


def _length(taken: Taken, events: list[Event]) -> int:
    return events[taken[-1][1]][1] - events[taken[0][1]][1]


def _ways(parts: list[Part], events: list[Event], element: int, taken: Taken, first: int) -> Iterator[Taken]:
    if element == len(parts):
        yield taken
        return
    part = parts[element]
    if part.is_negative:
        yield from _ways(parts, events, element + 1, taken, first)
        return
    if part.is_optional:
        yield from _ways(parts, events, element + 1, taken, first)
    for run in _runs(parts, events, element, taken, first):
        yield from _ways(parts, events, element + 1, run, first)


def _runs(parts: list[Part], events: list[Event], element: int, taken: Taken, first: int) -> Iterator[Taken]:
    part, longer = parts[element], [taken]
    for count in range(1, len(events) + 1):
        if part.most is not None and count > part.most:
            return
        longer = [way for way in longer for way in _one_more(parts, events, element, way, first, count)]
        if count >= part.least:
            yield from longer


def _one_more(
    parts: list[Part], events: list[Event], element: int, taken: Taken, first: int, count: int
) -> Iterator[Taken]:
    part = parts[element]
    for event in range(taken[-1][1] + 1, len(events)) if taken else [first]:
        if not part.fits(events[event]) or (part.until is not None and events[event][0].startswith(part.until)):
            continue
        passed = events[taken[-1][1] + 1 : event] if taken else []
        if taken and not _may_pass(parts, element, events, (taken[-1][1], event), passed, is_first=count == 1):
            continue
        yield (*taken, (element, event))


def _may_pass(
    parts: list[Part],
    element: int,
    events: list[Event],
    between: tuple[int, int],
    passed: list[Event],
    *,
    is_first: bool,
) -> bool:
    part = parts[element]
    follows = part.follows if is_first else part.inner
    if (follows == "next" and passed) or (follows == "followed_by" and any(map(part.fits, passed))):
        return False
    if not is_first:
        return part.until is None or not any(event[0].startswith(part.until) for event in passed)
    return _before_allows(parts, element, events, between, passed)


def _before_allows(
    parts: list[Part], element: int, events: list[Event], between: tuple[int, int], passed: list[Event]
) -> bool:
    """What stands in front of an element: a greedy loop, or what must not come."""
    before = parts[element - 1] if element else None
    if before is None:
        return True
    offered = [*passed, events[between[1]]]
    if before.is_greedy:
        return not any(map(before.fits, offered))
    if before.follows == "not_next":
        return not before.fits(events[between[0] + 1])
    if before.follows == "not_followed_by":
        return not any(map(before.fits, offered))
    return True


def text_of(items: Sequence[Item], window: int | None) -> str:
    """The same in the notation of measured cases."""
    words = [_words(item, is_first=not number) for number, item in enumerate(items)]
    return " ".join(words) + (f" within({window})" if window is not None else "")


_JAVA = {
    "followed_by": "followedBy",
    "followed_by_any": "followedByAny",
    "not_next": "notNext",
    "not_followed_by": "notFollowedBy",
}


def _words(item: Item, *, is_first: bool) -> str:
    words = [] if is_first else [_JAVA.get(item.follows, item.follows)]
    words.append(f"group({text_of(item.parts, None)})" if isinstance(item, Group) else item.name)
    if item.most is None:
        words.append(f"timesOrMore({item.least})")
    elif (item.least, item.most) != (1, 1):
        words.append(f"times({item.least},{item.most})")
    if item.inner != "followed_by":
        words.append({"next": "consecutive", "followed_by_any": "allowCombinations"}[item.inner])
    if isinstance(item, Part):
        words += [f"until {item.until}"] if item.until is not None else []
        words += ["greedy"] if item.is_greedy else []
    return " ".join([*words, *(["optional"] if item.is_optional else [])])


def pattern_of(parts: list[Part], window: int | None, begin: Any) -> Any:
    """The same as a pattern of the public API."""
    pattern = None
    for part in parts:
        pattern = begin(part.name) if pattern is None else getattr(pattern, part.follows)(part.name)
        pattern.where(lambda event, name=part.name: event[0].startswith(name))
        if not part.is_negative:
            _quantify(pattern, part)
    return pattern if window is None or pattern is None else pattern.within(window)


def _quantify(pattern: Any, part: Part) -> None:
    if part.most is None:
        pattern.times_or_more(part.least)
    elif (part.least, part.most) != (1, 1):
        pattern.times(part.least, part.most)
    if part.inner != "followed_by":
        {"next": pattern.consecutive, "followed_by_any": pattern.allow_combinations}[part.inner]()
    if part.until is not None:
        pattern.until(lambda event: event[0].startswith(part.until))
    if part.is_greedy:
        pattern.greedy()
    if part.is_optional:
        pattern.optional()
