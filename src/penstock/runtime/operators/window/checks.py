"""Checks of window settings when the operator is created."""

from __future__ import annotations

from penstock.errors import GraphError
from penstock.runtime.operators.window.shapes import event_time_panes, fires_once_at_the_end
from penstock.runtime.operators.window.spec import Evaluation, WindowSpec
from penstock.vocabulary.window import MergingWindowAssigner


def check_spec(spec: WindowSpec) -> None:
    """Refuse what cannot work together, before anything runs."""
    assigner, trigger = type(spec.assigner).__name__, type(spec.trigger).__name__
    if isinstance(spec.assigner, MergingWindowAssigner) and not spec.trigger.can_merge():
        raise GraphError(
            f"the windows of {assigner} merge, but {trigger} cannot: use a trigger whose can_merge() is True and that "
            "implements on_merge()"
        )
    if spec.allowed_lateness < 0:
        raise GraphError(f"allowed_lateness must not be negative, got {spec.allowed_lateness}")
    if spec.evaluation is Evaluation.RESULT and spec.combine is None:
        raise GraphError("a window without a window function needs a reduce or aggregate function")
    if spec.evaluation is not Evaluation.RESULT and spec.function is None:
        raise GraphError(f"a window that is evaluated by {spec.evaluation.value} needs a window function")
    if not spec.takes_partials:
        return
    if spec.evictor is not None:
        raise GraphError(f"{type(spec.evictor).__name__} needs every element, but the input is pre-aggregated")
    if spec.combine is None:
        raise GraphError("pre-aggregated input needs a reduce or aggregate function to merge it")
    if not fires_once_at_the_end(spec) or event_time_panes(spec) is None:
        raise GraphError(
            f"pre-aggregated input works with EventTimeTrigger and tumbling, sliding or cumulative windows only, "
            f"not with {trigger} and {assigner}"
        )
