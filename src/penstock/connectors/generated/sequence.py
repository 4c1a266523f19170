"""A source of consecutive whole numbers, cut into even contiguous splits."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

from penstock.connectors.source import SplitSource
from penstock.errors import ConfigurationError

_CHUNK = 10_000


class NumberSequence(SplitSource[int]):
    """The numbers start..end_inclusive; each split holds a contiguous part, as in Flink's NumberSequenceSource."""

    def __init__(self, start: int, end_inclusive: int) -> None:
        """Check the bounds; an empty sequence is refused, as in Flink."""
        for label, bound in (("start", start), ("end", end_inclusive)):
            if isinstance(bound, bool) or not isinstance(bound, int):
                raise ConfigurationError(f"The {label} of a number sequence must be an int, got {bound!r}.")
        if start > end_inclusive:
            raise ConfigurationError(f"A number sequence must not start ({start}) after its end ({end_inclusive}).")
        self.start = start
        self.end_inclusive = end_inclusive

    def is_bounded(self) -> bool:
        """Always true."""
        return True

    def gives_columns(self) -> bool:
        """Return that records come one by one."""
        return False

    def split_count(self, parallelism: int) -> int:
        """One split for each subtask, but never an empty one."""
        return min(parallelism, self.end_inclusive - self.start + 1)

    def split_end(self, split: int, split_count: int) -> int | None:
        """How many numbers the split holds."""
        return self._offset(split + 1, split_count) - self._offset(split, split_count)

    def read(self, split: int, split_count: int, start: int, stop: int) -> Iterator[tuple[list[Any], list[int] | None]]:
        """Yield the numbers of the range."""
        first = self.start + self._offset(split, split_count)
        for low in range(first + start, first + stop, _CHUNK):
            yield list(range(low, min(low + _CHUNK, first + stop))), None

    def _offset(self, split: int, split_count: int) -> int:
        return split * (self.end_inclusive - self.start + 1) // split_count
