"""How far apart two elements are, as `DeltaTrigger` and `DeltaEvictor` ask for it."""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections.abc import Callable
from typing import Generic

from penstock.common.type_variables import T
from penstock.errors import GraphError

__all__ = ["DeltaFunction", "Distance", "checked_threshold", "distance_of"]


class DeltaFunction(ABC, Generic[T]):
    """Measures how far a new element is from an old one."""

    @abstractmethod
    def get_delta(self, old_data_point: T, new_data_point: T) -> float:
        """Return the distance."""


Distance = Callable[[T, T], float]


def distance_of(delta_function: DeltaFunction[T] | Distance[T], owner: str) -> Distance[T]:
    """Return the measure as a plain callable of the old and the new element."""
    if isinstance(delta_function, DeltaFunction):
        return delta_function.get_delta
    if not callable(delta_function):
        raise GraphError(
            f"{owner}.of takes a DeltaFunction or a callable of the old and the new element, "
            f"got {type(delta_function).__name__}"
        )
    return delta_function


def checked_threshold(threshold: float, owner: str) -> float:
    """Return the threshold, refusing what is no number."""
    if isinstance(threshold, bool) or not isinstance(threshold, int | float):
        raise GraphError(f"{owner}.of takes a number as its threshold, got {type(threshold).__name__} {threshold!r}")
    return threshold
