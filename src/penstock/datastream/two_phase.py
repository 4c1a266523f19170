"""Aggregation of windows in front of the exchange: whether it is possible and wanted, and the node that does it.

Owns that decision and its reasons; the aggregating itself is `penstock.runtime.operators.window.local`.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import replace
from typing import Any

from penstock.datastream.aggregations import RollingExtreme, RollingExtremeBy, RollingSum
from penstock.datastream.commutativity import Order, order_of
from penstock.datastream.data_stream import DataStream, add_operator
from penstock.datastream.field_aggregation import FieldAggregation
from penstock.datastream.functions import AggregateFunction, Function
from penstock.datastream.window import EventTimeTrigger, TumblingEventTimeWindows
from penstock.errors import GraphError
from penstock.graph.nodes import FORWARD, Chaining
from penstock.graph.settings import JobSettings
from penstock.runtime.operators import LocalWindowAggregation
from penstock.runtime.operators.window import WindowSpec
from penstock.runtime.operators.window.local import PaneGrid
from penstock.runtime.operators.window.young import can_be_young

__all__ = ["pre_aggregated", "settings_of_sender"]

_PURE = (RollingSum, RollingExtreme, RollingExtremeBy, FieldAggregation)


def pre_aggregated(
    stream: DataStream, key_selector: Callable[[Any], Any], spec: WindowSpec, name: str, asked: bool | None
) -> DataStream | None:
    """Append the node that aggregates in front of the exchange; None if there shall be none.

    `asked` is what the program said by `two_phase(...)`, None if it said nothing: then the configuration counts.
    """
    obstacle = _obstacle(spec)
    if asked and obstacle is not None:
        raise GraphError(f"two_phase: {name!r} cannot aggregate before the exchange, because {obstacle}.")
    wanted = _by_configuration(stream, spec) if asked is None else asked
    grid = PaneGrid.of(spec.assigner)
    if not wanted or obstacle is not None or grid is None:
        return None
    operator = LocalWindowAggregation(
        key_selector,
        grid,
        spec.combine,
        minds_late=spec.late_tag is not None or spec.allowed_lateness > 0,
        is_pure=isinstance(spec.combine, _PURE),
        sends_columns=can_be_young(replace(spec, takes_partials=True)),
        keeps_order=spec.order is not Order.NONE and not _is_one_pane(spec),
    )
    # However the records were dealt out, the sender of each can do its share: any other exchange would only cost.
    edges = stream.edges_with(FORWARD)
    return add_operator(stream.environment, f"{name} (local)", operator, edges, None, **settings_of_sender(stream))


def _obstacle(spec: WindowSpec) -> str | None:
    """Why every element has to reach the window itself; None if it need not."""
    if spec.combine is None:
        return "its function is given every element; use reduce() or aggregate()"
    if PaneGrid.of(spec.assigner) is None:
        return (
            f"it has windows of {type(spec.assigner).__name__}; only windows of event time that tumble, cumulate or "
            "slide (by no more than their size) can be aggregated in parts"
        )
    if spec.evictor is not None:
        return f"{type(spec.evictor).__name__} is given every element"
    if type(spec.trigger) is not EventTimeTrigger:
        return f"{type(spec.trigger).__name__} is given every element; only EventTimeTrigger can do without"
    if spec.order is Order.ALL and not _is_one_pane(spec):
        return (
            "its windows overlap, so that its function would not be given the elements of a window in the order they "
            "came: if the order does not matter to it, say so with commutative(...)"
        )
    return None


def _is_one_pane(spec: WindowSpec) -> bool:
    """Whether a window is one pane: then what one sender makes of it has the order of arrival, whatever it is."""
    return type(spec.assigner) is TumblingEventTimeWindows


def _by_configuration(stream: DataStream, spec: WindowSpec) -> bool:
    settings = JobSettings.from_configuration(stream.environment.get_configuration())
    if settings.two_phase != "auto":
        return settings.two_phase == "on"
    return _is_safe_unasked(spec.combine) and settings.chaining and _can_chain(stream)


def _is_safe_unasked(combine: Any) -> bool:
    """Whether nobody can tell the difference: Penstock's own functions, and reduce functions that are marked.

    Flink demands that a reduce function is associative, but never finds out: `lambda a, b: (a[0], a[1] + 1)` counts
    there, and would miscount here. `merge` of an AggregateFunction is often left unwritten. A function with an `open`
    of its own may ask for keyed state, which there is only behind the exchange.
    """
    if isinstance(combine, _PURE):
        return True
    has_open = getattr(type(combine), "open", Function.open) is not Function.open
    is_marked = order_of(combine) is Order.NONE
    return is_marked and not isinstance(combine, AggregateFunction) and not has_open


def _can_chain(stream: DataStream) -> bool:
    """Whether the node can sit in the sender's vertex: one of its own would cost an exchange, and save none."""
    nodes = stream.environment.graph.nodes
    return len(stream.edges) == 1 and nodes[stream.edges[0].source_id].chaining is not Chaining.NEVER


def settings_of_sender(stream: DataStream) -> dict[str, Any]:
    """The settings that a node needs to sit in the sender's vertex."""
    if len(stream.edges) != 1:
        return {}
    sender = stream.environment.graph.nodes[stream.edges[0].source_id]
    return {
        "parallelism": sender.parallelism,
        "max_parallelism": sender.max_parallelism,
        "is_single": sender.is_single,
    }
