"""Watermark alignment for the driver of a job: how far the splits have come, and which of them are paused.

The watermarks of splits are in what source operators carry from version to version, so a seal has all there is to
know, also after a restart. In continuous mode tasks tell more recent ones between versions. The rule is
`penstock.job.watermark_alignment`.
"""

from __future__ import annotations

from penstock.checkpoint import Seal
from penstock.common.watermark_strategy import WatermarkAlignment
from penstock.graph.plan import JobPlan, Vertex
from penstock.job.plan_sources import alignment_of, source_operator
from penstock.job.statistics import JobStatistics
from penstock.job.watermark_alignment import AlignmentRule, SplitTimes, paused_splits
from penstock.runtime.report import decode_inline


class SourceAlignment:
    """Keeps the sources of one job together; false if none of them wants that."""

    def __init__(self, plan: JobPlan, statistics: JobStatistics) -> None:
        self._vertices = [vertex for vertex in plan.sources() if alignment_of(vertex) is not None]
        self._rule = AlignmentRule(_settings(self._vertices))
        self._statistics = statistics
        self._told: dict[int, SplitTimes] = {}
        self._seen: Seal | None = None
        self._paused: dict[str, list[str]] = {}

    def __bool__(self) -> bool:
        return bool(self._vertices)

    @property
    def update_interval_ms(self) -> int | None:
        """How often tasks of continuous mode tell how far they have come; None without alignment."""
        return min((each.update_interval_ms for each in _settings(self._vertices).values()), default=None)

    def paused(self, seal: Seal) -> dict[str, list[str]]:
        """Return the splits that the batch after a version is not to read, by source."""
        if self._vertices and seal is not self._seen:
            self._seen = seal
            self.begin(seal)
            self._paused = self._note(self.highest())
        return self._paused

    def begin(self, seal: Seal) -> None:
        """Forget what was known, and go on from a version."""
        self._told = {}
        for vertex in self._vertices:
            for number in range(vertex.parallelism):
                self._told.setdefault(number, {})[vertex.uid] = _times_at(seal, vertex, number)  # type: ignore[index]

    def take(self, number: int, times: SplitTimes) -> dict[str, int]:
        """Note what a task of continuous mode tells of its splits; returns `highest`."""
        self._told[number] = times
        highest = self.highest()
        self._note(highest)
        return highest

    def highest(self) -> dict[str, int]:
        """Return the watermark up to which splits are read, by source."""
        return self._rule.highest(self._times())

    def _note(self, highest: dict[str, int]) -> dict[str, list[str]]:
        times = self._times()
        paused = paused_splits(highest, times)
        counts = {vertex.uid: len(paused.get(vertex.uid, ())) for vertex in self._vertices}
        self._statistics.on_alignment(self._rule.drifts(times), counts)
        return paused

    def _times(self) -> SplitTimes:
        """What is known of all subtasks together."""
        together: dict[str, dict[str, tuple[int, bool]]] = {vertex.uid: {} for vertex in self._vertices}
        for told in self._told.values():
            for uid in together.keys() & told.keys():
                together[uid].update(told[uid])
        return together


def _settings(vertices: list[Vertex]) -> dict[str, WatermarkAlignment]:
    found = ((vertex.uid, alignment_of(vertex)) for vertex in vertices)
    return {uid: setting for uid, setting in found if setting is not None}


def _times_at(seal: Seal, vertex: Vertex, subtask: int) -> dict[str, tuple[int, bool]]:
    entry = seal.entry(vertex.uid, subtask)
    if entry.has_ended:
        return {}
    carried = decode_inline(entry.inline)["operators"].get(vertex.operators[0].uid)
    return source_operator(vertex).split_times(carried, subtask)
