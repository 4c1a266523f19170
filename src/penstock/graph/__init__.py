"""The plan of a job: logical graph, chaining into vertices, levels, checks and `explain()`."""

from __future__ import annotations

from penstock.graph.compilation import compile_plan
from penstock.graph.nodes import (
    FORWARD,
    Chaining,
    Edge,
    Exchange,
    LogicalGraph,
    Node,
    Partitioning,
    Role,
)
from penstock.graph.plan import ChainedOperator, InEdge, JobPlan, OutEdge, Vertex
from penstock.graph.settings import JobSettings

__all__ = [
    "FORWARD",
    "ChainedOperator",
    "Chaining",
    "Edge",
    "Exchange",
    "InEdge",
    "JobPlan",
    "JobSettings",
    "LogicalGraph",
    "Node",
    "OutEdge",
    "Partitioning",
    "Role",
    "Vertex",
    "compile_plan",
]
