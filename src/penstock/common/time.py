"""Lengths and points of time as values."""

from __future__ import annotations

import datetime
import functools
import re

from penstock.common.plain_data import keep_as
from penstock.common.user_pickles import name_in_pickles
from penstock.errors import ConfigurationError

__all__ = ["Duration", "Instant", "Time", "to_millis"]

_UNIT_NANOS = {
    "ns": 1,
    "us": 1_000,
    "ms": 1_000_000,
    "s": 1_000_000_000,
    "min": 60_000_000_000,
    "h": 3_600_000_000_000,
    "d": 86_400_000_000_000,
}
_UNIT_SPELLINGS = {
    **{unit: unit for unit in _UNIT_NANOS},
    **{"nano": "ns", "nanos": "ns", "nanosecond": "ns", "nanoseconds": "ns"},
    **{"micro": "us", "micros": "us", "microsecond": "us", "microseconds": "us", "µs": "us"},
    **{"milli": "ms", "millis": "ms", "millisecond": "ms", "milliseconds": "ms", "": "ms"},
    **{"sec": "s", "secs": "s", "second": "s", "seconds": "s"},
    **{"m": "min", "minute": "min", "minutes": "min"},
    **{"hour": "h", "hours": "h", "day": "d", "days": "d"},
}
_DURATION_TEXT = re.compile(r"\s*(-?\d+)\s*([a-zµ]*)\s*", re.IGNORECASE)


@functools.total_ordering
class Duration:
    """A length of time, kept in nanoseconds."""

    __slots__ = ("_nanos",)

    def __init__(self, nanos: int = 0) -> None:
        self._nanos = _whole(nanos, "Duration")

    @staticmethod
    def of_days(days: int) -> Duration:
        """Return a length of whole days."""
        return Duration(_whole(days, "Duration.of_days") * _UNIT_NANOS["d"])

    @staticmethod
    def of_hours(hours: int) -> Duration:
        """Return a length of whole hours."""
        return Duration(_whole(hours, "Duration.of_hours") * _UNIT_NANOS["h"])

    @staticmethod
    def of_minutes(minutes: int) -> Duration:
        """Return a length of whole minutes."""
        return Duration(_whole(minutes, "Duration.of_minutes") * _UNIT_NANOS["min"])

    @staticmethod
    def of_seconds(seconds: int) -> Duration:
        """Return a length of whole seconds."""
        return Duration(_whole(seconds, "Duration.of_seconds") * _UNIT_NANOS["s"])

    @staticmethod
    def of_millis(millis: int) -> Duration:
        """Return a length of whole milliseconds."""
        return Duration(_whole(millis, "Duration.of_millis") * _UNIT_NANOS["ms"])

    @staticmethod
    def of_nanos(nanos: int) -> Duration:
        """Return a length of whole nanoseconds."""
        return Duration(_whole(nanos, "Duration.of_nanos"))

    @staticmethod
    def parse(text: str) -> Duration:
        """Read Flink's notation: a number and a unit (`500 ms`, `10s`, `2 min`); no unit means milliseconds."""
        match = _DURATION_TEXT.fullmatch(text)
        unit = _UNIT_SPELLINGS.get(match.group(2).lower()) if match else None
        if match is None or unit is None:
            raise ConfigurationError(
                f"{text!r} is not a duration: write a whole number and a unit, such as '500 ms', '10 s' or '2 min'"
            )
        return Duration(int(match.group(1)) * _UNIT_NANOS[unit])

    def to_nanos(self) -> int:
        """Return the length in nanoseconds."""
        return self._nanos

    def to_millis(self) -> int:
        """Return the length in whole milliseconds, rounded down."""
        return self._nanos // _UNIT_NANOS["ms"]

    def __eq__(self, other: object) -> bool:
        return self._nanos == other._nanos if isinstance(other, Duration) else NotImplemented

    def __lt__(self, other: Duration) -> bool:
        return self._nanos < other._nanos if isinstance(other, Duration) else NotImplemented

    def __hash__(self) -> int:
        return hash((Duration, self._nanos))

    def __repr__(self) -> str:
        for unit in ("d", "h", "min", "s", "ms", "us"):
            if self._nanos % _UNIT_NANOS[unit] == 0:
                return f"Duration({self._nanos // _UNIT_NANOS[unit]} {unit})"
        return f"Duration({self._nanos} ns)"


