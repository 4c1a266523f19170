"""Event time of a source subtask that reads several partitions: the slowest of those that are not idle counts.

How each is made is `penstock.runtime.timestamps`.
"""

from __future__ import annotations

from collections.abc import Collection, Mapping
from typing import TYPE_CHECKING, Any

from penstock.common.constants import MIN_WATERMARK
from penstock.common.watermark_strategy import WatermarkStrategy
from penstock.runtime.timestamps import EventTime, WatermarkSource, active_again

if TYPE_CHECKING:
    from penstock.runtime.operators.operator import StreamOperator

State = tuple[int, bool, dict[str, Any]]
"""The watermark told, whether idleness was told, and the snapshot of each partition's generator."""


class _Lane(EventTime):
    """One partition's share in the event time of its subtask."""

    def __init__(self, operator: StreamOperator, whole: PartitionWatermarks) -> None:
        super().__init__(operator)
        self._whole = whole
        self.watermark = MIN_WATERMARK
        self.is_idle = False

    def advance(self, watermark: int) -> None:
        self.watermark = watermark
        self._whole.update()

    def mark(self, is_idle: bool) -> None:
        self.is_idle = is_idle
        self._whole.update()


class PartitionWatermarks:
    """The watermark generators of a subtask's partitions, driven as `WatermarkSource` is."""

    def __init__(self, strategy: WatermarkStrategy, operator: StreamOperator) -> None:
        self._strategy = strategy
        self._operator = operator
        self._event_time = EventTime(operator)
        self._lanes: dict[str, _Lane] = {}
        self._sources: dict[str, WatermarkSource] = {}
        self._ended: list[str] = []
        self._is_held = False
        self._paused: Collection[str] = ()
        self.has_unread = True
        """Whether partitions wait that have not begun; as long as nothing is known of them, some may."""

    def begin_batch(self, state: State | None) -> None:
        """Go on where the previous batch ended."""
        self._watermark, self._is_idle, partitions = (MIN_WATERMARK, False, {}) if state is None else state
        self._lanes, self._sources, self._ended = {}, {}, []
        for name, each in partitions.items():
            self._add(name, each)

    def add(self, name: str) -> None:
        """A partition begins, unless it has begun before; until it has records or is idle, it holds the others up."""
        if name not in self._sources:
            self._add(name, None)
            if self._is_idle:
                self.update()  # before its records: they must not be late behind those of others

    def _add(self, name: str, state: Any) -> None:
        lane = self._lanes[name] = _Lane(self._operator, self)
        source = self._sources[name] = WatermarkSource(self._strategy, self._operator, lane)
        source.begin_batch(state)
        source.is_paused = name in self._paused
        lane.watermark, lane.is_idle = source.told()

    def end(self, name: str) -> None:
        """Nothing more comes of a partition: it holds nobody up when the batch has ended."""
        self._ended.append(name)

    def of(self, name: str) -> WatermarkSource:
        """What gives the records of a partition their timestamps."""
        self._current = self._sources[name]
        return self._current

    def pause(self, names: Collection[str]) -> None:
        """Take it that these partitions, and no others, are not read for now."""
        self._paused = names
        for name, source in self._sources.items():
            source.is_paused = name in names

    def offer(self, watermark: int) -> None:
        """Take a watermark made of the records that are being emitted: it counts for their partition."""
        self._current.offer(watermark)

    def update(self) -> None:
        """Tell what the partitions have come to together."""
        if self._is_held:
            return
        active = [lane.watermark for lane in self._lanes.values() if not lane.is_idle]
        was_idle, self._is_idle = self._is_idle, not active and not self.has_unread
        if was_idle and not self._is_idle:
            self._event_time.mark(False)
        if active and min(active) > self._watermark:
            self._watermark = min(active)
            self._event_time.advance(self._watermark)
        if self._is_idle and not was_idle:
            self._event_time.mark(True)

    def end_batch(self, now_ms: int) -> None:
        """Emit the last watermark of the batch and notice idleness; a subtask without partitions is idle."""
        self._is_held = True  # with many partitions, one after the other would cost the square of their number
        for source in self._sources.values():
            source.end_batch(now_ms)
        self._is_held = False
        gone, self._ended = self._ended, []
        if gone and all(lane.is_idle for name, lane in self._lanes.items() if name not in gone):
            self.update()  # the last say: files that begin and end within a batch would else never move event time
        for name in gone:
            self._lanes.pop(name, None)
            self._sources.pop(name, None)
        self.update()

    def snapshot(self) -> State:
        """State for the next batch, by the name of the partition."""
        return self._watermark, self._is_idle, {name: source.snapshot() for name, source in self._sources.items()}

    def next_deadline(self) -> int | None:
        """When idleness will have to be noticed."""
        deadlines = [source.next_deadline() for source in self._sources.values()]
        return min((each for each in deadlines if each is not None), default=None)


def dealt_out(states: list[State | None], owners: Mapping[str, int], parallelism: int) -> list[State]:
    """Snapshots for the subtasks of a job that goes on from these: partitions go to their owners.

    Event time goes on from the slowest subtask where partitions move. No operator of that job was told of idleness.
    """
    known = [state for state in states if state is not None]
    shares: list[dict[str, Any]] = [{} for _ in range(parallelism)]
    for _, _, partitions in known:
        for name, each in partitions.items():
            if name in owners:
                shares[owners[name]][name] = active_again(each)
    if len(states) == parallelism:
        marks = [MIN_WATERMARK if state is None else state[0] for state in states]
    else:
        marks = [min((state[0] for state in known), default=MIN_WATERMARK)] * parallelism
    return [(mark, False, share) for mark, share in zip(marks, shares, strict=True)]
