"""Operators of regular, interval and window joins."""

from __future__ import annotations

from typing import TYPE_CHECKING

from penstock.datastream.stream import DataStream
from penstock.runtime.operators import table as operators
from penstock.table.algebra import nodes
from penstock.table.algebra.nodes import PlanNode
from penstock.table.metadata.keys import smallest, unique_keys, upsert_keys

if TYPE_CHECKING:
    from penstock.table.translation.translator import Translator

__all__ = ["interval_join", "regular_join", "window_join"]


def _side(
    translator: Translator, node: PlanNode, keys: tuple[int, ...], ttl_ms: int | None = None
) -> operators.JoinSide:
    known = upsert_keys(node) if translator.has_changes(node) else unique_keys(node)
    covered = frozenset([each for each in known if each <= set(keys)])
    ttl = translator.settings.state_ttl_ms if ttl_ms is None else ttl_ms
    is_insert_only = not translator.has_changes(node)
    return operators.JoinSide(node.types, keys, smallest(covered or known), ttl, is_insert_only)


def regular_join(translator: Translator, node: nodes.Join) -> DataStream:
    """Rows of both sides that fit, as both change."""
    operator = operators.RegularJoinOperator(
        join=operators.JoinKind(node.kind.value),
        left=_side(translator, node.left, node.left_keys, node.ttls_ms[0]),
        right=_side(translator, node.right, node.right_keys, node.ttls_ms[1]),
        condition=node.condition,
        filter_nulls=tuple([not each for each in node.null_safe]),
        zone=translator.settings.zone,
    )
    return translator.two_inputs(node, operator)


def interval_join(translator: Translator, node: nodes.IntervalJoin) -> DataStream:
    """Rows of both sides whose times are near."""
    operator = operators.TableIntervalJoinOperator(
        join=operators.JoinKind(node.kind.value),
        left=_side(translator, node.left, node.left_keys),
        right=_side(translator, node.right, node.right_keys),
        left_time=node.left_time if node.is_event_time else None,
        right_time=node.right_time if node.is_event_time else None,
        lower_ms=node.lower_ms,
        upper_ms=node.upper_ms,
        condition=node.condition,
        filter_nulls=tuple([not each for each in node.null_safe]),
    )
    return translator.two_inputs(node, operator)


def window_join(translator: Translator, node: nodes.WindowJoin) -> DataStream:
    """Rows of both sides that are in one window."""
    operator = operators.TableWindowJoinOperator(
        join=operators.JoinKind(node.kind.value),
        left=_side(translator, node.left, node.left_keys),
        right=_side(translator, node.right, node.right_keys),
        left_window_end=node.left_window[1],
        right_window_end=node.right_window[1],
        condition=node.condition,
        filter_nulls=tuple([not each for each in node.null_safe]),
        zone=node.zone,
    )
    return translator.two_inputs(node, operator)
