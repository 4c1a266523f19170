"""Java's patterns of dates, such as `yyyy-MM-dd HH:mm:ss.SSS`: writing and reading timestamps by them."""

from __future__ import annotations

import re
from collections.abc import Callable
from functools import lru_cache

from penstock.vocabulary.sql.scalar.calendar_values import days_in_month, days_of, year_month_day, zone_named

__all__ = ["formatter", "parser"]

_MONTHS = [
    "January",
    "February",
    "March",
    "April",
    "May",
    "June",
    "July",
    "August",
    "September",
    "October",
    "November",
    "December",
]
_DAYS = ["Monday", "Tuesday", "Wednesday", "Thursday", "Friday", "Saturday", "Sunday"]
_LETTERS = "GyYuMLdDEeaHhkKmsSnNwWQXxZzV"
_TOKEN = re.compile(r"'((?:[^']|'')*)'|([a-zA-Z])\2*|(.)", re.DOTALL)


@lru_cache(maxsize=256)
def _tokens(pattern: str) -> tuple[tuple[str, str], ...]:
    """Letters with their repetitions, and literal text."""
    made = []
    for found in _TOKEN.finditer(pattern):
        if found[2] and found[2] in _LETTERS:
            made.append((found[2], found[0]))
        elif found[0].startswith("'"):
            made.append(("", found[1].replace("''", "'") or "'"))
        else:
            made.append(("", found[0]))
    return tuple(made)


@lru_cache(maxsize=256)
def formatter(pattern: str) -> Callable[[int, str], str]:
    """Return the function that writes nanoseconds since 1970, as clocks in a zone show them."""
    tokens = _tokens(pattern)

    def write(nanos: int, zone: str = "UTC") -> str:
        seconds, fraction = divmod(nanos, 10**9)
        days, of_day = divmod(seconds, 86_400)
        moment = _Fields(days, of_day, fraction, zone, seconds)
        return "".join([moment.text(letter, run) if letter else run for letter, run in tokens])

    return write


