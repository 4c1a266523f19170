"""Aggregates by window: GROUP BY window_start, window_end over a window table function."""

from __future__ import annotations

from dataclasses import dataclass, replace

from penstock.table.algebra.nodes import (
    Aggregate,
    Filter,
    PlanNode,
    Project,
    WindowAggregate,
    WindowProperty,
    WindowTable,
)
from penstock.table.metadata.window_columns import WindowColumns, window_columns
from penstock.vocabulary.sql.typed_expressions import FieldRef, Literal, fields_of
from penstock.vocabulary.sql.windows import WindowKind

__all__ = ["recognise_window_aggregate"]


def recognise_window_aggregate(node: Aggregate) -> PlanNode:
    """The aggregate as one by window, with the same fields, if start and end of windows are among its keys."""
    found = window_columns(node.input)
    if found is None or not (found.starts & set(node.keys)) or not (found.ends & set(node.keys)):
        return node
    by_field = {
        **dict.fromkeys(found.starts, WindowProperty.START),
        **dict.fromkeys(found.ends, WindowProperty.END),
        **dict.fromkeys(found.times, WindowProperty.TIME),
    }
    keys = tuple([each for each in node.keys if each not in by_field])
    if _has_other_sessions(node.input, keys):
        return node  # sessions of other keys end at other times: results are put out as rows come, as in Flink
    wanted = tuple(dict.fromkeys(by_field[each] for each in node.keys if each in by_field))
    made = _windowed(node, keys, wanted, found)
    first = len(keys) + len(node.calls)
    places = [first + wanted.index(by_field[each]) if each in by_field else keys.index(each) for each in node.keys] + [
        len(keys) + index for index in range(len(node.calls))
    ]
    return Project(made, tuple([made.field(each) for each in places]), node.names)


def _has_other_sessions(node: PlanNode, keys: tuple[int, ...]) -> bool:
    """Whether rows are of sessions that were made by other fields than the keys."""
    places: list[int | None] = list(keys)
    while isinstance(node, (Filter, Project)):
        if isinstance(node, Project):
            read = [None if each is None else node.expressions[each] for each in places]
            places = [each.index if isinstance(each, FieldRef) else None for each in read]
        node = node.input
    return (
        isinstance(node, WindowTable) and node.window.kind is WindowKind.SESSION and set(places) != set(node.partition)
    )


def _windowed(
    node: Aggregate, keys: tuple[int, ...], wanted: tuple[WindowProperty, ...], found: WindowColumns
) -> WindowAggregate:
    attached = WindowAggregate(
        node.input,
        keys,
        node.calls,
        node.call_names,
        found.window,
        None,
        min(found.starts & set(node.keys)),
        min(found.ends & set(node.keys)),
        wanted,
        tuple([each.value for each in wanted]),
        found.time_type,
    )
    read = {field for call in node.calls for field in (*call.arguments, *_optional(call.filter))}
    if read & (found.starts | found.ends | found.times):
        return attached
    fused = _fused(node.input)
    if fused is None or not _has_partition(fused, keys):
        return attached
    return replace(attached, input=fused.plan, time=fused.time, start=None, end=None)


def _optional(value: int | None) -> tuple[int, ...]:
    return () if value is None else (value,)


@dataclass(frozen=True)
class _Fused:
    """A plan without its window table function: NULL in the place of window columns, and where the time is."""

    plan: PlanNode
    time: int
    windows: frozenset[int]
    partition: tuple[int, ...] | None
    """Where the fields are that sessions are made by; None for other windows."""


def _has_partition(fused: _Fused, keys: tuple[int, ...]) -> bool:
    return fused.partition is None or set(fused.partition) == set(keys)


def _fused(node: PlanNode) -> _Fused | None:
    """The plan below a window table function, if nothing between it and here looks at the windows."""
    if isinstance(node, WindowTable):
        source = node.input
        width = len(source.types)
        nothing = tuple([Literal(None, each.with_nullable(True).as_plain_time()) for each in node.types[width:]])
        plan = Project(source, (*source.fields, *nothing), node.names)
        is_session = node.window.kind is WindowKind.SESSION
        return _Fused(plan, node.time, frozenset(range(width, width + 3)), node.partition if is_session else None)
    if isinstance(node, Filter):
        below = _fused(node.input)
        if below is None or set(fields_of(node.condition)) & below.windows:
            return None
        return replace(below, plan=Filter(below.plan, node.condition))
    return _fused_project(node) if isinstance(node, Project) else None


def _fused_project(node: Project) -> _Fused | None:
    below = _fused(node.input)
    if below is None:
        return None
    windows = set()
    for position, expression in enumerate(node.expressions):
        if isinstance(expression, FieldRef):
            windows |= {position} if expression.index in below.windows else set()
        elif set(fields_of(expression)) & below.windows:
            return None
    places = [each.index if isinstance(each, FieldRef) else None for each in node.expressions]
    expressions = tuple(
        [
            FieldRef(each.index, below.plan.types[each.index]) if isinstance(each, FieldRef) else each
            for each in node.expressions
        ]
    )
    names = node.field_names
    if below.time in places:
        time = places.index(below.time)
    else:
        time, expressions, names = len(names), (*expressions, below.plan.field(below.time)), (*names, "$time")
    partition = None
    if below.partition is not None:
        if not all(each in places for each in below.partition):
            return None
        partition = tuple([places.index(each) for each in below.partition])
    return _Fused(Project(below.plan, expressions, names), time, frozenset(windows), partition)
