"""Contexts that assigners, triggers and evictors run in here: clocks and state are plain fields."""

from __future__ import annotations

from typing import Any

from penstock.datastream.state import ReducingStateDescriptor, StateDescriptor, ValueStateDescriptor
from penstock.datastream.window import Evictor, Trigger, WindowAssigner
from penstock.metrics import MetricGroup


class Cell:
    """Value state and reducing state of one key and window."""

    def __init__(self, descriptor: StateDescriptor) -> None:
        self.descriptor = descriptor
        self.content: Any = None

    def value(self) -> Any:
        return self.content

    get = value

    def update(self, value: Any) -> None:
        self.content = value

    def add(self, value: Any) -> None:
        assert isinstance(self.descriptor, ReducingStateDescriptor)
        reduce = self.descriptor.get_reduce_function().reduce
        self.content = value if self.content is None else reduce(self.content, value)

    def clear(self) -> None:
        self.content = None


class Cells:
    """State by name, made on first use."""

    def __init__(self) -> None:
        self.by_name: dict[str, Cell] = {}

    def of(self, descriptor: StateDescriptor) -> Cell:
        return self.by_name.setdefault(descriptor.name, Cell(descriptor))

    def contents(self) -> dict[str, Any]:
        return {name: cell.content for name, cell in self.by_name.items() if cell.content is not None}


class TriggerRig(Trigger.OnMergeContext):
    """Watermark, clock and timers of one window; `merged` holds the state of windows that were merged into it."""

    def __init__(self, watermark: int = -(2**63), now: int = 0) -> None:
        self.watermark = watermark
        self.now = now
        self.event_timers: set[int] = set()
        self.clock_timers: set[int] = set()
        self.cells = Cells()
        self.merged: list[Cells] = []

    def get_current_processing_time(self) -> int:
        return self.now

    def get_metric_group(self) -> MetricGroup:
        return MetricGroup()

    def get_current_watermark(self) -> int:
        return self.watermark

    def register_processing_time_timer(self, time: int) -> None:
        self.clock_timers.add(time)

    def register_event_time_timer(self, time: int) -> None:
        self.event_timers.add(time)

    def delete_processing_time_timer(self, time: int) -> None:
        self.clock_timers.discard(time)

    def delete_event_time_timer(self, time: int) -> None:
        self.event_timers.discard(time)

    def get_partitioned_state(self, state_descriptor: StateDescriptor) -> Cell:
        return self.cells.of(state_descriptor)

    def merge_partitioned_state(self, state_descriptor: StateDescriptor) -> None:
        for cells in self.merged:
            taken = cells.of(state_descriptor)
            if taken.content is not None:
                self.cells.of(state_descriptor).add(taken.content)
            taken.clear()

    def is_clean(self) -> bool:
        return not (self.event_timers or self.clock_timers or self.cells.contents())


class KeyState:
    """The runtime context of one key, as far as a window assigner asks for it."""

    def __init__(self) -> None:
        self.cells = Cells()

    def get_state(self, state_descriptor: ValueStateDescriptor) -> Cell:
        return self.cells.of(state_descriptor)


class AssignerRig(WindowAssigner.WindowAssignerContext):
    """A clock and the state of one key."""

    def __init__(self, now: int = 0) -> None:
        self.now = now
        self.runtime_context = KeyState()

    def get_current_processing_time(self) -> int:
        return self.now

    def get_runtime_context(self) -> Any:
        return self.runtime_context


class EvictorRig(Evictor.EvictorContext):
    """Fixed clocks."""

    def get_current_processing_time(self) -> int:
        return 0

    def get_metric_group(self) -> MetricGroup:
        return MetricGroup()

    def get_current_watermark(self) -> int:
        return 0
