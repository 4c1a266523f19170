"""A filter over a projection as one operator, as Flink merges them: what the filter does not ask for is computed of the
rows that it leaves only."""

from __future__ import annotations

from typing import TYPE_CHECKING, NamedTuple

from penstock.table.algebra.nodes import Filter, PlanNode, Project
from penstock.table.binder.conditions import conjunction
from penstock.table.rules.determinism import is_deterministic
from penstock.vocabulary.sql.typed_expressions import Call, FieldRef, TypedExpression, rewritten
from penstock.vocabulary.sql.user_functions import USER_FUNCTION

if TYPE_CHECKING:
    from penstock.table.translation.translator import Translator

__all__ = ["Narrowed", "narrowed"]


class Narrowed(NamedTuple):
    """What the operator computes, and of which rows."""

    condition: TypedExpression
    projections: tuple[TypedExpression, ...]
    source: PlanNode


def narrowed(translator: Translator, node: PlanNode) -> Narrowed | None:
    """The two as one; None where that would compute something twice, or another value."""
    if not isinstance(node, Filter) or not isinstance(node.input, Project) or not translator.is_read_once(node.input):
        return None
    below = node.input
    whole = (node.condition, *below.expressions)
    if not all(map(is_deterministic, whole)) or any(map(_calls_users, whole)):
        return None
    inlined, source = _inlined(node.condition, below), below.input
    if not isinstance(source, Filter):
        return Narrowed(inlined, below.expressions, source)
    condition = conjunction([source.condition, inlined])
    assert condition is not None
    return Narrowed(condition, below.expressions, source.input)


def _calls_users(expression: TypedExpression) -> bool:
    if not isinstance(expression, Call):
        return False
    return expression.function == USER_FUNCTION or any(map(_calls_users, expression.arguments))


def _inlined(condition: TypedExpression, below: Project) -> TypedExpression:
    def change(each: TypedExpression) -> TypedExpression | None:
        return below.expressions[each.index] if isinstance(each, FieldRef) else None

    return rewritten(condition, change)
