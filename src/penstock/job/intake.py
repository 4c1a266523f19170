"""What the next batch takes from the sources: positions, ticks, drain and ends, as one `Offset`.

Here is the decision; the engine logs the offset before the batch runs. For sources of partitions see
`penstock.job.partition_intake`, for the list of a plan's sources `penstock.job.plan_sources`.

On Spark every job starts a Python process that needs this module and little else, so it imports no operator.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field, replace

from penstock.connectors.source import SplitSource
from penstock.job.partition_intake import PartitionedVertex, advanced_partitions, partition_tasks
from penstock.runtime.source_tasks import Offset, SourceTask, looks_around, pauses_otherwise

_SMALL_TASK_RECORDS = 2_000
_GROUP_TASKS = 32
_NONE: Mapping[str, list[str]] = {}


@dataclass(frozen=True)
class IntakeRequest:
    """What the driver of a job wants of the next batches: drain, sources that have ended, a batch at a time.

    `limit` is how many records the next batch may take from all sources together; None for the most there may be.
    `paused` names splits that are not to be read, by source, see `penstock.job.watermark_alignment`.
    """

    is_draining: bool = False
    ended: tuple[str, ...] = ()
    due_ms: int | None = None
    limit: int | None = None
    paused: dict[str, list[str]] = field(default_factory=dict)

    def is_urgent(self, start: Offset, now_ms: int) -> bool:
        """Whether there is something to do that does not wait for records: an end, or a timer."""
        is_due = self.due_ms is not None and self.due_ms <= now_ms
        return is_due or (self.is_draining and not start.draining) or not {*self.ended} <= {*start.ended}


@dataclass(frozen=True)
class SplitVertex:
    """A source vertex that Penstock reads itself."""

    vertex: int
    source: SplitSource
    split_count: int
    has_idleness: bool


@dataclass(frozen=True)
class FrameVertex:
    """A source vertex that the engine reads."""

    vertex: int
    has_idleness: bool


@dataclass(frozen=True)
class SourceList:
    """All sources of a job by uid: those that Penstock reads itself, and frames that the engine reads."""

    splits: dict[str, SplitVertex]
    frames: dict[str, FrameVertex]
    max_records_per_batch: int
    partitioned: dict[str, PartitionedVertex] = field(default_factory=dict)

    def vertices_of(self, number: int) -> list[int]:
        """The vertices of Penstock's own sources that have a subtask of this number."""
        found = [known.vertex for known in self.splits.values() if number < known.split_count]
        return found + [known.vertex for known in self.partitioned.values() if number < known.parallelism]

    def for_reader(self, number: int) -> SourceList:
        """What one task that reads by itself asks: its own sources only, for asking may take something away."""
        mine = {
            uid: replace(known, reader=number) for uid, known in self.partitioned.items() if number < known.parallelism
        }
        return replace(self, partitioned=mine)

    def first_offset(self) -> Offset:
        """Nothing read, nothing begun."""
        positions = {uid: [0] * split.split_count for uid, split in self.splits.items()}
        return Offset(positions=positions)

    def with_partitions(self, start: Offset, now_ms: int) -> Offset:
        """An offset with the partitions of those sources that find all of them when they begin.

        For tasks that read by themselves: what each found at its own moment would not be the same, as where the rows of
        a table are cut that grows.
        """
        if start.begun:
            return start
        for uid, known in self.partitioned.items():
            if uid not in start.partitions and not known.source.finds_later():
                start = advanced_partitions(uid, known, start, 1, now_ms)
                known.close()
        return start

    def resumed_offset(self, offset: Offset) -> Offset:
        """Go on from where the sources of another job stood, as far as it had the same ones.

        Nothing has begun: sources that stand at their end tell it again, to operators that may be new.
        """
        first = self.first_offset().positions
        return Offset(
            positions={uid: offset.positions.get(uid, each) for uid, each in first.items()},
            partitions={uid: each for uid, each in offset.partitions.items() if uid in self.partitioned},
            stops={uid: each for uid, each in offset.stops.items() if uid in self.partitioned},
        )

    def next_offset(self, start: Offset, request: IntakeRequest, *, now_ms: int, elapsed_ms: int) -> Offset:
        """Where the next batch ends. Equal to `start` if there is nothing to do."""
        is_due = request.due_ms is not None and request.due_ms <= now_ms
        limit = self.max_records_per_batch if request.limit is None else request.limit
        end = replace(
            start,
            begun=True,
            tick=start.tick + 1 if is_due else start.tick,
            draining=start.draining or request.is_draining,
            ended=tuple(sorted({*start.ended, *request.ended})),
            paused={} if request.is_draining else request.paused,
        )
        if request.is_draining:
            return end
        givers = self.givers(start, end.paused)
        end = replace(end, positions=self._advanced(end, elapsed_ms, max(1, limit // givers)))
        for uid, known in self.partitioned.items():
            share = _share_of_partitions(uid, limit, start, end.paused, givers)
            end = advanced_partitions(uid, known, end, share, now_ms)
        return end

    def _advanced(self, end: Offset, elapsed_ms: int, share: int) -> dict[str, list[int]]:
        return {
            uid: [
                position
                if str(split) in end.paused.get(uid, ())
                else _available(self.splits[uid], split, position, elapsed_ms, share)
                for split, position in enumerate(each)
            ]
            for uid, each in end.positions.items()
        }

    def givers(self, start: Offset, paused: Mapping[str, list[str]] = _NONE) -> int:
        """How many splits and partitions there are to read from; those that are paused leave their share to others."""
        splits = sum(vertex.split_count for vertex in self.splits.values())
        partitions = sum(len(each) for each in start.partitions.values())
        return max(1, splits + partitions - sum(len(names) for names in paused.values()))

    def is_limited(self, start: Offset, end: Offset, limit: int) -> bool:
        """Whether a batch between two offsets took as much as it was allowed to, so that there was perhaps more."""
        givers = self.givers(start, end.paused)
        share = max(1, limit // givers)
        return any(
            last - first >= share
            for uid, each in end.positions.items()
            for first, last in zip(start.positions[uid], each, strict=True)
        ) or any(
            sum(end.partitions[uid][name] - first for name, first in each.items())
            >= _share_of_partitions(uid, limit, start, end.paused, givers)
            for uid, each in start.partitions.items()
            if each
        )

    def backlog(self, offset: Offset) -> int | None:
        """How many records are still to come from the splits that know their end; None if none knows."""
        ends = [
            (known.source.split_end(split, known.split_count), position)
            for uid, known in self.splits.items()
            for split, position in enumerate(offset.positions[uid])
        ]
        waiting = [max(0, end - position) for end, position in ends if end is not None]
        return sum(waiting) if waiting else None

    def has_no_end(self) -> bool:
        """Whether one of Penstock's own sources gives records for ever."""
        of_splits = any(not known.source.is_bounded() for known in self.splits.values())
        return of_splits or any(not known.source.is_bounded() for known in self.partitioned.values())

    def scripts_clock(self) -> bool:
        """Whether a source says what time it is, as the scripted ones of tests may."""
        return any(vertex.source.has_clock() for vertex in self.splits.values())

    def processing_time(self, end: Offset) -> int | None:
        """What time a batch that ends at an offset runs at, if a source says so."""
        times = [
            known.source.processing_time(split, known.split_count, position)
            for uid, known in self.splits.items()
            for split, position in enumerate(end.positions[uid])
        ]
        return max((time for time in times if time is not None), default=None)

    def tasks(self, start: Offset, end: Offset) -> list[SourceTask]:
        """What a batch between two offsets has to do."""
        found = [
            _split_task(uid, split, known, start, end)
            for uid, known in self.splits.items()
            for split in range(known.split_count)
        ]
        found += [_frame_task(uid, known, start, end) for uid, known in self.frames.items()]
        tasks = [task for task in found if task is not None]
        for uid, partitioned in self.partitioned.items():
            tasks += partition_tasks(uid, partitioned, start, end)
        return tasks

    def close(self) -> None:
        """Let go of what the sources were asked through."""
        for known in self.partitioned.values():
            known.close()


def grouped(tasks: list[SourceTask]) -> list[list[SourceTask]]:
    """Tasks that an engine may run one after the other in one task of its own, which costs more than a small one."""
    groups = [[task] for task in tasks if task.size > _SMALL_TASK_RECORDS]
    filling: list[SourceTask] = []
    room = 0
    for task in tasks:
        size = task.size
        if size > _SMALL_TASK_RECORDS:
            continue
        if not filling or size > room or len(filling) == _GROUP_TASKS:
            filling, room = [], _SMALL_TASK_RECORDS
            groups.append(filling)
        filling.append(task)
        room -= size
    return groups


def _share_of_partitions(uid: str, limit: int, start: Offset, paused: Mapping[str, list[str]], givers: int) -> int:
    """What the partitions of a source may give together to a batch that takes `limit` records in all."""
    return max(1, limit * (len(start.partitions.get(uid, ())) - len(paused.get(uid, ()))) // givers)


def _available(vertex: SplitVertex, split: int, position: int, elapsed_ms: int, limit: int) -> int:
    return max(position, vertex.source.available(split, vertex.split_count, position, elapsed_ms, limit))


def _split_task(uid: str, split: int, known: SplitVertex, start: Offset, end: Offset) -> SourceTask | None:
    """What to do for a split: read a range, end it, look at its idleness, or nothing."""
    first, last = start.positions[uid][split], end.positions[uid][split]
    limit = known.source.split_end(split, known.split_count)
    if start.draining or (start.begun and limit is not None and first >= limit):
        return None  # it had ended before
    ends = end.draining or (limit is not None and last >= limit)
    is_poked = known.has_idleness and (looks_around(start, end) or pauses_otherwise(uid, start, end))
    if last == first and not ends and not is_poked:
        return None
    paused = (str(split),) if str(split) in end.paused.get(uid, ()) else ()
    return SourceTask(known.vertex, split, first, last, ends, paused=paused)


def _frame_task(uid: str, known: FrameVertex, start: Offset, end: Offset) -> SourceTask | None:
    if start.draining or uid in start.ended:
        return None  # it had ended before
    ends = end.draining or uid in end.ended
    is_poked = known.has_idleness and looks_around(start, end)
    return SourceTask(known.vertex, 0, ends=ends) if ends or is_poked else None
