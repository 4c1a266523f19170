"""Processors that users write, their context, and punctuation."""

from __future__ import annotations

import enum
from abc import ABC, abstractmethod
from collections.abc import Callable
from typing import Any

from penstock.vocabulary.kstreams.records import Record, RecordMetadata
from penstock.vocabulary.window.durations import Length


class PunctuationType(enum.Enum):
    """Which time a punctuator follows: that of the records, or the clock."""

    STREAM_TIME = "stream_time"
    WALL_CLOCK_TIME = "wall_clock_time"


class Cancellable(ABC):
    """A scheduled punctuator that can be stopped."""

    @abstractmethod
    def cancel(self) -> None:
        """Call the punctuator no more."""


class ProcessorContext(ABC):
    """What a processor may ask for and do."""

    @abstractmethod
    def forward(self, record: Record, child_name: str | None = None) -> None:
        """Give a record to all children of the processor, or to one of them."""

    @abstractmethod
    def get_state_store(self, name: str) -> Any:
        """The store of a name that the processor is connected to."""

    @abstractmethod
    def schedule(
        self, interval: Length, punctuation_type: PunctuationType, punctuator: Callable[[int], None]
    ) -> Cancellable:
        """Call `punctuator(timestamp)` again and again; call this in `init`, so that it lasts."""

    @abstractmethod
    def record_metadata(self) -> RecordMetadata | None:
        """Where the current record was read; None in punctuators."""

    @abstractmethod
    def current_stream_time_ms(self) -> int:
        """The highest timestamp that the task has seen."""

    @abstractmethod
    def current_system_time_ms(self) -> int:
        """The clock."""

    @abstractmethod
    def application_id(self) -> str:
        """The application's id."""

    @abstractmethod
    def task_id(self) -> str:
        """Number of the sub-topology and of the partition, as in 0_1."""

    @abstractmethod
    def app_configs(self) -> dict[str, Any]:
        """The configuration of the application."""

    def commit(self) -> None:  # noqa: B027 - nothing to do
        """Taken for compatibility: every batch is a commit."""


class Processor(ABC):
    """A processor: `init` once, `process` for each record, `close` at the end. Keep what must last in stores."""

    def init(self, context: ProcessorContext) -> None:
        """Called before the first record; keep the context, get stores, schedule punctuators."""
        self._context = context

    def context(self) -> ProcessorContext:
        """The context that `init` was given."""
        return self._context

    @abstractmethod
    def process(self, record: Record) -> None:
        """Work on a record; `context().forward(...)` emits."""

    def close(self) -> None:  # noqa: B027 - most have nothing to close
        """Called when the application stops."""


class ContextualProcessor(Processor):
    """The same as `Processor`, which keeps its context already."""


class FixedKeyProcessor(Processor):
    """A processor that must not change keys: what it forwards keeps the key of the record."""


class ContextualFixedKeyProcessor(FixedKeyProcessor):
    """The same as `FixedKeyProcessor`, which keeps its context already."""


TimestampExtractor = Callable[[Record, int], int]
"""From a record (with the timestamp of the broker) and the stream time to the timestamp it is to have."""

StreamPartitioner = Callable[[str, Any, Any, int], int | None]
"""From topic, key, value and number of partitions to a partition; None for the default."""
