"""What the counting job is to compute, in plain Python: its input, and the oracle of its output.

Record n is a pure function of n. All records of a key come from one split, in order, so the running counts do not
depend on how the splits are interleaved; sums of event-time periods do not depend on order at all.
"""

from __future__ import annotations

import random
from collections import Counter, defaultdict
from typing import Any

SPLITS = 2
KEYS = 48
PERIOD_MS = 1_000
DISORDER_MS = 60
MILESTONE = 5
END_MS = 1 << 50  # after all records: what a timer set for it does is done when all input has ended

Event = tuple[int, int, int, int]


def event(number: int) -> Event:
    """Record of a number: (number, key, value, event time)."""
    chance = random.Random(number)
    key = chance.randrange(KEYS // SPLITS) * SPLITS + number % SPLITS
    return number, key, chance.randrange(1_000), number * 7 + chance.randrange(DISORDER_MS)


def counted(number: int, key: int, count: int) -> dict[str, Any]:
    """The output for a record."""
    return {"kind": "counted", "number": number, "key": key, "count": count}


def period(key: int, start: int, total: int) -> dict[str, Any]:
    """The output of an event-time timer."""
    return {"kind": "period", "key": key, "start": start, "total": total}


def milestone(key: int, count: int, values: list[int]) -> dict[str, Any]:
    """The side output of every fifth record of a key."""
    return {"kind": "milestone", "key": key, "count": count, "values": values}


def expected(count: int) -> tuple[list[dict[str, Any]], list[dict[str, Any]]]:
    """Main and side output of a whole run over that many records."""
    counts: Counter[int] = Counter()
    recent: dict[int, list[int]] = defaultdict(list)
    totals: Counter[tuple[int, int]] = Counter()
    main, side = [], []
    for number, key, value, time_ms in map(event, range(count)):
        counts[key] += 1
        recent[key].append(value)
        totals[key, time_ms // PERIOD_MS * PERIOD_MS] += value
        main.append(counted(number, key, counts[key]))
        if counts[key] % MILESTONE == 0:
            side.append(milestone(key, counts[key], recent.pop(key)))
    main += [period(key, start, total) for (key, start), total in totals.items()]
    return main, side
