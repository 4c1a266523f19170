"""The functions that joins call, under the names of Flink's Java API; owns no behaviour (the runtime calls them)."""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections.abc import Iterable
from typing import Any, Generic, TypeVar

from penstock.datastream.functions import Function
from penstock.datastream.output_tag import OutputTag

__all__ = ["CoGroupFunction", "FlatJoinFunction", "JoinFunction", "ProcessJoinFunction"]

IN1 = TypeVar("IN1")
IN2 = TypeVar("IN2")
OUT = TypeVar("OUT")


class JoinFunction(Function, Generic[IN1, IN2, OUT]):
    """Turns each pair of a window join into one element."""

    @abstractmethod
    def join(self, first: IN1, second: IN2) -> OUT:
        """Return the element that stands for the pair."""


class FlatJoinFunction(Function, Generic[IN1, IN2, OUT]):
    """Turns each pair of a window join into any number of elements."""

    @abstractmethod
    def join(self, first: IN1, second: IN2) -> Iterable[OUT] | None:
        """Yield or return the elements for the pair; a third argument would be a collector."""


class CoGroupFunction(Function, Generic[IN1, IN2, OUT]):
    """Evaluates all elements of a key and window of two streams at once."""

    @abstractmethod
    def co_group(self, first: list[IN1], second: list[IN2]) -> Iterable[OUT] | None:
        """Yield or return the results; one of the lists may be empty. A third argument would be a collector."""


class ProcessJoinFunction(Function, Generic[IN1, IN2, OUT]):
    """Evaluates each pair of an interval join; in an outer join the missing side is None."""

    class Context(ABC):
        """What the function can ask about the pair."""

        @abstractmethod
        def get_left_timestamp(self) -> int | None:
            """Return the event time of the left element; None where there is none."""

        @abstractmethod
        def get_right_timestamp(self) -> int | None:
            """Return the event time of the right element; None where there is none."""

        @abstractmethod
        def get_timestamp(self) -> int:
            """Return the event time of the results: the later of the two."""

        @abstractmethod
        def output(self, output_tag: OutputTag, value: Any) -> None:
            """Emit to a side output."""

    @abstractmethod
    def process_element(self, left: IN1, right: IN2, ctx: ProcessJoinFunction.Context) -> Iterable[OUT] | None:
        """Yield or return the results for a pair; a fourth argument would be a collector."""
