"""What the traits of an assigner and a trigger, taken together, say about windows."""

from __future__ import annotations

from penstock.runtime.operators.window.spec import WindowSpec
from penstock.vocabulary.time_domain import TimeDomain
from penstock.vocabulary.window import MergingWindowAssigner
from penstock.vocabulary.window.pane_grid import PaneGrid


def fires_once_at_the_end(spec: WindowSpec) -> bool:
    """Whether windows fire when they end, and before that nothing can be told of them."""
    is_event_time = spec.assigner.is_event_time()
    domain = TimeDomain.EVENT_TIME if is_event_time else TimeDomain.PROCESSING_TIME
    return spec.trigger.fires_at_end_of is domain and spec.evictor is None


def event_time_panes(spec: WindowSpec) -> PaneGrid | None:
    """The panes of windows of event time; None if they have none."""
    return spec.assigner.pane_grid() if spec.assigner.is_event_time() else None


def has_event_time_sessions(spec: WindowSpec) -> bool:
    """Whether windows are sessions of event time: each element begins with one, and those that touch merge."""
    assigner = spec.assigner
    is_session = isinstance(assigner, MergingWindowAssigner) and assigner.merges_touching_windows
    return is_session and assigner.assigns_one_window and assigner.is_event_time()
