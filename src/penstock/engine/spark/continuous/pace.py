"""When a task of continuous mode sends what it has, and how long it may wait for more.

Every exchange costs a fixed time, however few records it carries, so records wait for others. They wait where it pays:
in sources, for the *linger*. All sources send at the same moments of the clock, so that a task behind them gets what
they have for it at about the same time, works on it in one go, and sends on its own results together.
"""

from __future__ import annotations

import time
from collections.abc import Callable

from penstock.runtime.continuous.station import Station

_LONGEST_WAIT_SECONDS = 0.05
_SHORTEST_WAIT_SECONDS = 0.001
"""For a time that has passed, and that nobody has attended to yet: a task must not spin."""
_LOOK_SECONDS = 0.01
"""How often a source that has nothing, or few records, looks again, however long the linger is."""
_WITHOUT_LINGER_SECONDS = 0.003
_FOR_OTHER_SENDERS = 0.2
"""How many times the linger results wait in a task that has nothing to do but to wait for another sender."""
_WHEN_BEHIND = 5.0
"""How many times the linger records wait in a source that has more to read: they have waited longer already, and larger
blocks cost less.
"""

_NEARLY = 0.9
"""A task that wakes up a little before a watermark is due need not wake up again for it: with an interval as long as
the linger, chance would leave out every second one.
"""

Clock = Callable[[], float]


class _Watermarks:
    """Lets a station emit its periodic watermarks; time is by the monotonic clock."""

    def __init__(self, interval_ms: int, now: float) -> None:
        self._interval = interval_ms / 1000
        self._emitted = now

    def attend(self, station: Station, now: float, now_ms: int) -> None:
        if self._interval and now - self._emitted >= self._interval * _NEARLY:
            self._emitted = now
            station.on_interval(now_ms)

    def wait_seconds(self, now: float) -> float:
        return self._emitted + self._interval - now if self._interval else _LONGEST_WAIT_SECONDS


class SourcePace:
    """Sends what a source has read at whole multiples of the linger by the machine's clock."""

    def __init__(
        self, linger_ms: int, watermark_interval_ms: int, clock: Clock = time.time, monotonic: Clock = time.monotonic
    ) -> None:
        self._linger = linger_ms / 1000
        self._clock, self._monotonic = clock, monotonic
        self._sent = monotonic()
        self._watermarks = _Watermarks(watermark_interval_ms, self._sent)
        self._tick = self._tick_of(clock())

    def attend(self, station: Station, *, is_behind: bool) -> None:
        """Do what is due. A source that `is_behind` has more to read at once."""
        wall, now = self._clock(), self._monotonic()
        self._watermarks.attend(station, now, int(wall * 1000))
        tick = self._tick_of(wall)
        if (now - self._sent >= self._linger * _WHEN_BEHIND) if is_behind else (not self._linger or tick != self._tick):
            self._tick, self._sent = tick, now
            station.flush()

    def wait_seconds(self, deadline_ms: int | None) -> float:
        """How long nothing has to be done, at the most; `deadline_ms` is when the station wants to see the clock."""
        wall = self._clock()
        until = _LOOK_SECONDS if self._linger else _WITHOUT_LINGER_SECONDS
        if self._linger:
            until = min(until, (self._tick_of(wall) + 1) * self._linger - wall)
        if deadline_ms is not None:
            until = min(until, max(deadline_ms / 1000 - wall, _SHORTEST_WAIT_SECONDS))
        return max(until, 0.0)

    def _tick_of(self, wall: float) -> int:
        return int(wall / self._linger) if self._linger else 0


class LevelPace:
    """Sends results as soon as there is something from every task that sent something the time before.

    A task that sent something then and has nothing now is waited for, but not for long.
    """

    def __init__(
        self, linger_ms: int, watermark_interval_ms: int, clock: Clock = time.time, monotonic: Clock = time.monotonic
    ) -> None:
        self._linger = linger_ms / 1000
        self._clock, self._monotonic = clock, monotonic
        self._watermarks = _Watermarks(watermark_interval_ms, monotonic())
        self._waiting_since: float | None = None
        self._heard: set[int] = set()
        self._heard_before: set[int] = set()

    def on_work(self, sender: int | None = None) -> None:
        """Note that there may be results to send: of what a sender sent, or of a timer."""
        if self._waiting_since is None:
            self._waiting_since = self._monotonic()
        if sender is not None:
            self._heard.add(sender)

    def attend(self, station: Station, *, is_idle: bool) -> None:
        """Do what is due. A task that `is_idle` has worked on all that has come."""
        now = self._monotonic()
        self._watermarks.attend(station, now, int(self._clock() * 1000))
        if self._waiting_since is not None and self._is_due(now, is_idle=is_idle):
            station.flush()
            self._waiting_since = None
            self._heard_before, self._heard = self._heard, set()

    def wait_seconds(self, deadline_ms: int | None) -> float:
        """How long nothing has to be done, at the most; `deadline_ms` is when the station wants to see the clock."""
        now = self._monotonic()
        until = min(_LONGEST_WAIT_SECONDS, self._watermarks.wait_seconds(now))
        if self._waiting_since is not None:
            until = min(until, self._waiting_since + self._linger * _FOR_OTHER_SENDERS - now)
        if deadline_ms is not None:
            until = min(until, max(deadline_ms / 1000 - self._clock(), _SHORTEST_WAIT_SECONDS))
        return max(until, 0.0)

    def _is_due(self, now: float, *, is_idle: bool) -> bool:
        assert self._waiting_since is not None
        if is_idle and self._heard_before <= self._heard:
            return True
        return now - self._waiting_since >= self._linger * (_FOR_OTHER_SENDERS if is_idle else 1.0)
