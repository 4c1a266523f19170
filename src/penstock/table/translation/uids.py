"""Uids of operators from the plan: the same query gives the same uids, so that its state is found again.

A uid is made of the declared word of a node and a digest of the identity texts of it and all below it; EXPLAIN may word
plans as it likes.
"""

from __future__ import annotations

import hashlib

from penstock.common.state_identity import identity_of
from penstock.graph.nodes import LogicalGraph
from penstock.table.algebra.nodes import PlanNode

__all__ = ["Uids"]


class Uids:
    """Gives each node a digest of what it and all below it do; what is the same twice is numbered in its order."""

    def __init__(self) -> None:
        self._digests: dict[PlanNode, str] = {}

    def digest(self, node: PlanNode) -> str:
        """A short text that stands for the node and its inputs."""
        known = self._digests.get(node)
        if known is None:
            parts = [node.identity_text(), *[self.digest(each) for each in node.inputs]]
            known = self._digests[node] = hashlib.sha256("\n".join(parts).encode()).hexdigest()[:16]
        return known

    def uid(self, node: PlanNode, graph: LogicalGraph, part: str = "") -> str:
        """A uid that no other operator of the graph has."""
        taken = {each.uid for each in graph.nodes.values()}
        word = identity_of(node).lower() + (f"-{part}" if part else "")
        base = f"table-{word}-{self.digest(node)}"
        uid, number = base, 1
        while uid in taken:
            number += 1
            uid = f"{base}-{number}"
        return uid
