"""A plan as plain data for pages and clients: vertices, their operators, and what reaches them how."""

from __future__ import annotations

import hashlib
from typing import Any

from penstock.graph.nodes import Exchange
from penstock.graph.plan import InEdge, JobPlan, OutEdge, Vertex

# The words that Flink's own clients know.
_SHIP_STRATEGIES = {
    Exchange.FORWARD: "FORWARD",
    Exchange.KEYED: "HASH",
    Exchange.REBALANCE: "REBALANCE",
    Exchange.RESCALE: "RESCALE",
    Exchange.SHUFFLE: "SHUFFLE",
    Exchange.BROADCAST: "BROADCAST",
    Exchange.GLOBAL: "GLOBAL",
    Exchange.CUSTOM: "CUSTOM",
}


def vertex_key(uid: str) -> str:
    """The id of a vertex outside of its job: 32 hexadecimal digits, the same for every start of the job."""
    return hashlib.sha256(uid.encode()).hexdigest()[:32]


def plan_data(plan: JobPlan) -> list[dict[str, Any]]:
    """Every vertex with its operators and inputs, sources first."""
    return [_vertex(plan, vertex) for vertex in plan.vertices]


def _vertex(plan: JobPlan, vertex: Vertex) -> dict[str, Any]:
    return {
        "id": vertex_key(vertex.uid),
        "uid": vertex.uid,
        "name": vertex.name,
        "level": vertex.level,
        "parallelism": vertex.parallelism,
        "max_parallelism": vertex.max_parallelism,
        "is_source": vertex.is_source,
        "is_driver": vertex.is_driver,
        "operators": [
            {"uid": each.uid, "name": each.name, "kind": each.operator.kind, "parent": each.parent, "tag": each.tag}
            for each in vertex.operators
        ],
        "inputs": [_input(plan, edge, number) for number, edge in enumerate(vertex.inputs)],
        "sends": sorted({vertex.operators[edge.operator].uid for edge in vertex.outputs}),
    }


def _input(plan: JobPlan, edge: InEdge, number: int) -> dict[str, Any]:
    source = plan.vertex(edge.source)
    out: OutEdge = next(each for each in source.outputs if each.number == edge.number)
    return {
        "id": vertex_key(source.uid),
        "number": number,
        "input": edge.input_index,
        "ship_strategy": _SHIP_STRATEGIES[out.partitioning.exchange],
        "tag": out.tag,
    }
