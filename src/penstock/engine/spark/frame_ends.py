"""When a bounded source that Spark reads has been read to its end; Spark itself only says what it has done."""

from __future__ import annotations

from typing import Any

from pyspark.sql.streaming.query import StreamingQuery

from penstock.graph.plan import JobPlan

_WAITING = "Waiting for data to arrive"


class FrameEnds:
    """Watches a query's progress for bounded sources that have nothing more to give."""

    def __init__(self, plan: JobPlan) -> None:
        # Spark reports sources in the order of the plan: Penstock's own first, then the frames.
        frames = [vertex for vertex in plan.sources() if vertex.is_ephemeral]
        self._open = {
            vertex.id: position
            for position, vertex in enumerate(frames, start=1)
            if vertex.operators[0].operator.source.is_bounded()
        }

    def newly_ended(self, query: StreamingQuery) -> list[int]:
        """Vertices whose source has just been found at its end."""
        if not self._open:
            return []
        # A job that resumes where nothing is left to read has no progress to show, but it waits.
        progress, status = query.lastProgress, query.status
        is_waiting = not status["isDataAvailable"] and not status["isTriggerActive"] and status["message"] == _WAITING
        ended = [
            vertex
            for vertex, position in self._open.items()
            if is_waiting or (progress is not None and _took_nothing(progress, position))
        ]
        for vertex in ended:
            del self._open[vertex]
        return ended


def _took_nothing(progress: Any, position: int) -> bool:
    """A batch that took nothing new from a source has found nothing new there."""
    source = progress["sources"][position]
    return bool(source["numInputRows"] == 0 and source["startOffset"] == source["endOffset"])
