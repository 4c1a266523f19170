"""What a source is to Penstock: numbered splits of replayable positions, or a frame that Spark reads.

Owns the contract only; the sources themselves have modules of their own.
"""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections.abc import Iterator
from dataclasses import dataclass
from typing import Any


@dataclass(frozen=True)
class WatermarkSignal:
    """Between chunks of records: event time has reached the timestamp, whatever the strategy says."""

    timestamp: int


@dataclass(frozen=True)
class StatusSignal:
    """Between chunks of records: the split has become idle, or active again."""

    is_idle: bool


Chunk = tuple[list[Any], list[int] | list[int | None] | None]
"""Values and their timestamps; None where the source knows none."""


class Source(ABC):
    """Anything that `StreamExecutionEnvironment.from_source` takes."""

    @abstractmethod
    def is_bounded(self) -> bool:
        """Whether the source ends by itself."""

    def is_single(self) -> bool:
        """Whether the source always has exactly one split (a collection has, as in Flink)."""
        return False

    def sample(self) -> list[Any]:
        """A few of the first records, if they are at hand without reading anything; for checks before a start."""
        return []


class SplitSource(Source):
    """A source that Penstock's own tasks read.

    A split is a sequence of records numbered 0, 1, 2, ...; a position is the number of the next record to
    read. Reading a range again must give the same records: a batch that failed is read again.
    """

    @abstractmethod
    def split_count(self, parallelism: int) -> int:
        """How many splits there are; asked once, at the first start of a job, and kept for its life."""

    @abstractmethod
    def split_end(self, split: int, split_count: int) -> int | None:
        """Position after the last record of the split, or None if the split does not end."""

    def available(self, split: int, split_count: int, position: int, elapsed_ms: int, limit: int) -> int:
        """Position up to which the next batch may read, at most `position + limit`.

        Called on the driver before every batch, many times a second, so it must be quick. `elapsed_ms` is the
        time since the job (re)started; a rate-limited source releases records with it.
        """
        end = self.split_end(split, split_count)
        upper = position + limit
        return upper if end is None else min(upper, end)

    @abstractmethod
    def read(
        self, split: int, split_count: int, start: int, stop: int
    ) -> Iterator[Chunk] | Iterator[Chunk | WatermarkSignal | StatusSignal]:
        """Yield the records of positions start..stop-1 in order, in chunks of some thousands.

        Called in a task. A source that knows more than its records may yield signals between the chunks.
        """

    def has_clock(self) -> bool:
        """Whether the source says what time it is; only scripted sources of tests do."""
        return False

    def processing_time(self, split: int, split_count: int, position: int) -> int | None:
        """For sources that script the clock of a test: the time when a batch ends at this position."""
        return None
