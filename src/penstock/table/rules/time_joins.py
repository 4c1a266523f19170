"""Joins that know about time: by an interval between two time attributes, or within the same window."""

from __future__ import annotations

from penstock.table.algebra.nodes import IntervalJoin, Join, JoinKind, PlanNode, WindowJoin
from penstock.table.binder.conditions import conjunction, conjuncts
from penstock.table.metadata.window_columns import window_columns
from penstock.vocabulary.sql.logical_types import Kind, TimeAttribute
from penstock.vocabulary.sql.typed_expressions import Call, FieldRef, Literal, TypedExpression

__all__ = ["recognise_time_join"]

FLIPPED = {"<": ">", "<=": ">=", ">": "<", ">=": "<=", "=": "="}
FOREVER = 2**62


def recognise_time_join(node: PlanNode) -> PlanNode:
    """The node as an interval or window join if it is one."""
    if not isinstance(node, Join) or not node.is_regular:
        return node
    return _window_join(node) or _interval_join(node) or node


# ---- windows ----


def _window_join(node: Join) -> WindowJoin | None:
    left, right = window_columns(node.left), window_columns(node.right)
    if left is None or right is None or left.window != right.window:
        return None
    pairs = list(zip(node.left_keys, node.right_keys, node.null_safe, strict=True))
    starts = [each for each in pairs if each[0] in left.starts and each[1] in right.starts]
    ends = [each for each in pairs if each[0] in left.ends and each[1] in right.ends]
    if not starts or not ends:
        return None
    times = [each for each in pairs if each[0] in left.times and each[1] in right.times]
    rest = [each for each in pairs if each not in starts and each not in ends and each not in times]
    return WindowJoin(
        node.left,
        node.right,
        node.kind,
        tuple([each[0] for each in rest]),
        tuple([each[1] for each in rest]),
        tuple([each[2] for each in rest]),
        node.condition,
        (starts[0][0], ends[0][0]),
        (starts[0][1], ends[0][1]),
        left.window.zone,
    )


# ---- intervals ----


def _interval_join(node: Join) -> IntervalJoin | None:
    if node.kind in (JoinKind.SEMI, JoinKind.ANTI):
        return None
    width = len(node.left.types)
    lower, upper, times, rest = -FOREVER, FOREVER, None, []
    for part in _flat(conjuncts(node.condition)):
        bound = _bound(part, node, width)
        if bound is None or (times is not None and bound[0] != times):
            rest.append(part)
            continue
        times = bound[0]
        lower, upper = max(lower, bound[1]), min(upper, bound[2])
    equal = _equal_times(node)
    if times is None and equal is not None:
        times, lower, upper = equal, 0, 0
    if times is None or lower <= -FOREVER or upper >= FOREVER:
        return None
    return IntervalJoin(
        node.left,
        node.right,
        node.kind,
        node.left_keys,
        node.right_keys,
        node.null_safe,
        conjunction(rest),
        times[0],
        times[1],
        lower,
        upper,
    )


def _flat(parts: list[TypedExpression]) -> list[TypedExpression]:
    """BETWEEN as two comparisons."""
    result: list[TypedExpression] = []
    for each in parts:
        if isinstance(each, Call) and each.function == "BETWEEN":
            value, low, high = each.arguments
            result += [Call(">=", (value, low), each.type), Call("<=", (value, high), each.type)]
        else:
            result.append(each)
    return result


def _equal_times(node: Join) -> tuple[int, int] | None:
    for left, right in zip(node.left_keys, node.right_keys, strict=True):
        attributes = (node.left.types[left].time_attribute, node.right.types[right].time_attribute)
        if attributes == (TimeAttribute.ROWTIME, TimeAttribute.ROWTIME):
            return left, right
    return None


Bound = tuple[tuple[int, int], int, int]


def _bound(part: TypedExpression, node: Join, width: int) -> Bound | None:
    """What a comparison of two times says: the fields, and the least and the greatest of left time - right time."""
    if not isinstance(part, Call) or part.function not in FLIPPED:
        return None
    first, second = (_time_and_offset(each, node, width) for each in part.arguments)
    if first is None or second is None or (first[0] < width) == (second[0] < width):
        return None
    operator = part.function
    if first[0] >= width:
        first, second, operator = second, first, FLIPPED[operator]
    fields = (first[0], second[0] - width)
    attributes = {node.left.types[fields[0]].time_attribute, node.right.types[fields[1]].time_attribute}
    if len(attributes) > 1:
        return None
    distance = second[1] - first[1]
    low = {">": distance + 1, ">=": distance, "=": distance}.get(operator, -FOREVER)
    high = {"<": distance - 1, "<=": distance, "=": distance}.get(operator, FOREVER)
    return fields, low, high


def _time_and_offset(expression: TypedExpression, node: Join, width: int) -> tuple[int, int] | None:
    """A time attribute plus or minus a constant: its field, and the milliseconds."""
    if isinstance(expression, FieldRef):
        is_left = expression.index < width
        kind = node.left.types[expression.index] if is_left else node.right.types[expression.index - width]
        return None if kind.time_attribute is None else (expression.index, 0)
    if not isinstance(expression, Call):
        return None
    if expression.function == "CAST":
        return _time_and_offset(expression.arguments[0], node, width)
    if expression.function not in ("+", "-") or len(expression.arguments) != 2:
        return None
    value, other = expression.arguments
    if expression.function == "+" and isinstance(value, Literal):
        value, other = other, value
    if not isinstance(other, Literal) or other.type.kind is not Kind.INTERVAL_MILLIS:
        return None
    found = _time_and_offset(value, node, width)
    sign = 1 if expression.function == "+" else -1
    return None if found is None else (found[0], found[1] + sign * int(other.value))
