"""User functions as Penstock calls them: with the key, whether they want it or not."""

from __future__ import annotations

import inspect
from collections.abc import Callable
from typing import Any

from penstock.errors import StreamsError


def checked_function(function: Any, method: str) -> Any:
    """A callable, or a sentence that says what is none."""
    if not callable(function):
        raise StreamsError(f"{method}() needs a function, got {function!r}.")
    return function


def takes_key(function: Callable[..., Any], without_key: int) -> bool:
    """Whether a function has one parameter more than it needs without the key."""
    try:
        parameters = inspect.signature(function).parameters.values()
    except (TypeError, ValueError):  # functions of C often do not tell; those take a value
        return False
    places = (inspect.Parameter.POSITIONAL_ONLY, inspect.Parameter.POSITIONAL_OR_KEYWORD)
    required = [each for each in parameters if each.kind in places and each.default is inspect.Parameter.empty]
    return len(required) == without_key + 1


class IgnoringKey:
    """Calls a function without the key."""

    def __init__(self, function: Callable[..., Any]) -> None:
        self._function = function

    def __call__(self, key: Any, *values: Any) -> Any:
        """Call it."""
        return self._function(*values)


def value_mapper(function: Any, method: str) -> Callable[[Any, Any], Any]:
    """A function of the value, or of key and value, as one of both."""
    checked_function(function, method)
    return function if takes_key(function, 1) else IgnoringKey(function)


def value_joiner(function: Any, method: str) -> Callable[[Any, Any, Any], Any]:
    """A function of two values, or of the key and two values, as one of all three."""
    checked_function(function, method)
    return function if takes_key(function, 2) else IgnoringKey(function)


class Swapped:
    """Calls a function of two values with the second one first."""

    def __init__(self, function: Callable[[Any, Any], Any]) -> None:
        self._function = function

    def __call__(self, first: Any, second: Any) -> Any:
        """Call it."""
        return self._function(second, first)


class FromReducer:
    """An aggregator of a reducer: the first value is the first aggregate."""

    def __init__(self, reducer: Callable[[Any, Any], Any]) -> None:
        self._reducer = reducer

    def __call__(self, key: Any, value: Any, aggregate: Any) -> Any:
        """Fold a value in."""
        return value if aggregate is None else self._reducer(aggregate, value)

    def merge(self, key: Any, first: Any, second: Any) -> Any:
        """Merge two aggregates; the first one may be missing."""
        return second if first is None else self._reducer(first, second)


def nothing() -> None:
    """The aggregate before the first value of a reduction."""


def zero() -> int:
    """The count before the first value."""
    return 0


def count_one(key: Any, value: Any, count: int) -> int:
    """Count a record."""
    return count + 1


def uncount_one(key: Any, value: Any, count: int) -> int:
    """Take a record back."""
    return count - 1


def add_counts(key: Any, first: int, second: int) -> int:
    """The count of two sessions."""
    return first + second


class SupplierOf:
    """A supplier of processors made from anything that gives one when it is called, such as their class."""

    def __init__(self, make: Any, method: str) -> None:
        """Take a callable, or an object with `get`; `stores`, if it has them, are connected too."""
        self._make = make.get if hasattr(make, "get") and not inspect.isclass(make) else make
        checked_function(self._make, method)
        self._method = method
        self.stores = list(make.stores()) if hasattr(make, "stores") and not inspect.isclass(make) else []

    def get(self) -> Any:
        """A new processor."""
        made = self._make()
        if not hasattr(made, "process") or not hasattr(made, "init"):
            raise StreamsError(
                f"{self._method}() needs a class of processors, or a function that makes one; it made {made!r}."
            )
        return made
