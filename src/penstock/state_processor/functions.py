"""Functions that a user writes to read keys of a savepoint, or to fill them."""

from __future__ import annotations

from abc import ABC, abstractmethod
from typing import Any

from penstock.vocabulary.functions import Function, RuntimeContext
from penstock.vocabulary.timerservice import TimerService


class KeyedStateReaderFunction(Function):
    """Reads what an operator holds for a key; called once for each key that has something in one of its states."""

    class Context(ABC):
        """What can be asked beside the states."""

        @abstractmethod
        def registered_event_time_timers(self) -> set[int]:
            """Timestamps of the event-time timers of the key."""

        @abstractmethod
        def registered_processing_time_timers(self) -> set[int]:
            """Timestamps of the processing-time timers of the key."""

    class Collector(ABC):
        """Takes the results."""

        @abstractmethod
        def collect(self, value: Any) -> None:
            """Give one record."""

    @abstractmethod
    def open(self, runtime_context: RuntimeContext) -> None:
        """Ask for all states that are to be read."""

    @abstractmethod
    def read_key(self, key: Any, ctx: Context, out: Collector) -> Any:
        """Read the states of a key; give results to `out`, or yield them."""


class KeyedStateBootstrapFunction(Function):
    """Fills keyed state and sets timers from records; called once for each record, with the record's key."""

    class Context(ABC):
        """What can be asked beside the states."""

        @abstractmethod
        def timer_service(self) -> TimerService:
            """Time and timers."""

        @abstractmethod
        def get_current_key(self) -> Any:
            """Key of the record."""

    @abstractmethod
    def process_element(self, value: Any, ctx: Context) -> None:
        """Put what a record says into state."""
