"""A keyed stream kept as state that can be queried from outside of the job: the last element of each key, or more."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from penstock.common.typeinfo import TypeInformation
from penstock.datastream.node_handle import DataStreamSink
from penstock.errors import GraphError
from penstock.runtime.operators import KeyedProcessOperator
from penstock.vocabulary.functions import KeyedProcessFunction, RuntimeContext
from penstock.vocabulary.state import ReducingStateDescriptor, StateDescriptor, ValueStateDescriptor

if TYPE_CHECKING:
    from penstock.datastream.stream_execution_environment import StreamExecutionEnvironment

__all__ = ["QueryableStateStream", "keeping_operator"]


class QueryableStateStream(DataStreamSink):
    """What `KeyedStream.as_queryable_state` returns: the name and the state that is asked for by it."""

    def __init__(
        self,
        environment: StreamExecutionEnvironment,
        node_id: int,
        descriptor: StateDescriptor[Any],
        key_type: TypeInformation[Any] | None,
    ) -> None:
        super().__init__(environment, node_id)
        self._descriptor = descriptor
        self._key_type = key_type

    def get_queryable_state_name(self) -> str:
        """Return the name that clients ask for."""
        name = self._descriptor.get_queryable_state_name()
        assert name is not None, "as_queryable_state gives it one"
        return name

    def get_state_descriptor(self) -> StateDescriptor[Any]:
        """Return the descriptor of the state, for clients that decode values themselves."""
        return self._descriptor

    def get_key_type(self) -> TypeInformation[Any] | None:
        """Return the declared type of the keys, or None."""
        return self._key_type


class KeepsElements(KeyedProcessFunction):
    """Keeps the last element of each key, or what they reduce to; gives nothing on."""

    def __init__(self, descriptor: ValueStateDescriptor[Any] | ReducingStateDescriptor[Any]) -> None:
        self.descriptor = descriptor

    def open(self, runtime_context: RuntimeContext) -> None:
        """Ask for the state."""
        if isinstance(self.descriptor, ReducingStateDescriptor):
            self._keep = runtime_context.get_reducing_state(self.descriptor).add
        else:
            self._keep = runtime_context.get_state(self.descriptor).update

    def process_element(self, value: Any, ctx: KeyedProcessFunction.Context) -> None:
        """Keep an element."""
        self._keep(value)


def keeping_operator(
    name: str, descriptor: StateDescriptor[Any] | None, element_type: TypeInformation[Any] | None
) -> tuple[KeyedProcessOperator, StateDescriptor[Any]]:
    """The operator that keeps a stream as queryable state, and the descriptor of that state."""
    if descriptor is None:
        descriptor = ValueStateDescriptor(name, element_type)
    if not isinstance(descriptor, (ValueStateDescriptor, ReducingStateDescriptor)):
        raise GraphError(
            f"as_queryable_state({name!r}): expected a ValueStateDescriptor or a ReducingStateDescriptor, got "
            f"{descriptor!r}"
        )
    descriptor.set_queryable(name)
    operator = KeyedProcessOperator(KeepsElements(descriptor))
    operator.queryable_name = name
    return operator, descriptor
