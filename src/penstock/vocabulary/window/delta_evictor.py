"""`DeltaEvictor`: keeps the elements near the last one."""

from __future__ import annotations

from typing import Any, overload

from penstock.common.type_variables import T
from penstock.vocabulary.window.delta_function import DeltaFunction, Distance, checked_threshold, distance_of
from penstock.vocabulary.window.evictor import OneSidedEvictor, TimestampedValue

__all__ = ["DeltaEvictor"]


class DeltaEvictor(OneSidedEvictor[T]):
    """Keeps the elements whose distance to the last one is below a threshold."""

    def __init__(
        self, threshold: float, delta_function: DeltaFunction[T] | Distance[T], do_evict_after: bool = False
    ) -> None:
        self.threshold = checked_threshold(threshold, "DeltaEvictor")
        self._distance = distance_of(delta_function, "DeltaEvictor")
        self.do_evict_after = do_evict_after

    @overload
    @staticmethod
    def of(threshold: float, delta_function: DeltaFunction[T], do_evict_after: bool = False) -> DeltaEvictor[T]: ...

    @overload
    @staticmethod
    def of(threshold: float, delta_function: Distance[Any], do_evict_after: bool = False) -> DeltaEvictor[Any]: ...

    @staticmethod
    def of(
        threshold: float, delta_function: DeltaFunction[Any] | Distance[Any], do_evict_after: bool = False
    ) -> DeltaEvictor[Any]:
        """Return an evictor with this threshold and measure."""
        return DeltaEvictor(threshold, delta_function, do_evict_after)

    def evict(self, elements: list[TimestampedValue[T]]) -> None:
        """Remove all but those to keep."""
        if elements:
            last, distance, threshold = elements[-1].value, self._distance, self.threshold
            elements[:] = [element for element in elements if distance(element.value, last) < threshold]

    def __repr__(self) -> str:
        return f"DeltaEvictor({self.threshold})"
