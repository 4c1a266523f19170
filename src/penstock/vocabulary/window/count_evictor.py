"""`CountEvictor`: keeps the last elements by number."""

from __future__ import annotations

from typing import Any

from penstock.common.type_variables import T
from penstock.errors import GraphError
from penstock.vocabulary.window.evictor import OneSidedEvictor, TimestampedValue

__all__ = ["CountEvictor"]


class CountEvictor(OneSidedEvictor[T]):
    """Keeps up to a number of elements, the latest to arrive."""

    ignores_elements = True

    def __init__(self, max_count: int, do_evict_after: bool = False) -> None:
        if isinstance(max_count, bool) or not isinstance(max_count, int) or max_count < 0:
            raise GraphError(f"CountEvictor.of takes a number of elements, got {max_count!r}")
        self.max_count = max_count
        self.do_evict_after = do_evict_after

    @staticmethod
    def of(max_count: int, do_evict_after: bool = False) -> CountEvictor[Any]:
        """Return an evictor that keeps this many elements."""
        return CountEvictor(max_count, do_evict_after)

    def evict(self, elements: list[TimestampedValue[T]]) -> None:
        """Remove all but those to keep."""
        surplus = len(elements) - self.max_count
        if surplus > 0:
            del elements[:surplus]

    def __repr__(self) -> str:
        return f"CountEvictor({self.max_count})"
