"""Conditions: which events match an element of a pattern."""

from __future__ import annotations

import inspect
from abc import ABC, abstractmethod
from collections.abc import Callable
from typing import Any, Generic, Protocol, TypeVar

from penstock.common.user_pickles import name_in_pickles
from penstock.runtime.operators.cep.conditions import BooleanConditions, required_arguments
from penstock.vocabulary.expressions import Expression
from penstock.vocabulary.functions import Function

__all__ = [
    "Condition",
    "IterativeCondition",
    "RichIterativeCondition",
    "RichSimpleCondition",
    "SimpleCondition",
]

T = TypeVar("T")


class IterativeCondition(ABC, Generic[T]):
    """A condition on an event and the partial match so far."""

    class Context(Protocol):
        """Access to the partial match and the time."""

        def get_events_for_pattern(self, name: str) -> list[Any]:
            """Return the events that this partial match has taken for an element, in order."""

        def timestamp(self) -> int:
            """Return the time of the event."""

        def current_processing_time(self) -> int:
            """Return the clock, in milliseconds."""

    @abstractmethod
    def filter(self, value: T, ctx: IterativeCondition.Context) -> bool:
        """Return whether the event matches the element."""


class SimpleCondition(ABC, Generic[T]):
    """A condition on the event alone; evaluated once per event."""

    @abstractmethod
    def filter(self, value: T) -> bool:
        """Return whether the event matches the element."""

    @staticmethod
    def of(function: Callable[[Any], bool]) -> SimpleCondition[Any]:
        """Make a condition of a function of one argument."""
        return _FunctionCondition(function)


class RichIterativeCondition(IterativeCondition[T], Function):
    """An iterative condition with `open(runtime_context)` and `close()`."""


class RichSimpleCondition(SimpleCondition[T], Function):
    """A simple condition with `open(runtime_context)` and `close()`."""


class _FunctionCondition(SimpleCondition[Any]):
    def __init__(self, function: Callable[[Any], bool]) -> None:
        self.function = function

    def filter(self, value: Any) -> bool:
        return self.function(value)


Condition = IterativeCondition[Any] | SimpleCondition[Any] | Expression | Callable[..., Any]
"""What `where`, `or_` and `until` take."""


class SubtypeCondition(SimpleCondition[Any]):
    """Whether an event is an object of a class."""

    is_pure = True

    def __init__(self, subtype: type) -> None:
        self.subtype = subtype

    def filter(self, value: Any) -> bool:
        """Ask the event's class."""
        return isinstance(value, self.subtype)


_NEVER_FALSE = (inspect.iscoroutinefunction, inspect.isgeneratorfunction, inspect.isasyncgenfunction)


def checked_condition(method: str, condition: Any) -> Any:
    """A condition as users may give it, or a complaint."""
    function = getattr(condition, "filter", condition)
    if any(is_kind(function) for is_kind in _NEVER_FALSE):
        raise TypeError(
            f"{method}: {condition!r} is a coroutine or generator function, whose result is always true. Pass a plain "
            "function."
        )
    if isinstance(condition, (IterativeCondition, SimpleCondition, Expression, BooleanConditions)):
        return condition
    if inspect.isclass(condition) or not callable(condition):
        raise TypeError(
            f"{method}: expected a function of the event (or of the event and a context), a SimpleCondition, an "
            f"IterativeCondition or an expression such as col('amount') > 100, got {condition!r}."
        )
    count = required_arguments(condition)
    if count > 2:
        raise TypeError(
            f"{method}: a condition takes the event, or the event and a context; {condition!r} takes {count}."
        )
    return condition


# Conditions of patterns that are switched on in a running job are kept with its state.
name_in_pickles(IterativeCondition, "iterative condition")
name_in_pickles(SimpleCondition, "simple condition")
name_in_pickles(RichIterativeCondition, "rich iterative condition")
name_in_pickles(RichSimpleCondition, "rich simple condition")
name_in_pickles(_FunctionCondition, "condition of a function")
name_in_pickles(SubtypeCondition, "condition of a class")
