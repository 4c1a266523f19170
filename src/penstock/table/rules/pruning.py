"""Columns that nobody reads are left out, from the end of the plan down to the sources."""

from __future__ import annotations

from collections.abc import Callable, Iterable
from dataclasses import replace
from typing import Any

from penstock.table.algebra import nodes
from penstock.table.algebra.match_node import Match
from penstock.table.algebra.nodes import PlanNode, Project
from penstock.table.algebra.table_api_nodes import CountWindowAggregate, TableAggregate
from penstock.table.algebra.temporal_nodes import LookupJoin, TemporalJoin
from penstock.table.binder.conditions import moved
from penstock.table.metadata.keys import smallest, upsert_keys
from penstock.vocabulary.sql.logical_types import row_of
from penstock.vocabulary.sql.ordering import SortField
from penstock.vocabulary.sql.typed_expressions import AggregateCall, fields_of

__all__ = ["prune_columns"]

AGGREGATES = (nodes.Aggregate, nodes.WindowAggregate, nodes.GroupWindowAggregate)
Places = dict[int, int]
Pruned = tuple[PlanNode, Places]


def prune_columns(root: PlanNode) -> PlanNode:
    """The plan with the same columns at its end, and fewer on the way there."""
    pruner = _Pruner()
    node, places = pruner.pruned(root, frozenset(range(len(root.types))))
    return _exactly(node, places, root)


def _exactly(node: PlanNode, places: Places, like: PlanNode) -> PlanNode:
    """The columns that were there before, in their order."""
    if len(node.types) == len(like.types) and all(places[each] == each for each in places):
        return node
    fields = tuple([node.field(places[each]) for each in range(len(like.types))])
    return Project(node, fields, like.names)


class _Pruner:
    """Prunes nodes, each once for a set of columns that are needed."""

    def __init__(self) -> None:
        self._done: dict[tuple[PlanNode, frozenset[int]], Pruned] = {}

    def pruned(self, node: PlanNode, needed: frozenset[int]) -> Pruned:
        """The node with at least the needed columns, and where each of them now is."""
        if isinstance(node, AGGREGATES):  # all of an aggregate is kept, so that one that is read twice stays one
            needed = frozenset(range(len(node.types)))
        key = (node, needed)
        if key not in self._done:
            prune = PRUNINGS.get(type(node))
            self._done[key] = self._whole(node) if prune is None else prune(self, node, needed)
        return self._done[key]

    def _whole(self, node: PlanNode) -> Pruned:
        """All columns, and all columns of the inputs: for nodes of which nothing can be left out."""
        inputs = tuple([self.exact(each) for each in node.inputs])
        return (node.with_inputs(inputs) if inputs else node), _same(node)

    def exact(self, node: PlanNode) -> PlanNode:
        """The node with all its columns where they were."""
        made, places = self.pruned(node, frozenset(range(len(node.types))))
        return _exactly(made, places, node)


def _same(node: PlanNode) -> Places:
    return {each: each for each in range(len(node.types))}


def _project(pruner: _Pruner, node: nodes.Project, needed: frozenset[int]) -> Pruned:
    kept = sorted(needed)
    expressions = [node.expressions[each] for each in kept]
    below, places = pruner.pruned(node.input, frozenset(field for each in expressions for field in fields_of(each)))
    made = Project(below, tuple([moved(each, places) for each in expressions]), tuple([node.names[e] for e in kept]))
    return made, {old: new for new, old in enumerate(kept)}


def _filter(pruner: _Pruner, node: nodes.Filter, needed: frozenset[int]) -> Pruned:
    below, places = pruner.pruned(node.input, needed | set(fields_of(node.condition)))
    return nodes.Filter(below, moved(node.condition, places)), places


def _scan(pruner: _Pruner, node: nodes.Scan, needed: frozenset[int]) -> Pruned:
    kept = sorted(needed)
    made = replace(node, columns=tuple([node.columns[each] for each in kept]))
    return made, {old: new for new, old in enumerate(kept)}


def _watermark(pruner: _Pruner, node: nodes.WatermarkAssigner, needed: frozenset[int]) -> Pruned:
    below, places = pruner.pruned(node.input, needed | {node.rowtime} | set(fields_of(node.watermark)))
    return nodes.WatermarkAssigner(below, places[node.rowtime], moved(node.watermark, places)), places


def _normalize(pruner: _Pruner, node: nodes.Normalize, needed: frozenset[int]) -> Pruned:
    read = () if node.condition is None else fields_of(node.condition)
    below, places = pruner.pruned(node.input, needed | set(node.keys) | set(read))
    condition = None if node.condition is None else moved(node.condition, places)
    return replace(node, input=below, keys=_moved(node.keys, places), condition=condition), places


