"""`GlobalWindows`: one window for everything."""

from __future__ import annotations

from typing import Any

from penstock.common.serializer import TypeSerializer
from penstock.common.type_variables import T
from penstock.vocabulary.window.assigner import WindowAssigner
from penstock.vocabulary.window.never_trigger import EndOfStreamTrigger, NeverTrigger
from penstock.vocabulary.window.serializers import GlobalWindowSerializer
from penstock.vocabulary.window.trigger import Trigger
from penstock.vocabulary.window.windows import GlobalWindow

__all__ = ["GlobalWindows"]


class GlobalWindows(WindowAssigner[T, GlobalWindow]):
    """Puts all elements of a key into one window, which fires only by the trigger that is chosen."""

    state_identity = "GlobalWindows"

    assigns_one_window = True
    ignores_elements = True

    def __init__(self, default_trigger: Trigger[T, GlobalWindow] | None = None) -> None:
        self._default_trigger: Trigger[T, GlobalWindow] = default_trigger or NeverTrigger()

    @staticmethod
    def create() -> GlobalWindows[Any]:
        """Return the assigner; give the stream a trigger, or it never fires."""
        return GlobalWindows()

    @staticmethod
    def create_with_end_of_stream_trigger() -> GlobalWindows[Any]:
        """Return the assigner with a default trigger that fires when the input has ended."""
        return GlobalWindows(EndOfStreamTrigger())

    def assign_windows(
        self, element: T, timestamp: int | None, context: WindowAssigner.WindowAssignerContext
    ) -> list[GlobalWindow]:
        """Return the global window."""
        return [GlobalWindow.get()]

    def get_default_trigger(self, env: Any) -> Trigger[T, GlobalWindow]:
        """Return a trigger that never fires, or that fires at the end of the stream if it was made so."""
        return self._default_trigger

    def get_window_serializer(self) -> TypeSerializer[GlobalWindow]:
        """Return how the global window is written."""
        return GlobalWindowSerializer()

    def is_event_time(self) -> bool:
        """Return False."""
        return False

    def __repr__(self) -> str:
        return "GlobalWindows()"
