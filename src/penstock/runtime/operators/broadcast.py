"""Process functions on a stream and a broadcast stream, which changes the state that the first may only read.

The maps are operator state, each subtask has and saves its own copy. Nothing keeps the first input back until the
second has come: no order holds between them, as in Flink.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Sequence
from itertools import repeat
from typing import Any, ClassVar, NoReturn

from penstock.errors import StateError
from penstock.runtime.callables import Collector, checked_results
from penstock.runtime.operators.checkpointed import type_of_map
from penstock.runtime.operators.operator import StreamOperator
from penstock.runtime.operators.process import KeyedProcessOperator, ProcessContext, ProcessOperator
from penstock.runtime.rows import Timestamps
from penstock.state.operator_state import OperatorBroadcastState, ReadOnlyBroadcastView
from penstock.vocabulary.functions import BroadcastProcessFunction, KeyedBroadcastProcessFunction
from penstock.vocabulary.output_tag import OutputTag
from penstock.vocabulary.state import (
    AggregatingStateDescriptor,
    ListStateDescriptor,
    MapStateDescriptor,
    ReducingStateDescriptor,
    StateDescriptor,
    ValueStateDescriptor,
)

_METHOD = "process_broadcast_element"
_GETTERS = {
    ValueStateDescriptor: "get_state",
    ListStateDescriptor: "get_list_state",
    MapStateDescriptor: "get_map_state",
    ReducingStateDescriptor: "get_reducing_state",
    AggregatingStateDescriptor: "get_aggregating_state",
}


class ReadOnlyBroadcastContext(ProcessContext, BroadcastProcessFunction.ReadOnlyContext):
    """The `ctx` of the side that is not broadcast."""

    def __init__(
        self, operator: StreamOperator, collector: Collector, states: dict[str, OperatorBroadcastState]
    ) -> None:
        super().__init__(operator, collector)
        self._operator = operator
        self._views = {name: ReadOnlyBroadcastView(state) for name, state in states.items()}

    def current_processing_time(self) -> int:
        """The clock, in milliseconds."""
        return self._operator.context.clock()

    def current_watermark(self) -> int:
        """The operator's event time."""
        return self._operator.watermark

    def get_broadcast_state(self, state_descriptor: MapStateDescriptor) -> Any:
        """A broadcast state, to be read; what is in it must not be changed in place either."""
        view = self._views.get(getattr(state_descriptor, "name", ""))
        return view if view is not None else _refuse_undeclared(state_descriptor, self._views)


class KeyedReadOnlyBroadcastContext(ReadOnlyBroadcastContext, KeyedBroadcastProcessFunction.OnTimerContext[Any]):
    """The `ctx` of the keyed side, and of its timers."""


class BroadcastContext(BroadcastProcessFunction.Context, KeyedBroadcastProcessFunction.Context[Any]):
    """The `ctx` of the broadcast side: states may be changed, but there is no key."""

    def __init__(
        self, operator: StreamOperator, collector: Collector, states: dict[str, OperatorBroadcastState]
    ) -> None:
        self._operator = operator
        self._collector = collector
        self._states = states

    def timestamp(self) -> int | None:
        """Timestamp of the element; None if it has none."""
        return self._collector.timestamp

    def current_processing_time(self) -> int:
        """The clock, in milliseconds."""
        return self._operator.context.clock()

    def current_watermark(self) -> int:
        """The operator's event time."""
        return self._operator.watermark

    def output(self, tag: OutputTag, value: Any) -> None:
        """Emit to a side output; yielding `(tag, value)` does the same."""
        self._collector.side(tag, value)

    def get_broadcast_state(self, state_descriptor: MapStateDescriptor) -> Any:
        """A broadcast state, to be read and changed."""
        state = self._states.get(getattr(state_descriptor, "name", ""))
        return state if state is not None else _refuse_undeclared(state_descriptor, self._states)

    def apply_to_keyed_state(self, state_descriptor: StateDescriptor, function: Callable[[Any, Any], object]) -> None:
        """Call `function(key, state)` for every key of this subtask that has something in the state."""
        backend = self._operator.context.backend
        if backend is None:
            raise StateError("apply_to_keyed_state: the stream is not keyed: call key_by(...) before connect(...)")
        getter = _GETTERS.get(type(state_descriptor))
        if getter is None:
            raise StateError(
                f"apply_to_keyed_state: expected the descriptor of a keyed state, got {state_descriptor!r}"
            )
        state = getattr(self._operator.runtime_context(), getter)(state_descriptor)
        try:
            for key in backend.keys(state_descriptor.get_name()):
                backend.set_key(key)
                function(key, state)
        finally:
            backend.clear_key()

    def timer_service(self) -> NoReturn:
        """Refuse: a timer belongs to a key."""
        raise StateError(f"{_METHOD} has no timers: a broadcast element has no key; set them in process_element")

    def get_current_key(self) -> NoReturn:
        """Refuse: a broadcast element goes to all subtasks, whatever their keys."""
        raise StateError(f"{_METHOD} has no current key: use ctx.apply_to_keyed_state() to reach the state of all keys")


