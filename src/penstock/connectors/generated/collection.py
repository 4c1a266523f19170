"""A source over values the driver already holds."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

from penstock.common.own_copies import own_copies
from penstock.common.type_variables import T_co
from penstock.connectors.source import SplitSource
from penstock.errors import ConfigurationError

_CHUNK = 5_000


class CollectionSource(SplitSource[T_co]):
    """The given values, in order, in one split; `timestamps` gives the event time of each in milliseconds."""

    def __init__(self, values: list[Any], timestamps: list[int] | None = None) -> None:
        """Keep a copy of the values, so that a later change of the list cannot change a replay."""
        if timestamps is not None and len(timestamps) != len(values):
            raise ConfigurationError(
                f"A collection of {len(values)} values needs as many timestamps, but {len(timestamps)} were given."
            )
        self.values = list(values)
        self.timestamps = None if timestamps is None else list(timestamps)

    def is_bounded(self) -> bool:
        """Always true."""
        return True

    def gives_columns(self) -> bool:
        """Return that records come one by one."""
        return False

    def is_single(self) -> bool:
        """Always true: the order of the collection is kept."""
        return True

    def sample(self) -> list[Any]:
        """The first values."""
        return self.values[:100]

    def split_count(self, parallelism: int) -> int:
        """One, whatever the parallelism."""
        return 1

    def split_end(self, split: int, split_count: int) -> int | None:
        """Number of values."""
        return len(self.values)

    def read(self, split: int, split_count: int, start: int, stop: int) -> Iterator[tuple[list[Any], list[int] | None]]:
        """Yield slices of the collection."""
        for low in range(start, stop, _CHUNK):
            high = min(low + _CHUNK, stop)
            # A job runs on copies: the values are the program's, and one may be there twice.
            yield own_copies(self.values[low:high]), None if self.timestamps is None else self.timestamps[low:high]
