"""What settings of windows decide about their state, as data, and which settings can go on from which.

A window is a namespace of its key's state, so windows of time may change their length as in Flink: those that are open
fire at their own ends, with what they have. What cannot be told any more is refused: numbers of count windows, contents
of another form, windows of another kind.
"""

from __future__ import annotations

from typing import Any

from penstock.common.state_identity import identity_of
from penstock.runtime.layouts import Layout, difference
from penstock.runtime.operators.window.spec import WindowSpec
from penstock.vocabulary.field_aggregation import FieldAggregation
from penstock.vocabulary.functions import AggregateFunction
from penstock.vocabulary.window import CountWindowSerializer, MergingWindowAssigner

PANES = "panes"
_SETTINGS = ("size", "slide", "step", "offset", "gap", "window_size", "window_slide")
_MUST_STAY = ("time", "window", "merges", "contents")


def layout_of(spec: WindowSpec, in_panes: bool) -> Layout:
    """How windows are kept."""
    assigner: Any = spec.assigner
    settings = {name: value for name in _SETTINGS if type(value := getattr(assigner, name, None)) is int}
    return {
        "operator": "window",
        "assigner": {"of": identity_of(assigner), **settings},
        "time": "event" if assigner.is_event_time() else "processing",
        "window": identity_of(assigner.get_window_serializer()).removesuffix("Serializer"),
        "merges": isinstance(assigner, MergingWindowAssigner),
        "contents": _contents_of(spec),
        "kept as": PANES if in_panes else "windows",
        "trigger": _name_of(spec.trigger),
        "lateness": spec.allowed_lateness,
    }


def _contents_of(spec: WindowSpec) -> Any:
    if spec.evictor is not None:
        return "elements with timestamps"
    if spec.combine is None:
        return "elements"
    if isinstance(spec.combine, FieldAggregation):
        return measures_in(spec.combine)
    return "accumulators" if isinstance(spec.combine, AggregateFunction) else "reduced elements"


def measures_in(function: FieldAggregation) -> list[list[Any]]:
    """What the accumulators of field aggregates hold, place by place."""
    return [[measure.kind, measure.field] for measure in function.measures]


def _name_of(trigger: Any) -> str:
    inner = getattr(trigger, "nested_trigger", None)
    return identity_of(trigger) if inner is None else f"{identity_of(trigger)} of {_name_of(inner)}"


def refusal_of(written: Layout, now: Layout) -> str | None:
    """Why windows cannot go on from state of another layout."""
    if written.get("operator") != now["operator"]:
        return difference(written, now)
    differing = [name for name in _MUST_STAY if written.get(name) != now[name]]
    # Which elements a count window has follows from its number and its size.
    is_counted = now["window"] == CountWindowSerializer.state_identity.removesuffix("Serializer")
    if is_counted and written.get("assigner") != now["assigner"]:
        differing.append("assigner")
    if not differing:
        return None
    told = ["assigner", *(name for name in differing if name != "assigner")]
    return difference({name: written.get(name) for name in told}, {name: now[name] for name in told})
