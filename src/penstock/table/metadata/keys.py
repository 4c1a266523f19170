"""Unique keys and upsert keys of plan nodes.

A *unique key* identifies a row of the table at any time. An *upsert key* also identifies it in the changelog: all
changes of one key come in their order, so that a consumer may overwrite by it.
"""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from itertools import product

from penstock.table.algebra.nodes import (
    Aggregate,
    Deduplicate,
    DropUpdateBefore,
    Filter,
    GroupWindowAggregate,
    Join,
    Limit,
    Normalize,
    Over,
    PlanNode,
    Project,
    Rank,
    Scan,
    Sink,
    Sort,
    WatermarkAssigner,
    WindowAggregate,
)
from penstock.table.algebra.temporal_nodes import LookupJoin
from penstock.vocabulary.sql.logical_types import Kind
from penstock.vocabulary.sql.typed_expressions import Call, FieldRef, TypedExpression

__all__ = ["Keys", "keys_in_partition", "smallest", "unique_keys", "upsert_keys"]

Keys = frozenset[frozenset[int]]
NO_KEYS: Keys = frozenset()
KEY_LIMIT = 32
"""More keys than that are not kept: each join multiplies them."""


def unique_keys(node: PlanNode) -> Keys:
    """The unique keys of a node's rows."""
    return _keys(node, is_upsert=False)


def upsert_keys(node: PlanNode) -> Keys:
    """The upsert keys of a node's changelog."""
    return _keys(node, is_upsert=True)


def keys_in_partition(keys: Keys, partition: Iterable[int]) -> Keys:
    """The keys of which each value stays in one partition of an exchange by some fields."""
    wanted = frozenset(partition)
    return frozenset([each for each in keys if each >= wanted])


def smallest(keys: Keys) -> tuple[int, ...] | None:
    """The shortest key, in the order of its fields; None if there is none."""
    if not keys:
        return None
    return tuple(sorted(sorted(keys, key=_length_and_fields)[0]))


def _length_and_fields(key: frozenset[int]) -> tuple[int, list[int]]:
    return len(key), sorted(key)


def _keys(node: PlanNode, is_upsert: bool) -> Keys:
    if isinstance(node, Scan):
        return _scan(node)
    if isinstance(node, (Filter, WatermarkAssigner, DropUpdateBefore, Sort, Sink)):
        return _keys(node.input, is_upsert)
    if isinstance(node, Normalize):
        return frozenset([frozenset(node.keys)])
    if isinstance(node, Project):
        return projected_keys(_keys(node.input, is_upsert), node)
    if isinstance(node, Aggregate):
        return frozenset([frozenset(range(len(node.keys)))])
    if isinstance(node, (WindowAggregate, GroupWindowAggregate)):
        return _window_aggregate(node)
    if isinstance(node, Join):
        return _join(node, is_upsert)
    if isinstance(node, Over):
        inside = _keys(node.input, is_upsert)
        return keys_in_partition(inside, node.partition) if is_upsert else inside
    if isinstance(node, (Rank, Deduplicate, Limit)):
        return _ranked(node, is_upsert)
    return NO_KEYS


def _scan(node: Scan) -> Keys:
    table = node.table
    if not table.primary_key:
        return NO_KEYS
    wanted = [table.columns[each].name for each in table.primary_key]
    if not set(wanted) <= set(node.names):
        return NO_KEYS
    return frozenset([frozenset([node.names.index(each) for each in wanted])])


def projected_keys(keys: Keys, project: Project) -> Keys:
    """Keys of the input as fields of a projection; those of which a field is not kept are lost."""
    places: dict[int, list[int]] = {}
    for position, expression in enumerate(project.expressions):
        field = _kept_field(expression)
        if field is not None:
            places.setdefault(field, []).append(position)
    found: set[frozenset[int]] = set()
    for key in keys:
        if all(each in places for each in key):
            found.update(frozenset(chosen) for chosen in product(*[places[each] for each in sorted(key)]))
    return _limited(found)


WIDTHS = {Kind.TINYINT: 1, Kind.SMALLINT: 2, Kind.INTEGER: 4, Kind.BIGINT: 8}


def _kept_field(expression: TypedExpression) -> int | None:
    """The field whose values an expression keeps apart: the field itself, or as a wider number or text."""
    if isinstance(expression, FieldRef):
        return expression.index
    if not isinstance(expression, Call) or expression.function != "CAST":
        return None
    (inner,) = expression.arguments
    given, made = inner.type, expression.type
    is_wider = given.kind in WIDTHS and WIDTHS.get(made.kind, 0) >= WIDTHS[given.kind]
    is_text = given.kind in (Kind.CHAR, Kind.VARCHAR) and made.kind is Kind.VARCHAR
    if is_wider or (is_text and made.precision >= given.precision) or given.same_but_for_null(made):
        return _kept_field(inner)
    return None


def _window_aggregate(node: WindowAggregate | GroupWindowAggregate) -> Keys:
    keys = frozenset(range(len(node.keys)))
    first = len(node.keys) + len(node.calls)
    return frozenset([keys | {first + index} for index in range(len(node.properties))])


def _join(node: Join, is_upsert: bool) -> Keys:
    left, right = _keys(node.left, is_upsert), _keys(node.right, is_upsert)
    if is_upsert and not isinstance(node, LookupJoin):
        left = keys_in_partition(left, node.left_keys)
        right = keys_in_partition(right, node.right_keys)
    if not node.kind.shows_right:
        return _keys(node.left, is_upsert)
    return joined_keys(left, right, node)


def joined_keys(left: Keys, right: Keys, node: Join) -> Keys:
    """The keys of a join: pairs of keys, and those of one side if the other has one row at most for each."""
    width = len(node.left.types)
    moved = frozenset([frozenset([each + width for each in key]) for key in right])
    found = {first | second for first, second in product(left, moved)}
    if _is_covered(right, node.right_keys) and not node.kind.pads_left:
        found |= left
    if _is_covered(left, node.left_keys) and not node.kind.pads_right:
        found |= moved
    return _limited(found)


def _is_covered(keys: Keys, fields: Sequence[int]) -> bool:
    return any(each <= set(fields) for each in keys)


def _ranked(node: Rank | Deduplicate | Limit, is_upsert: bool) -> Keys:
    inside = _keys(node.input, is_upsert)
    if isinstance(node, Deduplicate):
        window = node.window or ()
        return frozenset([frozenset((*node.keys, *window[1:]))])
    if isinstance(node, Limit):
        return inside
    found = set(keys_in_partition(inside, node.partition) if is_upsert else inside)
    partition = frozenset(node.partition)
    if node.shows_rank:
        found.add(partition | {len(node.input.types)})
    if node.first == node.last == 1:
        found.add(partition)
    return _limited(found)


def _limited(keys: set[frozenset[int]]) -> Keys:
    if len(keys) <= KEY_LIMIT:
        return frozenset(keys)
    return frozenset(sorted(keys, key=_length_and_fields)[:KEY_LIMIT])
