"""The source interface: numbered splits or named partitions with replayable positions."""

from __future__ import annotations

import zlib
from abc import ABC, abstractmethod
from collections.abc import Collection, Iterator, Mapping, Sequence
from dataclasses import dataclass
from typing import Any, Generic

import numpy as np
import numpy.typing as npt

from penstock.common.column_block import ColumnBlock
from penstock.common.type_variables import T_co
from penstock.common.typeinfo import TypeInformation


@dataclass(frozen=True)
class WatermarkSignal:
    """Between chunks of records: event time has reached the timestamp, whatever the strategy says."""

    timestamp: int


@dataclass(frozen=True)
class StatusSignal:
    """Between chunks of records: the split has become idle, or active again."""

    is_idle: bool


Chunk = tuple[list[Any] | ColumnBlock, list[int] | list[int | None] | npt.NDArray[np.int64] | None]
"""Values and their timestamps, lists or columns; None where the source knows none."""


class Source(ABC, Generic[T_co]):
    """Base class of sources, for `StreamExecutionEnvironment.from_source`; a `Source[str]` reads strings."""

    @abstractmethod
    def is_bounded(self) -> bool:
        """Whether the source ends by itself."""

    def is_single(self) -> bool:
        """Whether one subtask always reads all of it, as that of a collection does, in Flink too."""
        return False

    def sample(self) -> list[Any]:
        """A few of the first records, if they are at hand without reading anything; for checks before a start."""
        return []

    def produced_type(self) -> TypeInformation[T_co] | None:
        """The type of the records, where the source knows it."""
        return None

    def gives_columns(self) -> bool | None:
        """Return whether records come as columns where their types allow it, for `explain()`; None: nobody knows."""
        return None

    def validate(self, name: str) -> None:
        """Raise an error before the job starts if the source cannot work; `name` is the operator's."""

    def side_outputs(self) -> frozenset[str]:
        """Ids of the side outputs that the source itself writes to."""
        return frozenset()

    def on_engine(self, name: str, *, has_spark: bool, is_continuous: bool = False) -> Source[T_co]:
        """Return the source as the engine reads it: most are the same everywhere, some only Spark can read.

        Asked once, before a job is compiled; `name` is the operator's, for the message of one that cannot be read.
        Where a job `is_continuous`, or may be, Spark reads nothing, for it reads in batches.
        """
        return self


class SplitSource(Source[T_co]):
    """A source that Penstock's own tasks read.

    A split is a sequence of records numbered 0, 1, 2, ...; a position is the number of the next record to
    read. Reading a range again must give the same records: a batch that failed is read again.
    """

    @abstractmethod
    def split_count(self, parallelism: int) -> int:
        """Return the number of splits; called once, at the first start of a job, and fixed from then on."""

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


@dataclass(frozen=True)
class PartitionRange:
    """Offsets start..stop-1 of a partition are to be read; `ends` tells that nothing will ever come after them."""

    name: str
    start: int
    stop: int
    ends: bool = False


@dataclass(frozen=True)
class FoundPartition:
    """A partition that has turned up: the offset to begin with, and the first not to be read, if there is one."""

    start: int
    stop: int | None = None


@dataclass(frozen=True)
class SideRecords:
    """Between chunks of records: these go to a side output of the source."""

    tag: str
    values: list[Any]
    timestamps: list[int] | list[int | None] | None = None


@dataclass(frozen=True)
class Counted:
    """Between chunks of records: something to be added to a counter of the operator."""

    counter: str
    amount: int


PartitionItem = Chunk | WatermarkSignal | StatusSignal | SideRecords | Counted


