"""Two-phase window aggregation: whether it is possible and wanted, and the operator that aggregates before the
exchange.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import replace
from typing import Any

from penstock.datastream.aggregations import RollingExtreme, RollingExtremeBy, RollingSum
from penstock.datastream.stream import DataStream, add_operator, settings_of_sender
from penstock.errors import GraphError
from penstock.graph.nodes import FORWARD, Chaining
from penstock.graph.settings import JobSettings
from penstock.runtime.operators import LocalWindowAggregation
from penstock.runtime.operators.window import WindowSpec
from penstock.runtime.operators.window.in_memory import can_stay_in_memory
from penstock.runtime.operators.window.shapes import event_time_panes, fires_once_at_the_end
from penstock.vocabulary.commutativity import Order, order_of
from penstock.vocabulary.field_aggregation import FieldAggregation
from penstock.vocabulary.functions import AggregateFunction, Function
from penstock.vocabulary.window.pane_grid import PaneGrid

__all__ = ["can_sit_with_sender", "pre_aggregated", "settings_of_sender"]

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
    grid = _panes(spec)
    if not wanted or obstacle is not None or grid is None:
        return None
    operator = LocalWindowAggregation(
        key_selector,
        grid,
        spec.combine,
        minds_late=spec.late_tag is not None or spec.allowed_lateness > 0,
        is_pure=isinstance(spec.combine, _PURE),
        sends_columns=can_stay_in_memory(replace(spec, takes_partials=True)),
        # A window that is one pane has the order of arrival anyway, of what one sender makes of it.
        keeps_order=spec.order is not Order.NONE and not grid.is_window,
    )
    # However the records were dealt out, the sender of each can do its share: any other exchange would only cost.
    edges = stream.edges_with(FORWARD)
    return add_operator(stream.environment, f"{name} (local)", operator, edges, None, **settings_of_sender(stream))


def _obstacle(spec: WindowSpec) -> str | None:
    """Why every element has to reach the window itself; None if it need not."""
    if spec.combine is None:
        return "its function needs every element; use reduce() or aggregate()"
    panes = _panes(spec)
    if panes is None:
        return (
            f"it has windows of {type(spec.assigner).__name__}; only tumbling, cumulative and sliding event-time "
            "windows (with a slide up to their size) can be aggregated in parts"
        )
    if spec.evictor is not None:
        return f"{type(spec.evictor).__name__} needs every element"
    if not fires_once_at_the_end(spec):
        return f"{type(spec.trigger).__name__} needs every element; only EventTimeTrigger does not"
    if spec.order is Order.ALL and not panes.is_window:
        return (
            "its windows overlap, so its function would not see the elements of a window in their order of arrival: if "
            "the order does not matter, mark it with commutative(...)"
        )
    return None


def _panes(spec: WindowSpec) -> PaneGrid | None:
    """The panes that can be aggregated in parts: of event time, and each of a window."""
    panes = event_time_panes(spec)
    return None if panes is None or panes.has_gaps else panes


def _by_configuration(stream: DataStream, spec: WindowSpec) -> bool:
    settings = JobSettings.from_configuration(stream.environment.get_configuration())
    if settings.two_phase != "auto":
        return settings.two_phase == "on"
    return _is_safe_unasked(spec.combine) and can_sit_with_sender(stream)


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


def can_sit_with_sender(stream: DataStream) -> bool:
    """Whether a node can sit in the sender's vertex: one of its own would cost an exchange, and save none."""
    settings = JobSettings.from_configuration(stream.environment.get_configuration())
    nodes = stream.environment.graph.nodes
    can_chain = len(stream.edges) == 1 and nodes[stream.edges[0].source_id].chaining is not Chaining.NEVER
    return settings.chaining and can_chain
