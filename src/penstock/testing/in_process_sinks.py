"""The driver's side of a job in process: what prints, and what hands records to the test. Runs nothing."""

from __future__ import annotations

import sys
from collections import deque
from typing import Any

from penstock.connectors.driver_sinks import CollectSink, ListSink, PrintSink
from penstock.errors import GraphError
from penstock.graph import JobPlan
from penstock.runtime import rows
from penstock.runtime.rows import ExchangeRow


class InProcessSinks:
    """The sinks of a plan that take their records on the driver; `collected` has those of each collecting sink."""

    def __init__(self, plan: JobPlan) -> None:
        self.collected: dict[str, deque[Any]] = {}
        self._sinks: dict[int, Any] = {}
        for vertex in plan.driver_vertices():
            sink = self._sinks[vertex.id] = vertex.operators[0].operator.description
            if isinstance(sink, CollectSink):
                self.collected[sink.id] = deque()
            elif not isinstance(sink, (PrintSink, ListSink)):
                raise GraphError(f"sink {vertex.name!r} is written by Spark: it cannot run in process")

    def before_seal(self, arrived: list[ExchangeRow]) -> None:
        """Print, at least once."""
        for row in arrived:
            sink = self._sinks.get(row.vertex)
            if isinstance(sink, PrintSink):
                lead = f"{sink.identifier}> " if sink.identifier else ""
                stream = sys.stderr if sink.to_stderr else sys.stdout
                stream.writelines(sink.lines(rows.decode_values(row.payload), lead))

    def after_seal(self, arrived: list[ExchangeRow]) -> None:
        """Hand over, exactly once."""
        for row in arrived:
            sink = self._sinks.get(row.vertex)
            if isinstance(sink, CollectSink):
                self.collected[sink.id].extend(rows.decode_values(row.payload))
            elif isinstance(sink, ListSink):
                sink.results.extend(rows.decode_values(row.payload))
