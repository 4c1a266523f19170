"""Session windows, with fixed or dynamic gaps."""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections.abc import Callable, Iterable
from typing import Any, Generic, overload

from typing_extensions import TypeVar

from penstock.common.time import to_millis
from penstock.common.type_variables import T
from penstock.errors import GraphError
from penstock.vocabulary.window.assigner import MergingWindowAssigner
from penstock.vocabulary.window.durations import Length, positive_millis
from penstock.vocabulary.window.time_assigners import ByEventTime, ByProcessingTime, TimeWindowAssigner
from penstock.vocabulary.window.windows import TimeWindow

__all__ = [
    "DynamicEventTimeSessionWindows",
    "DynamicProcessingTimeSessionWindows",
    "EventTimeSessionWindows",
    "ProcessingTimeSessionWindows",
    "SessionWindowTimeGapExtractor",
]

# Only read from elements, so that an extractor of any element is one of these elements.
E = TypeVar("E", contravariant=True, default=Any)


class SessionWindowTimeGapExtractor(ABC, Generic[E]):
    """Returns the gap after which the session of an element ends."""

    @abstractmethod
    def extract(self, element: E) -> int:
        """Return the gap in milliseconds."""


Extractor = SessionWindowTimeGapExtractor[E] | Callable[[E], Length]


class _SessionWindows(TimeWindowAssigner[T], MergingWindowAssigner[T, TimeWindow]):
    """What sessions of all kinds share: they merge when they overlap or touch."""

    def merge_windows(
        self, windows: Iterable[TimeWindow], callback: MergingWindowAssigner.MergeCallback[TimeWindow]
    ) -> None:
        """Merge sessions that overlap or touch."""
        TimeWindow.merge_windows(windows, callback)


class _FixedSessionWindows(_SessionWindows[T]):
    """Sessions with one gap for all elements."""

    assigns_one_window = True
    ignores_elements = True
    merges_touching_windows = True

    def __init__(self, session_gap: Length) -> None:
        self.gap = positive_millis(session_gap, type(self).__name__, "session gap")

    def windows_at(self, time: int, element: T) -> list[TimeWindow]:
        """Return the window from the time over one gap."""
        return [TimeWindow(time, time + self.gap)]

    def fixed_gap(self) -> int | None:
        """Return the gap."""
        return self.gap

    def __repr__(self) -> str:
        return f"{type(self).__name__}({self.gap})"


class EventTimeSessionWindows(_FixedSessionWindows[T], ByEventTime[T]):
    """Sessions that end when no element comes for a fixed length of event time."""

    state_identity = "EventTimeSessionWindows"

    @staticmethod
    def with_gap(size: Length) -> EventTimeSessionWindows[Any]:
        """Return sessions with this gap."""
        return EventTimeSessionWindows(size)

    @overload
    @staticmethod
    def with_dynamic_gap(extractor: SessionWindowTimeGapExtractor[T]) -> DynamicEventTimeSessionWindows[T]: ...

    @overload
    @staticmethod
    def with_dynamic_gap(extractor: Callable[[Any], Length]) -> DynamicEventTimeSessionWindows[Any]: ...

    @staticmethod
    def with_dynamic_gap(extractor: Extractor[Any]) -> DynamicEventTimeSessionWindows[Any]:
        """Return sessions whose gap each element sets."""
        return DynamicEventTimeSessionWindows(extractor)


class ProcessingTimeSessionWindows(_FixedSessionWindows[T], ByProcessingTime[T]):
    """Sessions that end when no element comes for a fixed length of processing time."""

    state_identity = "ProcessingTimeSessionWindows"

    @staticmethod
    def with_gap(size: Length) -> ProcessingTimeSessionWindows[Any]:
        """Return sessions with this gap."""
        return ProcessingTimeSessionWindows(size)

    @overload
    @staticmethod
    def with_dynamic_gap(extractor: SessionWindowTimeGapExtractor[T]) -> DynamicProcessingTimeSessionWindows[T]: ...

    @overload
    @staticmethod
    def with_dynamic_gap(extractor: Callable[[Any], Length]) -> DynamicProcessingTimeSessionWindows[Any]: ...

    @staticmethod
    def with_dynamic_gap(extractor: Extractor[Any]) -> DynamicProcessingTimeSessionWindows[Any]:
        """Return sessions whose gap each element sets."""
        return DynamicProcessingTimeSessionWindows(extractor)


class _DynamicSessionWindows(_SessionWindows[T]):
    """What sessions with dynamic gaps share: how the gap of an element is found."""

    assigns_one_window = True
    merges_touching_windows = True

    def __init__(self, session_window_time_gap_extractor: Extractor[T]) -> None:
        extractor = session_window_time_gap_extractor
        if isinstance(extractor, SessionWindowTimeGapExtractor):
            self._extract: Callable[[T], Length] = extractor.extract
        elif callable(extractor):
            self._extract = extractor
        else:
            raise GraphError(
                f"{type(self).__name__}.with_dynamic_gap takes a SessionWindowTimeGapExtractor or a callable, "
                f"got {type(extractor).__name__}"
            )

    def _gap(self, element: T) -> int:
        gap = to_millis(self._extract(element))
        if gap <= 0:
            raise ValueError(
                f"{type(self).__name__}: the session gap of each element must be at least one millisecond, "
                f"but the extractor returned {gap} ms for {element!r}"
            )
        return gap

    def windows_at(self, time: int, element: T) -> list[TimeWindow]:
        """Return the window from the time over the gap of the element."""
        return [TimeWindow(time, time + self._gap(element))]

    def __repr__(self) -> str:
        return f"{type(self).__name__}()"


class DynamicEventTimeSessionWindows(_DynamicSessionWindows[T], ByEventTime[T]):
    """Event-time sessions whose gap each element sets."""

    state_identity = "DynamicEventTimeSessionWindows"

    @overload
    @staticmethod
    def with_dynamic_gap(extractor: SessionWindowTimeGapExtractor[T]) -> DynamicEventTimeSessionWindows[T]: ...

    @overload
    @staticmethod
    def with_dynamic_gap(extractor: Callable[[Any], Length]) -> DynamicEventTimeSessionWindows[Any]: ...

    @staticmethod
    def with_dynamic_gap(extractor: Extractor[Any]) -> DynamicEventTimeSessionWindows[Any]:
        """Return sessions whose gap each element sets."""
        return DynamicEventTimeSessionWindows(extractor)


class DynamicProcessingTimeSessionWindows(_DynamicSessionWindows[T], ByProcessingTime[T]):
    """Processing-time sessions whose gap each element sets."""

    state_identity = "DynamicProcessingTimeSessionWindows"

    @overload
    @staticmethod
    def with_dynamic_gap(extractor: SessionWindowTimeGapExtractor[T]) -> DynamicProcessingTimeSessionWindows[T]: ...

    @overload
    @staticmethod
    def with_dynamic_gap(extractor: Callable[[Any], Length]) -> DynamicProcessingTimeSessionWindows[Any]: ...

    @staticmethod
    def with_dynamic_gap(extractor: Extractor[Any]) -> DynamicProcessingTimeSessionWindows[Any]:
        """Return sessions whose gap each element sets."""
        return DynamicProcessingTimeSessionWindows(extractor)
