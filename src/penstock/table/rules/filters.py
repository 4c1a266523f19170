"""Filters go down: below projections, into joins, to the side of a join they are about, into ChangelogNormalize."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import replace
from typing import Any

from penstock.table.algebra.nodes import (
    Aggregate,
    CommonPart,
    Correlate,
    Filter,
    Join,
    JoinKind,
    Normalize,
    PlanNode,
    Project,
    Union,
)
from penstock.table.algebra.temporal_nodes import LookupJoin, TemporalJoin
from penstock.table.binder.conditions import conjunction, conjuncts, join_of, moved, shifted
from penstock.table.binder.scopes import OUTER
from penstock.table.rules.determinism import is_deterministic
from penstock.vocabulary.sql.logical_types import Kind, LogicalType
from penstock.vocabulary.sql.typed_expressions import Call, FieldRef, TypedExpression, fields_of, rewritten

__all__ = ["push_filters"]

Parts = Sequence[TypedExpression]
REJECT_NULL = frozenset(["=", "<>", "<", "<=", ">", ">=", "IS NOT NULL", "LIKE", "IN", "BETWEEN", "IS TRUE"])


def push_filters(node: PlanNode, parts: Parts = ()) -> PlanNode:
    """The plan with conditions, its own and `parts` on top of it, as low as they can be."""
    return _Pusher().push(node, parts)


class _Pusher:
    """Pushes filters; what several nodes read without conditions of their own stays one node."""

    def __init__(self) -> None:
        self._done: dict[PlanNode, PlanNode] = {}

    def push(self, node: PlanNode, parts: Parts = ()) -> PlanNode:
        """The node with conditions below it."""
        if parts:
            return self._push(node, parts)
        if node not in self._done:
            self._done[node] = self._push(node, ())
        return self._done[node]

    def _push(self, node: PlanNode, parts: Parts) -> PlanNode:
        if not node.inputs:
            return _on_top(node, parts)
        if isinstance(node, CommonPart):
            return self._stopped(node, parts)
        if isinstance(node, Filter):
            return self.push(node.input, [*conjuncts(node.condition), *parts])
        if isinstance(node, (TemporalJoin, LookupJoin)):
            return _into_time_join(self, node, parts)
        if isinstance(node, Join) and not node.is_regular:
            return self._stopped(node, parts)
        for kind, push in PUSHES.items():
            if isinstance(node, kind):
                return push(self, node, parts)
        return self._stopped(node, parts)

    def _stopped(self, node: PlanNode, parts: Parts) -> PlanNode:
        """Conditions stay above the node; those below it go on."""
        inputs = tuple([self.push(each) for each in node.inputs])
        same = all(new is old for new, old in zip(inputs, node.inputs, strict=True))
        return _on_top(node if same else node.with_inputs(inputs), parts)


def _through_union(pusher: _Pusher, node: Union, parts: Parts) -> PlanNode:
    return node.with_inputs(tuple([pusher.push(each, parts) for each in node.parts]))


def _through_correlate(pusher: _Pusher, node: Correlate, parts: Parts) -> PlanNode:
    below = [each for each in parts if all(field < len(node.input.types) for field in fields_of(each))]
    made = node.with_inputs((pusher.push(node.input, below),))
    return _on_top(made, [each for each in parts if each not in below])


def _on_top(node: PlanNode, parts: Parts) -> PlanNode:
    condition = conjunction(parts)
    return node if condition is None else Filter(node, condition)


def _through_project(pusher: _Pusher, node: Project, parts: Parts) -> PlanNode:
    below: list[TypedExpression] = []
    above: list[TypedExpression] = []
    for each in parts:
        read = [node.expressions[field] for field in fields_of(each)]
        can_move = all(map(_is_plain, read))
        (below if can_move else above).append(each)
    inlined = [_inlined(each, node) for each in below]
    return _on_top(replace(node, input=pusher.push(node.input, inlined)), above)


def _is_plain(expression: TypedExpression) -> bool:
    """Whether it costs nothing to compute it again: a field, or a field inside one."""
    if isinstance(expression, Call):
        return expression.function == "FIELD" and _is_plain(expression.arguments[0])
    return True


def _inlined(condition: TypedExpression, node: Project) -> TypedExpression:
    def change(each: TypedExpression) -> TypedExpression | None:
        if not isinstance(each, FieldRef):
            return None
        made = node.expressions[each.index]
        return FieldRef(made.index, each.type) if isinstance(made, FieldRef) else made

    return rewritten(condition, change)


def _through_aggregate(pusher: _Pusher, node: Aggregate, parts: Parts) -> PlanNode:
    keys = len(node.keys)
    below = [each for each in parts if keys and is_deterministic(each) and all(f < keys for f in fields_of(each))]
    places = dict(enumerate(node.keys))
    made = node.with_inputs((pusher.push(node.input, [moved(each, places) for each in below]),))
    return _on_top(made, [each for each in parts if each not in below])


def _into_normalize(pusher: _Pusher, node: Normalize, parts: Parts) -> PlanNode:
    keys = set(node.keys)
    below = [each for each in parts if is_deterministic(each) and set(fields_of(each)) <= keys]
    rest = [each for each in parts if each not in below]
    condition = conjunction([*conjuncts(node.condition), *rest])
    return replace(node, input=pusher.push(node.input, below), condition=condition)


def _into_join(pusher: _Pusher, node: Join, parts: Parts) -> PlanNode:
    if not node.kind.shows_right:
        return _into_semi_join(pusher, node, parts)
    node = replace(node, kind=_simplified(node, parts))
    width = len(node.left.types)
    own = [*_key_conditions(node), *conjuncts(node.condition)]
    left: list[TypedExpression] = []
    right: list[TypedExpression] = []
    joined: list[TypedExpression] = []
    above: list[TypedExpression] = []
    for each in parts:
        side = _side(each, width)
        if side == "left" and not node.kind.pads_left:
            left.append(each)
        elif side == "right" and not node.kind.pads_right:
            right.append(shifted(each, -width))
        elif node.kind is JoinKind.INNER and not _uses_outer(each):
            joined.append(each)
        else:
            above.append(each)
    for each in own:
        side = _side(each, width)
        if side == "left" and not node.kind.pads_right:
            left.append(each)
        elif side == "right" and not node.kind.pads_left:
            right.append(shifted(each, -width))
        else:
            joined.append(each)
    made = join_of(pusher.push(node.left, left), pusher.push(node.right, right), node.kind, conjunction(joined))
    return _on_top(made, above)


def _into_time_join(pusher: _Pusher, node: TemporalJoin | LookupJoin, parts: Parts) -> PlanNode:
    """Conditions on left rows go below. Those on right rows go to a table that is looked up, but not below versions.

    A version that does not meet a condition still ends the one before it.
    """
    kind = _simplified(node, parts)
    is_inner, is_lookup = kind is JoinKind.INNER, isinstance(node, LookupJoin)
    width = len(node.left.types)
    left: list[TypedExpression] = []
    right: list[TypedExpression] = []
    joined: list[TypedExpression] = []
    above: list[TypedExpression] = []
    own = [*_key_conditions(node), *conjuncts(node.condition)]
    for each, is_own in [*[(each, True) for each in own], *[(each, False) for each in parts]]:
        side = _side(each, width)
        if side == "left" and (is_inner or not is_own):
            left.append(each)
        elif not is_inner and not is_own:
            above.append(each)
        elif side == "right" and is_lookup:
            right.append(shifted(each, -width))
        elif _uses_outer(each):
            above.append(each)
        else:
            joined.append(each)
    new_left, new_right = pusher.push(node.left, left), pusher.push(node.right, right)
    return _on_top(join_of(new_left, new_right, kind, conjunction(joined), like=node), above)


def _into_semi_join(pusher: _Pusher, node: Join, parts: Parts) -> PlanNode:
    width = len(node.left.types)
    own = conjuncts(node.condition)
    to_right = [each for each in own if _side(each, width) == "right"]
    to_left = [each for each in own if _side(each, width) == "left"] if node.kind is JoinKind.SEMI else []
    rest = [*_key_conditions(node), *[each for each in own if each not in to_right and each not in to_left]]
    left = pusher.push(node.left, [*parts, *to_left])
    right = pusher.push(node.right, [shifted(each, -width) for each in to_right])
    return join_of(left, right, node.kind, conjunction(rest))


def _key_conditions(node: Join) -> list[TypedExpression]:
    width = len(node.left.types)
    boolean = LogicalType(Kind.BOOLEAN)
    result: list[TypedExpression] = []
    for left, right, is_safe in zip(node.left_keys, node.right_keys, node.null_safe, strict=True):
        pair = (node.left.field(left), FieldRef(right + width, node.right.types[right]))
        result.append(Call("IS NOT DISTINCT FROM" if is_safe else "=", pair, boolean))
    return result


def _simplified(node: Join, parts: Parts) -> JoinKind:
    """The kind of join that is left once rows with NULL for one side are thrown away anyway."""
    width = len(node.left.types)
    rejects = {_side(each, width) for each in parts if isinstance(each, Call) and each.function in REJECT_NULL}
    pads_left = node.kind.pads_left and "left" not in rejects
    pads_right = node.kind.pads_right and "right" not in rejects
    if pads_left and pads_right:
        return JoinKind.FULL
    if pads_left or pads_right:
        return JoinKind.RIGHT if pads_left else JoinKind.LEFT
    return JoinKind.INNER


def _side(condition: TypedExpression, width: int) -> str | None:
    fields = set(fields_of(condition))
    if not fields or _uses_outer(condition) or not is_deterministic(condition):
        return None
    if all(each < width for each in fields):
        return "left"
    return "right" if all(each >= width for each in fields) else None


def _uses_outer(condition: TypedExpression) -> bool:
    if not isinstance(condition, Call):
        return False
    return condition.function == OUTER or any(map(_uses_outer, condition.arguments))


PUSHES: dict[type[PlanNode], Callable[[_Pusher, Any, Parts], PlanNode]] = {
    Project: _through_project,
    Join: _into_join,
    Union: _through_union,
    Aggregate: _through_aggregate,
    Normalize: _into_normalize,
    Correlate: _through_correlate,
}
