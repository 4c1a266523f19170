"""Top-N and deduplication: a filter on ROW_NUMBER() that keeps the first rows of each partition."""

from __future__ import annotations

from penstock.table.algebra.nodes import Deduplicate, Filter, Over, PlanNode, Project, Rank
from penstock.table.binder.conditions import conjunction, conjuncts
from penstock.table.metadata.window_columns import window_columns
from penstock.vocabulary.sql.logical_types import Kind, LogicalType
from penstock.vocabulary.sql.typed_expressions import Call, FieldRef, Literal, TypedExpression

__all__ = ["recognise_rank"]

FLIPPED = {"<": ">", "<=": ">=", ">": "<", ">=": "<=", "=": "="}


def recognise_rank(node: PlanNode) -> PlanNode:
    """A filter on the row number of an OVER as a rank, or as a deduplication."""
    if not isinstance(node, Filter) or not isinstance(node.input, Over):
        return node
    over = node.input
    if [each.function for each in over.calls] != ["ROW_NUMBER"] or not over.order:
        return node
    number = len(over.input.types)
    first, last, rest = 1, None, []
    for part in conjuncts(node.condition):
        bounds = _bounds(part, number)
        if bounds is None:
            rest.append(part)
            continue
        first = max(first, bounds[0])
        last = bounds[1] if last is None or (bounds[1] is not None and bounds[1] < last) else last
    if last is None:
        return node
    made = _ranked(over, first, last)
    condition = conjunction(rest)
    return made if condition is None else Filter(made, condition)


def _ranked(over: Over, first: int, last: int) -> PlanNode:
    windows = window_columns(over.input)
    window = None
    fields: frozenset[int] = frozenset()
    if windows is not None and windows.starts & set(over.partition) and windows.ends & set(over.partition):
        window = (min(windows.starts & set(over.partition)), min(windows.ends & set(over.partition)))
        fields = windows.starts | windows.ends | windows.times
    zone = None if windows is None else windows.window.zone
    is_by_time = len(over.order) == 1 and over.time_attribute is not None
    if first == last == 1 and is_by_time:
        keys = tuple([each for each in over.partition if each not in fields])
        order = over.order[0]
        kept = Deduplicate(over.input, keys, order.index, order.descending, window, zone)
        one = Literal(1, LogicalType(Kind.BIGINT, False))
        return Project(kept, (*kept.fields, one), over.names)
    return Rank(over.input, over.partition, over.order, first, last, True, over.call_names[0], window, fields, zone)


def _bounds(part: TypedExpression, number: int) -> tuple[int, int | None] | None:
    """The first and last place that a condition on the row number leaves."""
    if not isinstance(part, Call):
        return None
    if part.function == "BETWEEN":
        value, low, high = part.arguments
        if _is_number(value, number) and isinstance(low, Literal) and isinstance(high, Literal):
            return int(low.value), int(high.value)
        return None
    if part.function not in FLIPPED:
        return None
    left, right = part.arguments
    operator = part.function
    if isinstance(_uncast(left), Literal):
        left, right, operator = right, left, FLIPPED[operator]
    constant = _uncast(right)
    if not _is_number(left, number) or not isinstance(constant, Literal) or constant.value is None:
        return None
    limit = int(constant.value)
    return {"=": (limit, limit), "<": (1, limit - 1), "<=": (1, limit), ">": (limit + 1, None), ">=": (limit, None)}[
        operator
    ]


def _uncast(expression: TypedExpression) -> TypedExpression:
    if isinstance(expression, Call) and expression.function == "CAST":
        return _uncast(expression.arguments[0])
    return expression


def _is_number(expression: TypedExpression, number: int) -> bool:
    inner = _uncast(expression)
    return isinstance(inner, FieldRef) and inner.index == number
