"""The records of the comparison: the key, the time and the value of record n, the same in every system.

A square modulo a prime passes for random (no cycle an LRU cache could be defeated by), and every JVM computes it in
nanoseconds. Imports the standard library only: environments of all systems load it.
"""

from __future__ import annotations

from functools import lru_cache
from typing import Any

PERIOD = 1_000_003
PRIME = 2_147_483_647
_SQUARE, _LINEAR = 7_368_787, 48_271
VALUES = 1_000
TWIN_SHIFT = 12_345
"""How far ahead in the table of keys the second side of a join begins."""


def drawn(number: int) -> int:
    """A pseudo-random number below `PRIME`."""
    place = number % PERIOD
    return place * (place * _SQUARE + _LINEAR) % PRIME


def key_of(number: int, keys: int, zipf: bool) -> int:
    """The key of record `number`; with `zipf` key k comes about 1 / (k + 1) times as often as key 0."""
    return int(keys ** (drawn(number) / PRIME)) - 1 if zipf else drawn(number) % keys


def time_of(number: int, rate: int) -> int:
    """Event time in milliseconds: `rate` records in a second."""
    return number * 1000 // rate


class DrawnKeys(list[Any]):
    """Keys of the records 0 to PERIOD - 1; travels to another process by what it is made of."""

    def __init__(self, keys: int, zipf: bool, as_text: bool) -> None:
        found = (key_of(number, keys, zipf) for number in range(PERIOD))
        super().__init__(map(str, found) if as_text else found)
        self._made_of = (keys, zipf, as_text)

    def __reduce__(self) -> tuple[Any, ...]:
        return drawn_keys, self._made_of


@lru_cache(maxsize=4)
def drawn_keys(keys: int, zipf: bool = False, as_text: bool = False) -> DrawnKeys:
    """The table, made once in a process."""
    return DrawnKeys(keys, zipf, as_text)


@lru_cache(maxsize=4)
def drawn_column(keys: int, zipf: bool = False) -> Any:
    """The table as an array, for systems that have numpy."""
    import numpy

    return numpy.array(drawn_keys(keys, zipf))


def remainder_sql(dividend: str, divisor: int) -> str:
    """A remainder as a BIGINT; Flink gives it the type of the divisor, and an INT would overflow."""
    return f"MOD({dividend}, CAST({divisor} AS BIGINT))"


def draw_sql(number: str) -> str:
    """`drawn` of a number that is an SQL expression."""
    place = remainder_sql(number, PERIOD)
    return remainder_sql(f"{place} * ({place} * {_SQUARE} + {_LINEAR})", PRIME)


def key_sql(number: str, keys: int, zipf: bool) -> str:
    """The key of the record whose number is the SQL expression `number`."""
    found = draw_sql(number)
    if zipf:
        return f"CAST(FLOOR(POWER({keys}, CAST({found} AS DOUBLE) / {PRIME})) AS BIGINT) - 1"
    return remainder_sql(found, keys)
