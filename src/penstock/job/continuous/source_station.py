"""The sources of one task in continuous mode: each reads on by itself until the driver asks for a barrier."""

from __future__ import annotations

from penstock.job.intake import IntakeRequest, SourceList
from penstock.job.watermark_alignment import SplitTimes, paused_splits
from penstock.runtime.continuous.station import Place, Station, StationHost
from penstock.runtime.source_tasks import Offset, SourceTask

POLL_RECORDS = 2_000
"""How many records of a split are read before others, the clock and the driver have their turn."""
_PIECE = 50_000


class SourceStation(Station):
    """Subtask `number` of every source. `offset` is where all sources stand, as far as this task knows.

    What other tasks read is moved on too, as if it were read at this task's pace: only this task's own part of the
    offset is ever reported (`penstock.job.continuous.offsets`).
    """

    def __init__(self, host: StationHost, place: Place, sources: SourceList, start: Offset) -> None:
        super().__init__(host, place, sources.vertices_of(place.number))
        self.offset = start
        self._sources = sources
        self._is_draining = False
        self._since_watermarks = 0
        self.highest: dict[str, int] | None = None
        """Aligned sources: the watermark up to which splits are read, by uid of the source, as the driver told last."""
        for known in sources.partitioned.values():
            if known.reader is not None and known.vertex in self.subtasks:
                known.arrived = self.subtasks[known.vertex].arrived

    def split_times(self) -> SplitTimes:
        """How far the splits have come that are read here and have not ended, by the uid of their source."""
        return {subtask.vertex.uid: subtask.split_times() for subtask in self.subtasks.values()}

    def drain(self) -> None:
        """End all sources where they are, with the next poll."""
        self._is_draining = True

    def has_ended(self) -> bool:
        """Whether nothing is left to read here, ever."""
        return all(subtask.has_ended for subtask in self.subtasks.values())

    def poll(self, now_ms: int, elapsed_ms: int, most: int = POLL_RECORDS) -> int:
        """Read a little of what there is, `most` records of each source at the most; returns how many, 0 for nothing.

        What has no records, as the end of a source, counts as one.
        """
        paused = {} if self.highest is None else self._paused(now_ms, self.highest)
        limit = min(most, POLL_RECORDS) * self._sources.givers(self.offset, paused)
        request = IntakeRequest(self._is_draining, limit=limit, paused=paused)
        end = self._sources.next_offset(self.offset, request, now_ms=now_ms, elapsed_ms=elapsed_ms)
        tasks = self.tasks(self.offset, end)
        for task in tasks:
            self.read(task)
        self.offset = end
        done = sum(max(1, task.size) for task in tasks)
        self._since_watermarks += done
        return done

    def _paused(self, now_ms: int, highest: dict[str, int]) -> dict[str, list[str]]:
        """The splits that are ahead of others. After many records watermarks are not waited for, but emitted first.

        So a split is read a few thousand records too far at most, and not all that it gives until watermarks are due.
        """
        if self._since_watermarks >= POLL_RECORDS:
            self._since_watermarks = 0
            self.on_interval(now_ms)
        return paused_splits(highest, self.split_times())

    def tasks(self, start: Offset, end: Offset) -> list[SourceTask]:
        """What this task has to do between two offsets."""
        mine = self.place.number
        tasks = self._sources.tasks(start, end)
        return [task for task in tasks if task.split == mine and task.vertex in self.subtasks]

    def read(self, task: SourceTask) -> None:
        """Read a range of a split or ranges of partitions, and end the source if that is asked for."""
        subtask = self.subtasks[task.vertex]
        subtask.pause_splits(task.paused)
        for first in range(task.start, task.stop, _PIECE):
            subtask.read_split(first, min(first + _PIECE, task.stop))
        if task.ranges is not None:
            for _ in subtask.read_partitions(task):
                self._give_out(subtask.take_rows())
        if task.ends:
            subtask.end_source()
        self._give_out(subtask.take_rows())

    def _offset(self) -> Offset:
        return self.offset
