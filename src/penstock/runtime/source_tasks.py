"""What a batch has to do for its sources, as data: offsets, and tasks made of two of them."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import Any

from penstock.connectors.source import PartitionRange


@dataclass(frozen=True)
class Offset:
    """Where the sources stand that Penstock reads itself, and what else a batch begins and ends with.

    Sources go by the uid of their operator, so that positions find their source again in a changed job. `positions` has
    a number for each split, `partitions` one for each named partition, `stops` where partitions end, where that was
    decided. `tick` counts batches that were wanted at a time, `ended` names sources of the engine's that have been read
    to their end, `complete` sources that find no more partitions. `paused` names splits and partitions that the batch
    left alone for the sake of watermark alignment. `begun` is False before the first batch.
    """

    begun: bool = False
    tick: int = 0
    draining: bool = False
    ended: tuple[str, ...] = ()
    positions: dict[str, list[int]] = field(default_factory=dict)
    partitions: dict[str, dict[str, int]] = field(default_factory=dict)
    stops: dict[str, dict[str, int]] = field(default_factory=dict)
    complete: tuple[str, ...] = ()
    paused: dict[str, list[str]] = field(default_factory=dict)

    def to_json(self) -> dict[str, Any]:
        """As plain data, for logs and seals."""
        plain: dict[str, Any] = {
            "begun": self.begun,
            "tick": self.tick,
            "draining": self.draining,
            "ended": list(self.ended),
            "positions": self.positions,
            "partitions": self.partitions,
            "stops": self.stops,
        }
        if self.complete:
            plain["complete"] = list(self.complete)
        if self.paused:
            plain["paused"] = self.paused
        return plain

    @classmethod
    def from_json(cls, plain: Mapping[str, Any]) -> Offset:
        """The offset in plain data; what is missing is as at the beginning."""
        return cls(
            begun=plain.get("begun", False),
            tick=plain.get("tick", 0),
            draining=plain.get("draining", False),
            ended=tuple(plain.get("ended", ())),
            positions=plain.get("positions", {}),
            partitions=plain.get("partitions", {}),
            stops=plain.get("stops", {}),
            complete=tuple(plain.get("complete", ())),
            paused=plain.get("paused", {}),
        )


@dataclass(frozen=True)
class SourceTask:
    """One thing to do for a source in a batch: read start..stop-1 of a split or ranges of partitions, perhaps end it.

    `ranges` is None for a source without partitions; `split` is the number of the subtask. `lags` tells how many
    records of a partition are left behind the batch, `pending` how many in all of them. `has_unread`: the subtask has
    partitions that have not begun, so it is not idle though it reads nothing. `paused` names its splits that wait for
    others: they are not idle either.
    """

    vertex: int
    split: int
    start: int = 0
    stop: int = 0
    ends: bool = False
    ranges: tuple[PartitionRange, ...] | None = None
    lags: dict[str, int] = field(default_factory=dict)
    pending: int | None = None
    has_unread: bool = False
    paused: tuple[str, ...] = ()

    @property
    def size(self) -> int:
        """How many records there may be to read."""
        return self.stop - self.start + sum(each.stop - each.start for each in self.ranges or ())


def looks_around(start: Offset, end: Offset) -> bool:
    """Whether a batch lets sources notice that nothing comes; the first one starts their clocks."""
    return end.tick != start.tick or not start.begun


def pauses_otherwise(uid: str, start: Offset, end: Offset) -> bool:
    """Whether other splits of a source are paused in a batch than were before: their clocks of idleness stop or go."""
    return start.paused.get(uid) != end.paused.get(uid)
