"""Checkpoints as the functions of one operator see them: their state, when it is restored, saved and made final.

The states are those of `penstock.state.operator_state`; the engine stores their bytes.
"""

from __future__ import annotations

import pickle
from collections.abc import Callable
from functools import partial
from typing import TYPE_CHECKING, Any

import cloudpickle

from penstock.common.typeinfo import PickledBytesTypeInfo, TypeInformation
from penstock.errors import StateError
from penstock.state.operator_state import UNION, OperatorSnapshot, OperatorStateBackend
from penstock.vocabulary.checkpointed_function import (
    CheckpointedFunction,
    CheckpointListener,
    FunctionInitializationContext,
    FunctionSnapshotContext,
    ListCheckpointed,
)
from penstock.vocabulary.functions import KeyedStateStore
from penstock.vocabulary.state import (
    BroadcastState,
    ListState,
    ListStateDescriptor,
    MapStateDescriptor,
    OperatorStateStore,
    StateDescriptor,
)

if TYPE_CHECKING:
    from penstock.runtime.operators.operator import StreamOperator

_LIST_NAME = "_default_"


def is_checkpointed(function: Any) -> bool:
    """Whether a function has state of its own that checkpoints keep."""
    return isinstance(_users_own(function), (CheckpointedFunction, ListCheckpointed))


def takes_part(function: Any) -> bool:
    """Whether a function has anything to do with checkpoints."""
    return isinstance(_users_own(function), (CheckpointedFunction, ListCheckpointed, CheckpointListener))


def _users_own(function: Any) -> Any:
    """The function itself, or the one that a function of ours is wrapped around."""
    return getattr(function, "wrapped_function", function)


class CheckpointedPart:
    """The part of an operator that its state without keys and its functions with an eye on checkpoints live in."""

    def __init__(self, operator: StreamOperator) -> None:
        self.states = OperatorStateBackend(shares_objects=operator.context.shares_objects)
        self._operator = operator
        self._functions: list[_RestartableFunction] = []
        self._listeners: list[Any] = []
        self._made: tuple[int, str] | None = None
        self._making = (-1, "")
        self._is_started = False

    def add(self, function: Any) -> None:
        """Look after a function from now on; one that is checkpointed is opened when its first batch begins."""
        if is_checkpointed(function):
            name = f"{_LIST_NAME}{len(self._functions) or ''}"
            self._functions.append(_RestartableFunction(self._operator, function, name))
        if isinstance(_users_own(function), CheckpointListener):
            self._listeners.append(function)

    def begin(self, version: int, attempt: str, saved: OperatorSnapshot | None) -> None:
        """Restore the last checkpoint if another process made it, and notify listeners that it is final."""
        made = None if saved is None else (saved.version, saved.attempt)
        if not self._is_started or made != self._made:
            states, schemas = ({}, {}) if saved is None else (saved.states, saved.schemas)
            self._operator.guarded(partial(self.states.restore, states, schemas), "restoring its state")
            context = _InitializationContext(self._operator, self.states, saved)
            for function in self._functions:
                function.start(context)
            self._is_started = True
        self._making = version, attempt
        if saved is not None:
            self._notify(saved.version)

    def pickled_states(self) -> list[str]:
        """States that have no type, though they have a descriptor that could tell one."""
        return [name for name in self.states.pickled() if not name.startswith(_LIST_NAME)]

    def _notify(self, checkpoint_id: int) -> None:
        for listener in self._listeners:
            notify = partial(_users_own(listener).notify_checkpoint_complete, checkpoint_id)
            self._operator.guarded(notify, "in notify_checkpoint_complete()")

    def snapshot(self, own: Any) -> Any:
        """What the next batch goes on from; `own` is the operator's own part of it."""
        version, attempt = self._making
        context = _SnapshotContext(version, self._operator.context.clock())
        for function in self._functions:
            function.save(context, self.states)
        self._made = self._making
        try:
            states = self.states.save()
        except StateError as error:
            raise self._operator.failure(error, "saving its state") from None
        return OperatorSnapshot(own, states, version, attempt, self.states.schemas()).to_plain()


