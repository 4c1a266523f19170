"""The functions that are called with matches, under the names of Flink's Java API."""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections.abc import Iterable
from typing import Any, Generic, Protocol, TypeVar

from penstock.vocabulary.functions import Function
from penstock.vocabulary.output_tag import OutputTag

__all__ = [
    "PatternFlatSelectFunction",
    "PatternFlatTimeoutFunction",
    "PatternProcessFunction",
    "PatternSelectFunction",
    "PatternTimeoutFunction",
    "TimedOutPartialMatchHandler",
]

IN = TypeVar("IN")
OUT = TypeVar("OUT")


class PatternProcessFunction(Function, Generic[IN, OUT]):
    """Turns each match into any number of elements."""

    class Context(Protocol):
        """What the function can ask about a match."""

        def timestamp(self) -> int:
            """Return the time of the match."""

        def current_processing_time(self) -> int:
            """Return the clock, in milliseconds."""

        def get_current_key(self) -> Any:
            """Return the key of the events."""

        def pattern_id(self) -> str | None:
            """Return the id of the pattern that has matched; None where there is one pattern only."""

        def output(self, output_tag: OutputTag, value: Any) -> None:
            """Emit to a side output."""

    @abstractmethod
    def process_match(self, match: dict[str, list[IN]], ctx: PatternProcessFunction.Context) -> Iterable[OUT] | None:
        """Yield or return the results for a match: events by name of their element, in order.

        An element that took no event is not in the match. An optional third parameter is a collector.
        """


class TimedOutPartialMatchHandler(ABC):
    """Mix-in for `PatternProcessFunction` that handles timed-out partial matches."""

    @abstractmethod
    def process_timed_out_match(self, match: dict[str, list[Any]], ctx: PatternProcessFunction.Context) -> None:
        """Emit to side outputs with `ctx.output(tag, value)`; there is no main output."""


class PatternSelectFunction(Function, Generic[IN, OUT]):
    """Turns each match into one element."""

    @abstractmethod
    def select(self, match: dict[str, list[IN]]) -> OUT:
        """Return the element for a match."""


class PatternFlatSelectFunction(Function, Generic[IN, OUT]):
    """Turns each match into any number of elements."""

    @abstractmethod
    def flat_select(self, match: dict[str, list[IN]]) -> Iterable[OUT] | None:
        """Yield or return the elements for a match; an optional second parameter is a collector."""


class PatternTimeoutFunction(Function, Generic[IN, OUT]):
    """Turns each timed-out partial match into one element of a side output."""

    @abstractmethod
    def timeout(self, match: dict[str, list[IN]], timeout_timestamp: int) -> OUT:
        """Return the element for a partial match."""


class PatternFlatTimeoutFunction(Function, Generic[IN, OUT]):
    """Turns each timed-out partial match into any number of elements of a side output."""

    @abstractmethod
    def timeout(self, match: dict[str, list[IN]], timeout_timestamp: int) -> Iterable[OUT] | None:
        """Yield or return the elements for a partial match; an optional third parameter is a collector."""
