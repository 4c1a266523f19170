"""The timer service as user functions see it."""

from __future__ import annotations

from abc import ABC, abstractmethod

__all__ = ["TimerService"]


class TimerService(ABC):
    """Reads the time and sets timers, one per key and timestamp."""

    @abstractmethod
    def current_processing_time(self) -> int:
        """Return the clock in milliseconds since 1970."""

    @abstractmethod
    def current_watermark(self) -> int:
        """Return the event-time watermark of this operator."""

    @abstractmethod
    def register_processing_time_timer(self, timestamp: int) -> None:
        """Call `on_timer` for the current key when the clock passes the timestamp."""

    @abstractmethod
    def register_event_time_timer(self, timestamp: int) -> None:
        """Call `on_timer` for the current key when the watermark passes the timestamp."""

    @abstractmethod
    def delete_processing_time_timer(self, timestamp: int) -> None:
        """Delete the timer of the current key, if there is one."""

    @abstractmethod
    def delete_event_time_timer(self, timestamp: int) -> None:
        """Delete the timer of the current key, if there is one."""
