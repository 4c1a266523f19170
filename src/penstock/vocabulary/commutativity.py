"""Whether the order of elements matters to a combining function."""

from __future__ import annotations

import enum
from collections.abc import Callable
from typing import Any, TypeVar

from penstock.common.type_variables import T
from penstock.errors import GraphError
from penstock.vocabulary.functions import AggregateFunction, ReduceFunction

__all__ = ["Order", "ReduceFunctionWrapper", "commutative", "order_of"]

F = TypeVar("F")


class Order(enum.Enum):
    """What a combining function must be given in the order of arrival."""

    ALL = "all"
    """Every element: the default, as nothing is known of a function."""
    FIRST = "first"
    """The first element; the others may be combined among themselves, in any order, before."""
    NONE = "none"
    """Nothing."""


class _Commutative(ReduceFunction):
    """A callable that takes no attributes, such as a built-in function."""

    is_commutative = True

    def __init__(self, function: Callable[[Any, Any], Any]) -> None:
        self._function = function

    def reduce(self, value1: Any, value2: Any) -> Any:
        """Call the function."""
        return self._function(value1, value2)


def commutative(function: F) -> F:
    """Mark a reduce function or AggregateFunction whose result does not depend on the order of elements.

    Sums, counts and extremes are so; "the last one" or a text put together from pieces are not. Sliding and cumulative
    windows may then combine elements in parts: sliding windows keep one accumulator for each pane instead of one for
    each window, and senders may aggregate before the exchange. The parts are combined by the reduce function itself, or
    by `merge` of the AggregateFunction.

    Use it as a decorator of a function or class, or inline: `reduce(commutative(lambda a, b: a + b))`. A class may also
    say `is_commutative = True`.
    """
    kinds = (AggregateFunction, ReduceFunction)
    fits = issubclass(function, kinds) if isinstance(function, type) else callable(function)
    if not fits and not isinstance(function, kinds):
        raise GraphError(
            "commutative: expected a function of two values, a ReduceFunction or an AggregateFunction, "
            f"got {function!r}."
        )
    try:
        function.is_commutative = True  # type: ignore[attr-defined]
    except (AttributeError, TypeError):
        return _Commutative(function)  # type: ignore[arg-type, return-value]
    return function


def order_of(function: Any) -> Order:
    """What a combining function must be given in the order of arrival."""
    if getattr(function, "is_commutative", False) is True:
        return Order.NONE
    return Order.FIRST if getattr(function, "keeps_first", False) is True else Order.ALL


class ReduceFunctionWrapper(ReduceFunction[T]):
    """A plain callable of two values as a `ReduceFunction`."""

    def __init__(self, func: Callable[[T, T], T]) -> None:
        self._func = func

    def reduce(self, value1: T, value2: T, /) -> T:
        """Call the wrapped function."""
        return self._func(value1, value2)