class PartitionEnumerator(ABC):
    """Knows which partitions there are and how far they can be read; one for each start of a job, beside its driver."""

    @abstractmethod
    def discover(self, known: Mapping[str, int] | None, now_ms: int) -> dict[str, FoundPartition]:
        """Return partitions that are not known yet, with the offsets to begin with.

        `known` is None at the very first call of a job: then all of them are new, and where they begin is decided for
        good, because the answer is logged before anything is read. Called before every batch; an enumerator that should
        look less often compares the time it is given.
        """

    def discover_more(
        self, known: Mapping[str, int] | None, stops: Mapping[str, int], now_ms: int
    ) -> dict[str, FoundPartition]:
        """Return what `discover` returns; for those who have to know which partitions have been read to their stop."""
        return self.discover(known, now_ms)

    def has_found_all(self, known: Mapping[str, int], stops: Mapping[str, int]) -> bool:
        """Whether no further partitions will turn up; asked of sources with stops that find some later."""
        return True

    @abstractmethod
    def ends(self, positions: Mapping[str, int]) -> dict[str, int]:
        """Return how far each of these partitions can be read now; asked before every batch."""

    def stops(self, names: Collection[str]) -> dict[str, int]:
        """Return where partitions stop that a job goes on with which had no stops when it began with them."""
        found = self.discover(None, 0)
        return {name: found[name].stop or 0 for name in names if name in found and found[name].stop is not None}

    def hurry(self) -> None:  # noqa: B027 - not every one waits
        """Wait less where there is nothing new: in continuous mode every millisecond counts."""

    def close(self) -> None:  # noqa: B027 - not every one holds something
        """Let go of connections."""


class PartitionReader(ABC):
    """Reads partitions in a task; lives as long as the subtask that it reads for stays in its process."""

    @abstractmethod
    def read(self, ranges: Sequence[PartitionRange]) -> Iterator[tuple[str, PartitionItem]]:
        """Yield all records of the ranges, in chunks with the name of their partition.

        Records of one partition come in order. The same ranges must give the same sequence again, also across
        partitions: a task that is run again must not deal its records out in another way.
        """

    def arrived(self, positions: Mapping[str, int]) -> dict[str, int] | None:
        """Return how far these partitions can be read without waiting; None from readers that cannot tell.

        In continuous mode a task that knows hands on what is there, instead of asking for the ends each time.
        """
        return None

    def close(self) -> None:  # noqa: B027 - not every one holds something
        """Let go of connections."""


class PositionListener(ABC):
    """Is told beside the driver which positions are final."""

    @abstractmethod
    def on_final(self, positions: Mapping[str, int]) -> None:
        """All records before these positions have been dealt with for good. Must not wait, and must not fail."""

    def close(self) -> None:  # noqa: B027 - not every one holds something
        """Let go of connections."""


class PartitionedSource(Source[T_co]):
    """A source of named partitions, each a sequence of records by offset; partitions may turn up while the job runs.

    A subtask reads several of them, each with a watermark of its own. Offsets may have gaps. Reading a range again must
    give the same records.
    """

    @abstractmethod
    def create_enumerator(self, name: str) -> PartitionEnumerator:
        """Make what finds partitions; `name` is the operator's, for messages."""

    @abstractmethod
    def create_reader(self, name: str, subtask: int) -> PartitionReader:
        """Make what reads them in a task."""

    def create_listener(self, name: str) -> PositionListener | None:
        """Make what is told of final positions, if anything wants to know."""
        return None

    def has_stops(self) -> bool:
        """Whether every partition has an offset at which reading stops, so that the source ends."""
        return self.is_bounded()

    def finds_later(self) -> bool:
        """Whether partitions turn up after the first ones."""
        return not self.has_stops()

    def ends_partitions(self) -> bool:
        """Whether a partition that is read to its stop has ended, even if others may turn up."""
        return self.has_stops()

    def paces_itself(self) -> bool:
        """Whether its enumerator's `ends` are how far a batch reads: where offsets do not count records."""
        return False

    def reads_partitions_apart(self) -> bool:
        """Whether a subtask that reads by itself has to know nothing of the partitions of others."""
        return False

    def needs_overview(self) -> bool:
        """Whether subtasks that read by themselves would have to know how far the others have come."""
        return False

    def begins_when_read(self) -> bool:
        """Whether a partition counts for the watermark only once something of it is read."""
        return False

    def owner(self, partition: str, parallelism: int) -> int:
        """Return the subtask that reads a partition: always the same for the same arguments, in any process."""
        return zlib.crc32(partition.encode()) % parallelism
