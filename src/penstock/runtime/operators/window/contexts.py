"""What assigners, triggers, evictors and window functions can ask and do.

While a window is worked on, the backend's namespace is that window. State that belongs to the key as a whole (asked for
in `open` or by `global_state`) therefore leaves the namespace for the time of each call.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator
from typing import Any

from penstock.errors import StateError
from penstock.metrics import MetricGroup
from penstock.runtime.callables import Collector
from penstock.runtime.context import OperatorContext, OperatorRuntimeContext
from penstock.runtime.operators.operator import StreamOperator
from penstock.state.keyed import VOID_NAMESPACE, KeyedStateBackend
from penstock.state.timers import EVENT, PROCESSING, InternalTimers
from penstock.vocabulary.functions import (
    KeyedStateStore,
    ProcessAllWindowFunction,
    ProcessWindowFunction,
    RuntimeContext,
)
from penstock.vocabulary.output_tag import OutputTag
from penstock.vocabulary.state import (
    AggregatingStateDescriptor,
    ListStateDescriptor,
    MapStateDescriptor,
    ReducingStateDescriptor,
    ValueStateDescriptor,
)
from penstock.vocabulary.window import Evictor, Trigger, WindowAssigner

_GETTERS: dict[type, str] = {
    ValueStateDescriptor: "get_state",
    ListStateDescriptor: "get_list_state",
    MapStateDescriptor: "get_map_state",
    ReducingStateDescriptor: "get_reducing_state",
    AggregatingStateDescriptor: "get_aggregating_state",
}


class KeyWideState:
    """A state of the key as a whole, usable while a window is worked on."""

    def __init__(self, backend: KeyedStateBackend, state: Any) -> None:
        self._backend = backend
        self._state = state

    def __getattr__(self, name: str) -> Any:
        method = getattr(self._state, name)
        if not callable(method):
            return method
        call = self._outside(method)
        setattr(self, name, call)
        return call

    def _outside(self, method: Callable[..., Any]) -> Callable[..., Any]:
        backend = self._backend

        def call(*arguments: Any, **named: Any) -> Any:
            namespace = backend.namespace
            backend.set_namespace(VOID_NAMESPACE)
            try:
                return method(*arguments, **named)
            finally:
                backend.set_namespace(namespace)

        return call

    def __getitem__(self, key: Any) -> Any:
        return self.get(key)

    def __setitem__(self, key: Any, value: Any) -> None:
        self.put(key, value)

    def __delitem__(self, key: Any) -> None:
        self.remove(key)

    def __contains__(self, key: Any) -> bool:
        return bool(self.contains(key))

    def __iter__(self) -> Iterator[Any]:
        return iter(self.keys() if self._state.kind == "map" else self.get())


class WindowRuntimeContext(OperatorRuntimeContext):
    """The runtime context of functions in a window operator: all its states belong to the key as a whole."""

    def __init__(self, context: OperatorContext) -> None:
        super().__init__(context)
        self._wide: dict[str, KeyWideState] = {}

    def get_state(self, state_descriptor: Any) -> Any:
        """A value state of the current key."""
        return self._key_wide(super().get_state(state_descriptor))

    def get_list_state(self, state_descriptor: Any) -> Any:
        """A list state of the current key."""
        return self._key_wide(super().get_list_state(state_descriptor))

    def get_map_state(self, state_descriptor: Any) -> Any:
        """A map state of the current key."""
        return self._key_wide(super().get_map_state(state_descriptor))

    def get_reducing_state(self, state_descriptor: Any) -> Any:
        """A reducing state of the current key."""
        return self._key_wide(super().get_reducing_state(state_descriptor))

    def get_aggregating_state(self, state_descriptor: Any) -> Any:
        """An aggregating state of the current key."""
        return self._key_wide(super().get_aggregating_state(state_descriptor))

    def _key_wide(self, state: Any) -> KeyWideState:
        found = self._wide.get(state.name)
        if found is None:
            backend = self._context.backend
            assert backend is not None
            found = self._wide[state.name] = KeyWideState(backend, state)
        return found


class AssignerContext(WindowAssigner.WindowAssignerContext):
    """Handed to `assign_windows`."""

    def __init__(self, operator: StreamOperator) -> None:
        self._clock = operator.context.clock
        self._runtime_context = operator.runtime_context()

    def get_current_processing_time(self) -> int:
        """The clock."""
        return self._clock()

    def get_runtime_context(self) -> RuntimeContext:
        """The runtime context, with state of the current key."""
        return self._runtime_context


class EvictionContext(Evictor.EvictorContext):
    """Handed to evictors."""

    def __init__(self, operator: StreamOperator) -> None:
        self._operator = operator

    def get_current_processing_time(self) -> int:
        """The clock."""
        return self._operator.context.clock()

    def get_metric_group(self) -> MetricGroup:
        """The operator's metrics."""
        return self._operator.context.metrics

    def get_current_watermark(self) -> int:
        """The operator's event time."""
        return self._operator.watermark


