"""When a bounded source that Spark reads has been read to its end; Spark itself only says what it has done."""

from __future__ import annotations

from typing import Any

from pyspark.sql.streaming.query import StreamingQuery

from penstock.graph.plan import JobPlan

_WAITING = "Waiting for data to arrive"


class FrameEnds:
    """Watches a query's progress for bounded sources that have nothing more to give."""

    def __init__(self, plan: JobPlan, counts: dict[str, int]) -> None:
        """Watch the frames of a plan; `counts` says of how many sources of Spark's each frame is made."""
        self._open: dict[str, range] = {}
        # Spark reports sources in the order of the plan: Penstock's own first, then the frames.
        first = 1
        for vertex in plan.sources():
            if vertex.is_ephemeral:
                if vertex.operators[0].operator.source.is_bounded():
                    self._open[vertex.uid] = range(first, first + counts[vertex.uid])
                first += counts[vertex.uid]

    def newly_ended(self, query: StreamingQuery) -> list[str]:
        """Uids of the sources that have just been found at their end."""
        if not self._open:
            return []
        # A job that resumes where nothing is left to read has no progress to show, but it waits.
        progress, status = query.lastProgress, query.status
        is_waiting = not status["isDataAvailable"] and not status["isTriggerActive"] and status["message"] == _WAITING
        ended = [
            uid
            for uid, positions in self._open.items()
            if is_waiting or (progress is not None and all(_took_nothing(progress, each) for each in positions))
        ]
        for uid in ended:
            del self._open[uid]
        return ended


def _took_nothing(progress: Any, position: int) -> bool:
    """A batch that took nothing new from a source has found nothing new there."""
    source = progress["sources"][position]
    return bool(source["numInputRows"] == 0 and source["startOffset"] == source["endOffset"])
