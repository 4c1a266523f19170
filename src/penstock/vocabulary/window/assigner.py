"""The contracts of window assigners."""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections.abc import Collection, Iterable
from typing import TYPE_CHECKING, Any, ClassVar, Generic

from typing_extensions import TypeVar

from penstock.vocabulary.window.pane_grid import PaneGrid
from penstock.vocabulary.window.traits import HasTraits
from penstock.vocabulary.window.windows import Window

if TYPE_CHECKING:
    from penstock.common.serializer import TypeSerializer
    from penstock.vocabulary.functions import RuntimeContext
    from penstock.vocabulary.window.trigger import Trigger

__all__ = ["MergingWindowAssigner", "WindowAssigner"]

T_contra = TypeVar("T_contra", contravariant=True, default=Any)
W = TypeVar("W", bound=Window, default=Any)
W2 = TypeVar("W2", bound=Window, default=Any)


class WindowAssigner(HasTraits, ABC, Generic[T_contra, W]):
    """Assigns elements to windows.

    Subclass it for windows of your own; `assign_windows` and the other abstract methods are all it needs. The rest are
    promises that make windows faster, see `penstock.vocabulary.window.traits`: declare those that hold.
    """

    _traits: ClassVar[tuple[str, ...]] = ("assigns_one_window", "ignores_elements", "pane_grid")

    assigns_one_window: ClassVar[bool] = False
    """Whether every element goes to exactly one window; then elements are not copied for it."""

    ignores_elements: ClassVar[bool] = False
    """Whether windows depend on time, clock and state only; then `assign_windows` may be given any element."""

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
        self, element: T_contra, timestamp: int | None, context: WindowAssigner.WindowAssignerContext
    ) -> Collection[W]:
        """Return the windows of an element; `timestamp` is None if it has none."""

    @abstractmethod
    def get_default_trigger(self, env: Any) -> Trigger[T_contra, W]:
        """Return the trigger to use when the user names none."""

    @abstractmethod
    def get_window_serializer(self) -> TypeSerializer[W]:
        """Return how the windows are written into state."""

    @abstractmethod
    def is_event_time(self) -> bool:
        """Return whether the windows are windows of event time."""

    def pane_grid(self) -> PaneGrid | None:
        """Return the panes of the windows, if they are `TimeWindow`s that depend on the time alone; else None.

        Then elements of a pane are handled together: `assign_windows` is called once for the start of the pane, with
        None as the element.
        """
        return None


class MergingWindowAssigner(WindowAssigner[T_contra, W]):
    """An assigner whose windows may merge."""

    _traits = (*WindowAssigner._traits, "merges_touching_windows", "fixed_gap")

    merges_touching_windows: ClassVar[bool] = False
    """Whether windows are `TimeWindow`s that merge exactly if they overlap or touch."""

    def fixed_gap(self) -> int | None:
        """Return the length of each element's window, if that starts at the element's time and all are as long."""
        return None

    class MergeCallback(ABC, Generic[W2]):
        """Called with windows that merge into one."""

        @abstractmethod
        def merge(self, to_be_merged: Iterable[W2], merge_result: W2) -> None:
            """Merge these windows into this one."""

    @abstractmethod
    def merge_windows(self, windows: Iterable[W], callback: MergingWindowAssigner.MergeCallback[W]) -> None:
        """Decide which of the windows must merge, and tell the callback."""
