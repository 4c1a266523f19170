"""Lookups that are tried again for keys that found nothing: 'retry-predicate' = 'lookup_miss'."""

from __future__ import annotations

import time
from collections.abc import Callable, Sequence
from typing import Any

from penstock.runtime.lookups import Fields, Lookup

__all__ = ["RetriedLookup"]


class RetriedLookup(Lookup):
    """Asks again for the keys of a block that found nothing, together, after a pause, up to `max_attempts` times."""

    def __init__(
        self, lookup: Lookup, max_attempts: int, delay_ms: int, sleep: Callable[[float], None] = time.sleep
    ) -> None:
        """Take the lookup, how often to ask again, and how long after."""
        self.lookup = lookup
        self.max_attempts = max_attempts
        self.delay_ms = delay_ms
        self.sleep = sleep

    def open(self, context: Any) -> None:
        """Open the lookup."""
        self.lookup.open(context)

    def close(self) -> None:
        """Close the lookup."""
        self.lookup.close()

    def find(self, keys: Sequence[Fields]) -> list[list[Fields]]:
        """Ask until every key has found something, or the tries are used up."""
        found = self.lookup.find(keys)
        for _ in range(self.max_attempts):
            missing = [number for number, rows in enumerate(found) if not rows]
            if not missing:
                break
            self.sleep(self.delay_ms / 1000)
            for number, rows in zip(missing, self.lookup.find([keys[each] for each in missing]), strict=True):
                found[number] = rows
        return found
