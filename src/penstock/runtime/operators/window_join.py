"""Window joins and co-groups on the window operator: elements are tagged with their side, hidden from user code."""

from __future__ import annotations

from collections.abc import Callable, Collection, Iterable, Iterator
from dataclasses import dataclass
from typing import Any, cast

from penstock.common.own_copies import own_copy
from penstock.common.serializer import TypeSerializer
from penstock.runtime.callables import checked_results, method_or_callable, with_collector
from penstock.vocabulary.functions import RuntimeContext, WindowFunction
from penstock.vocabulary.join_functions import FlatJoinFunction
from penstock.vocabulary.window import (
    Evictor,
    MergingWindowAssigner,
    TimestampedValue,
    Trigger,
    TriggerResult,
    WindowAssigner,
)

FIRST, SECOND = 0, 1

Tagged = tuple[int, Any]
"""An element of two streams: the side it came from and the user's value. A plain tuple, for it is cheap to pickle."""


@dataclass(frozen=True)
class Tag:
    """Says of each element which side it is from."""

    side: int

    def __call__(self, value: Any) -> Tagged:
        """Return the tagged element."""
        return self.side, value


@dataclass(frozen=True)
class TaggedKey:
    """Key of a tagged element, by the selector of its side."""

    selectors: tuple[Callable[[Any], Any], Callable[[Any], Any]]

    def __call__(self, tagged: Tagged) -> Any:
        """Return the key."""
        side, value = tagged
        return self.selectors[side](value)


# ---- evaluation ----


class _Gathered:
    """The collector of functions that want one: keeps what they emit until they return."""

    def __init__(self) -> None:
        self._values: list[Any] = []

    def collect(self, value: Any) -> None:
        """Emit one record."""
        self._values.append(value)

    def take(self) -> list[Any]:
        taken, self._values = self._values, []
        return taken


class CoGroupEvaluation(WindowFunction[Tagged, Any, Any, Any]):
    """Calls a CoGroupFunction with the elements of both sides of a window."""

    _method = "co_group"

    def __init__(self, function: Any) -> None:
        self.function = function

    @property
    def wrapped_function(self) -> Any:
        """The user's own function, which may take part in checkpoints."""
        return self.function

    def open(self, runtime_context: RuntimeContext) -> None:
        """Open the function and see which style it has."""
        if hasattr(self.function, "open"):
            self.function.open(runtime_context)
        self._gathered = _Gathered()
        bound = method_or_callable(self.function, self._method)
        self._call = with_collector(bound, 2, cast(Any, self._gathered))

    def close(self) -> None:
        """Close the function."""
        if hasattr(self.function, "close"):
            self.function.close()

    def apply(self, key: Any, window: Any, inputs: Iterable[Tagged]) -> Iterator[Any]:
        """Yield the results of a window."""
        sides: tuple[list[Any], list[Any]] = ([], [])
        for side, value in inputs:
            sides[side].append(value)
        return self.results(*sides)

    def results(self, first: list[Any], second: list[Any]) -> Iterator[Any]:
        """Yield the results for the elements of both sides."""
        return self.called(first, second)

    def called(self, first: Any, second: Any) -> Iterator[Any]:
        """Yield what the function yields, returns or collects."""
        results = self._call(first, second)
        if results is not None:
            yield from checked_results(results, self._method)
        yield from self._gathered.take()


class FlatJoinEvaluation(CoGroupEvaluation):
    """Calls a FlatJoinFunction with each pair of elements of a window."""

    _method = "join"

    def results(self, first: list[Any], second: list[Any]) -> Iterator[Any]:
        """Yield the results for all pairs."""
        for left in first:
            for right in second:
                yield from self.called(own_copy(left), own_copy(right))  # each is in other pairs too


class JoinEvaluation(FlatJoinEvaluation):
    """Calls a JoinFunction, or a plain callable, with each pair: its one result stands for the pair."""

    def called(self, first: Any, second: Any) -> Iterator[Any]:
        """Yield what the function returns."""
        yield self._call(first, second)


def takes_collector(function: Any) -> bool:
    """Whether a join function wants a collector beside the pair."""
    bound = method_or_callable(function, "join")
    return with_collector(bound, 2, cast(Any, _Gathered())) is not bound


def join_evaluation(function: Any) -> WindowFunction[Tagged, Any, Any, Any]:
    """The window function that calls a join function."""
    return FlatJoinEvaluation(function) if isinstance(function, FlatJoinFunction) else JoinEvaluation(function)


# ---- user code that looks at elements ----


