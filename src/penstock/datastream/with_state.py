"""`map_with_state`, `flat_map_with_state` and `filter_with_state`.

The function is given the element and the state, None if there is none, and gives back its result and the new state;
None clears it. As `mapWithState` and its like of Flink's Scala API.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator
from types import GeneratorType
from typing import Any

from penstock.runtime.callables import checked_results
from penstock.vocabulary.functions import KeyedProcessFunction, RuntimeContext
from penstock.vocabulary.state import ValueStateDescriptor

__all__ = ["FilterWithState", "FlatMapWithState", "MapWithState"]

STATE_NAME = "with-state"

StatefulFunction = Callable[[Any, Any], Any]
"""Of element and state, giving a pair: result and new state."""


class _WithState(KeyedProcessFunction):
    """What all three share: the state, and that a pair comes back."""

    method = ""

    def __init__(self, function: StatefulFunction, state_type: Any) -> None:
        self._function = function
        self._descriptor = ValueStateDescriptor(STATE_NAME, state_type)

    def open(self, runtime_context: RuntimeContext) -> None:
        """Ask for the state."""
        self._state = runtime_context.get_state(self._descriptor)

    def _keep(self, state: Any) -> None:
        if state is None:
            self._state.clear()
        else:
            self._state.update(state)

    def _pair(self, given: Any) -> tuple[Any, Any]:
        if type(given) is tuple and len(given) == 2:
            return given
        raise TypeError(
            f"{self.method}: the function must return a pair, its result and the new state (None to clear it), "
            f"it returned {given!r}"
        )


class MapWithState(_WithState):
    """One result for each element."""

    method = "map_with_state"

    def process_element(self, value: Any, ctx: KeyedProcessFunction.Context) -> Iterator[Any]:
        """Call the function, keep the state, emit the result."""
        result, state = self._pair(self._function(value, self._state.value()))
        self._keep(state)
        yield result


class FilterWithState(_WithState):
    """Elements for which the function says True."""

    method = "filter_with_state"

    def process_element(self, value: Any, ctx: KeyedProcessFunction.Context) -> Iterator[Any]:
        """Call the function, keep the state, emit the element if it is wanted."""
        is_wanted, state = self._pair(self._function(value, self._state.value()))
        self._keep(state)
        if is_wanted:
            yield value


class FlatMapWithState(_WithState):
    """Any number of results for each element.

    The function returns an iterable of them and the new state, or is a generator: it yields the results and returns
    the new state.
    """

    method = "flat_map_with_state"

    def process_element(self, value: Any, ctx: KeyedProcessFunction.Context) -> Iterator[Any]:
        """Call the function, emit the results, keep the state."""
        given = self._function(value, self._state.value())
        if isinstance(given, GeneratorType):
            self._keep((yield from given))
            return
        results, state = self._pair(given)
        self._keep(state)
        yield from checked_results(results, self.method)
