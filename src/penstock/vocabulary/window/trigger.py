"""The contract of triggers."""

from __future__ import annotations

import enum
from abc import ABC, abstractmethod
from typing import TYPE_CHECKING, Any, ClassVar, Generic

from typing_extensions import TypeVar

from penstock.common.type_variables import S
from penstock.vocabulary.time_domain import TimeDomain
from penstock.vocabulary.window.traits import HasTraits
from penstock.vocabulary.window.windows import Window

if TYPE_CHECKING:
    from penstock.metrics import MetricGroup
    from penstock.vocabulary.state import StateDescriptor

__all__ = ["Trigger", "TriggerResult"]

T_contra = TypeVar("T_contra", contravariant=True, default=Any)
W_contra = TypeVar("W_contra", bound=Window, contravariant=True, default=Any)


class TriggerResult(enum.Enum):
    """What happens to a window: it is evaluated (fire), its content is dropped (purge), both or neither."""

    CONTINUE = (False, False)
    FIRE_AND_PURGE = (True, True)
    FIRE = (True, False)
    PURGE = (False, True)

    def __init__(self, fires: bool, purges: bool) -> None:
        self._fires = fires
        self._purges = purges

    def is_fire(self) -> bool:
        """Return whether the window is evaluated."""
        return self._fires

    def is_purge(self) -> bool:
        """Return whether the content of the window is dropped."""
        return self._purges


class Trigger(HasTraits, ABC, Generic[T_contra, W_contra]):
    """Decides when a window fires, and when its content is dropped.

    Subclass it for a trigger of your own; the abstract methods are all it needs. The attributes are promises that make
    windows faster, see `penstock.vocabulary.window.traits`: declare those that hold.
    """

    _traits = ("fires_at_end_of", "ignores_elements")

    fires_at_end_of: ClassVar[TimeDomain | None] = None
    """The time that must pass the end of a window for it to fire, if that is all the trigger does.

    It fires then, and for each element that comes later; it never purges, and has no state and no other timer.
    Then elements of a block are handled together, and the trigger is not asked about each.
    """

    ignores_elements: ClassVar[bool] = False
    """Whether the trigger never looks at an element; then `on_element` may be given any."""

    class TriggerContext(ABC):
        """Time, timers and state of the current key and window."""

        @abstractmethod
        def get_current_processing_time(self) -> int:
            """Return the clock in milliseconds since 1970."""

        @abstractmethod
        def get_metric_group(self) -> MetricGroup:
            """Return the group under which the trigger registers its metrics."""

        @abstractmethod
        def get_current_watermark(self) -> int:
            """Return the event-time watermark."""

        @abstractmethod
        def register_processing_time_timer(self, time: int) -> None:
            """Have `on_processing_time` called when the clock passes this time."""

        @abstractmethod
        def register_event_time_timer(self, time: int) -> None:
            """Have `on_event_time` called when the watermark passes this time."""

        @abstractmethod
        def delete_processing_time_timer(self, time: int) -> None:
            """Take back a processing-time timer."""

        @abstractmethod
        def delete_event_time_timer(self, time: int) -> None:
            """Take back an event-time timer."""

        @abstractmethod
        def get_partitioned_state(self, state_descriptor: StateDescriptor[S]) -> S:
            """Return the state of that name, of the current key and window."""

    class OnMergeContext(TriggerContext):
        """The context of the window that others were merged into."""

        @abstractmethod
        def merge_partitioned_state(self, state_descriptor: StateDescriptor) -> None:
            """Move the state of that name from the merged windows into that of the result."""

    @abstractmethod
    def on_element(
        self, element: T_contra, timestamp: int | None, window: W_contra, ctx: Trigger.TriggerContext
    ) -> TriggerResult:
        """Decide when an element came into the window."""

    @abstractmethod
    def on_processing_time(self, time: int, window: W_contra, ctx: Trigger.TriggerContext) -> TriggerResult:
        """Decide when a processing-time timer of the window is due."""

    @abstractmethod
    def on_event_time(self, time: int, window: W_contra, ctx: Trigger.TriggerContext) -> TriggerResult:
        """Decide when an event-time timer of the window is due."""

    def can_merge(self) -> bool:
        """Return whether windows with this trigger may be merged; then `on_merge` must do its part."""
        return False

    @abstractmethod
    def on_merge(self, window: W_contra, ctx: Trigger.OnMergeContext) -> None:
        """Bring timers and state of the merged windows over to the resulting window."""

    @abstractmethod
    def clear(self, window: W_contra, ctx: Trigger.TriggerContext) -> None:
        """Free timers and state of a window that is removed."""