def assigner_of_tagged(assigner: WindowAssigner[Any, Any]) -> WindowAssigner[Any, Any]:
    """An assigner of tagged elements that decides as one of the user's values does."""
    if assigner.ignores_elements:
        return assigner
    return _MergingAssigner(assigner) if isinstance(assigner, MergingWindowAssigner) else _Assigner(assigner)


def trigger_of_tagged(trigger: Trigger[Any, Any]) -> Trigger[Any, Any]:
    """A trigger of tagged elements that decides as one of the user's values does."""
    return trigger if trigger.ignores_elements else _Trigger(trigger)


def evictor_of_tagged(evictor: Evictor[Any, Any]) -> Evictor[Any, Any]:
    """An evictor of tagged elements that decides as one of the user's values does."""
    return evictor if evictor.ignores_elements else _Evictor(evictor)


class _Assigner(WindowAssigner[Tagged, Any]):
    state_identity = "_Assigner"

    def __init__(self, inner: Any) -> None:
        self._inner = inner

    def assign_windows(
        self, element: Tagged, timestamp: int | None, context: WindowAssigner.WindowAssignerContext
    ) -> Collection[Any]:
        windows: Collection[Any] = self._inner.assign_windows(element[1], timestamp, context)
        return windows

    def get_default_trigger(self, env: Any) -> Trigger[Any, Any]:
        return trigger_of_tagged(self._inner.get_default_trigger(env))

    def get_window_serializer(self) -> TypeSerializer[Any]:
        serializer: TypeSerializer[Any] = self._inner.get_window_serializer()
        return serializer

    def is_event_time(self) -> bool:
        return bool(self._inner.is_event_time())


class _MergingAssigner(_Assigner, MergingWindowAssigner[Tagged, Any]):
    state_identity = "_MergingAssigner"

    def merge_windows(self, windows: Iterable[Any], callback: MergingWindowAssigner.MergeCallback[Any]) -> None:
        self._inner.merge_windows(windows, callback)


class _Trigger(Trigger[Tagged, Any]):
    state_identity = "_Trigger"

    def __init__(self, inner: Trigger[Any, Any]) -> None:
        self._inner = inner

    def on_element(
        self, element: Tagged, timestamp: int | None, window: Any, ctx: Trigger.TriggerContext
    ) -> TriggerResult:
        return self._inner.on_element(element[1], timestamp, window, ctx)

    def on_processing_time(self, time: int, window: Any, ctx: Trigger.TriggerContext) -> TriggerResult:
        return self._inner.on_processing_time(time, window, ctx)

    def on_event_time(self, time: int, window: Any, ctx: Trigger.TriggerContext) -> TriggerResult:
        return self._inner.on_event_time(time, window, ctx)

    def can_merge(self) -> bool:
        return self._inner.can_merge()

    def on_merge(self, window: Any, ctx: Trigger.OnMergeContext) -> None:
        self._inner.on_merge(window, ctx)

    def clear(self, window: Any, ctx: Trigger.TriggerContext) -> None:
        self._inner.clear(window, ctx)


class _Evictor(Evictor[Tagged, Any]):
    def __init__(self, inner: Evictor[Any, Any]) -> None:
        self._inner = inner

    def evict_before(
        self, elements: list[TimestampedValue[Tagged]], size: int, window: Any, evictor_context: Evictor.EvictorContext
    ) -> None:
        plain = _untagged(elements)
        self._inner.evict_before(plain, size, window, evictor_context)
        _retag(elements, plain)

    def evict_after(
        self, elements: list[TimestampedValue[Tagged]], size: int, window: Any, evictor_context: Evictor.EvictorContext
    ) -> None:
        plain = _untagged(elements)
        self._inner.evict_after(plain, size, window, evictor_context)
        _retag(elements, plain)


class _Untagged(TimestampedValue[Any]):
    """What an evictor sees of a tagged element."""

    __slots__ = ("tagged",)

    def __init__(self, tagged: TimestampedValue[Tagged]) -> None:
        super().__init__(tagged.value[1], tagged.timestamp)
        self.tagged = tagged


def _untagged(elements: list[TimestampedValue[Tagged]]) -> list[TimestampedValue[Any]]:
    return [_Untagged(element) for element in elements]


def _retag(elements: list[TimestampedValue[Tagged]], left: list[TimestampedValue[Any]]) -> None:
    kept = []
    for element in left:
        if not isinstance(element, _Untagged):
            raise TypeError(f"an evictor may only remove elements from the list it is given, but it added {element!r}")
        kept.append(element.tagged)
    elements[:] = kept
