"""Times of windows that follow the clock of a time zone: local times for the columns, instants for timers."""

from __future__ import annotations

import functools
from datetime import UTC, datetime, timedelta
from zoneinfo import ZoneInfo

__all__ = ["WindowClock"]

_EPOCH = datetime(1970, 1, 1)
_EPOCH_UTC = datetime(1970, 1, 1, tzinfo=UTC)
_MILLISECOND = timedelta(milliseconds=1)
_REMEMBERED = 10_000


class WindowClock:
    """Converts between instants and local times of a zone, in milliseconds since 1970; None: they are the same."""

    def __init__(self, zone: str | None) -> None:
        self.zone = None if zone is None or zone.upper() in ("UTC", "Z", "GMT") else ZoneInfo(zone)
        self.due_at = functools.lru_cache(maxsize=_REMEMBERED)(self._due_at)

    def to_local(self, instant_ms: int) -> int:
        """Return the local time of an instant."""
        if self.zone is None:
            return instant_ms
        there = (_EPOCH_UTC + instant_ms * _MILLISECOND).astimezone(self.zone)
        return (there.replace(tzinfo=None) - _EPOCH) // _MILLISECOND

    def to_instant(self, local_ms: int, *, is_second: bool = False) -> int:
        """Return the instant of a local time: of two the first, unless `is_second`.

        In a gap of the clock, it is counted on by the clock before the gap, or if `is_second` by that behind it.
        """
        if self.zone is None:
            return local_ms
        there = (_EPOCH + local_ms * _MILLISECOND).replace(tzinfo=self.zone, fold=int(is_second))
        return (there.astimezone(UTC) - _EPOCH_UTC) // _MILLISECOND

    def window_time(self, end_ms: int) -> int:
        """Return the instant of the last millisecond of a window that ends at a local time."""
        return self.to_instant(end_ms - 1)

    def _due_at(self, end_ms: int) -> int:
        """Return the instant at which a window that ends at a local time is over.

        As in Flink, a window that ends in an hour that the clock leaves out is over when the clock is put forward, and
        one that ends in an hour that comes twice is over the second time. This holds for half an hour too, where Flink
        gives some windows twice.
        """
        first, second = self.to_instant(end_ms - 1), self.to_instant(end_ms - 1, is_second=True)
        return second if first <= second else self._change_between(second, first)

    def _change_between(self, before: int, behind: int) -> int:
        """Return the first instant of the new clock; the clock is put forward after `before`, `behind` has the new."""
        ahead = self.to_local(behind) - behind
        while behind - before > 1:
            middle = (before + behind) // 2
            before, behind = (before, middle) if self.to_local(middle) - middle == ahead else (middle, behind)
        return behind
