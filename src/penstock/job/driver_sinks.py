"""Sinks on the driver's side that need no engine: printing, and handing records to the program."""

from __future__ import annotations

import sys
from abc import ABC, abstractmethod
from collections.abc import Iterable

from penstock.connectors.driver_sinks import CollectSink, ListSink, PrintSink
from penstock.graph.plan import JobPlan, Vertex
from penstock.job.hand_over import MOST_WAITING, HandOver
from penstock.runtime.rows import ExchangeRow, decode_values, sender_of


class DriverSinks(ABC):
    """The sinks of a plan that take their records on the driver; `collected` has those of each collecting sink."""

    def __init__(
        self, plan: JobPlan, most_waiting: int | None = MOST_WAITING, *, collects_at_once: bool = False
    ) -> None:
        """Let the job wait while a caller has so many blocks to take; an engine overrides `place` for its own sinks.

        `collects_at_once`: in continuous mode the program gets records before they are final.
        """
        self._plan = plan
        self._collects_at_once = collects_at_once
        self._print: dict[int, PrintSink] = {}
        self._collect: dict[int, HandOver] = {}
        self._lists: dict[int, ListSink] = {}
        self.collected: dict[str, HandOver] = {}
        for vertex in plan.driver_vertices():
            sink = vertex.operators[0].operator.description
            if isinstance(sink, PrintSink):
                self._print[vertex.id] = sink
            elif isinstance(sink, CollectSink):
                self.collected[sink.id] = self._collect[vertex.id] = HandOver(most_waiting)
            elif isinstance(sink, ListSink):
                self._lists[vertex.id] = sink
            else:
                self.place(vertex)

    @abstractmethod
    def place(self, vertex: Vertex) -> None:
        """Take a sink of another kind, or refuse it; called while the sinks are gathered."""

    def print_rows(self, rows: Iterable[ExchangeRow]) -> None:
        """At least once: done before the version is final, so that nothing is lost if the driver dies."""
        for row in rows:
            if row.vertex in self._print:
                self._print_block(self._print[row.vertex], row)

    def show_at_once(self, row: ExchangeRow) -> bool:
        """Show a row of a version that is not final yet, if its sink allows that; returns whether it is done with."""
        if row.vertex in self._print:
            self._print_block(self._print[row.vertex], row)
        elif self._collects_at_once and row.vertex in self._collect:
            self._collect[row.vertex].put(decode_values(row.payload))
        else:
            return False
        return True

    def after_seal(self, rows: Iterable[ExchangeRow]) -> None:
        """Exactly once towards this program: done when the version is final."""
        for row in rows:
            if row.vertex in self._lists:
                self._lists[row.vertex].results.extend(decode_values(row.payload))
            elif row.vertex in self._collect:
                self._collect[row.vertex].put(decode_values(row.payload))

    def close(self) -> None:
        """Nothing more comes; the job does not wait for anybody any longer."""
        for each in self.collected.values():
            each.close()

    def _print_block(self, sink: PrintSink, row: ExchangeRow) -> None:
        sender, _, subtask = sender_of(row.src)
        is_parallel = self._plan.vertex(sender).parallelism > 1
        prefix = f"{sink.identifier}:" if sink.identifier and is_parallel else sink.identifier
        if is_parallel:
            prefix += str(subtask + 1)
        lead = f"{prefix}> " if prefix else ""
        stream = sys.stderr if sink.to_stderr else sys.stdout
        stream.writelines(sink.lines(decode_values(row.payload), lead))
        stream.flush()
