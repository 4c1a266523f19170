"""Windows, and what assigns, triggers and evicts them, under PyFlink's names; runs nothing and keeps no content."""

from __future__ import annotations

from penstock.datastream.window.assigner import MergingWindowAssigner, WindowAssigner
from penstock.datastream.window.continuous_triggers import (
    ContinuousEventTimeTrigger,
    ContinuousProcessingTimeTrigger,
    Min,
)
from penstock.datastream.window.count_evictor import CountEvictor
from penstock.datastream.window.count_trigger import CountTrigger
from penstock.datastream.window.counting import CountSlidingWindowAssigner, CountTumblingWindowAssigner
from penstock.datastream.window.cumulative import CumulativeEventTimeWindows, CumulativeProcessingTimeWindows
from penstock.datastream.window.delta_evictor import DeltaEvictor
from penstock.datastream.window.delta_function import DeltaFunction
from penstock.datastream.window.delta_trigger import DeltaTrigger
from penstock.datastream.window.event_time_trigger import EventTimeTrigger
from penstock.datastream.window.evictor import Evictor, TimestampedValue
from penstock.datastream.window.global_windows import GlobalWindows
from penstock.datastream.window.never_trigger import EndOfStreamTrigger, NeverTrigger
from penstock.datastream.window.processing_time_trigger import ProcessingTimeTrigger
from penstock.datastream.window.purging_trigger import PurgingTrigger
from penstock.datastream.window.serializers import (
    CountWindowSerializer,
    GlobalWindowSerializer,
    TimeWindowSerializer,
)
from penstock.datastream.window.sessions import (
    DynamicEventTimeSessionWindows,
    DynamicProcessingTimeSessionWindows,
    EventTimeSessionWindows,
    ProcessingTimeSessionWindows,
    SessionWindowTimeGapExtractor,
)
from penstock.datastream.window.sliding import SlidingEventTimeWindows, SlidingProcessingTimeWindows
from penstock.datastream.window.time_evictor import TimeEvictor
from penstock.datastream.window.timeout_trigger import ProcessingTimeoutTrigger
from penstock.datastream.window.trigger import Trigger, TriggerResult
from penstock.datastream.window.tumbling import TumblingEventTimeWindows, TumblingProcessingTimeWindows
from penstock.datastream.window.windows import CountWindow, GlobalWindow, TimeWindow, Window

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
