"""A source of rows of tables that the program holds: VALUES, from_elements, the connector 'values' of tests."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

from penstock.connectors.source import SplitSource

__all__ = ["RowSource"]

_CHUNK = 5_000


class RowSource(SplitSource[tuple[Any, ...]]):
    """Rows in order, in one split; if it is not bounded it waits at their end."""

    def __init__(self, rows: list[tuple[Any, ...]], bounded: bool = True, per_batch: int | None = None) -> None:
        """Rows are tuples of values that cannot change, so they are not copied; `per_batch` limits those of a batch."""
        self.rows = rows
        self.per_batch = per_batch
        self.bounded = bounded

    def is_bounded(self) -> bool:
        """As it was told."""
        return self.bounded

    def gives_columns(self) -> bool:
        """Return that records come one by one."""
        return False

    def is_single(self) -> bool:
        """Always: the order of the rows is kept."""
        return True

    def split_count(self, parallelism: int) -> int:
        """One."""
        return 1

    def split_end(self, split: int, split_count: int) -> int | None:
        """The number of rows, if it ends."""
        return len(self.rows) if self.bounded else None

    def available(self, split: int, split_count: int, position: int, elapsed_ms: int, limit: int) -> int:
        """All rows are there from the start; a limit makes several sources take turns."""
        return min(position + min(limit, self.per_batch or limit), len(self.rows))

    def read(self, split: int, split_count: int, start: int, stop: int) -> Iterator[tuple[list[Any], None]]:
        """Slices of the rows."""
        for low in range(start, stop, _CHUNK):
            yield self.rows[low : min(low + _CHUNK, stop)], None
