"""Times of windows that follow the clock of a time zone: local times for the columns, instants for timers."""

from __future__ import annotations

from datetime import UTC, datetime, timedelta
from zoneinfo import ZoneInfo

__all__ = ["WindowClock"]

_EPOCH = datetime(1970, 1, 1)
_EPOCH_UTC = datetime(1970, 1, 1, tzinfo=UTC)
_MILLISECOND = timedelta(milliseconds=1)


class WindowClock:
    """Converts between instants and local times of a zone, in milliseconds since 1970; None: they are the same."""

    def __init__(self, zone: str | None) -> None:
        self.zone = None if zone is None or zone.upper() in ("UTC", "Z", "GMT") else ZoneInfo(zone)

    def to_local(self, instant_ms: int) -> int:
        """The local time of an instant."""
        if self.zone is None:
            return instant_ms
        there = (_EPOCH_UTC + instant_ms * _MILLISECOND).astimezone(self.zone)
        return (there.replace(tzinfo=None) - _EPOCH) // _MILLISECOND

    def to_instant(self, local_ms: int) -> int:
        """The instant of a local time; in a gap of the clock, that of the time after it."""
        if self.zone is None:
            return local_ms
        there = (_EPOCH + local_ms * _MILLISECOND).replace(tzinfo=self.zone)
        return (there.astimezone(UTC) - _EPOCH_UTC) // _MILLISECOND

    def last_instant(self, end_ms: int) -> int:
        """The last instant of a window that ends at a local time."""
        return self.to_instant(end_ms) - 1
