"""Projections over projections become one, and those that change nothing go."""

from __future__ import annotations

from collections import Counter
from dataclasses import replace

from penstock.table.algebra.nodes import CommonPart, PlanNode, Project
from penstock.table.rules.determinism import is_deterministic
from penstock.vocabulary.sql.typed_expressions import Call, FieldRef, TypedExpression, fields_of, rewritten

__all__ = ["merge_projections"]


def merge_projections(node: PlanNode) -> PlanNode:
    """A projection merged with the one below it, unless something would be computed twice."""
    if not isinstance(node, Project) or isinstance(node, CommonPart):
        return node
    below = node.input
    if isinstance(below, Project) and not isinstance(below, CommonPart) and _can_merge(node, below):
        merged = tuple([_inlined(each, below) for each in node.expressions])
        return merge_projections(replace(node, input=below.input, expressions=merged))
    return node.input if _changes_nothing(node) else node


def _changes_nothing(node: Project) -> bool:
    """Whether the values are those of the input; names and whether NULL is allowed concern no operator."""
    fields = node.input.fields
    return len(fields) == len(node.expressions) and all(
        isinstance(each, FieldRef)
        and each.index == field.index
        and each.type.time_attribute is field.type.time_attribute
        for each, field in zip(node.expressions, fields, strict=True)
    )


def _can_merge(node: Project, below: Project) -> bool:
    uses = Counter(field for each in node.expressions for field in fields_of(each))
    for index, expression in enumerate(below.expressions):
        if isinstance(expression, Call) and uses[index] and not (uses[index] == 1 and is_deterministic(expression)):
            return False
    return True


def _inlined(expression: TypedExpression, below: Project) -> TypedExpression:
    def change(each: TypedExpression) -> TypedExpression | None:
        if not isinstance(each, FieldRef):
            return None
        made = below.expressions[each.index]
        return FieldRef(made.index, each.type) if isinstance(made, FieldRef) else made

    return rewritten(expression, change)