def _moved(fields: Iterable[int], places: Places) -> tuple[int, ...]:
    return tuple([places[each] for each in fields])


def _moved_order(order: tuple[SortField, ...], places: Places) -> tuple[SortField, ...]:
    return tuple([replace(each, index=places[each.index]) for each in order])


def _ordered_by(order: tuple[SortField, ...]) -> set[int]:
    return {each.index for each in order}


def _sort(pruner: _Pruner, node: nodes.Sort | nodes.Limit, needed: frozenset[int]) -> Pruned:
    # A limit takes rows back by all their fields, so it needs the ones its input is updated by too.
    if isinstance(node, nodes.Limit):
        return pruner._whole(node)
    below, places = pruner.pruned(node.input, needed | _ordered_by(node.order))
    return replace(node, input=below, order=_moved_order(node.order, places)), places


def _union(pruner: _Pruner, node: nodes.Union, needed: frozenset[int]) -> Pruned:
    kept = sorted(needed)
    names = tuple([node.names[each] for each in kept])
    parts = []
    for each in node.parts:
        below, places = pruner.pruned(each, needed)
        fields = tuple([below.field(places[old]) for old in kept])
        parts.append(below if fields == below.fields else Project(below, fields, names))
    output = row_of(names, tuple([node.types[each] for each in kept]))
    return nodes.Union(tuple(parts), output), {old: new for new, old in enumerate(kept)}


def _join(pruner: _Pruner, node: Any, needed: frozenset[int]) -> Pruned:
    width = len(node.left.types)
    read = needed | set(() if node.condition is None else fields_of(node.condition))
    extra_left, extra_right = _time_fields(node)
    left_needed = {each for each in read if each < width} | set(node.left_keys) | extra_left
    right_needed = {each - width for each in read if each >= width} | set(node.right_keys) | extra_right
    left, left_places = pruner.pruned(node.left, frozenset(left_needed))
    right, right_places = pruner.pruned(node.right, frozenset(right_needed))
    new_width = len(left.types)
    places = {**left_places, **{old + width: new + new_width for old, new in right_places.items()}}
    made = replace(
        node,
        left=left,
        right=right,
        left_keys=_moved(node.left_keys, left_places),
        right_keys=_moved(node.right_keys, right_places),
        condition=None if node.condition is None else moved(node.condition, places),
        **_moved_times(node, left_places, right_places),
    )
    shown = places if node.kind.shows_right else left_places
    return made, shown


def _time_fields(node: Any) -> tuple[set[int], set[int]]:
    if isinstance(node, (nodes.IntervalJoin, TemporalJoin)):
        return {node.left_time}, {node.right_time}
    if isinstance(node, nodes.WindowJoin):
        return set(node.left_window), set(node.right_window)
    return set(), set()


def _moved_times(node: Any, left: Places, right: Places) -> dict[str, Any]:
    if isinstance(node, (nodes.IntervalJoin, TemporalJoin)):
        return {"left_time": left[node.left_time], "right_time": right[node.right_time]}
    if isinstance(node, nodes.WindowJoin):
        return {"left_window": _moved(node.left_window, left), "right_window": _moved(node.right_window, right)}
    return {}


def _call_fields(calls: Iterable[AggregateCall]) -> set[int]:
    found: set[int] = set()
    for call in calls:
        found.update(call.arguments, [] if call.filter is None else [call.filter], [index for index, _ in call.order])
    return found


def _moved_call(call: AggregateCall, places: Places) -> AggregateCall:
    return replace(
        call,
        arguments=_moved(call.arguments, places),
        filter=None if call.filter is None else places[call.filter],
        order=tuple([(places[index], is_descending) for index, is_descending in call.order]),
    )


def _aggregate(pruner: _Pruner, node: Any, needed: frozenset[int]) -> Pruned:
    extra = _aggregate_times(node)
    below, places = pruner.pruned(
        node.input, frozenset(_call_fields(node.calls) | set(node.keys) | set(extra.values()))
    )
    made = replace(
        node,
        input=below,
        keys=_moved(node.keys, places),
        calls=tuple([_moved_call(each, places) for each in node.calls]),
        **{name: places[field] for name, field in extra.items()},
    )
    return made, _same(node)


def _aggregate_times(node: Any) -> dict[str, int]:
    names = {nodes.WindowAggregate: ("time", "start", "end"), nodes.GroupWindowAggregate: ("time",)}.get(type(node), ())
    return {name: getattr(node, name) for name in names if getattr(node, name) is not None}


