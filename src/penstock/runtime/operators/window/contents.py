"""What a window holds, for the current key and namespace: elements or one accumulator.

The way a window is shown to its function is decided here too, because evictors change the contents on that occasion.
"""

from __future__ import annotations

from collections.abc import Callable, Hashable, Iterator
from typing import Any, Protocol

from penstock.common.own_copies import ATOMS, own_copies, own_copy
from penstock.runtime.operators.window.combining import Combiner, merge_all
from penstock.state.keyed import KeyedStateBackend
from penstock.vocabulary.state import ListStateDescriptor, ValueStateDescriptor
from penstock.vocabulary.window import Evictor, TimestampedValue

STATE_NAME = "_window_contents"

Evaluate = Callable[[Any, list[Any]], None]
"""Hand a window's elements to its function."""

Groups = dict[Hashable, list[Any]]
"""Records by their keys in the form that can be looked up."""


class Contents(Protocol):
    """Contents of the windows of one operator."""

    def add(self, value: Any, timestamp: int | None) -> None:
        """Add one record to the current window."""

    def fold(self, values: Iterator[Any]) -> bool:
        """Add records to the current window; False if it certainly held something before."""

    def get(self) -> Any:
        """What the current window holds; None if it is empty."""

    def show(self, held: Any, window: Any, stays: bool) -> None:
        """Evaluate the window on what `get` gave; `stays` says that it is kept and may be shown again."""

    def clear(self) -> None:
        """Empty the current window."""

    def merge(self, target: bytes, sources: list[bytes]) -> None:
        """Move what the sources hold into the target."""


class ElementContents:
    """All elements, in the order they came.

    Where other windows hold the same objects (`is_shared`), or the window stays, the function is shown copies: it may
    change them.
    """

    def __init__(self, backend: KeyedStateBackend, evaluate: Evaluate, is_shared: bool) -> None:
        self._backend = backend
        self._evaluate = evaluate
        self._is_shared = is_shared
        self._state = backend.get_list_state(ListStateDescriptor(STATE_NAME, None))
        self.clear = self._state.clear

    def add(self, value: Any, timestamp: int | None) -> None:
        """Append an element."""
        self._state.hold(value)

    def fold(self, values: Iterator[Any]) -> bool:
        """Append elements, without reading those that are there."""
        self._state.hold_all(values)
        return True

    def get(self) -> list[Any] | None:
        """The elements."""
        return self._state.held() or None

    def show(self, held: Any, window: Any, stays: bool) -> None:
        """Evaluate the elements."""
        self._evaluate(window, own_copies(held) if self._is_shared or stays else held)

    def merge(self, target: bytes, sources: list[bytes]) -> None:
        """Append the elements of the sources to those of the target."""
        taken: list[Any] = []
        for source in sources:
            self._backend.set_namespace(source)
            taken += self._state.take()
        self._backend.set_namespace(target)
        self._state.merge_taken(taken)


class EvictedContents(ElementContents):
    """All elements with their timestamps, for an evictor; reduced or aggregated only when they are shown."""

    def __init__(
        self,
        backend: KeyedStateBackend,
        evaluate: Evaluate,
        is_shared: bool,
        evictor: Evictor[Any, Any],
        context: Evictor.EvictorContext,
        combiner: Combiner | None,
    ) -> None:
        super().__init__(backend, evaluate, is_shared)
        self._evictor = evictor
        self._context = context
        self._combiner = combiner

    def add(self, value: Any, timestamp: int | None) -> None:
        """Append an element."""
        self._state.hold((value, timestamp))

    def show(self, held: Any, window: Any, stays: bool) -> None:
        """Evict, evaluate what is left even if that is nothing, evict again and keep the rest."""
        elements = [TimestampedValue(value, timestamp) for value, timestamp in held]
        self._evictor.evict_before(elements, len(elements), window, self._context)
        self._evaluate(window, self._combined([element.value for element in elements]))
        self._evictor.evict_after(elements, len(elements), window, self._context)
        self._state.replace([(element.value, element.timestamp) for element in elements])

    def _combined(self, values: list[Any]) -> list[Any]:
        if self._combiner is None:
            return own_copies(values)  # those that are not evicted stay
        accumulator = self._combiner.fold(None, iter(values))
        # Nothing was left to reduce. Flink would hand over a null here, which no function expects.
        return [] if accumulator is None else [self._combiner.result(accumulator)]


class AccumulatorContents:
    """One accumulator."""

    def __init__(self, backend: KeyedStateBackend, evaluate: Evaluate, combiner: Combiner) -> None:
        self._backend = backend
        self._evaluate = evaluate
        self._combiner = combiner
        self._state = backend.get_value_state(ValueStateDescriptor(STATE_NAME, None))
        self.get = self._state.held
        self.clear = self._state.clear

    def add(self, value: Any, timestamp: int | None) -> None:
        """Add a record to the accumulator."""
        self._state.hold(self._combiner.fold(self._state.held(), iter((value,))))

    def fold(self, values: Iterator[Any]) -> bool:
        """Add records to the accumulator."""
        held = self._state.held()
        self._state.hold(self._combiner.fold(held, values))
        return held is None

    def show(self, held: Any, window: Any, stays: bool) -> None:
        """Evaluate the result; where the accumulator stays, what leaves must not change with it."""
        result = self._combiner.result(held)
        if stays and held.__class__ not in ATOMS:
            self._state.hold(held)  # the function may have changed it, and finds it so the next time
            result = own_copy(result)
        self._evaluate(window, [result])

    def merge(self, target: bytes, sources: list[bytes]) -> None:
        """Merge the accumulators of the sources into that of the target."""
        taken = []
        for source in sources:
            self._backend.set_namespace(source)
            taken.append(self._state.held())
            self._state.clear()
        self._backend.set_namespace(target)
        merged = merge_all(self._combiner, self._state.held(), taken)
        if merged is not None:
            self._state.hold(merged)
