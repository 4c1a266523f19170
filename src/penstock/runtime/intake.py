"""What the next batch takes from the sources: positions, ticks, drain and ends, as one JSON-able offset.

Owns the decision only; who logs the offset before the batch runs is the engine's business. An offset is
`{"begun": bool, "tick": int, "draining": bool, "ended": [uid], "positions": {uid: [position per split]}}`. Sources go
by the uid of their operator, so that positions find their source again in a changed job.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

from penstock.connectors.source import SplitSource
from penstock.graph.plan import JobPlan, Vertex
from penstock.runtime.operators import SourceOperator

Offset = dict[str, Any]

_SMALL_TASK_RECORDS = 2_000
_GROUP_TASKS = 32


@dataclass(frozen=True)
class Wish:
    """What the driver of a job wants of the next batches: drain, sources that have ended, a batch at a time.

    `limit` is how many records the next batch may take from all sources together; None for the most there may be.
    """

    is_draining: bool = False
    ended: tuple[str, ...] = ()
    due_ms: int | None = None
    limit: int | None = None


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
class SourceTask:
    """One thing to do for a source in a batch: read start..stop-1 of a split, then perhaps end it."""

    vertex: int
    split: int
    start: int = 0
    stop: int = 0
    ends: bool = False


@dataclass(frozen=True)
class SourceList:
    """All sources of a job by uid: those that Penstock reads itself, and frames that the engine reads."""

    splits: dict[str, SplitVertex]
    frames: dict[str, FrameVertex]
    max_records_per_batch: int

    @classmethod
    def of(cls, plan: JobPlan, max_records_per_batch: int) -> SourceList:
        """The sources of a plan, sorted by who reads them."""
        splits: dict[str, SplitVertex] = {}
        frames: dict[str, FrameVertex] = {}
        for vertex in plan.sources():
            source = source_operator(vertex).source
            if isinstance(source, SplitSource):
                splits[vertex.uid] = SplitVertex(vertex.id, source, vertex.parallelism, _has_idleness(vertex))
            else:
                frames[vertex.uid] = FrameVertex(vertex.id, _has_idleness(vertex))
        return cls(splits, frames, max_records_per_batch)

    def first_offset(self) -> Offset:
        """Nothing read, nothing begun."""
        positions = {uid: [0] * split.split_count for uid, split in self.splits.items()}
        return {"begun": False, "tick": 0, "draining": False, "ended": [], "positions": positions}

    def resumed_offset(self, positions: dict[str, list[int]]) -> Offset:
        """Go on from the positions of another job, where it had the same sources.

        Nothing has begun: sources that stand at their end tell it again, to operators that may be new.
        """
        first = self.first_offset()
        kept = {uid: positions.get(uid, each) for uid, each in first["positions"].items()}
        return {**first, "positions": kept}

    def next_offset(self, start: Offset, wish: Wish, *, now_ms: int, elapsed_ms: int) -> Offset:
        """Where the next batch ends. Equal to `start` if there is nothing to do."""
        is_due = wish.due_ms is not None and wish.due_ms <= now_ms
        limit = self.max_records_per_batch if wish.limit is None else wish.limit
        return {
            "begun": True,
            "tick": start["tick"] + 1 if is_due else start["tick"],
            "draining": start["draining"] or wish.is_draining,
            "ended": sorted({*start["ended"], *wish.ended}),
            "positions": start["positions"]
            if wish.is_draining
            else self._advanced(start["positions"], elapsed_ms, limit),
        }

    def _advanced(self, positions: dict[str, list[int]], elapsed_ms: int, limit: int) -> dict[str, list[int]]:
        share = self._share(limit)
        return {
            uid: [
                _available(self.splits[uid], split, position, elapsed_ms, share) for split, position in enumerate(each)
            ]
            for uid, each in positions.items()
        }

    def _share(self, limit: int) -> int:
        """What a split may give to a batch that takes `limit` records in all."""
        return max(1, limit // max(1, sum(vertex.split_count for vertex in self.splits.values())))

    def is_limited(self, start: Offset, end: Offset, limit: int) -> bool:
        """Whether a batch between two offsets took as much as it was allowed to, so that there was perhaps more."""
        share = self._share(limit)
        return any(
            last - first >= share
            for uid, each in end["positions"].items()
            for first, last in zip(start["positions"][uid], each, strict=True)
        )

    def backlog(self, offset: Offset) -> int | None:
        """How many records are still to come from the splits that know their end; None if none knows."""
        ends = [
            (known.source.split_end(split, known.split_count), position)
            for uid, known in self.splits.items()
            for split, position in enumerate(offset["positions"][uid])
        ]
        waiting = [max(0, end - position) for end, position in ends if end is not None]
        return sum(waiting) if waiting else None

    def scripts_clock(self) -> bool:
        """Whether a source says what time it is, as the scripted ones of tests may."""
        return any(vertex.source.has_clock() for vertex in self.splits.values())

    def processing_time(self, end: Offset) -> int | None:
        """What time a batch that ends at an offset runs at, if a source says so."""
        times = [
            known.source.processing_time(split, known.split_count, position)
            for uid, known in self.splits.items()
            for split, position in enumerate(end["positions"][uid])
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
        return [task for task in found if task is not None]


def grouped(tasks: list[SourceTask]) -> list[list[SourceTask]]:
    """Tasks that an engine may run one after the other in one task of its own, which costs more than a small one."""
    groups = [[task] for task in tasks if task.stop - task.start > _SMALL_TASK_RECORDS]
    filling: list[SourceTask] = []
    room = 0
    for task in tasks:
        size = task.stop - task.start
        if size > _SMALL_TASK_RECORDS:
            continue
        if not filling or size > room or len(filling) == _GROUP_TASKS:
            filling, room = [], _SMALL_TASK_RECORDS
            groups.append(filling)
        filling.append(task)
        room -= size
    return groups


def source_operator(vertex: Vertex) -> SourceOperator:
    """The head of a source vertex."""
    operator = vertex.operators[0].operator
    assert isinstance(operator, SourceOperator)
    return operator


def _has_idleness(vertex: Vertex) -> bool:
    """Whether the source, or a watermark assigner chained to it, has to notice that nothing comes."""
    strategies = [getattr(chained.operator, "strategy", None) for chained in vertex.operators]
    return any(strategy is not None and strategy.idle_timeout_ms is not None for strategy in strategies)


def _available(vertex: SplitVertex, split: int, position: int, elapsed_ms: int, limit: int) -> int:
    return max(position, vertex.source.available(split, vertex.split_count, position, elapsed_ms, limit))


def _split_task(uid: str, split: int, known: SplitVertex, start: Offset, end: Offset) -> SourceTask | None:
    """What to do for a split: read a range, end it, look at its idleness, or nothing."""
    first, last = start["positions"][uid][split], end["positions"][uid][split]
    limit = known.source.split_end(split, known.split_count)
    if start["draining"] or (start["begun"] and limit is not None and first >= limit):
        return None  # it had ended before
    ends = end["draining"] or (limit is not None and last >= limit)
    is_poked = known.has_idleness and _looks_around(start, end)
    return SourceTask(known.vertex, split, first, last, ends) if last > first or ends or is_poked else None


def _frame_task(uid: str, known: FrameVertex, start: Offset, end: Offset) -> SourceTask | None:
    if start["draining"] or uid in start["ended"]:
        return None  # it had ended before
    ends = end["draining"] or uid in end["ended"]
    is_poked = known.has_idleness and _looks_around(start, end)
    return SourceTask(known.vertex, 0, ends=ends) if ends or is_poked else None


def _looks_around(start: Offset, end: Offset) -> bool:
    """Whether a batch lets sources notice that nothing comes; the first one starts their clocks."""
    return bool(end["tick"] != start["tick"] or not start["begun"])