def _refuse_undeclared(descriptor: Any, declared: Iterable[str]) -> NoReturn:
    if not isinstance(descriptor, StateDescriptor):
        raise StateError(f"get_broadcast_state: expected a MapStateDescriptor, got {descriptor!r}")
    known = ", ".join(map(repr, declared))
    raise StateError(
        f"get_broadcast_state: {descriptor.get_name()!r} was not given to broadcast(); the states given are: {known}"
    )


class _BroadcastInput:
    """The second input of either operator."""

    def __init__(
        self,
        operator: StreamOperator,
        collector: Collector,
        process: Callable[[Any, Any], Iterable[Any] | None],
        states: dict[str, OperatorBroadcastState],
    ) -> None:
        self._operator = operator
        self._collector = collector
        self._process = process
        self._ctx = BroadcastContext(operator, collector, states)

    def process_block(self, values: list[Any], timestamps: Timestamps) -> None:
        """Call process_broadcast_element for each element; there is no key meanwhile."""
        collector, ctx, process = self._collector, self._ctx, self._process
        backend = self._operator.context.backend
        if backend is not None:
            backend.clear_key()
        consumed = iter(values)
        try:
            for value, timestamp in zip(consumed, timestamps or repeat(None), strict=False):
                collector.timestamp = timestamp
                results = process(value, ctx)
                if results is not None:
                    collector.take(checked_results(results, _METHOD))
        except Exception as error:
            collector.discard()
            raise self._operator.record_failure(error, values, consumed) from None
        collector.flush()


class BroadcastProcessOperator(ProcessOperator):
    """A BroadcastProcessFunction: the first input is not keyed, the second broadcast."""

    kind = "broadcast process"
    state_identity = "BroadcastProcessOperator"
    broadcast_context_class: ClassVar[type[ReadOnlyBroadcastContext]] = ReadOnlyBroadcastContext

    def __init__(self, function: Any, descriptors: Sequence[MapStateDescriptor]) -> None:
        super().__init__(function)
        self.descriptors = tuple(descriptors)

    def open(self) -> None:
        """Open the function and make both contexts."""
        super().open()
        states = _states(self, self.descriptors)
        self._ctx = self.broadcast_context_class(self, self._collector, states)
        self._broadcast = _BroadcastInput(self, self._collector, self._bound(_METHOD), states)

    def process_second_block(self, values: list[Any], timestamps: Timestamps, keys: list[Any] | None) -> None:
        """Call process_broadcast_element for each element."""
        self._broadcast.process_block(values, timestamps)


class KeyedBroadcastProcessOperator(BroadcastProcessOperator, KeyedProcessOperator):
    """A KeyedBroadcastProcessFunction: the first input has keyed state and timers, the second is broadcast."""

    kind = "keyed broadcast process"
    state_identity = "KeyedBroadcastProcessOperator"
    broadcast_context_class = KeyedReadOnlyBroadcastContext


def _states(operator: StreamOperator, descriptors: Sequence[MapStateDescriptor]) -> dict[str, OperatorBroadcastState]:
    backend = operator.operator_state()
    return {
        descriptor.get_name(): backend.broadcast_state(descriptor.get_name(), type_of_map(descriptor))
        for descriptor in descriptors
    }
