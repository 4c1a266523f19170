"""Operators of aggregates: of groups, of windows, and OVER."""

from __future__ import annotations

from typing import TYPE_CHECKING

from penstock.datastream.stream import DataStream
from penstock.errors import SqlValidationError
from penstock.runtime.operators import table as operators
from penstock.table.algebra import nodes
from penstock.table.algebra.table_api_nodes import CountWindowAggregate, TableAggregate

if TYPE_CHECKING:
    from penstock.table.translation.translator import Translator

__all__ = [
    "count_window",
    "group_aggregate",
    "group_window",
    "over_aggregate",
    "table_aggregate",
    "window_aggregate",
    "window_table",
]

ONE_PHASE = ("FIRST_VALUE", "LAST_VALUE", "SINGLE_VALUE")
"""Aggregates that Flink cannot merge, so that it has no phase before the exchange."""
PROPERTY_WORDS = {
    nodes.WindowProperty.START: operators.WINDOW_START,
    nodes.WindowProperty.END: operators.WINDOW_END,
    nodes.WindowProperty.TIME: operators.WINDOW_TIME,
}
NOT_OVER = frozenset(["LEAD", "NTILE", "PERCENT_RANK", "CUME_DIST"])
NOT_BY_TIME = frozenset(["RANK", "DENSE_RANK"])


def group_aggregate(translator: Translator, node: nodes.Aggregate) -> DataStream:
    """Aggregates of groups."""
    operator = operators.GroupAggregateOperator(
        key_fields=node.keys,
        aggregates=node.calls,
        input_types=node.input.types,
        needs_retraction=translator.has_changes(node.input),
        generate_update_before=translator.mode(node).has_update_before,
        mini_batch=translator.settings.is_mini_batch,
        mini_batch_size=translator.settings.mini_batch_size,
        is_two_phase=translator.settings.is_two_phase and not any(each.function in ONE_PHASE for each in node.calls),
        state_ttl_ms=translator.settings.state_ttl_ms if node.ttl_ms is None else node.ttl_ms,
        is_total=translator.settings.is_batch and not node.keys and bool(node.calls),
    )
    return translator.keyed(node, operator, node.input, node.keys)


def table_aggregate(translator: Translator, node: TableAggregate) -> DataStream:
    """Aggregates of groups with several rows each."""
    operator = operators.GroupTableAggregateOperator(
        key_fields=node.keys,
        aggregate=node.calls[0],
        input_types=node.input.types,
        state_ttl_ms=translator.settings.state_ttl_ms,
    )
    return translator.keyed(node, operator, node.input, node.keys)


def count_window(translator: Translator, node: CountWindowAggregate) -> DataStream:
    """Aggregates of windows of so many rows."""
    if translator.has_changes(node.input):
        raise SqlValidationError(f"{node.describe()} takes rows that are only inserted, but its input updates.")
    operator = operators.CountWindowAggregateOperator(
        key_fields=node.keys, aggregates=node.calls, input_types=node.input.types, size=node.size, slide=node.slide
    )
    return translator.keyed(node, operator, node.input, node.keys)


def window_aggregate(translator: Translator, node: nodes.WindowAggregate) -> DataStream:
    """Aggregates of windows, in one phase or two."""
    attached = None if node.end is None else (node.start, node.end)
    operator = operators.WindowAggregateOperator(
        key_fields=node.keys,
        aggregates=node.calls,
        input_types=node.input.types,
        window=node.spec,
        time_field=node.time if node.is_event_time else None,
        window_fields=attached if node.time is None else None,
        is_event_time=node.is_event_time,
        properties=tuple([PROPERTY_WORDS[each] for each in node.properties]),
        needs_retraction=translator.has_changes(node.input),
        is_partial=_is_two_phase(translator, node),
    )
    if not operator.is_partial:
        return translator.keyed(node, operator, node.input, node.keys)
    assert node.time is not None
    local = operators.LocalWindowAggregateOperator(
        key_fields=node.keys,
        aggregates=node.calls,
        input_types=node.input.types,
        window=node.spec,
        time_field=node.time,
    )
    stream = translator.forward(node, local, node.input, "local")
    return translator.then(node, operator, translator.keyed_edges(stream, range(len(node.keys))))


def _is_two_phase(translator: Translator, node: nodes.WindowAggregate) -> bool:
    """Whether windows are aggregated before the exchange too: by default where they can be, as in Flink."""
    is_timed = node.is_event_time and node.time is not None and not translator.has_changes(node.input)
    if not is_timed or not translator.settings.is_two_phase:
        return False
    return operators.slicing_refusal(node.keys, node.calls, node.input.types, node.spec) is None


def group_window(translator: Translator, node: nodes.GroupWindowAggregate) -> DataStream:
    """Aggregates of the older kind of windows."""
    operator = operators.GroupWindowAggregateOperator(
        key_fields=node.keys,
        aggregates=node.calls,
        input_types=node.input.types,
        window=node.window,
        time_field=node.time if node.is_event_time else None,
        properties=node.properties,
        needs_retraction=translator.has_changes(node.input),
    )
    return translator.keyed(node, operator, node.input, node.keys)


def window_table(translator: Translator, node: nodes.WindowTable) -> DataStream:
    """Rows with the windows that they are in."""
    time = node.time if node.is_event_time else None
    if node.window.kind.value == "SESSION":
        operator = operators.SessionFunctionOperator(window=node.window, time_field=time, types=node.input.types)
        return translator.keyed(node, operator, node.input, node.partition)
    return translator.forward(node, operators.WindowFunctionOperator(window=node.window, time_field=time), node.input)


def over_aggregate(translator: Translator, node: nodes.Over) -> DataStream:
    """Rows with aggregates of those before them."""
    attribute = node.time_attribute
    order = operators.OverOrder(attribute.value) if attribute is not None else operators.OverOrder.FIELDS
    missing = NOT_OVER | (NOT_BY_TIME if attribute is not None else frozenset())
    for each in node.calls:
        if each.function in missing:
            why = (
                "has no order by time; order by another column" if each.function in NOT_BY_TIME else "needs later rows"
            )
            raise SqlValidationError(f"{each.function} cannot be used on a stream, it {why}: {node.describe()}.")
    operator = operators.OverAggregateOperator(
        aggregates=node.calls,
        input_types=node.input.types,
        order=order,
        time_field=node.order[0].index if order is operators.OverOrder.ROWTIME else None,
        sort_fields=node.order if order is operators.OverOrder.FIELDS else (),
        is_rows=node.frame.is_rows,
        preceding=node.frame.preceding,
        generate_update_before=translator.mode(node).has_update_before,
        state_ttl_ms=translator.settings.state_ttl_ms,
    )
    return translator.keyed(node, operator, node.input, node.partition)
