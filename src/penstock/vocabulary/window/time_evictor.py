"""`TimeEvictor`: keeps the elements of the last stretch of time."""

from __future__ import annotations

from typing import Any

from penstock.common.type_variables import T
from penstock.vocabulary.window.durations import Length, positive_millis
from penstock.vocabulary.window.evictor import OneSidedEvictor, TimestampedValue

__all__ = ["TimeEvictor"]


class TimeEvictor(OneSidedEvictor[T]):
    """Keeps the elements whose timestamp is less than a length of time before the largest one."""

    ignores_elements = True

    def __init__(self, window_size: Length, do_evict_after: bool = False) -> None:
        self.window_size = positive_millis(window_size, "TimeEvictor", "length of time")
        self.do_evict_after = do_evict_after

    @staticmethod
    def of(window_size: Length, do_evict_after: bool = False) -> TimeEvictor[Any]:
        """Return an evictor that keeps elements of this length of time."""
        return TimeEvictor(window_size, do_evict_after)

    def evict(self, elements: list[TimestampedValue[T]]) -> None:
        """Remove all but those to keep."""
        # As in Flink the first element stands for all: a stream either has timestamps or has none.
        if not elements or not elements[0].has_timestamp():
            return
        cutoff = max(element.get_timestamp() for element in elements) - self.window_size
        elements[:] = [element for element in elements if element.get_timestamp() > cutoff]

    def __repr__(self) -> str:
        return f"TimeEvictor({self.window_size})"
