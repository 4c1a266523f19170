"""Operators for which the order of rows matters: ranks, limits, sorting, deduplication, patterns."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from penstock.datastream.stream import DataStream
from penstock.errors import SqlValidationError
from penstock.runtime.operators import table as operators
from penstock.table.algebra import nodes
from penstock.table.algebra.match_node import Match
from penstock.table.metadata.keys import smallest, upsert_keys
from penstock.table.row_patterns import pattern_spec

if TYPE_CHECKING:
    from penstock.table.translation.translator import Translator

__all__ = ["deduplicate", "limit_rows", "match_rows", "sort_rows", "top_n"]


def top_n(translator: Translator, node: nodes.Rank) -> DataStream:
    """The first rows of each group."""
    if node.window is not None:
        outside = tuple([each for each in node.partition if each not in node.window_fields])
        windowed = operators.WindowRankOperator(
            types=node.input.types,
            sort_fields=node.order,
            window_end=node.window[1],
            start=node.first,
            end=node.last,
            emits_rank=node.shows_rank,
            zone=node.zone,
        )
        return translator.keyed(node, windowed, node.input, outside)
    strategy = translator.plan.strategies[node]
    operator = operators.RankOperator(
        types=node.input.types,
        sort_fields=node.order,
        strategy=strategy,
        start=node.first,
        end=node.last,
        emits_rank=node.shows_rank,
        generate_update_before=translator.mode(node).has_update_before,
        unique_key=smallest(upsert_keys(node.input)) or (),
        state_ttl_ms=translator.settings.state_ttl_ms,
        key_fields=node.partition,
    )
    return translator.keyed(node, operator, node.input, node.partition)


def limit_rows(translator: Translator, node: nodes.Limit) -> DataStream:
    """So many rows."""
    end = None if node.fetch is None else node.offset + node.fetch
    if not node.order and not translator.has_changes(node.input):
        operator: Any = operators.LimitOperator(start=node.offset, end=2**63 - 1 if end is None else end)
        return translator.keyed(node, operator, node.input, ())
    if end is None:
        raise SqlValidationError("ORDER BY with OFFSET needs a LIMIT on a stream: without it no row could be left out.")
    strategy = translator.plan.strategies.get(node, operators.RankStrategy.RETRACT)
    operator = operators.RankOperator(
        types=node.input.types,
        sort_fields=node.order,
        strategy=strategy,
        start=node.offset + 1,
        end=end,
        generate_update_before=translator.mode(node).has_update_before,
        unique_key=smallest(upsert_keys(node.input)) or (),
        state_ttl_ms=translator.settings.state_ttl_ms,
    )
    return translator.keyed(node, operator, node.input, ())


def sort_rows(translator: Translator, node: nodes.Sort) -> DataStream:
    """Rows in order."""
    first = node.order[0]
    attribute = node.input.types[first.index].time_attribute
    if attribute is None or first.descending:
        if translator.settings.sorts_at_end:
            at_end = operators.BoundedSortOperator(types=node.input.types, sort_fields=node.order)
            return translator.keyed(node, at_end, node.input, ())
        raise SqlValidationError(
            f"ORDER BY {node.input.names[first.index]} cannot be done on a stream that never ends: order by a time "
            f"attribute ascending first, or add a LIMIT."
        )
    is_rowtime = attribute.value == "ROWTIME"
    operator = operators.TemporalSortOperator(
        types=node.input.types, time_field=first.index if is_rowtime else None, sort_fields=node.order[1:]
    )
    return translator.keyed(node, operator, node.input, ())


def deduplicate(translator: Translator, node: nodes.Deduplicate) -> DataStream:
    """The first or the last row of each key."""
    if node.window is not None:
        windowed = operators.WindowDeduplicateOperator(
            types=node.input.types,
            keep_last=node.keeps_last,
            time_field=node.time,
            window_end=node.window[1],
            zone=node.zone,
        )
        return translator.keyed(node, windowed, node.input, node.keys)
    mode = translator.mode(node)
    operator = operators.DeduplicateOperator(
        types=node.input.types,
        keep_last=node.keeps_last,
        time_field=node.time if node.is_event_time else None,
        generate_update_before=mode.has_update_before,
        mini_batch=translator.settings.is_mini_batch,
        mini_batch_size=translator.settings.mini_batch_size,
        state_ttl_ms=translator.settings.state_ttl_ms,
        key_fields=node.keys,
    )
    return translator.keyed(node, operator, node.input, node.keys)


def match_rows(translator: Translator, node: Match) -> DataStream:
    """A row for each match of a pattern."""
    conditions = {variable: operators.RowCondition(variable, each) for variable, each in node.definitions}
    spec = pattern_spec(
        node.elements,
        node.skip,
        node.within_ms,
        conditions,
        is_processing_time=not node.is_event_time,
        comparator=node.order[1:] or None,
    )
    operator = operators.MatchRecognizeOperator(
        spec=spec,
        partition=node.partition,
        measures=node.measures,
        types=node.input.types,
        time_field=node.order[0].index if node.is_event_time else None,
        zone=translator.settings.zone,
    )
    return translator.keyed(node, operator, node.input, node.partition)
