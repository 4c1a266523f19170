"""Conditions of joins taken apart: what must be equal on both sides, and the rest."""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import replace

from penstock.table.algebra.nodes import Join, JoinKind, PlanNode, Project
from penstock.vocabulary.sql import scalar
from penstock.vocabulary.sql.logical_types import Kind, LogicalType
from penstock.vocabulary.sql.typed_expressions import Call, FieldRef, Literal, TypedExpression, fields_of, rewritten

__all__ = ["conjunction", "conjuncts", "is_true", "join_of", "moved", "shifted"]


def conjuncts(condition: TypedExpression | None) -> list[TypedExpression]:
    """The conditions that AND joins."""
    if condition is None or is_true(condition):
        return []
    if isinstance(condition, Call) and condition.function == "AND":
        return [part for each in condition.arguments for part in conjuncts(each)]
    return [condition]


def conjunction(parts: Iterable[TypedExpression]) -> TypedExpression | None:
    """All conditions joined by AND; None if there are none."""
    result: TypedExpression | None = None
    for each in parts:
        if result is None:
            result = each
        else:
            nullable = result.type.nullable or each.type.nullable
            result = Call("AND", (result, each), LogicalType(Kind.BOOLEAN, nullable))
    return result


def is_true(condition: TypedExpression) -> bool:
    """Whether it is the constant TRUE."""
    return isinstance(condition, Literal) and condition.value is True


def moved(expression: TypedExpression, places: dict[int, int]) -> TypedExpression:
    """The expression with its fields renumbered."""

    def change(each: TypedExpression) -> TypedExpression | None:
        return FieldRef(places[each.index], each.type) if isinstance(each, FieldRef) else None

    return rewritten(expression, change)


def shifted(expression: TypedExpression, by: int) -> TypedExpression:
    """The expression with its fields counted from another place."""

    def change(each: TypedExpression) -> TypedExpression | None:
        return FieldRef(each.index + by, each.type) if isinstance(each, FieldRef) else None

    return rewritten(expression, change)


class _Side:
    """An input of a join, to which columns may have to be added that the join is by."""

    def __init__(self, node: PlanNode) -> None:
        self.node = node
        self.extra: list[TypedExpression] = []

    def key(self, expression: TypedExpression) -> int:
        if isinstance(expression, FieldRef):
            return expression.index
        if expression not in self.extra:
            self.extra.append(expression)
        return len(self.node.types) + self.extra.index(expression)

    def finished(self) -> PlanNode:
        if not self.extra:
            return self.node
        names = (*self.node.names, *[f"$k{index}" for index in range(len(self.extra))])
        return Project(self.node, (*self.node.fields, *self.extra), names)


def join_of(
    left: PlanNode, right: PlanNode, kind: JoinKind, condition: TypedExpression | None, like: Join | None = None
) -> PlanNode:
    """A join by a condition over the fields of both; what is joined by is computed below it where it is no field.

    With `like` it is that join, with these inputs and this condition. Fields of the inputs keep their numbers.
    """
    width = len(left.types)
    sides = _Side(left), _Side(right)
    pairs: list[tuple[int, int, bool]] = []
    rest = []
    for part in conjuncts(condition):
        pair = _equality(part, width)
        if pair is None:
            rest.append(part)
        else:
            pairs.append((sides[0].key(pair[0]), sides[1].key(pair[1]), pair[2]))
    new_left, new_right = sides[0].finished(), sides[1].finished()
    added = len(new_left.types) - width
    places = {index: index + (added if index >= width else 0) for index in range(width + len(right.types))}
    joined = replace(
        Join(left, right, kind) if like is None else like,
        left=new_left,
        right=new_right,
        kind=kind,
        left_keys=tuple([each[0] for each in pairs]),
        right_keys=tuple([each[1] for each in pairs]),
        null_safe=tuple([each[2] for each in pairs]),
        condition=conjunction([moved(each, places) for each in rest]),
    )
    return _without_extra(joined, width, len(right.types))


def _without_extra(joined: Join, left_width: int, right_width: int) -> PlanNode:
    shown = left_width + (right_width if joined.kind.shows_right else 0)
    if len(joined.types) == shown:
        return joined
    begin = len(joined.left.types)
    kept = [*range(left_width), *(range(begin, begin + right_width) if joined.kind.shows_right else ())]
    return Project(joined, tuple([joined.field(each) for each in kept]), tuple([joined.names[each] for each in kept]))


def _equality(part: TypedExpression, width: int) -> tuple[TypedExpression, TypedExpression, bool] | None:
    """Both sides of an equality of left and right, right fields counted from 0, and whether NULL equals NULL."""
    if not isinstance(part, Call) or part.function not in ("=", "IS NOT DISTINCT FROM"):
        return None
    first, second = part.arguments
    sides = [_side_of(first, width), _side_of(second, width)]
    if sides == ["right", "left"]:
        first, second = second, first
    elif sides != ["left", "right"]:
        return None
    second = shifted(second, -width)
    if not first.type.same_but_for_null(second.type):
        common = scalar.common_type([first.type.as_plain_time(), second.type.as_plain_time()])
        if common is None:
            return None
        first, second = _cast(first, common), _cast(second, common)
    return first, second, part.function != "="


def _cast(value: TypedExpression, to: LogicalType) -> TypedExpression:
    wanted = to.with_nullable(value.type.nullable)
    return value if value.type.same_but_for_null(wanted) else scalar.cast(value, wanted)


def _side_of(expression: TypedExpression, width: int) -> str | None:
    fields = set(fields_of(expression))
    if not fields:
        return None
    if all(each < width for each in fields):
        return "left"
    return "right" if all(each >= width for each in fields) else None
