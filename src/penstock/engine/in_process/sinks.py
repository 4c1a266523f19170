"""The driver's side of a job in process: printing, and handing records to the program."""

from __future__ import annotations

from penstock.errors import GraphError
from penstock.graph.plan import Vertex
from penstock.job.driver_sinks import DriverSinks


class InProcessSinks(DriverSinks):
    """The driver-side sinks that need no Spark."""

    def place(self, vertex: Vertex) -> None:
        """Refuse what only Spark can write."""
        raise GraphError(f"sink {vertex.name!r} is written by Spark: it cannot run in process")