class FiringContext(Trigger.OnMergeContext):
    """Handed to triggers; `window` and its `namespace` are set by whoever calls the trigger, with the backend's."""

    def __init__(self, operator: StreamOperator, backend: KeyedStateBackend) -> None:
        self._operator = operator
        self._backend = backend
        self._store = OperatorRuntimeContext(operator.context)
        self.window: Any = None
        self.namespace = VOID_NAMESPACE
        self.merged: list[bytes] = []

    def enter(self, window: Any, namespace: bytes) -> None:
        """Work on a window from now on."""
        self.window = window
        self.namespace = namespace
        self._backend.set_namespace(namespace)

    def get_current_processing_time(self) -> int:
        """The clock."""
        return self._operator.context.clock()

    def get_metric_group(self) -> MetricGroup:
        """The operator's metrics."""
        return self._operator.context.metrics

    def get_current_watermark(self) -> int:
        """The operator's event time."""
        return self._operator.watermark

    def register_processing_time_timer(self, time: int) -> None:
        """Set a timer of the window."""
        self._timers().register(PROCESSING, time, self.namespace)

    def register_event_time_timer(self, time: int) -> None:
        """Set a timer of the window."""
        self._timers().register(EVENT, time, self.namespace)

    def delete_processing_time_timer(self, time: int) -> None:
        """Forget a timer of the window."""
        self._timers().delete(PROCESSING, time, self.namespace)

    def delete_event_time_timer(self, time: int) -> None:
        """Forget a timer of the window."""
        self._timers().delete(EVENT, time, self.namespace)

    def get_partitioned_state(self, state_descriptor: Any) -> Any:
        """State of the current key and window."""
        getter = _GETTERS.get(type(state_descriptor))
        if getter is None:
            raise StateError(f"get_partitioned_state() takes a state descriptor, got {state_descriptor!r}")
        return getattr(self._store, getter)(state_descriptor)

    def merge_partitioned_state(self, state_descriptor: Any) -> None:
        """Move the state of the merged windows into that of the result."""
        state = self.get_partitioned_state(state_descriptor)
        if not hasattr(state, "merge_taken"):
            raise StateError(
                f"merge_partitioned_state() cannot merge {state.kind} state {state.name!r}: "
                "use reducing, aggregating or list state in triggers of merging windows"
            )
        taken = []
        for namespace in self.merged:
            self._backend.set_namespace(namespace)
            taken.append(state.take())
        self._backend.set_namespace(self.namespace)
        for part in taken:
            state.merge_taken(part)

    def _timers(self) -> InternalTimers:
        timers = self._operator.context.timers
        assert timers is not None
        return timers


class NoWindowState(KeyedStateStore):
    """State of merging windows: there is none, because what it belongs to would vanish by a merge."""

    def get_state(self, state_descriptor: Any) -> Any:
        """Refuse."""
        raise self._refusal(state_descriptor)

    def get_list_state(self, state_descriptor: Any) -> Any:
        """Refuse."""
        raise self._refusal(state_descriptor)

    def get_map_state(self, state_descriptor: Any) -> Any:
        """Refuse."""
        raise self._refusal(state_descriptor)

    def get_reducing_state(self, state_descriptor: Any) -> Any:
        """Refuse."""
        raise self._refusal(state_descriptor)

    def get_aggregating_state(self, state_descriptor: Any) -> Any:
        """Refuse."""
        raise self._refusal(state_descriptor)

    def _refusal(self, descriptor: Any) -> StateError:
        return StateError(
            f"Per-window state ({descriptor.get_name()!r}) is not allowed when using merging windows: "
            "use global_state() instead of window_state()."
        )


class FunctionContext(ProcessWindowFunction.Context[Any], ProcessAllWindowFunction.Context[Any]):
    """Handed to window functions; `current` is the window."""

    def __init__(self, operator: StreamOperator, collector: Collector, is_merging: bool) -> None:
        self._operator = operator
        self._collector = collector
        self._window_state: KeyedStateStore = (
            NoWindowState() if is_merging else OperatorRuntimeContext(operator.context)
        )
        self._global_state: KeyedStateStore = operator.runtime_context()
        self.current: Any = None

    def window(self) -> Any:
        """The window."""
        return self.current

    def current_processing_time(self) -> int:
        """The clock."""
        return self._operator.context.clock()

    def current_watermark(self) -> int:
        """The operator's event time."""
        return self._operator.watermark

    def window_state(self) -> KeyedStateStore:
        """State of the key and window."""
        return self._window_state

    def global_state(self) -> KeyedStateStore:
        """State of the key."""
        return self._global_state

    def output(self, tag: OutputTag, value: Any) -> None:
        """Emit to a side output."""
        self._collector.side(tag, value)
