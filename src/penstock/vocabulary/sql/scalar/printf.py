"""PRINTF: Java's format strings for the values of SQL."""

from __future__ import annotations

import re
from collections.abc import Callable, Sequence
from decimal import Decimal
from typing import Any

from penstock.vocabulary.sql.logical_types import LogicalType
from penstock.vocabulary.sql.scalar.calendar_values import zone_named
from penstock.vocabulary.sql.scalar.value_texts import text_function

__all__ = ["java_format"]

_PLACE = re.compile(r"%(?:(\d+)\$)?([-#+ 0,(]*)(\d+)?(?:\.(\d+))?([a-zA-Z%])")


def java_format(types: Sequence[LogicalType]) -> Callable[..., str | None]:
    """Return the function of a format and values of the given types."""
    texts = [text_function(each, zone_named("UTC")) for each in types]

    def printf(pattern: str | None, *values: Any) -> str | None:
        if pattern is None:
            return None
        rest = iter(range(len(values)))

        def place(found: re.Match[str]) -> str:
            number, flags, width, precision, letter = found.groups()
            if letter in "%n":
                return "%" if letter == "%" else "\n"
            at = int(number) - 1 if number else next(rest)
            return _placed(values[at], texts[at], flags, width, precision, letter)

        try:
            return _PLACE.sub(place, pattern)
        except (StopIteration, IndexError, ValueError, TypeError):
            return None

    return printf


def _placed(value: Any, text: Callable[[Any], str], flags: str, width: str, precision: str, letter: str) -> str:
    made = _written(value, text, flags, precision, letter)
    size = int(width or 0)
    if "-" in flags:
        return made.ljust(size)
    if "0" in flags and made[:1] in "+-":
        return made[0] + made[1:].rjust(size - 1, "0")
    return made.rjust(size, "0" if "0" in flags else " ")


def _written(value: Any, text: Callable[[Any], str], flags: str, precision: str, letter: str) -> str:
    if value is None:
        return "false" if letter in "bB" else "null"[: int(precision) if precision else None]
    if letter in "sS":
        made = ("true" if value else "false") if isinstance(value, bool) else text(value)
        made = made[: int(precision)] if precision else made
        return made.upper() if letter == "S" else made
    grouping = "," if "," in flags else ""
    sign = "+" if "+" in flags else " " if " " in flags else ""
    if letter == "d":
        if not isinstance(value, int):
            raise ValueError(letter)
        return f"{value:{sign}{grouping}d}"
    if letter in "xXo":
        return f"{value & (1 << 64) - 1 if value < 0 else value:{letter}}"
    if letter in "feE" and isinstance(value, float):
        # Java begins with the shortest digits, and fills up with zeros.
        number = Decimal(repr(value)) if letter == "f" else value
        return f"{number:{sign}{grouping}.{precision or 6}{letter}}"
    if letter in "bB":
        return "false" if value is False else "true"
    if letter == "c":
        return value if isinstance(value, str) else chr(value)
    raise ValueError(letter)
