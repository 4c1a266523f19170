"""Rewriting of plans: a rule for every node, from the inputs up, with shared parts kept shared."""

from __future__ import annotations

from collections.abc import Callable

from penstock.table.algebra.nodes import PlanNode

__all__ = ["rewritten_plan"]


def rewritten_plan(root: PlanNode, rule: Callable[[PlanNode], PlanNode]) -> PlanNode:
    """The plan with the rule applied to each node, after its inputs."""
    done: dict[PlanNode, PlanNode] = {}

    def visit(node: PlanNode) -> PlanNode:
        made = done.get(node)
        if made is None:
            inputs = tuple([visit(each) for each in node.inputs])
            same = all(new is old for new, old in zip(inputs, node.inputs, strict=True))
            made = done[node] = rule(node if same else node.with_inputs(inputs))
        return made

    return visit(root)
