"""Broadcast streams: streams that every subtask sees, connected with another stream.

No order holds between the two sides, as in Flink: an element may be processed before or after the broadcast elements
that were there first. A function that needs them keeps its elements in state until they have come.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Any, Generic, overload

from penstock.common.type_variables import R, T1_co, T2_co, T_co
from penstock.common.typeinfo import TypeInformation
from penstock.datastream.arguments import check_function, check_type
from penstock.datastream.missing_names import HintsAtNames
from penstock.errors import GraphError

# The module and not its names: the operators import the vocabulary of this package, so either may be loaded first.
from penstock.runtime import operators
from penstock.vocabulary.functions import BroadcastProcessFunction, KeyedBroadcastProcessFunction
from penstock.vocabulary.state import MapStateDescriptor

if TYPE_CHECKING:
    from penstock.datastream.stream import DataStream


class BroadcastStream(Generic[T_co]):
    """A stream whose elements go to all subtasks, with its broadcast states; pass it to `connect`."""

    def __init__(self, input_stream: DataStream[T_co], *broadcast_state_descriptors: MapStateDescriptor) -> None:
        """Made by `DataStream.broadcast`."""
        for descriptor in broadcast_state_descriptors:
            if not isinstance(descriptor, MapStateDescriptor):
                raise GraphError(f"broadcast: expected MapStateDescriptors, got {descriptor!r}.")
            if descriptor.ttl_config is not None and descriptor.ttl_config.is_enabled():
                raise GraphError(
                    f"broadcast: state {descriptor.get_name()!r} has a time-to-live, which broadcast state cannot "
                    "have; remove old entries in process_broadcast_element()."
                )
        self.input_stream = input_stream
        self.broadcast_state_descriptors = list(broadcast_state_descriptors)


class BroadcastConnectedStream(HintsAtNames, Generic[T1_co, T2_co]):
    """A stream, keyed or not, connected with a broadcast stream."""

    def __init__(self, non_broadcast_stream: DataStream[T1_co], broadcast_stream: BroadcastStream[T2_co]) -> None:
        """Made by `DataStream.connect`."""
        if non_broadcast_stream.environment is not broadcast_stream.input_stream.environment:
            raise GraphError("connect: the streams belong to different environments; build them in one environment.")
        self.non_broadcast_stream = non_broadcast_stream
        self.broadcast_stream = broadcast_stream
        self.broadcast_state_descriptors = broadcast_stream.broadcast_state_descriptors

    @overload
    def process(
        self,
        func: BroadcastProcessFunction[T1_co, T2_co, R] | KeyedBroadcastProcessFunction[Any, T1_co, T2_co, R],
        output_type: None = None,
    ) -> DataStream[R]: ...

    @overload
    def process(
        self,
        func: BroadcastProcessFunction[T1_co, T2_co, Any] | KeyedBroadcastProcessFunction[Any, T1_co, T2_co, Any],
        output_type: TypeInformation[R],
    ) -> DataStream[R]: ...

    def process(
        self,
        func: BroadcastProcessFunction[T1_co, T2_co, Any] | KeyedBroadcastProcessFunction[Any, T1_co, T2_co, Any],
        output_type: TypeInformation[Any] | None = None,
    ) -> DataStream[Any]:
        """Apply a function to both streams: keyed if the stream that is not broadcast is keyed."""
        from penstock.datastream.stream import add_operator

        stream = self.non_broadcast_stream
        operator: operators.StreamOperator
        declared = check_type("process", "output_type", output_type)
        if stream.is_keyed:
            if isinstance(func, BroadcastProcessFunction):
                raise GraphError(
                    "process: a BroadcastProcessFunction needs a stream that is not keyed; derive from "
                    "KeyedBroadcastProcessFunction instead."
                )
            check_function("process", func, KeyedBroadcastProcessFunction, takes_callable=False)
            name = "Co-Process-Broadcast-Keyed"
            operator = operators.KeyedBroadcastProcessOperator(func, self.broadcast_state_descriptors)
        else:
            if isinstance(func, KeyedBroadcastProcessFunction):
                raise GraphError(
                    "process: a KeyedBroadcastProcessFunction needs a keyed stream; call key_by() before connect()."
                )
            check_function("process", func, BroadcastProcessFunction, takes_callable=False)
            name = "Co-Process-Broadcast"
            operator = operators.BroadcastProcessOperator(func, self.broadcast_state_descriptors)
        edges = stream.edges_into(0) + self.broadcast_stream.input_stream.edges_into(1)
        return add_operator(stream.environment, name, operator, edges, declared)
