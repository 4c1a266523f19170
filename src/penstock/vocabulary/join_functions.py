"""The functions that joins call, under the names of Flink's Java API."""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections.abc import Iterable
from typing import Generic

from penstock.common.type_variables import IN1_contra, IN2_contra, OUT_co, T
from penstock.vocabulary.functions import Function, Results
from penstock.vocabulary.output_tag import OutputTag

__all__ = ["CoGroupFunction", "FlatJoinFunction", "JoinFunction", "ProcessJoinFunction"]


class JoinFunction(Function, Generic[IN1_contra, IN2_contra, OUT_co]):
    """Turns each pair of a window join into one element."""

    @abstractmethod
    def join(self, first: IN1_contra, second: IN2_contra, /) -> OUT_co:
        """Return the element for the pair."""


class FlatJoinFunction(Function, Generic[IN1_contra, IN2_contra, OUT_co]):
    """Turns each pair of a window join into any number of elements."""

    @abstractmethod
    def join(self, first: IN1_contra, second: IN2_contra, /) -> Iterable[OUT_co] | None:
        """Yield or return the elements for the pair; an optional third parameter is a collector."""


class CoGroupFunction(Function, Generic[IN1_contra, IN2_contra, OUT_co]):
    """Evaluates all elements of a key and window of two streams at once."""

    @abstractmethod
    def co_group(self, first: list[IN1_contra], second: list[IN2_contra], /) -> Iterable[OUT_co] | None:
        """Yield or return the results; one of the lists may be empty. An optional third parameter is a collector."""


class ProcessJoinFunction(Function, Generic[IN1_contra, IN2_contra, OUT_co]):
    """Evaluates each pair of an interval join; in an outer join the missing side is None."""

    class Context(ABC):
        """The times of the pair, and side outputs."""

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
        def output(self, output_tag: OutputTag[T], value: T) -> None:
            """Emit to a side output."""

    @abstractmethod
    def process_element(
        self, left: IN1_contra, right: IN2_contra, ctx: ProcessJoinFunction.Context, /
    ) -> Results[OUT_co]:
        """Yield or return the results for a pair; an optional fourth parameter is a collector."""
