"""What a batch has to do for its sources, as data: offsets, and tasks made of two of them; owns no decision."""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import Any

from penstock.connectors.source import PartitionRange

Offset = dict[str, Any]


@dataclass(frozen=True)
class SourceTask:
    """One thing to do for a source in a batch: read start..stop-1 of a split or ranges of partitions, perhaps end it.

    `ranges` is None for a source without partitions; `split` is the number of the subtask. `lags` tells how many
    records of a partition are left behind the batch, `pending` how many in all of them.
    """

    vertex: int
    split: int
    start: int = 0
    stop: int = 0
    ends: bool = False
    ranges: tuple[PartitionRange, ...] | None = None
    lags: dict[str, int] = field(default_factory=dict)
    pending: int | None = None

    @property
    def size(self) -> int:
        """How many records there may be to read."""
        return self.stop - self.start + sum(each.stop - each.start for each in self.ranges or ())


def looks_around(start: Offset, end: Offset) -> bool:
    """Whether a batch lets sources notice that nothing comes; the first one starts their clocks."""
    return bool(end["tick"] != start["tick"] or not start["begun"])
