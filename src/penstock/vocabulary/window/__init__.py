"""Windows, assigners, triggers and evictors, under PyFlink's names."""

from __future__ import annotations

from penstock.vocabulary.window.assigner import MergingWindowAssigner, WindowAssigner
from penstock.vocabulary.window.continuous_triggers import (
    ContinuousEventTimeTrigger,
    ContinuousProcessingTimeTrigger,
    Min,
)
from penstock.vocabulary.window.count_evictor import CountEvictor
from penstock.vocabulary.window.count_trigger import CountTrigger
from penstock.vocabulary.window.counting import CountSlidingWindowAssigner, CountTumblingWindowAssigner
from penstock.vocabulary.window.cumulative import CumulativeEventTimeWindows, CumulativeProcessingTimeWindows
from penstock.vocabulary.window.delta_evictor import DeltaEvictor
from penstock.vocabulary.window.delta_function import DeltaFunction
from penstock.vocabulary.window.delta_trigger import DeltaTrigger
from penstock.vocabulary.window.event_time_trigger import EventTimeTrigger
from penstock.vocabulary.window.evictor import Evictor, TimestampedValue
from penstock.vocabulary.window.global_windows import GlobalWindows
from penstock.vocabulary.window.never_trigger import EndOfStreamTrigger, NeverTrigger
from penstock.vocabulary.window.processing_time_trigger import ProcessingTimeTrigger
from penstock.vocabulary.window.purging_trigger import PurgingTrigger
from penstock.vocabulary.window.serializers import (
    CountWindowSerializer,
    GlobalWindowSerializer,
    TimeWindowSerializer,
)
from penstock.vocabulary.window.sessions import (
    DynamicEventTimeSessionWindows,
    DynamicProcessingTimeSessionWindows,
    EventTimeSessionWindows,
    ProcessingTimeSessionWindows,
    SessionWindowTimeGapExtractor,
)
from penstock.vocabulary.window.sliding import SlidingEventTimeWindows, SlidingProcessingTimeWindows
from penstock.vocabulary.window.time_evictor import TimeEvictor
from penstock.vocabulary.window.timeout_trigger import ProcessingTimeoutTrigger
from penstock.vocabulary.window.trigger import Trigger, TriggerResult
from penstock.vocabulary.window.tumbling import TumblingEventTimeWindows, TumblingProcessingTimeWindows
from penstock.vocabulary.window.windows import CountWindow, GlobalWindow, TimeWindow, Window

__all__ = [
    "ContinuousEventTimeTrigger",
    "ContinuousProcessingTimeTrigger",
    "CountEvictor",
    "CountSlidingWindowAssigner",
    "CountTrigger",
    "CountTumblingWindowAssigner",
    "CountWindow",
    "CountWindowSerializer",
    "CumulativeEventTimeWindows",
    "CumulativeProcessingTimeWindows",
    "DeltaEvictor",
    "DeltaFunction",
    "DeltaTrigger",
    "DynamicEventTimeSessionWindows",
    "DynamicProcessingTimeSessionWindows",
    "EndOfStreamTrigger",
    "EventTimeSessionWindows",
    "EventTimeTrigger",
    "Evictor",
    "GlobalWindow",
    "GlobalWindowSerializer",
    "GlobalWindows",
    "MergingWindowAssigner",
    "Min",
    "NeverTrigger",
    "ProcessingTimeSessionWindows",
    "ProcessingTimeTrigger",
    "ProcessingTimeoutTrigger",
    "PurgingTrigger",
    "SessionWindowTimeGapExtractor",
    "SlidingEventTimeWindows",
    "SlidingProcessingTimeWindows",
    "TimeEvictor",
    "TimeWindow",
    "TimeWindowSerializer",
    "TimestampedValue",
    "Trigger",
    "TriggerResult",
    "TumblingEventTimeWindows",
    "TumblingProcessingTimeWindows",
    "Window",
    "WindowAssigner",
]