class _RestartableFunction:
    """A checkpointed function that can be started again in the same process, as if the process were new."""

    def __init__(self, operator: StreamOperator, function: Any, list_name: str) -> None:
        self._operator = operator
        self._function = function
        self._list_name = list_name
        self._pristine = cloudpickle.dumps(function)
        self._is_open = False

    def start(self, context: _InitializationContext) -> None:
        """Initialize and open it; a copy that has run before forgets all that its fields have come to hold."""
        if self._is_open:
            self._operator.close_function(self._function)
            # The object stays the same, because the operator holds its methods.
            fields = self._function.__dict__
            fields.clear()
            fields.update(pickle.loads(self._pristine).__dict__)
        self._is_open = True
        function = _users_own(self._function)
        if isinstance(function, CheckpointedFunction):
            self._guarded(partial(function.initialize_state, context), "in initialize_state()")
        elif context.is_restored():
            elements = context.states.list_state(self._list_name).get()
            self._guarded(partial(function.restore_state, elements), "in restore_state()")
        if hasattr(self._function, "open"):
            self._guarded(lambda: self._function.open(self._operator.runtime_context()), "in open()")

    def save(self, context: FunctionSnapshotContext, states: OperatorStateBackend) -> None:
        """Let it put its fields into the states."""
        function = _users_own(self._function)
        if isinstance(function, CheckpointedFunction):
            self._guarded(partial(function.snapshot_state, context), "in snapshot_state()")
            return

        def save_list() -> None:
            elements = function.snapshot_state(context.get_checkpoint_id(), context.get_checkpoint_timestamp())
            # Saved at once, and given back only after that was read again: nobody can change them meanwhile.
            states.list_state(self._list_name).hold_all([] if elements is None else list(elements))

        self._guarded(save_list, "in snapshot_state()")

    def _guarded(self, action: Callable[[], None], during: str) -> None:
        self._operator.guarded(action, during)


class _InitializationContext(FunctionInitializationContext):
    def __init__(self, operator: StreamOperator, states: OperatorStateBackend, saved: OperatorSnapshot | None) -> None:
        self.states = states
        self._operator = operator
        self._saved = saved

    def is_restored(self) -> bool:
        return self._saved is not None

    def get_restored_checkpoint_id(self) -> int | None:
        return None if self._saved is None else self._saved.version

    def get_operator_state_store(self) -> OperatorStateStore:
        return _StateStore(self.states)

    def get_keyed_state_store(self) -> KeyedStateStore:
        return self._operator.runtime_context()


class _SnapshotContext(FunctionSnapshotContext):
    def __init__(self, checkpoint_id: int, timestamp: int) -> None:
        self._checkpoint_id = checkpoint_id
        self._timestamp = timestamp

    def get_checkpoint_id(self) -> int:
        return self._checkpoint_id

    def get_checkpoint_timestamp(self) -> int:
        return self._timestamp


class _StateStore(OperatorStateStore):
    """The states of the subtask, asked for by descriptor."""

    def __init__(self, states: OperatorStateBackend) -> None:
        self._states = states

    def get_broadcast_state(self, state_descriptor: MapStateDescriptor) -> BroadcastState[Any, Any]:
        name = _name("get_broadcast_state", state_descriptor, MapStateDescriptor)
        state: Any = self._states.broadcast_state(name, type_of_map(state_descriptor))
        return state  # type: ignore[no-any-return]

    def get_list_state(self, state_descriptor: ListStateDescriptor) -> ListState[Any]:
        name = _name("get_list_state", state_descriptor, ListStateDescriptor)
        state: Any = self._states.list_state(name, type_info=state_descriptor.elem_type_info)
        return state  # type: ignore[no-any-return]

    def get_union_list_state(self, state_descriptor: ListStateDescriptor) -> ListState[Any]:
        name = _name("get_union_list_state", state_descriptor, ListStateDescriptor)
        state: Any = self._states.list_state(name, UNION, state_descriptor.elem_type_info)
        return state  # type: ignore[no-any-return]


def type_of_map(descriptor: MapStateDescriptor) -> TypeInformation | None:
    """The type of a broadcast map; None if its values are pickled, for then it is quicker to pickle it as a whole."""
    is_pickled = isinstance(descriptor.value_type_info, PickledBytesTypeInfo)
    return None if is_pickled else descriptor.type_info


def _name(method: str, descriptor: Any, kind: type[StateDescriptor]) -> str:
    if not isinstance(descriptor, kind):
        raise StateError(f"{method}: expected a {kind.__name__}, got {descriptor!r}")
    if descriptor.ttl_config is not None and descriptor.ttl_config.is_enabled():
        raise StateError(
            f"{method}: state {descriptor.get_name()!r} has a time-to-live, which only keyed state can have: remove "
            "old entries in snapshot_state()"
        )
    return descriptor.get_name()
