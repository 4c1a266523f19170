"""What is known of the built-in assigners and triggers, so that their windows can be handled together; decides nothing.

Only the classes themselves count: a class derived from one of them may do something else.
"""

from __future__ import annotations

import math
from typing import Any, NamedTuple

from penstock.datastream.window import (
    CountTumblingWindowAssigner,
    CumulativeEventTimeWindows,
    CumulativeProcessingTimeWindows,
    DynamicEventTimeSessionWindows,
    DynamicProcessingTimeSessionWindows,
    EventTimeSessionWindows,
    EventTimeTrigger,
    GlobalWindows,
    ProcessingTimeSessionWindows,
    ProcessingTimeTrigger,
    SlidingEventTimeWindows,
    SlidingProcessingTimeWindows,
    TumblingEventTimeWindows,
    TumblingProcessingTimeWindows,
)
from penstock.runtime.operators.window.spec import WindowSpec

_SESSIONS = (EventTimeSessionWindows, DynamicEventTimeSessionWindows)
_ONE_WINDOW = (
    TumblingEventTimeWindows,
    TumblingProcessingTimeWindows,
    GlobalWindows,
    CountTumblingWindowAssigner,
    ProcessingTimeSessionWindows,
    DynamicProcessingTimeSessionWindows,
    *_SESSIONS,
)
_TUMBLING = (TumblingEventTimeWindows, TumblingProcessingTimeWindows)
_SLIDING = (SlidingEventTimeWindows, SlidingProcessingTimeWindows)
_CUMULATIVE = (CumulativeEventTimeWindows, CumulativeProcessingTimeWindows)


class Grid(NamedTuple):
    """Cells of time whose records go to the same windows."""

    width: int
    offset: int


def gives_one_window(assigner: Any) -> bool:
    """Whether every record certainly goes to one window only."""
    return type(assigner) in _ONE_WINDOW


def grid_of(assigner: Any) -> Grid | None:
    """The cells of an assigner; None if it is not known to have any."""
    kind = type(assigner)
    if kind in _TUMBLING:
        return Grid(assigner.size, assigner.offset)
    if kind in _SLIDING:
        return Grid(math.gcd(assigner.size, assigner.slide), assigner.offset)
    if kind in _CUMULATIVE:
        return Grid(assigner.step, assigner.offset)
    return None


def is_session(assigner: Any) -> bool:
    """Whether windows are sessions of event time."""
    return type(assigner) in _SESSIONS


def is_overlapping(assigner: Any) -> bool:
    """Whether windows slide in event time, with at least two for each record."""
    return type(assigner) is SlidingEventTimeWindows and bool(assigner.size >= 2 * assigner.slide)


def fires_once_at_the_end(spec: WindowSpec) -> bool:
    """Whether windows fire when they end, and before that nothing can be told of them."""
    expected = EventTimeTrigger if spec.assigner.is_event_time() else ProcessingTimeTrigger
    return type(spec.trigger) is expected and spec.evictor is None
