"""A logical graph as the JSON that Flink's `getExecutionPlan` gives, for tools that draw such plans."""

from __future__ import annotations

import json
from typing import Any

from penstock.graph.compilation import compile_plan
from penstock.graph.nodes import Exchange, LogicalGraph, Node, Role
from penstock.graph.settings import JobSettings

_KINDS = {Role.SOURCE: "Data Source", Role.OPERATOR: "Operator", Role.SINK: "Data Sink"}
_WAYS = {exchange: exchange.name for exchange in Exchange} | {Exchange.KEYED: "HASH"}


def plan_json(graph: LogicalGraph, settings: JobSettings) -> str:
    """Describe every source, operator and sink, who feeds it and how, as JSON."""
    compile_plan(graph, settings)  # what could not run has no plan
    parallelism = {node.id: _parallelism(node, settings) for node in graph.nodes.values()}
    return json.dumps({"nodes": [_described(node, parallelism) for node in graph.nodes.values()]}, indent=2)


def _parallelism(node: Node, settings: JobSettings) -> int:
    return 1 if node.is_single else node.parallelism or settings.parallelism


def _described(node: Node, parallelism: dict[int, int]) -> dict[str, Any]:
    about = {
        "id": node.id,
        "type": node.name,
        "pact": _KINDS[node.role],
        "contents": node.description or node.name,
        "parallelism": parallelism[node.id],
    }
    if node.inputs:
        about["predecessors"] = [
            {
                "id": edge.source_id,
                "ship_strategy": _way(edge.partitioning.exchange, parallelism[edge.source_id] == parallelism[node.id]),
                "side": "second",  # what Flink says of every input
            }
            for edge in node.inputs
        ]
    return about


def _way(exchange: Exchange, is_equal: bool) -> str:
    """Where nothing was said, records stay where they are, or are dealt out if the parallelism is another."""
    return _WAYS[Exchange.REBALANCE if exchange is Exchange.FORWARD and not is_equal else exchange]
