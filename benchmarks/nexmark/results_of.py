"""Results of a query in a form that two systems can be compared by: what is left of a changelog, as texts.

Imports the standard library only: environments of all systems load it.
"""

from __future__ import annotations

import datetime
from collections import Counter
from collections.abc import Iterable
from decimal import Decimal
from typing import Any

_ADDS = ("+I", "+U")


def as_text(value: Any) -> str:
    """A value as both systems' Python sees it: a time without its zone, which is UTC."""
    if isinstance(value, datetime.datetime):
        return value.replace(tzinfo=None).isoformat(sep=" ", timespec="milliseconds")
    if isinstance(value, Decimal):
        return format(value.normalize(), "f")
    return str(value)


def materialized(rows: Iterable[tuple[str, Iterable[Any]]]) -> list[list[str]]:
    """The table that a changelog of kinds (`+I`, `-U`, `+U`, `-D`) and values leaves, in order."""
    found: Counter[tuple[str, ...]] = Counter()
    for kind, values in rows:
        found[tuple(map(as_text, values))] += 1 if kind in _ADDS else -1
    surplus = [row for row, count in found.items() if count < 0]
    assert not surplus, f"rows were taken back that never came, as {surplus[0]}"
    return sorted(list(row) for row in found.elements())


def latest(rows: Iterable[tuple[str, Iterable[Any]]], key: Iterable[int]) -> list[list[str]]:
    """The last row for each value of the columns at these places, in order."""
    places = tuple(key)
    found: dict[tuple[str, ...], list[str]] = {}
    for kind, values in rows:
        row = list(map(as_text, values))
        if kind in _ADDS:
            found[tuple(row[place] for place in places)] = row
    return sorted(found.values())
