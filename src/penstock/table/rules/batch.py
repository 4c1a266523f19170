"""Batch mode: a table is what is there when its input has ended, so changes on the way are nobody's business."""

from __future__ import annotations

from collections.abc import Mapping

from penstock.table.algebra.nodes import Limit, PlanNode, Sort
from penstock.table.algebra.table_api_nodes import FinalRows
from penstock.table.changelog.changes import ChangeFinder
from penstock.table.rules.optimization import optimized
from penstock.table.rules.rewriting import rewritten_plan

__all__ = ["final_plan"]


def final_plan(plan: PlanNode, settings: Mapping[str, str]) -> PlanNode:
    """The optimized plan; in batch mode one that only inserts, in the order that was asked for last."""
    plan = optimized(plan)
    if settings.get("execution.runtime-mode", "").upper() != "BATCH":
        return plan
    plan = rewritten_plan(plan, _sorts_final_rows)
    if ChangeFinder().is_append(plan):
        return plan
    made = FinalRows(plan)
    return Sort(made, plan.order) if isinstance(plan, Limit) and plan.order else made


def _sorts_final_rows(node: PlanNode) -> PlanNode:
    if isinstance(node, Sort) and not ChangeFinder().is_append(node.input):
        return node.with_inputs((FinalRows(node.input),))
    return node
