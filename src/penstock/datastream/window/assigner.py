"""The contracts of window assigners; owns no way of assigning windows and no state."""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections.abc import Collection, Iterable
from typing import TYPE_CHECKING, Any, Generic, TypeVar

from penstock.datastream.window.windows import Window

if TYPE_CHECKING:
    from penstock.common.serializer import TypeSerializer
    from penstock.datastream.functions import RuntimeContext
    from penstock.datastream.window.trigger import Trigger

__all__ = ["MergingWindowAssigner", "WindowAssigner"]

T = TypeVar("T")
W = TypeVar("W", bound=Window)
W2 = TypeVar("W2", bound=Window)


class WindowAssigner(ABC, Generic[T, W]):
    """Says which windows an element belongs to."""

    class WindowAssignerContext(ABC):
        """What an assigner can ask about the subtask it runs in."""

        @abstractmethod
        def get_current_processing_time(self) -> int:
            """Return the clock in milliseconds since 1970."""

        @abstractmethod
        def get_runtime_context(self) -> RuntimeContext:
            """Return the runtime context; its state is that of the current key."""

    @abstractmethod
    def assign_windows(
        self, element: T, timestamp: int | None, context: WindowAssigner.WindowAssignerContext
    ) -> Collection[W]:
        """Return the windows of an element; `timestamp` is None if it has none."""

    @abstractmethod
    def get_default_trigger(self, env: Any) -> Trigger[T, W]:
        """Return the trigger to use when the user names none."""

    @abstractmethod
    def get_window_serializer(self) -> TypeSerializer[W]:
        """Return how the windows are written into state."""

    @abstractmethod
    def is_event_time(self) -> bool:
        """Return whether the windows are windows of event time."""


class MergingWindowAssigner(WindowAssigner[T, W]):
    """An assigner whose windows may grow together."""

    class MergeCallback(ABC, Generic[W2]):
        """Is told which windows become one."""

        @abstractmethod
        def merge(self, to_be_merged: Iterable[W2], merge_result: W2) -> None:
            """Take note that these windows are now this one."""

    @abstractmethod
    def merge_windows(self, windows: Iterable[W], callback: MergingWindowAssigner.MergeCallback[W]) -> None:
        """Decide which of the windows must merge, and tell the callback."""
