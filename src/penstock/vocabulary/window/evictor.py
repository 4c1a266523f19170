"""The contract of evictors and the elements they look at."""

from __future__ import annotations

from abc import ABC, abstractmethod
from typing import TYPE_CHECKING, Any, ClassVar, Generic

from typing_extensions import TypeVar

from penstock.vocabulary.window.traits import HasTraits
from penstock.vocabulary.window.windows import Window

if TYPE_CHECKING:
    from penstock.metrics import MetricGroup

__all__ = ["Evictor", "OneSidedEvictor", "TimestampedValue"]

T = TypeVar("T", default=Any)
T_contra = TypeVar("T_contra", contravariant=True, default=Any)
W_contra = TypeVar("W_contra", bound=Window, contravariant=True, default=Any)


class TimestampedValue(Generic[T]):
    """An element of a window with the timestamp it came with, or None."""

    __slots__ = ("timestamp", "value")

    def __init__(self, value: T, timestamp: int | None = None) -> None:
        self.value = value
        self.timestamp = timestamp

    def get_value(self) -> T:
        """Return the element."""
        return self.value

    def has_timestamp(self) -> bool:
        """Return whether the element came with a timestamp."""
        return self.timestamp is not None

    def get_timestamp(self) -> int:
        """Return the timestamp; an element that has none is an error."""
        if self.timestamp is None:
            raise ValueError(
                "Record has no timestamp: ask has_timestamp() first, or call assign_timestamps_and_watermarks(...) "
                "before the window."
            )
        return self.timestamp

    def __eq__(self, other: object) -> bool:
        if not isinstance(other, TimestampedValue):
            return NotImplemented
        return bool(self.value == other.value) and self.timestamp == other.timestamp

    # As with lists, the content decides, and it may change or have no hash.
    __hash__ = None  # type: ignore[assignment]

    def __reduce__(self) -> tuple[Any, ...]:
        return TimestampedValue, (self.value, self.timestamp)

    def __repr__(self) -> str:
        return f"TimestampedValue({self.value!r}, {self.timestamp})"


class Evictor(HasTraits, ABC, Generic[T_contra, W_contra]):
    """Removes elements from a window before or after it is evaluated."""

    _traits = ("ignores_elements",)

    ignores_elements: ClassVar[bool] = False
    """Whether it goes by number and timestamps only; then it may be given any values."""

    class EvictorContext(ABC):
        """What an evictor can ask about the subtask it runs in."""

        @abstractmethod
        def get_current_processing_time(self) -> int:
            """Return the clock in milliseconds since 1970."""

        @abstractmethod
        def get_metric_group(self) -> MetricGroup:
            """Return the group under which the evictor registers its metrics."""

        @abstractmethod
        def get_current_watermark(self) -> int:
            """Return the event-time watermark."""

    @abstractmethod
    def evict_before(
        self,
        elements: list[TimestampedValue[T_contra]],
        size: int,
        window: W_contra,
        evictor_context: Evictor.EvictorContext,
    ) -> None:
        """Remove elements from the list, in place, before the window function sees them; they are in arrival order."""

    @abstractmethod
    def evict_after(
        self,
        elements: list[TimestampedValue[T_contra]],
        size: int,
        window: W_contra,
        evictor_context: Evictor.EvictorContext,
    ) -> None:
        """Remove elements from the list, in place, after the window function; what is left stays in the window."""


class OneSidedEvictor(Evictor[T, Window]):
    """An evictor that does the same before the window function or, if told so, after it."""

    do_evict_after = False

    def evict_before(
        self, elements: list[TimestampedValue[T]], size: int, window: Window, evictor_context: Evictor.EvictorContext
    ) -> None:
        """Evict, unless that is to happen after the window function."""
        if not self.do_evict_after:
            self.evict(elements)

    def evict_after(
        self, elements: list[TimestampedValue[T]], size: int, window: Window, evictor_context: Evictor.EvictorContext
    ) -> None:
        """Evict, if that is to happen after the window function."""
        if self.do_evict_after:
            self.evict(elements)

    @abstractmethod
    def evict(self, elements: list[TimestampedValue[T]]) -> None:
        """Remove elements from the list, in place."""
