"""How the records of a window become one accumulator."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator
from typing import Any, Protocol

from penstock.common.own_copies import itself, own_copy
from penstock.errors import StateError
from penstock.runtime.callables import method_or_callable
from penstock.runtime.operators.window.partials import Partial
from penstock.vocabulary.functions import AggregateFunction


class Combiner(Protocol):
    """One accumulator of many records; None stands for no accumulator yet."""

    def fold(self, accumulator: Any, values: Iterator[Any]) -> Any:
        """Add values in their order."""

    def merge(self, first: Any, second: Any) -> Any:
        """Make one of two accumulators."""

    def result(self, accumulator: Any) -> Any:
        """What the window function or the output gets."""


class Reducer:
    """A reduce function: accumulator and result are like the records.

    Where a record goes to several windows (`copies`), each gets its own: the function may change or keep it.
    """

    def __init__(self, function: Any, copies: bool) -> None:
        self.merge: Callable[[Any, Any], Any] = method_or_callable(function, "reduce")
        self._own = own_copy if copies else itself

    def fold(self, accumulator: Any, values: Iterator[Any]) -> Any:
        """Reduce values in their order."""
        reduce, own, begun = self.merge, self._own, accumulator
        for value in values:
            if accumulator is None:
                accumulator = begun = own(value)
            else:
                accumulator = reduce(accumulator, own(value))
        # Anything but what the function was given may be the function's own.
        return accumulator if accumulator is begun else own_copy(accumulator)

    def result(self, accumulator: Any) -> Any:
        """The accumulator."""
        return accumulator


class Aggregator:
    """An aggregate function; where a record goes to several windows (`copies`), each gets its own."""

    def __init__(self, function: AggregateFunction, copies: bool) -> None:
        self._function = function
        self._own = own_copy if copies else itself
        self.result: Callable[[Any], Any] = function.get_result

    def fold(self, accumulator: Any, values: Iterator[Any]) -> Any:
        """Add values in their order."""
        add, own = self._function.add, self._own
        if accumulator is None:
            # The function may give out one object again and again.
            accumulator = own_copy(self._function.create_accumulator())
        for value in values:
            accumulator = add(own(value), accumulator)
        if accumulator is None and self._function.create_accumulator() is not None:
            raise StateError(f"{type(self._function).__name__}.add() must return the accumulator, it returned None.")
        return accumulator

    def merge(self, first: Any, second: Any) -> Any:
        """Merge, and say so if the function gives nothing back."""
        merged = self._function.merge(first, second)
        if merged is None:
            raise StateError(
                f"{type(self._function).__name__}.merge() must return both accumulators merged: the windows of this "
                "operator are merged from parts. Implement merge(acc_a, acc_b)."
            )
        return merged


class PartialCombiner:
    """Takes partial results of another combiner as values, and records that travelled alone.

    Where they go to several windows (`copies`), each gets its own.
    """

    def __init__(self, inner: Combiner, copies: bool) -> None:
        self._inner = inner
        self._copies = copies
        self.merge = inner.merge
        self.result = inner.result

    def fold(self, accumulator: Any, values: Iterator[Any]) -> Any:
        """Merge partial results and add records in their order."""
        inner, merge, copies = self._inner, self.merge, self._copies
        for value in values:
            if type(value) is not Partial:
                accumulator = inner.fold(accumulator, iter((value,)))
                continue
            part = value.accumulator
            if part is None:
                continue
            if copies:
                part = own_copy(part)
            accumulator = part if accumulator is None else merge(accumulator, part)
        return accumulator


def combiner_of(function: Any, *, takes_partials: bool, is_shared: bool) -> Combiner:
    """The combiner of a reduce function, a callable of two values or an aggregate function.

    Shared are values that are folded more than once.
    """
    kind: Callable[..., Combiner] = Aggregator if isinstance(function, AggregateFunction) else Reducer
    inner = kind(function, is_shared)
    return PartialCombiner(inner, is_shared) if takes_partials else inner


def merge_all(combiner: Combiner, first: Any, others: Iterable[Any]) -> Any:
    """Merge accumulators the way Flink does: the others among themselves, and then into the first; None is none."""
    rest = None
    for other in others:
        if other is not None:
            rest = other if rest is None else combiner.merge(rest, other)
    if first is None or rest is None:
        return rest if first is None else first
    return combiner.merge(first, rest)


def can_merge(function: Any) -> bool:
    """Whether accumulators of a combining function can be merged: many aggregate functions leave `merge` unwritten."""
    if not isinstance(function, AggregateFunction):
        return True
    try:
        return function.merge(function.create_accumulator(), function.create_accumulator()) is not None
    except Exception:  # whatever is wrong with it: windows that do not need it must not fail for it
        return False