def _over(pruner: _Pruner, node: nodes.Over, needed: frozenset[int]) -> Pruned:
    width = len(node.input.types)
    # Rows that update are taken back by all fields: nothing is left out where the order is no time.
    if node.time_attribute is None:
        return pruner._whole(node)
    inner = {each for each in needed if each < width}
    inner |= set(node.partition) | _ordered_by(node.order) | _call_fields(node.calls)
    below, places = pruner.pruned(node.input, frozenset(inner))
    made = nodes.Over(
        below,
        _moved(node.partition, places),
        _moved_order(node.order, places),
        node.frame,
        tuple([_moved_call(each, places) for each in node.calls]),
        node.call_names,
    )
    new_width = len(below.types)
    return made, {**places, **{width + index: new_width + index for index in range(len(node.calls))}}


def _window_table(pruner: _Pruner, node: nodes.WindowTable, needed: frozenset[int]) -> Pruned:
    width = len(node.input.types)
    inner = {each for each in needed if each < width} | {node.time} | set(node.partition)
    below, places = pruner.pruned(node.input, frozenset(inner))
    made = nodes.WindowTable(below, node.window, places[node.time], _moved(node.partition, places))
    return made, {**places, **{width + index: len(below.types) + index for index in range(3)}}


def _correlate(pruner: _Pruner, node: nodes.Correlate, needed: frozenset[int]) -> Pruned:
    width = len(node.input.types)
    read = {field for each in node.arguments for field in fields_of(each)}
    below, places = pruner.pruned(node.input, frozenset({each for each in needed if each < width} | read))
    made = replace(node, input=below, arguments=tuple([moved(each, places) for each in node.arguments]))
    added = len(node.types) - width
    return made, {**places, **{width + index: len(below.types) + index for index in range(added)}}


def _rank(pruner: _Pruner, node: nodes.Rank, needed: frozenset[int]) -> Pruned:
    """The row number goes where nobody reads it; the fields by which rows are updated stay."""
    width = len(node.input.types)
    inner = {each for each in needed if each < width} | set(node.partition) | _ordered_by(node.order)
    inner |= set(node.window or ())
    keys = _key_fields(node)
    below, places = pruner.pruned(node.input, frozenset(inner | keys))
    window = None if node.window is None else (places[node.window[0]], places[node.window[1]])
    made = replace(
        node,
        input=below,
        partition=_moved(node.partition, places),
        order=_moved_order(node.order, places),
        shows_rank=width in needed,
        window=window,
        window_fields=frozenset([places[each] for each in node.window_fields if each in places]),
    )
    return made, {**places, **({width: len(below.types)} if width in needed else {})}


def _key_fields(node: nodes.Rank) -> set[int]:
    return set(smallest(upsert_keys(node.input)) or ())


def _deduplicate(pruner: _Pruner, node: nodes.Deduplicate, needed: frozenset[int]) -> Pruned:
    below, places = pruner.pruned(node.input, needed | set(node.keys) | {node.time} | set(node.window or ()))
    window = None if node.window is None else (places[node.window[0]], places[node.window[1]])
    made = replace(node, input=below, keys=_moved(node.keys, places), time=places[node.time], window=window)
    return made, places


def _match(pruner: _Pruner, node: Match, needed: frozenset[int]) -> Pruned:
    read = set(node.partition) | _ordered_by(node.order) | node.measures.fields
    for _, condition in node.definitions:
        read |= condition.fields
    below, places = pruner.pruned(node.input, frozenset(read))
    made = replace(
        node,
        input=below,
        partition=_moved(node.partition, places),
        order=_moved_order(node.order, places),
        definitions=tuple([(variable, each.moved(places)) for variable, each in node.definitions]),
        measures=node.measures.moved(places),
    )
    return made, _same(node)


PRUNINGS: dict[type[PlanNode], Callable[[_Pruner, Any, frozenset[int]], Pruned]] = {
    nodes.Project: _project,
    nodes.Filter: _filter,
    nodes.Scan: _scan,
    nodes.WatermarkAssigner: _watermark,
    nodes.Normalize: _normalize,
    nodes.Sort: _sort,
    nodes.Union: _union,
    nodes.Join: _join,
    nodes.IntervalJoin: _join,
    nodes.WindowJoin: _join,
    TemporalJoin: _join,
    LookupJoin: _join,
    nodes.Aggregate: _aggregate,
    nodes.WindowAggregate: _aggregate,
    nodes.GroupWindowAggregate: _aggregate,
    TableAggregate: _aggregate,
    CountWindowAggregate: _aggregate,
    nodes.Over: _over,
    nodes.WindowTable: _window_table,
    nodes.Correlate: _correlate,
    nodes.Rank: _rank,
    nodes.Deduplicate: _deduplicate,
    Match: _match,
}
