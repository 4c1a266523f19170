"""Takes the conditions on columns of the query around out of a subquery, so that they can become those of a join."""

from __future__ import annotations

from dataclasses import replace

from penstock.table.algebra.nodes import Aggregate, Filter, Join, JoinKind, PlanNode, Project
from penstock.table.binder.conditions import conjunction, conjuncts, moved, shifted
from penstock.table.binder.scopes import OUTER
from penstock.vocabulary.sql.typed_expressions import Call, FieldRef, TypedExpression, fields_of

__all__ = ["NotDecorrelated", "decorrelated", "is_equality"]


class NotDecorrelated(Exception):
    """A subquery uses columns from around in a way that no join can stand for; the text names the step."""


Taken = tuple[PlanNode, list[TypedExpression]]


def decorrelated(plan: PlanNode) -> Taken:
    """The plan without outer columns, and the conditions on them, over its fields; fields may be appended to it."""
    if not _is_correlated(plan):
        return plan, []
    if isinstance(plan, Filter):
        return _filter(plan)
    if isinstance(plan, Project):
        return _project(plan)
    if isinstance(plan, Aggregate):
        return _aggregate(plan)
    if isinstance(plan, Join) and plan.kind is JoinKind.INNER:
        return _join(plan)
    raise NotDecorrelated(plan.describe())


def _filter(plan: Filter) -> Taken:
    inner, taken = decorrelated(plan.input)
    parts = conjuncts(plan.condition)
    rest = conjunction([each for each in parts if not _uses_outer(each)])
    return (inner if rest is None else Filter(inner, rest)), taken + [each for each in parts if _uses_outer(each)]


def _project(plan: Project) -> Taken:
    inner, taken = decorrelated(plan.input)
    if any(map(_uses_outer, plan.expressions)):
        raise NotDecorrelated("its SELECT list")
    expressions, names = list(plan.expressions), list(plan.field_names)
    places: dict[int, int] = {}
    for index in sorted({field for each in taken for field in fields_of(each)}):
        field = inner.field(index)
        if field not in expressions:
            expressions.append(field)
            names.append(f"$c{len(names)}")
        places[index] = expressions.index(field)
    return Project(inner, tuple(expressions), tuple(names)), [moved(each, places) for each in taken]


def _aggregate(plan: Aggregate) -> Taken:
    """Conditions `inner = outer` become keys; their fields are appended behind what the aggregate puts out."""
    inner, taken = decorrelated(plan.input)
    added = []
    for each in taken:
        if not is_equality(each):
            raise NotDecorrelated("a condition below an aggregate that is no equality")
        added += [field for field in fields_of(each) if field not in plan.keys and field not in added]
    keys = (*plan.keys, *added)
    grouped = Aggregate(inner, keys, plan.calls, plan.call_names)
    old, new = len(plan.keys), len(added)
    order = [*range(old), *range(old + new, len(grouped.types)), *range(old, old + new)]
    names = [*plan.names, *[f"$c{index}" for index in range(new)]]
    result = Project(grouped, tuple([grouped.field(each) for each in order]), tuple(names))
    places = {key: order.index(position) for position, key in enumerate(keys)}
    return result, [moved(each, places) for each in taken]


def _join(plan: Join) -> Taken:
    left, from_left = decorrelated(plan.left)
    right, from_right = decorrelated(plan.right)
    if len(left.types) != len(plan.left.types):
        raise NotDecorrelated("a join of subqueries")
    parts = conjuncts(plan.condition)
    rest = conjunction([each for each in parts if not _uses_outer(each)])
    joined = replace(plan, left=left, right=right, condition=rest)
    taken = from_left + [shifted(each, len(left.types)) for each in from_right]
    return joined, taken + [each for each in parts if _uses_outer(each)]


def _uses_outer(expression: TypedExpression) -> bool:
    if not isinstance(expression, Call):
        return False
    return expression.function == OUTER or any(map(_uses_outer, expression.arguments))


def is_equality(condition: TypedExpression) -> bool:
    """Whether a condition says that a field of a subquery equals something of the query around."""
    if not isinstance(condition, Call) or condition.function != "=":
        return False
    kinds = [isinstance(each, FieldRef) for each in condition.arguments]
    others = [_uses_outer(each) and not list(fields_of(each)) for each in condition.arguments]
    return (kinds[0] and others[1]) or (kinds[1] and others[0])


def _is_correlated(plan: PlanNode) -> bool:
    own: list[TypedExpression | None] = []
    if isinstance(plan, (Filter, Join)):
        own.append(plan.condition)
    elif isinstance(plan, Project):
        own += plan.expressions
    if any(each is not None and _uses_outer(each) for each in own):
        return True
    return any(map(_is_correlated, plan.inputs))
