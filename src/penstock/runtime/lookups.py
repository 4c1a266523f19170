"""The interface between lookup operators and connectors, and the lookup cache."""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections import OrderedDict
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from typing import Any

from penstock.vocabulary.functions import RuntimeContext

Fields = tuple[Any, ...]
"""Values of a key, or of a row without its kind."""


class Lookup(ABC):
    """Finds rows of a table outside. It sits in the plan as a picklable description until it is opened."""

    def open(self, context: RuntimeContext) -> None:  # noqa: B027, not every one has something to open
        """Called once in a worker process, before anything is asked."""

    @abstractmethod
    def find(self, keys: Sequence[Fields]) -> list[list[Fields]]:
        """The rows of each of several keys, which are all different and have no NULL in them; they may be empty lists.

        Asked for many keys at once, so that one round trip can serve a whole block of rows.
        """

    def close(self) -> None:  # noqa: B027
        """Called once, when nothing will be asked any more."""


class AsyncLookup(ABC):
    """Finds rows of a table outside, many keys at the same time: its calls run in an event loop."""

    def open(self, context: RuntimeContext) -> None:  # noqa: B027, not every one has something to open
        """Called once in a worker process, before anything is asked."""

    @abstractmethod
    async def find(self, key: Fields) -> list[Fields]:
        """The rows of a key that has no NULL in it."""

    def close(self) -> None:  # noqa: B027
        """Called once, when none of its calls goes on."""


@dataclass(frozen=True)
class CacheSettings:
    """How long what was found is used again; None: without that limit. `keeps_missing`: also that nothing was found."""

    max_keys: int | None = None
    expire_after_write_ms: int | None = None
    expire_after_access_ms: int | None = None
    keeps_missing: bool = True


class LookupCache:
    """The rows of keys that were looked up lately; those not used for longest go first."""

    def __init__(self, settings: CacheSettings, clock: Callable[[], int]) -> None:
        self._settings = settings
        self._clock = clock
        self._entries: OrderedDict[Fields, list[Any]] = OrderedDict()  # rows, when written, when used

    def get(self, key: Fields) -> list[Fields] | None:
        """The rows of a key, None if they must be looked up."""
        entry = self._entries.get(key)
        if entry is None:
            return None
        rows, written, used = entry
        settings, now = self._settings, self._clock()
        if _is_over(settings.expire_after_write_ms, written, now) or _is_over(
            settings.expire_after_access_ms, used, now
        ):
            del self._entries[key]
            return None
        entry[2] = now
        self._entries.move_to_end(key)
        found: list[Fields] = rows
        return found

    def put(self, key: Fields, rows: list[Fields]) -> None:
        """Keep what was found."""
        if not rows and not self._settings.keeps_missing:
            return
        now = self._clock()
        self._entries[key] = [rows, now, now]
        self._entries.move_to_end(key)
        if self._settings.max_keys is not None and len(self._entries) > self._settings.max_keys:
            self._entries.popitem(last=False)

    def __len__(self) -> int:
        return len(self._entries)


def _is_over(limit_ms: int | None, since: int, now: int) -> bool:
    return limit_ms is not None and now - since >= limit_ms
