"""Changes of a row must stay in order: who reads rows where they are has the parallelism of who sends them."""

from __future__ import annotations

from collections.abc import Iterable
from typing import Any

from penstock.datastream.stream import DataStream
from penstock.graph.nodes import FORWARD, Edge, LogicalGraph

__all__ = ["kept_in_order", "parallelism_after"]


def parallelism_after(graph: LogicalGraph, edges: tuple[Edge, ...]) -> int | None:
    """The parallelism that keeps the order of rows on edges; None is the default one, or any.

    Where senders differ, as below UNION ALL, it is the least of them.
    """
    senders = [graph.nodes[each.source_id] for each in edges if each.partitioning == FORWARD]
    known = [1 if each.is_single else each.parallelism for each in senders]
    given = [each for each in known if each is not None]
    return min(given) if given and len(senders) == len(edges) else None


def kept_in_order(made: Any, graph: LogicalGraph, source: DataStream[Any], added: Iterable[int]) -> Any:
    """What was made of a stream by nodes that were added after it: they get its parallelism where they have none."""
    parallelism = parallelism_after(graph, source.edges)
    for each in added if parallelism is not None else ():
        if graph.nodes[each].parallelism is None and not graph.nodes[each].is_single:
            graph.change(each, parallelism=parallelism)
    return made
