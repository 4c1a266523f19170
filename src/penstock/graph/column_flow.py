"""Which operators of a plan work on columns and which on rows, and why: what `explain()` says of them.

An operator works on rows if its `refusal` says so, or if nothing comes to it as columns.
"""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Iterable

from penstock.graph.nodes import Exchange
from penstock.graph.plan import ChainedOperator, JobPlan, OutEdge, Vertex

__all__ = ["Place", "forms_of"]

Place = tuple[int, int]
"""An operator of a plan: the id of its vertex, and its number in it."""

_COME_AS_ROWS = "its records come as rows"


def forms_of(plan: JobPlan) -> dict[Place, str]:
    """Return `columns` or `rows: <reason>` for each operator that has both forms."""
    forms: dict[Place, str] = {}
    gives: dict[Place, bool | None] = {}
    inputs = _inputs(plan)
    for vertex in plan.vertices:  # in the order of levels: what feeds it was looked at before
        for index, op in enumerate(vertex.operators):
            if op.parent is not None:
                come = gives[vertex.id, op.parent] if op.tag is None else False
            elif vertex.is_source:
                come = op.gives_columns
            else:
                come = _any(gives[sender] if _stays_columns(edge) else False for sender, edge in inputs[vertex.id])
            gives[vertex.id, index] = _leaves(op, come)
            if op.operator.has_two_forms():
                forms[vertex.id, index] = _form(op, come, vertex)
    return forms


def _inputs(plan: JobPlan) -> dict[int, list[tuple[Place, OutEdge]]]:
    found: dict[int, list[tuple[Place, OutEdge]]] = defaultdict(list)
    for vertex in plan.vertices:
        for edge in vertex.outputs:
            found[edge.target].append(((vertex.id, edge.operator), edge))
    return found


def _any(comings: Iterable[bool | None]) -> bool | None:
    """Return whether one of several inputs comes as columns; None where that is not known."""
    known = list(comings)
    return True if True in known else None if None in known else False


def _leaves(op: ChainedOperator, come: bool | None) -> bool | None:
    """Return whether results leave as columns, if records come so."""
    if op.operator.makes_columns():
        come = True
    leave = op.operator.emits_columns()
    return False if False in (come, leave) else None if None in (come, leave) else True


def _stays_columns(edge: OutEdge) -> bool:
    """Return whether columns are sent as they are: a function that chooses a key or a subtask sees objects."""
    exchange, selector = edge.partitioning.exchange, edge.partitioning.key_selector
    if edge.tag is not None or exchange is Exchange.CUSTOM:
        return False
    return exchange is not Exchange.KEYED or getattr(selector, "key_fields", None) is not None


def _form(op: ChainedOperator, come: bool | None, vertex: Vertex) -> str:
    reason = op.operator.refusal()
    needs_columns = not op.operator.makes_columns()
    if reason is None and come is False and needs_columns:
        reason = "the source gives records one by one" if vertex.is_source and op.parent is None else _COME_AS_ROWS
    if reason is not None:
        return f"rows: {reason}"
    if come is None and needs_columns:
        return "columns, where its records come as columns"
    part = op.operator.row_part()
    return "columns" if part is None else f"columns, but {part}"