class _Fields:
    """The parts of a moment."""

    def __init__(self, days: int, of_day: int, fraction: int, zone: str, seconds: int) -> None:
        self.days, self.of_day, self.fraction, self.zone, self.seconds = days, of_day, fraction, zone, seconds
        self.year, self.month, self.day = year_month_day(days)

    def text(self, letter: str, run: str) -> str:
        """The text of one letter of a pattern, repeated as `run`."""
        width = len(run)
        if letter in "yuY":
            return f"{self.year % 100:02d}" if width == 2 else f"{self.year:0{width}d}"
        if letter in "ML":
            return _word(_MONTHS[self.month - 1], width) if width > 2 else f"{self.month:0{width}d}"
        if letter == "E":
            return _word(_DAYS[(self.days + 3) % 7], max(width, 3))
        if letter == "S":
            return f"{self.fraction:09d}"[:width].ljust(width, "0")
        if letter == "a":
            return "AM" if self.of_day < 43_200 else "PM"
        if letter == "G":
            return "AD" if self.year > 0 else "BC"
        if letter in "XxZzV":
            return self._zone(letter, width)
        return f"{self._number(letter):0{width}d}"

    def _number(self, letter: str) -> int:
        hour = self.of_day // 3600
        first = days_of(self.year, 1, 1)
        return {
            "d": self.day,
            "D": self.days - first + 1,
            "H": hour,
            "k": hour or 24,
            "K": hour % 12,
            "h": hour % 12 or 12,
            "m": self.of_day // 60 % 60,
            "s": self.of_day % 60,
            "n": self.fraction,
            "N": self.of_day * 10**9 + self.fraction,
            "e": (self.days + 4) % 7 + 1,
            "Q": (self.month + 2) // 3,
            "w": self._week(first),
            "W": (self.day - 1 + (self.days - self.day + 5) % 7) // 7 + 1,
        }[letter]

    def _week(self, first: int) -> int:
        """The week by the custom of the US: week 1 has January 1 in it, and begins on a Sunday."""
        saturday = self.days + 6 - (self.days + 4) % 7
        if year_month_day(saturday)[0] > self.year:
            return 1
        return (self.days - first + (first + 4) % 7) // 7 + 1

    def _zone(self, letter: str, width: int) -> str:
        if letter in "zV":
            return self.zone
        zone = zone_named(self.zone)
        minutes = (self.seconds - zone.moment(self.seconds * 1000) // 1000) // 60
        if letter == "X" and minutes == 0:
            return "Z"
        sign, size = "-" if minutes < 0 else "+", abs(minutes)
        if width == 1 and letter != "Z":
            return f"{sign}{size // 60:02d}" + (f"{size % 60:02d}" if size % 60 else "")
        colon = ":" if width == 3 and letter != "Z" else ""
        return f"{sign}{size // 60:02d}{colon}{size % 60:02d}"


def _word(word: str, width: int) -> str:
    return word if width == 4 else word[:3]


_SIZES = {"d": 2, "M": 2, "H": 2, "h": 2, "k": 2, "K": 2, "m": 2, "s": 2, "D": 3}


@lru_cache(maxsize=256)
def parser(pattern: str) -> Callable[[str], tuple[int, int | None] | None]:
    """Return the function that reads nanoseconds since 1970, and the offset from UTC in seconds where the text has one.

    It gives None for a text that does not have the pattern, or is no date.
    """
    names: list[str] = []
    source = "".join([_source(letter, run, names) if letter else re.escape(run) for letter, run in _tokens(pattern)])
    matches = re.compile(source, re.ASCII | re.IGNORECASE).fullmatch

    def read(text: str) -> tuple[int, int | None] | None:
        found = matches(text)
        return None if found is None else _moment(dict(zip(names, found.groups(), strict=True)))

    return read


def _source(letter: str, run: str, names: list[str]) -> str:
    width = len(run)
    names.append("u" if letter == "y" else "M" if letter == "L" else letter)
    if letter in "yu":
        return r"(\d{4})" if width == 4 else rf"(\d{{{width}}})" if width > 1 else r"(\d{1,9})"
    if letter in "ML" and width > 2:
        return "(" + "|".join([_word(each, width) for each in _MONTHS]) + ")"
    if letter == "S":
        return rf"(\d{{{width}}})"
    if letter == "E":
        return "(" + "|".join([_word(each, width) for each in _DAYS]) + ")"
    if letter == "a":
        return "(AM|PM)"
    if letter in "XxZ":
        return r"(Z|[+-]\d{2}(?::?\d{2})?)"
    return rf"(\d{{{width}}})" if width > 1 else rf"(\d{{1,{_SIZES.get(letter, 2)}}})"


def _moment(parts: dict[str, str]) -> tuple[int, int | None] | None:
    year = int(parts.get("u", "1970"))
    year += 2000 if len(parts.get("u", "1970")) == 2 else 0
    month, day = _month(parts.get("M", "1")), int(parts.get("d", "1"))
    hour = _hour(parts)
    minute, second = int(parts.get("m", "0")), int(parts.get("s", "0"))
    if not 1 <= month <= 12 or not 1 <= day <= 31:
        return None
    day = min(day, days_in_month(year, month))
    if hour > 23 or minute > 59 or second > 59:
        return None
    seconds = days_of(year, month, day) * 86_400 + hour * 3600 + minute * 60 + second
    nanos = int(parts.get("S", "0")[:9].ljust(9, "0"))
    return seconds * 10**9 + nanos, _offset(parts)


def _month(text: str) -> int:
    if text.isdigit():
        return int(text)
    return [each[:3].lower() for each in _MONTHS].index(text[:3].lower()) + 1


def _hour(parts: dict[str, str]) -> int:
    if "h" in parts or "K" in parts:
        return int(parts.get("h") or parts["K"]) % 12 + (12 if parts.get("a", "").upper() == "PM" else 0)
    return int(parts.get("H") or parts.get("k") or "0")


def _offset(parts: dict[str, str]) -> int | None:
    text = parts.get("X") or parts.get("x") or parts.get("Z")
    if text is None:
        return None
    if text.upper() == "Z":
        return 0
    digits = text[1:].replace(":", "").ljust(4, "0")
    return (int(digits[:2]) * 3600 + int(digits[2:]) * 60) * (-1 if text[0] == "-" else 1)
