"""Dates and times as internal values: days, milliseconds, time zones, and their texts."""

from __future__ import annotations

import datetime
import re
from functools import lru_cache
from zoneinfo import ZoneInfo

from penstock.errors import EvaluationError

__all__ = [
    "DAY_MS",
    "Zone",
    "add_months",
    "date_text",
    "days_of",
    "fraction_text",
    "parse_date",
    "parse_time",
    "parse_timestamp",
    "time_text",
    "timestamp_text",
    "year_month_day",
    "zone_named",
]

DAY_MS = 86_400_000


def year_month_day(days: int) -> tuple[int, int, int]:
    """Year, month and day of a number of days since 1970, for any year."""
    shifted = days + 719_468
    era, of_era = divmod(shifted, 146_097)
    year = (of_era - of_era // 1460 + of_era // 36_524 - of_era // 146_096) // 365
    of_year = of_era - (365 * year + year // 4 - year // 100)
    month = (5 * of_year + 2) // 153
    day = of_year - (153 * month + 2) // 5 + 1
    month = month + 3 if month < 10 else month - 9
    return year + era * 400 + (month <= 2), month, day


def days_of(year: int, month: int, day: int) -> int:
    """The number of days since 1970 of a date."""
    year -= month <= 2
    era, of_era = divmod(year, 400)
    of_year = (153 * (month - 3 if month > 2 else month + 9) + 2) // 5 + day - 1
    return era * 146_097 + of_era * 365 + of_era // 4 - of_era // 100 + of_year - 719_468


def days_in_month(year: int, month: int) -> int:
    """How many days a month has."""
    if month == 2:
        return 29 if year % 4 == 0 and (year % 100 != 0 or year % 400 == 0) else 28
    return 30 if month in (4, 6, 9, 11) else 31


def add_months(days: int, months: int) -> int:
    """A date some months later, on the last day of the month where that month is shorter."""
    year, month, day = year_month_day(days)
    at = year * 12 + month - 1 + months
    year, month = at // 12, at % 12 + 1
    return days_of(year, month, min(day, days_in_month(year, month)))


def date_text(days: int) -> str:
    """A date as `2020-10-10`."""
    year, month, day = year_month_day(days)
    return f"{year:04d}-{month:02d}-{day:02d}"


def time_text(millis: int, precision: int = 0) -> str:
    """A time of day as `12:00:01`; with a precision it has 1 to 3 digits behind the point, as many as needed."""
    seconds, rest = divmod(millis, 1000)
    text = f"{seconds // 3600:02d}:{seconds // 60 % 60:02d}:{seconds % 60:02d}"
    if precision == 0:
        return text
    digits = f"{rest:03d}"[:precision].rstrip("0")
    return f"{text}.{digits or '0'}"


def fraction_text(units: int, per_second: int, precision: int) -> str:
    """The fraction of a second with so many digits, and the point before it."""
    digits = len(str(per_second)) - 1
    return "." + f"{units:0{digits}d}".ljust(precision, "0")[:precision] if precision > 0 else ""


def timestamp_text(value: int, per_second: int, precision: int) -> str:
    """A timestamp as `2020-10-10 00:00:01.000`."""
    seconds, fraction = divmod(value, per_second)
    days, of_day = divmod(seconds, 86_400)
    return f"{date_text(days)} {time_text(of_day * 1000)}{fraction_text(fraction, per_second, precision)}"


_DATE = re.compile(r"(\d{1,4})(?:-(\d{1,2})(?:-(\d{1,2}))?)?(?:[ T].*)?", re.ASCII)
_TIME = re.compile(r"(\d{1,2})(?::(\d{1,2})(?::(\d{1,2})(?:\.(\d*))?)?)?", re.ASCII)


def parse_date(text: str, is_lenient: bool = False) -> int | None:
    """The days of a text such as `2020-10-10`; None where it is no date.

    With `is_lenient` a day up to 31 behind the end of a month is its last one, as Java's formats have it.
    """
    found = _DATE.fullmatch(text.strip())
    if found is None:
        return None
    year, month, day = [int(part) if part else 1 for part in found.groups()]
    if not 1 <= month <= 12 or not 1 <= day <= 31:
        return None
    last = days_in_month(year, month)
    return days_of(year, month, min(day, last)) if day <= last or is_lenient else None


def parse_time(text: str) -> int | None:
    """The milliseconds of a text such as `12:00:01.5`; None where it is no time."""
    nanos = _nanos_of_day(text.strip())
    return None if nanos is None else nanos // 1_000_000


def _nanos_of_day(text: str) -> int | None:
    found = _TIME.fullmatch(text)
    if found is None:
        return None
    hours, minutes, seconds = [int(part or 0) for part in found.groups()[:3]]
    if hours > 23 or minutes > 59 or seconds > 59:
        return None
    return (hours * 3600 + minutes * 60 + seconds) * 10**9 + int((found[4] or "0")[:9].ljust(9, "0"))


_STAMP = re.compile(r"(\d{1,4}-\d{1,2}-\d{1,2})(?: (\d{1,2}:\d{1,2}:\d{1,2}(?:\.\d*)?))?", re.ASCII)


def parse_timestamp(text: str, per_second: int, is_lenient: bool = False) -> int | None:
    """The internal value of a text such as `2020-10-10 00:00:01.5`; None where it is no timestamp."""
    found = _STAMP.fullmatch(text.strip())
    days = None if found is None else parse_date(found[1], is_lenient)
    nanos = 0 if found is None or found[2] is None else _nanos_of_day(found[2])
    if days is None or nanos is None:
        return None
    return days * 86_400 * per_second + nanos // (10**9 // per_second)


class Zone:
    """A time zone: what the clocks there show at a moment, and which moment a clock there means."""

    def __init__(self, name: str) -> None:
        self.name = name
        self.is_utc = name in ("UTC", "Z", "GMT", "Etc/UTC")
        self._fixed = _fixed_offset(name)
        self._info = ZoneInfo(name) if self._fixed is None else None

    def offset_at(self, millis: int) -> int:
        """How far clocks are ahead of UTC at a moment, in milliseconds."""
        if self._info is None:
            return self._fixed or 0
        return _offset(self._info, millis // 1000)

    def local(self, millis: int) -> int:
        """What clocks show at a moment, as if it were UTC."""
        return millis + self.offset_at(millis)

    def moment(self, millis: int, *, is_later: bool = False) -> int:
        """The moment clocks show this; of two the earlier, unless `is_later`. Shifted ahead where clocks skip it."""
        if self._info is None:
            return millis - (self._fixed or 0)
        local = datetime.datetime(1970, 1, 1) + datetime.timedelta(milliseconds=millis)
        there = local.replace(tzinfo=self._info)
        offset = there.utcoffset()
        if is_later:
            # The other offset counts only where clocks are put back, not where they skip an hour.
            offset = min(offset or datetime.timedelta(), there.replace(fold=1).utcoffset() or datetime.timedelta())
        return millis - round((offset or datetime.timedelta()).total_seconds() * 1000)


@lru_cache(maxsize=4096)
def _offset(info: ZoneInfo, seconds: int) -> int:
    moment = datetime.datetime(1970, 1, 1, tzinfo=datetime.UTC) + datetime.timedelta(seconds=seconds)
    offset = moment.astimezone(info).utcoffset()
    return round((offset or datetime.timedelta()).total_seconds() * 1000)


_OFFSET = re.compile(r"(?:GMT|UTC|UT)?([+-])(\d{1,2})(?::?(\d{2}))?", re.ASCII)


def _fixed_offset(name: str) -> int | None:
    if name in ("UTC", "Z", "GMT", "Etc/UTC"):
        return 0
    found = _OFFSET.fullmatch(name)
    if found is None:
        return None
    minutes = int(found[2]) * 60 + int(found[3] or 0)
    return minutes * 60_000 * (1 if found[1] == "+" else -1)


@lru_cache(maxsize=256)
def zone_named(name: str) -> Zone:
    """Return a time zone by its name, `Europe/Berlin` or `GMT+02:00`."""
    try:
        return Zone(name)
    except (KeyError, ValueError, OSError):
        raise EvaluationError(f"there is no time zone {name!r}: use a name such as Europe/Berlin") from None
