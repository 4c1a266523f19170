"""The physical plan: vertices of chained operators on levels, ready to be run by an engine.

`penstock.graph.compilation` makes it from a logical graph.
"""

from __future__ import annotations

import hashlib
import json
from collections.abc import Iterator
from dataclasses import dataclass, field
from functools import cached_property
from typing import Any

from penstock.graph.nodes import Exchange, Partitioning, Role


@dataclass(frozen=True)
class ChainedOperator:
    """An operator inside a vertex; `parent` is the index of the operator that feeds it (None for the head).

    `checked_type` and `side_types` (by tag) are the declared types that its results are made to be of. `gives_columns`:
    of a source, whether its records come as columns; None where nobody knows.
    """

    uid: str
    name: str
    operator: Any
    parent: int | None
    tag: str | None
    role: Role
    checked_type: Any = None
    side_types: dict[str, Any] = field(default_factory=dict)
    gives_columns: bool | None = None


@dataclass(frozen=True)
class Adopted:
    """What an operator takes over from the job whose state it goes on from; None where it is free."""

    split_count: int | None = None
    max_parallelism: int | None = None


@dataclass(frozen=True)
class OutEdge:
    """Where an operator of a vertex sends its main output (`tag` None) or a side output.

    `number` tells the edges out of a vertex apart: two of them may lead to the same input (a union of the main and
    a side output), and each has a watermark of its own.
    """

    number: int
    operator: int
    tag: str | None
    partitioning: Partitioning
    target: int
    target_input: int
    target_parallelism: int
    target_max_parallelism: int
    to_driver: bool
    is_from_ephemeral: bool = False

    def is_pointwise(self, parallelism: int) -> bool:
        """Whether sender i reaches only subtask i of the target.

        Never so behind an ephemeral sender: its tasks are others in every batch, and the one that ends it, or tells
        the time, must reach every subtask that any of them may have written to.
        """
        is_forward = self.partitioning.exchange is Exchange.FORWARD and not self.is_from_ephemeral
        return is_forward and parallelism == self.target_parallelism


@dataclass(frozen=True)
class InEdge:
    """An upstream vertex of a vertex. `is_ephemeral`: its subtasks are not the same from batch to batch."""

    source: int
    number: int
    input_index: int
    channels: int
    is_ephemeral: bool
    is_pointwise: bool

    @property
    def sender(self) -> tuple[int, int]:
        """The upstream vertex and which of its edges this is."""
        return self.source, self.number


@dataclass(frozen=True)
class Vertex:
    """A tree of chained operators that runs as `parallelism` subtasks; level 0 holds the sources."""

    id: int
    uid: str
    name: str
    level: int
    parallelism: int
    max_parallelism: int
    operators: tuple[ChainedOperator, ...]
    outputs: tuple[OutEdge, ...]
    inputs: tuple[InEdge, ...]
    is_driver: bool = False
    is_ephemeral: bool = False

    @property
    def is_source(self) -> bool:
        """Whether the vertex starts with a source."""
        return self.operators[0].role is Role.SOURCE


@dataclass(frozen=True)
class JobPlan:
    """A whole job. Vertices are in level order; driver vertices (print, collect, Spark writers) come last."""

    name: str
    vertices: tuple[Vertex, ...]

    def vertex(self, vertex_id: int) -> Vertex:
        """The vertex with that id (ids are positions)."""
        return self.vertices[vertex_id]

    def sources(self) -> list[Vertex]:
        """The vertices of level 0."""
        return [vertex for vertex in self.vertices if vertex.is_source]

    def driver_vertices(self) -> list[Vertex]:
        """The sinks whose records go to the driver's side."""
        return [vertex for vertex in self.vertices if vertex.is_driver]

    def levels(self) -> Iterator[tuple[int, list[Vertex]]]:
        """Levels from 1 on, each with the vertices that run in it."""
        last = max((v.level for v in self.vertices if not v.is_driver), default=0)
        for level in range(1, last + 1):
            yield level, [v for v in self.vertices if v.level == level and not v.is_driver]

    def fingerprint(self) -> dict[str, Any]:
        """What must be the same for a job to go on from a checkpoint, as JSON-able data."""
        return {
            "vertices": [
                {
                    "uid": vertex.uid,
                    "name": vertex.name,
                    "parallelism": vertex.parallelism,
                    "max_parallelism": vertex.max_parallelism,
                    "operators": [
                        {"uid": op.uid, "name": op.name, "kind": op.operator.kind} for op in vertex.operators
                    ],
                }
                for vertex in self.vertices
                if not vertex.is_driver
            ]
        }

    def digest(self) -> str:
        """Short hash of the fingerprint."""
        return hashlib.sha256(json.dumps(self.fingerprint(), sort_keys=True).encode()).hexdigest()[:16]

    def explain(self) -> str:
        """The plan as text."""
        return self._explanation

    @cached_property
    def _explanation(self) -> str:  # asked again and again for the document of a job
        from penstock.graph.explanation import explain

        return explain(self)
