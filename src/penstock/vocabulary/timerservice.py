"""The timer service as user functions see it."""

from __future__ import annotations

from abc import ABC, abstractmethod

__all__ = ["TimerService"]


class TimerService(ABC):
    """Tells the time and keeps timers, one for each key and timestamp."""

    @abstractmethod
    def current_processing_time(self) -> int:
        """Return the clock in milliseconds since 1970."""

    @abstractmethod
    def current_watermark(self) -> int:
        """Return the event-time watermark of this operator."""

    @abstractmethod
    def register_processing_time_timer(self, timestamp: int) -> None:
        """Have `on_timer` called for the current key when the clock passes the timestamp."""

    @abstractmethod
    def register_event_time_timer(self, timestamp: int) -> None:
        """Have `on_timer` called for the current key when the watermark passes the timestamp."""

    @abstractmethod
    def delete_processing_time_timer(self, timestamp: int) -> None:
        """Forget the timer of the current key; does nothing if there is none."""

    @abstractmethod
    def delete_event_time_timer(self, timestamp: int) -> None:
        """Forget the timer of the current key; does nothing if there is none."""