@functools.total_ordering
class Instant:
    """A point on the UTC time line: seconds since 1970 and nanoseconds within the second."""

    __slots__ = ("nanos", "seconds")

    def __init__(self, seconds: int, nanos: int) -> None:
        carry, self.nanos = divmod(_whole(nanos, "Instant nanos"), 1_000_000_000)
        self.seconds = _whole(seconds, "Instant seconds") + carry

    def to_epoch_milli(self) -> int:
        """Return milliseconds since 1970, rounded down."""
        return self.seconds * 1000 + self.nanos // 1_000_000

    @staticmethod
    def of_epoch_milli(epoch_milli: int) -> Instant:
        """Return the point that many milliseconds after 1970."""
        seconds, millis = divmod(_whole(epoch_milli, "Instant.of_epoch_milli"), 1000)
        return Instant(seconds, millis * 1_000_000)

    @staticmethod
    def of_datetime(value: datetime.datetime) -> Instant:
        """Return the point a datetime names; one without a time zone is taken as UTC."""
        aware = value if value.tzinfo is not None else value.replace(tzinfo=datetime.UTC)
        elapsed = aware - _EPOCH
        return Instant(elapsed.days * 86_400 + elapsed.seconds, elapsed.microseconds * 1000)

    def to_datetime(self) -> datetime.datetime:
        """Return the point as a UTC datetime; nanoseconds are cut to microseconds."""
        return _EPOCH + datetime.timedelta(seconds=self.seconds, microseconds=self.nanos // 1000)

    def __eq__(self, other: object) -> bool:
        if not isinstance(other, Instant):
            return NotImplemented
        return (self.seconds, self.nanos) == (other.seconds, other.nanos)

    def __lt__(self, other: Instant) -> bool:
        if not isinstance(other, Instant):
            return NotImplemented
        return (self.seconds, self.nanos) < (other.seconds, other.nanos)

    def __hash__(self) -> int:
        return hash((Instant, self.seconds, self.nanos))

    def __repr__(self) -> str:
        return f"Instant<{self.seconds}, {self.nanos}>"


@functools.total_ordering
class Time:
    """A length of time in milliseconds, as windows take it."""

    __slots__ = ("_milliseconds",)

    def __init__(self, milliseconds: int) -> None:
        self._milliseconds = _whole(milliseconds, "Time")

    def to_milliseconds(self) -> int:
        """Return the length in milliseconds."""
        return self._milliseconds

    def to_millis(self) -> int:
        """Return the length in milliseconds (Duration's name for it)."""
        return self._milliseconds

    @staticmethod
    def milliseconds(milliseconds: int) -> Time:
        """Return a length of milliseconds."""
        return Time(milliseconds)

    @staticmethod
    def seconds(seconds: int) -> Time:
        """Return a length of seconds."""
        return Time(_whole(seconds, "Time.seconds") * 1000)

    @staticmethod
    def minutes(minutes: int) -> Time:
        """Return a length of minutes."""
        return Time(_whole(minutes, "Time.minutes") * 60_000)

    @staticmethod
    def hours(hours: int) -> Time:
        """Return a length of hours."""
        return Time(_whole(hours, "Time.hours") * 3_600_000)

    @staticmethod
    def days(days: int) -> Time:
        """Return a length of days."""
        return Time(_whole(days, "Time.days") * 86_400_000)

    def __eq__(self, other: object) -> bool:
        return self._milliseconds == other._milliseconds if isinstance(other, Time) else NotImplemented

    def __lt__(self, other: Time) -> bool:
        return self._milliseconds < other._milliseconds if isinstance(other, Time) else NotImplemented

    def __hash__(self) -> int:
        return hash((Time, self._milliseconds))

    def __repr__(self) -> str:
        return f"Time({self._milliseconds} ms)"


_EPOCH = datetime.datetime(1970, 1, 1, tzinfo=datetime.UTC)


def to_millis(length: Duration | Time | datetime.timedelta | int) -> int:
    """Convert a Time, Duration, timedelta or int of milliseconds to milliseconds."""
    if isinstance(length, (Duration, Time)):
        return length.to_millis()
    if isinstance(length, datetime.timedelta):
        return length // datetime.timedelta(milliseconds=1)
    return _whole(length, "a length of time")


def _whole(value: int, what: str) -> int:
    if isinstance(value, bool) or not isinstance(value, int):
        raise TypeError(f"{what} takes a whole number, got {type(value).__name__} {value!r}")
    return value


keep_as(
    Instant,
    "instant",
    lambda instant: [instant.seconds, instant.nanos],
    lambda plain, version: Instant(*plain),
)

name_in_pickles(Instant, "instant")
name_in_pickles(Duration, "duration")
name_in_pickles(Time, "time")
