"""The events of partial matches, each kept once however many matches share it.

A *link* says that a match took an event for an element after an earlier link: a match is the number of its last
link, and the way back from there is the match. Links are never changed, so matches share what they have in common, and
the number of a link plays the part of the version numbers of the literature (Agrawal et al., Efficient Pattern
Matching over Event Streams, 2008): it tells the runs that go through one event apart. Links are counted by what refers
to them; when the last match that needs a link is gone, so is the link, and with the last link of an event the event.
"""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any, Protocol

NO_LINK = 0

Link = tuple[int, int, int]
"""Number of the element, number of the event, number of the link before (NO_LINK: none)."""


class Rows(Protocol):
    """Numbered objects, as keyed map state has them."""

    def held(self, key: Any) -> Any:
        """Return what has a number, or None."""

    def hold(self, key: Any, value: Any) -> None:
        """Give an object a number."""

    def remove(self, key: Any) -> None:
        """Forget what has a number."""


class DictRows(dict[Any, Any]):
    """Rows in memory."""

    held = dict.get
    hold = dict.__setitem__

    def remove(self, key: Any) -> None:
        """Forget what has a number."""
        self.pop(key, None)


class MatchBuffer:
    """Links and events of one key.

    `shared_links` and `shared_events` have the number of references where there is more than one: most objects have
    one, and an object need not be written again when its count changes.
    """

    __slots__ = ("events", "links", "shared_events", "shared_links")

    def __init__(self, links: Rows, events: Rows, shared_links: Rows, shared_events: Rows) -> None:
        self.links = links
        self.events = events
        self.shared_links = shared_links
        self.shared_events = shared_events

    def way_back(self, number: int) -> Iterator[Link]:
        """The links of a match, the last one first."""
        links = self.links
        while number != NO_LINK:
            link = links.held(number)
            yield link
            number = link[2]

    def events_by_name(self, number: int, names: tuple[str, ...]) -> dict[str, list[Any]]:
        """The events of a match by name of their element, in order; names in the order of their first event."""
        found: dict[str, list[Any]] = {}
        for element, event, _ in reversed(list(self.way_back(number))):
            found.setdefault(names[element], []).append(self.events.held(event))
        return found

    def events_of(self, number: int, element: int | None) -> list[Any]:
        """The events that a match took for one element, or for all of them, in order."""
        events = [event for found, event, _ in self.way_back(number) if element is None or found == element]
        return [self.events.held(event) for event in reversed(events)]

    def last_event_of(self, number: int, element: int | None, offset: int) -> Any:
        """The event so many before the last one that a match took for one element, or for any; None: there is none."""
        for found, event, _ in self.way_back(number):
            if element is None or found == element:
                if offset == 0:
                    return self.events.held(event)
                offset -= 1
        return None

    def change(self, deltas: dict[int, int]) -> int:
        """Apply what has changed in the number of references to links; those that nothing refers to go, so many."""
        gone = 0
        waiting = [(number, delta) for number, delta in deltas.items() if delta and number != NO_LINK]
        for number, delta in waiting:
            count = (self.shared_links.held(number) or 1) + delta
            if count > 0:
                _set_count(self.shared_links, number, count)
                continue
            _, event, before = self.links.held(number)
            self.links.remove(number)
            _set_count(self.shared_links, number, 1)
            self._release_event(event)
            gone += 1
            if before != NO_LINK:
                waiting.append((before, -1))
        return gone

    def _release_event(self, number: int) -> None:
        count = (self.shared_events.held(number) or 1) - 1
        if count == 0:
            self.events.remove(number)
        else:
            _set_count(self.shared_events, number, count)


def _set_count(counts: Rows, number: int, count: int) -> None:
    if count > 1:
        counts.hold(number, count)
    elif counts.held(number) is not None:
        counts.remove(number)
