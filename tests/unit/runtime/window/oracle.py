"""What a window operator must emit, found by brute force from the whole input at once.

Shares no code with the operator: windows are pairs of numbers, contents are plain lists.
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass, field
from typing import NamedTuple

FOREVER = 2**63 - 1
BEGINNING = -(2**63)


class Arrival(NamedTuple):
    """An element; its place in the input is its name."""

    key: str
    timestamp: int


class Advance(NamedTuple):
    """A watermark."""

    watermark: int


class Firing(NamedTuple):
    """Where in the input a window fires, which one, and the places of the elements that it shows, in their order."""

    place: int
    key: str
    start: int
    end: int
    elements: tuple[int, ...]


class Windows(NamedTuple):
    """What is asked of the operator; `second` is slide, step or nothing, as the kind needs it."""

    kind: str
    size: int
    second: int
    offset: int
    lateness: int
    trigger: str
    number: int
    """The count of a count trigger, the interval of a continuous one."""

    @property
    def purges(self) -> bool:
        return self.trigger.startswith("purging")

    @property
    def counts(self) -> bool:
        return self.trigger.endswith("count")


@dataclass
class Expected:
    """All that comes out: firings, and the places of late elements."""

    firings: list[Firing] = field(default_factory=list)
    late: list[int] = field(default_factory=list)


Input = list[Arrival | Advance]


def expected(windows: Windows, actions: Input) -> Expected:
    """Everything that comes out of the operator when this goes in and then the input ends."""
    actions = [*actions, Advance(FOREVER)]
    times = _watermarks(actions)
    found = Expected()
    for key in sorted({action.key for action in actions if isinstance(action, Arrival)}):
        arrivals = [place for place, action in enumerate(actions) if isinstance(action, Arrival) and action.key == key]
        one_key = _OneKey(windows, key, actions, times, arrivals)
        part = _sessions(one_key) if windows.kind == "session" else _fixed(one_key)
        found.firings += part.firings
        found.late += part.late
    found.late.sort()
    return found


def _watermarks(actions: Input) -> list[int]:
    """The watermark that holds when each action comes, before it has its effect."""
    times, now = [], BEGINNING
    for action in actions:
        times.append(now)
        now = max(now, action.watermark) if isinstance(action, Advance) else now
    return times


class _OneKey(NamedTuple):
    windows: Windows
    key: str
    actions: Input
    times: list[int]
    arrivals: list[int]

    def timestamp(self, place: int) -> int:
        action = self.actions[place]
        assert isinstance(action, Arrival)
        return action.timestamp

    def advances(self) -> Iterator[tuple[int, int]]:
        """Places of watermarks that move time on, and where to."""
        for place, action in enumerate(self.actions):
            if isinstance(action, Advance) and action.watermark > self.times[place]:
                yield place, action.watermark

    def is_late(self, place: int) -> bool:
        return self.timestamp(place) + self.windows.lateness <= self.times[place]


# ---- windows that are the same for everybody ----


def _fixed(one_key: _OneKey) -> Expected:
    windows, times = one_key.windows, one_key.times
    accepted: dict[tuple[int, int], list[int]] = {}
    found = Expected()
    for place in one_key.arrivals:
        mine = [
            window
            for window in _windows_around(windows, one_key.timestamp(place))
            if window[1] - 1 + windows.lateness > times[place]
        ]
        if not mine and one_key.is_late(place):
            found.late.append(place)
        for window in mine:
            accepted.setdefault(window, []).append(place)
    for (start, end), places in accepted.items():
        fires = sorted(set(_places_of_firing(one_key, end - 1, places)))
        found.firings += _with_contents(one_key, start, end, places, fires)
    return found


def _windows_around(windows: Windows, timestamp: int) -> list[tuple[int, int]]:
    """All windows that hold the timestamp: every start nearby is tried."""
    size, second = windows.size, windows.second
    if windows.kind == "cumulative":
        starts = [start for start in range(timestamp - size, timestamp + 1) if (start - windows.offset) % size == 0]
        candidates = [(start, end) for start in starts for end in range(start + second, start + size + 1, second)]
    else:
        every = second if windows.kind == "sliding" else size
        starts = [start for start in range(timestamp - size, timestamp + 1) if (start - windows.offset) % every == 0]
        candidates = [(start, start + size) for start in starts]
    return [(start, end) for start, end in candidates if start <= timestamp < end]


def _places_of_firing(one_key: _OneKey, last: int, places: list[int]) -> Iterator[tuple[int, int]]:
    """Where the trigger fires, with a number that tells firings at one place apart."""
    windows, times = one_key.windows, one_key.times
    if windows.counts:
        yield from ((place, 0) for number, place in enumerate(places, 1) if number % windows.number == 0)
        return
    yield from ((place, 0) for place in places if times[place] >= last)
    in_time = [place for place in places if times[place] < last]
    if not in_time:
        return
    if windows.trigger == "continuous":
        yield from _continuous(one_key, last, in_time[0])
    else:
        yield next((place, 0) for place, watermark in one_key.advances() if watermark >= last)


def _continuous(one_key: _OneKey, last: int, begun: int) -> Iterator[tuple[int, int]]:
    interval = one_key.windows.number
    first = one_key.timestamp(begun) // interval * interval + interval
    after = begun + 1
    for number, due in enumerate([*range(first, last, interval), last], 1):
        after = next(place for place, watermark in one_key.advances() if place >= after and watermark >= due)
        yield after, number


def _with_contents(
    one_key: _OneKey, start: int, end: int, places: list[int], fires: list[tuple[int, int]]
) -> Iterator[Firing]:
    shown = BEGINNING
    for place, _ in fires:
        contents = tuple(each for each in places if shown < each <= place)
        if contents:
            yield Firing(place, one_key.key, start, end, contents)
        if one_key.windows.purges:
            shown = place


# ---- sessions ----


@dataclass
class _Session:
    start: int
    end: int
    elements: list[int]
    count: int = 0
    next_fire: int | None = None
    is_planned: bool = False
    """Whether the timer of `next_fire` is still to fire."""

    @property
    def last(self) -> int:
        return self.end - 1


def _sessions(one_key: _OneKey) -> Expected:
    found = Expected()
    alive: list[_Session] = []
    for place, action in enumerate(one_key.actions):
        if isinstance(action, Advance):
            if action.watermark > one_key.times[place]:
                found.firings += _advance(one_key, alive, place, action.watermark)
                alive = [each for each in alive if each.last + one_key.windows.lateness > action.watermark]
        elif action.key == one_key.key:
            found.firings += _arrive(one_key, alive, place, found.late)
    return found


def _arrive(one_key: _OneKey, alive: list[_Session], place: int, late: list[int]) -> Iterator[Firing]:
    windows, now, timestamp = one_key.windows, one_key.times[place], one_key.timestamp(place)
    touched = [each for each in alive if each.start <= timestamp + windows.size and timestamp <= each.end]
    if not touched and timestamp + windows.size - 1 + windows.lateness <= now:
        late.append(place)
        return
    session = _merged(touched, timestamp, timestamp + windows.size)
    alive[:] = [each for each in alive if each not in touched] + [session]
    session.elements.append(place)
    if windows.counts:
        session.count += 1
        if session.count < windows.number:
            return
        session.count = 0
    elif session.last > now:
        if windows.trigger == "continuous" and session.next_fire is None:
            interval = windows.number
            session.next_fire = min(timestamp // interval * interval + interval, session.last)
            session.is_planned = True
        return
    yield from _fire(one_key, session, place)


def _merged(touched: list[_Session], start: int, end: int) -> _Session:
    start, end = min([start, *(each.start for each in touched)]), max([end, *(each.end for each in touched)])
    if len(touched) == 1 and (touched[0].start, touched[0].end) == (start, end):
        return touched[0]
    elements = sorted(element for each in touched for element in each.elements)
    plans = [each.next_fire for each in touched if each.next_fire is not None]
    count = sum(each.count for each in touched)
    return _Session(start, end, elements, count, min(plans, default=None), bool(plans))


def _advance(one_key: _OneKey, alive: list[_Session], place: int, watermark: int) -> Iterator[Firing]:
    windows, before = one_key.windows, one_key.times[place]
    if windows.counts:
        return
    for session in alive:
        while session.is_planned and session.next_fire is not None and session.next_fire <= watermark:
            if session.next_fire == session.last:
                session.is_planned = False
                if session.last <= before:  # planned again by a merge: the end as such has passed long ago
                    yield from _fire(one_key, session, place)
            else:
                session.next_fire = min(session.next_fire + windows.number, session.last)
                yield from _fire(one_key, session, place)
        if before < session.last <= watermark:
            yield from _fire(one_key, session, place)


def _fire(one_key: _OneKey, session: _Session, place: int) -> Iterator[Firing]:
    if session.elements:
        yield Firing(place, one_key.key, session.start, session.end, tuple(session.elements))
    if one_key.windows.purges:
        session.elements = []
