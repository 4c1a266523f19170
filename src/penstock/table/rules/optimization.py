"""All rules in their order: what the planner calls."""

from __future__ import annotations

from penstock.table.algebra.nodes import CommonPart, PlanNode
from penstock.table.rules.filters import push_filters
from penstock.table.rules.projections import merge_projections
from penstock.table.rules.pruning import prune_columns
from penstock.table.rules.ranks import recognise_rank
from penstock.table.rules.rewriting import rewritten_plan
from penstock.table.rules.temporal_checks import check_time_joins
from penstock.table.rules.time_joins import recognise_time_join

__all__ = ["optimized"]


def optimized(plan: PlanNode) -> PlanNode:
    """The same rows by less work; the names of fields may differ."""
    plan = push_filters(plan)
    plan = rewritten_plan(plan, recognise_time_join)
    plan = rewritten_plan(plan, recognise_rank)
    check_time_joins(plan)
    plan = prune_columns(plan)
    plan = rewritten_plan(plan, merge_projections)
    return rewritten_plan(plan, lambda node: node.input if isinstance(node, CommonPart) else node)
