"""The fluent stream classes: each call checks its arguments and appends nodes to the environment's logical graph.

A stream is an environment and the edges a next node will read.
"""

from __future__ import annotations

import itertools
import warnings
from collections.abc import Callable, Iterable
from dataclasses import replace
from typing import TYPE_CHECKING, Any, Generic, NoReturn, Self, overload

from penstock.common.execution_config import ExecutionConfig
from penstock.common.no_effect import ONE_TIMEOUT, level_of_program, warn_of_no_effect
from penstock.common.state_identity import identity_of
from penstock.common.type_variables import A, K, R, T_co
from penstock.common.typeinfo import RowTypeInfo, TypeInformation, Types
from penstock.common.types import Row
from penstock.common.watermark_strategy import (
    AssignerWithPeriodicWatermarks,
    AssignerWithPunctuatedWatermarks,
    WatermarkStrategy,
)
from penstock.connectors.driver_sinks import CollectSink, PrintSink, SparkWriterSink
from penstock.connectors.function_sink import FunctionSink
from penstock.connectors.sink import Sink
from penstock.datastream.arguments import (
    check_function,
    check_timeout,
    check_type,
    partition_callable,
    projected_type,
    unusable_sink,
)
from penstock.datastream.closeable_iterator import CloseableIterator
from penstock.datastream.expression_types import check_fields, expression_type
from penstock.datastream.missing_names import HintsAtNames, refuse_iteration
from penstock.datastream.node_handle import DataStreamSink, NodeHandle
from penstock.datastream.selectors import Field, check_field, make_key_selector
from penstock.datastream.stream_text import stream_html, stream_text
from penstock.errors import GraphError, LikelyMistakeWarning
from penstock.graph.nodes import NAME_PREFIX, Chaining, Edge, Exchange, Node, Partitioning, Role, bare_name
from penstock.runtime import operators
from penstock.vocabulary.expressions import Expression, col, named_expressions
from penstock.vocabulary.functions import (
    FilterFunction,
    FlatMapFunction,
    KeyedProcessFunction,
    KeySelector,
    MapFunction,
    Partitioner,
    ProcessFunction,
    SinkFunction,
)
from penstock.vocabulary.output_tag import OutputTag

if TYPE_CHECKING:
    from penstock.datastream.broadcast_stream import BroadcastConnectedStream, BroadcastStream
    from penstock.datastream.cached_data_stream import CachedDataStream
    from penstock.datastream.connected_streams import ConnectedStreams
    from penstock.datastream.joined_streams import CoGroupedStreams, JoinedStreams
    from penstock.datastream.keyed_stream import KeyedStream
    from penstock.datastream.stream_execution_environment import StreamExecutionEnvironment
    from penstock.datastream.windowed_stream import AllWindowedStream
    from penstock.vocabulary.state import MapStateDescriptor
    from penstock.vocabulary.window import CountWindow, WindowAssigner
    from penstock.vocabulary.window.assigner import W

__all__ = ["DataStream", "KeyOrField", "add_operator"]

KeyOrField = Callable[[A], Any] | KeySelector[A, Any] | Field | list[Any] | tuple[Any, ...]
"""What `key_by` takes: a function of the element, a field's name or position, or several of these."""
Collects = Callable[[A, Any], object]
"""A function of an element and a collector, `out.collect(result)`."""


def add_operator(
    environment: StreamExecutionEnvironment,
    name: str,
    operator: Any,
    edges: tuple[Edge, ...],
    output_type: TypeInformation | None,
    is_checked: bool = True,
    **settings: Any,
) -> DataStream:
    """Append an operator that reads `edges` to the graph; the stream of its results.

    `is_checked`: the results come from user code, so they are made to be of the type, or refused.
    """
    checked_type = output_type if is_checked else None
    types = {"output_type": output_type, "checked_type": checked_type}
    node = environment.graph.add(Role.OPERATOR, name, operator, edges, **types, **settings)
    return DataStream(environment, (Edge(node.id),), node_id=node.id, output_type=output_type)


def settings_of_sender(stream: DataStream) -> dict[str, Any]:
    """The settings that a node needs to sit in the sender's vertex; none if there are several senders."""
    senders = {edge.source_id for edge in stream.edges}
    if len(senders) != 1:
        return {}
    sender = stream.environment.graph.nodes[senders.pop()]
    return {name: getattr(sender, name) for name in ("parallelism", "max_parallelism", "is_single")}


class DataStream(HintsAtNames, NodeHandle, Generic[T_co]):
    """A stream of elements.

    `DataStream[Trade]` is a stream of trades. Type checkers follow it from step to step; where a step says nothing of
    its results, as a function without type hints does, they are `Any`.
    """

    is_keyed = False

    def __init__(
        self,
        environment: StreamExecutionEnvironment,
        edges: tuple[Edge, ...],
        *,
        node_id: int | None = None,
        made_by: str = "",
        output_type: TypeInformation[T_co] | None = None,
    ) -> None:
        """Made by the environment and by other streams; `made_by` names the method if no node is behind it."""
        super().__init__(environment, node_id)
        self.edges = edges
        self._made_by = made_by
        self.output_type = output_type

    def __repr__(self) -> str:
        return stream_text(self)

    def _repr_html_(self) -> str:
        return stream_html(self)

    if not TYPE_CHECKING:  # type checkers know what a stream has
        __iter__ = refuse_iteration

    def _refuse(self, method: str) -> NoReturn:
        raise GraphError(
            f"{method}() does not work on a stream made by {self._made_by}(), which is not an operator: "
            f"call it before {self._made_by}(), or after the next operator."
        )

    # ---- about the stream ----

    def get_name(self) -> str:
        """Name of the operator."""
        return bare_name(self._node("get_name"))

    def get_type(self) -> TypeInformation[T_co]:
        """Declared type of the elements; pickled objects if none was declared."""
        return self.output_type if self.output_type is not None else Types.PICKLED_BYTE_ARRAY()

    def get_execution_environment(self) -> StreamExecutionEnvironment:
        """Return the environment the stream belongs to."""
        return self.environment

    def get_execution_config(self) -> ExecutionConfig:
        """Return the execution configuration of the environment."""
        return self.environment.get_config()

    # ---- settings of its operator ----

    def force_non_parallel(self) -> Self:
        """Pin the operator to parallelism 1."""
        return self._set("force_non_parallel", parallelism=1, max_parallelism=1, is_single=True)

    def start_new_chain(self) -> Self:
        """Start a new chain with this operator."""
        return self._set("start_new_chain", chaining=Chaining.HEAD)

    def set_buffer_timeout(self, timeout_millis: int) -> Self:
        """No effect, with a warning: there is one buffer timeout for all of a job, see the environment."""
        self._node("set_buffer_timeout")
        check_timeout(timeout_millis)
        warn_of_no_effect("set_buffer_timeout of a stream", ONE_TIMEOUT)
        return self

    # ---- transformations ----

    @overload
    def map(self, func: Callable[[T_co], R] | MapFunction[T_co, R], output_type: None = None) -> DataStream[R]: ...

    @overload
    def map(
        self, func: Callable[[T_co], Any] | MapFunction[T_co, Any], output_type: TypeInformation[R]
    ) -> DataStream[R]: ...

    def map(
        self, func: Callable[[T_co], Any] | MapFunction[T_co, Any], output_type: TypeInformation[Any] | None = None
    ) -> DataStream[Any]:
        """Replace each element by the result of the function."""
        check_function("map", func, MapFunction)
        return self._then(
            "Map", operators.MapOperator(func, self.is_keyed), check_type("map", "output_type", output_type)
        )

    @overload
    def flat_map(
        self, func: Callable[[T_co], Iterable[R] | None] | FlatMapFunction[T_co, R], output_type: None = None
    ) -> DataStream[R]: ...

    @overload
    def flat_map(self, func: Collects[T_co], output_type: TypeInformation[R] | None = None) -> DataStream[R]: ...

    @overload
    def flat_map(
        self, func: Callable[[T_co], Iterable[Any] | None] | FlatMapFunction[T_co, Any], output_type: TypeInformation[R]
    ) -> DataStream[R]: ...

    def flat_map(
        self,
        func: Callable[[T_co], Iterable[Any] | None] | Collects[T_co] | FlatMapFunction[T_co, Any],
        output_type: TypeInformation[Any] | None = None,
    ) -> DataStream[Any]:
        """Replace each element by any number of elements."""
        check_function("flat_map", func, FlatMapFunction)
        declared = check_type("flat_map", "output_type", output_type)
        return self._then("Flat Map", operators.FlatMapOperator(func, self.is_keyed), declared)

    def filter(self, func: Callable[[T_co], object] | FilterFunction[T_co] | Expression) -> DataStream[T_co]:
        """Keep the elements for which the function, or an expression such as `col("price") > 100`, is true."""
        if isinstance(func, Expression):
            check_fields("filter", func, self.output_type)
            return self._then("Filter", operators.ExpressionFilterOperator(func), self.output_type, is_checked=False)
        check_function("filter", func, FilterFunction)
        return self._then("Filter", operators.FilterOperator(func, self.is_keyed), self.output_type, is_checked=False)

    @overload
    def process(self, func: ProcessFunction[T_co, R], output_type: None = None) -> DataStream[R]: ...

    @overload
    def process(self, func: ProcessFunction[T_co, Any], output_type: TypeInformation[R]) -> DataStream[R]: ...

    def process(
        self, func: ProcessFunction[T_co, Any], output_type: TypeInformation[Any] | None = None
    ) -> DataStream[Any]:
        """Apply a process function: any output, side outputs, timestamps."""
        if isinstance(func, KeyedProcessFunction):
            raise GraphError("process: a KeyedProcessFunction needs a keyed stream; call key_by() first.")
        check_function("process", func, ProcessFunction, takes_callable=False)
        return self._then("PROCESS", operators.ProcessOperator(func), check_type("process", "output_type", output_type))

    def project(self, *field_indexes: int) -> DataStream[tuple[Any, ...]]:
        """Keep some fields of tuples or Rows, as a tuple in the order given."""
        if not field_indexes:
            raise GraphError("project: give at least one field.")
        fields = tuple([check_field("project", index) for index in field_indexes])
        return self._then(
            "Projection",
            operators.SelectOperator(tuple(map(col, fields)), None),
            projected_type(self.output_type, fields),
            is_checked=False,
        )

    def select(self, *expressions: Expression | str) -> DataStream[Row]:
        """Build Rows from fields and expressions: `select("a", (col("b") * 2).alias("c"))`."""
        chosen, names = named_expressions("select", expressions)
        for expression in chosen:
            check_fields("select", expression, self.output_type)
        types = [expression_type(expression, self.output_type) for expression in chosen]
        known = [each for each in types if each is not None]
        declared = Types.ROW_NAMED(list(names), known) if len(known) == len(types) else None
        return self._then("Select", operators.SelectOperator(chosen, names), declared, is_checked=False)

    def assign_timestamps_and_watermarks(
        self,
        watermark_strategy: WatermarkStrategy[T_co]
        | AssignerWithPeriodicWatermarks[T_co]
        | AssignerWithPunctuatedWatermarks[T_co],
    ) -> DataStream[T_co]:
        """Assign event times and watermarks; also takes the older assigner classes."""
        if isinstance(watermark_strategy, (AssignerWithPeriodicWatermarks, AssignerWithPunctuatedWatermarks)):
            watermark_strategy = WatermarkStrategy.for_assigner(watermark_strategy)
        if not isinstance(watermark_strategy, WatermarkStrategy):
            raise GraphError(
                f"assign_timestamps_and_watermarks: expected a WatermarkStrategy, got {watermark_strategy!r}."
            )
        if watermark_strategy.alignment is not None:
            warnings.warn(
                "assign_timestamps_and_watermarks: with_watermark_alignment has no effect here, as in Flink, because "
                "only a source can wait: give the strategy to from_source().",
                LikelyMistakeWarning,
                stacklevel=level_of_program(),
            )
        operator = operators.WatermarkOperator(watermark_strategy)
        return self._then("Timestamps/Watermarks", operator, self.output_type, is_checked=False)

    def assign_ascending_timestamps(self, extractor: Callable[[T_co], int] | str | int) -> DataStream[T_co]:
        """Assign event times that only grow within a subtask, with a function of the element or a field."""
        strategy: WatermarkStrategy[Any] = WatermarkStrategy.for_monotonous_timestamps()
        if callable(extractor):
            strategy = strategy.with_timestamp_assigner(lambda element, _: extractor(element))
        else:
            field = check_field("assign_ascending_timestamps", extractor)
            strategy = strategy.with_timestamp_assigner(field)
        return self.assign_timestamps_and_watermarks(strategy)

    def get_side_output(self, output_tag: OutputTag[A]) -> DataStream[A]:
        """Return the elements that the operator sent to the tag."""
        if not isinstance(output_tag, OutputTag):
            raise GraphError(f"get_side_output: expected an OutputTag, got {output_tag!r}.")
        node = self._node("get_side_output")
        written = node.operator.source.side_outputs() if node.role is Role.SOURCE else ()
        if node.role is not Role.OPERATOR and output_tag.tag_id not in written:
            raise GraphError(
                f"get_side_output: {node.name!r} is a source; it has no side output {output_tag.tag_id!r}."
            )
        self._declare_side_output(node, output_tag)
        edge = Edge(node.id, tag=output_tag.tag_id)
        return self._only_edges((edge,), "get_side_output", output_tag.type_info)

    def _declare_side_output(self, node: Node, output_tag: OutputTag) -> None:
        declared, known = output_tag.type_info, node.side_types.get(output_tag.tag_id)
        if declared is None or declared == known:
            return
        if known is not None:
            raise GraphError(
                f"get_side_output: {output_tag.tag_id!r} of {node.name!r} is {known!r} elsewhere, here {declared!r}: "
                "use one tag."
            )
        self.environment.graph.change(node.id, side_types={**node.side_types, output_tag.tag_id: declared})

    def union(self, *streams: DataStream[A]) -> DataStream[T_co | A]:
        """Merge streams of the same type; without others it is this stream."""
        for stream in streams:
            if not isinstance(stream, DataStream):
                raise GraphError(f"union: expected DataStreams, got {stream!r}.")
            if stream.environment is not self.environment:
                raise GraphError("union: the streams belong to different environments; build them in one environment.")
        edges = itertools.chain(self.edges, *(stream.edges for stream in streams))
        # Streams of different types make one whose type is not known.
        is_one_type = all(stream.output_type == self.output_type for stream in streams)
        return self._only_edges(tuple(edges), "union", self.output_type if is_one_type else None)

    def cache(self) -> CachedDataStream[T_co]:
        """Cache a bounded stream: the first job computes its elements, later jobs read them."""
        from penstock.datastream.cached_data_stream import CachedDataStream

        return CachedDataStream(self)

    # ---- several streams ----

    @overload
    def connect(self, ds: DataStream[A]) -> ConnectedStreams[T_co, A]: ...

    @overload
    def connect(self, ds: BroadcastStream[A]) -> BroadcastConnectedStream[T_co, A]: ...

    def connect(
        self, ds: DataStream[A] | BroadcastStream[A]
    ) -> ConnectedStreams[T_co, A] | BroadcastConnectedStream[T_co, A]:
        """Process this stream and another one in one operator, with shared state."""
        from penstock.datastream.broadcast_stream import BroadcastConnectedStream, BroadcastStream
        from penstock.datastream.connected_streams import ConnectedStreams

        if isinstance(ds, BroadcastStream):
            return BroadcastConnectedStream(self, ds)
        return ConnectedStreams(self, ds)

    def join(self, other_stream: DataStream[A]) -> JoinedStreams[T_co, A]:
        """Join with another stream in windows; call `where(...)` next."""
        from penstock.datastream.joined_streams import JoinedStreams

        return JoinedStreams(self, other_stream)

    def co_group(self, other_stream: DataStream[A]) -> CoGroupedStreams[T_co, A]:
        """Co-group with another stream in windows; call `where(...)` next."""
        from penstock.datastream.joined_streams import CoGroupedStreams

        return CoGroupedStreams(self, other_stream)

    # ---- windows of the whole stream ----

    def window_all(self, window_assigner: WindowAssigner[T_co, W]) -> AllWindowedStream[T_co, W]:
        """Group all elements in windows; runs in one subtask."""
        from penstock.datastream.windowed_stream import AllWindowedStream

        return AllWindowedStream(self, window_assigner)

    def count_window_all(self, size: int, slide: int = 0) -> AllWindowedStream[T_co, CountWindow]:
        """Group all elements in windows of `size` elements, a new one every `slide` elements."""
        from penstock.datastream.windowed_stream import AllWindowedStream, count_assigner

        return AllWindowedStream(self, count_assigner("count_window_all", size, slide))

    # ---- distribution ----

    @overload
    def key_by(
        self, key_selector: Callable[[T_co], K] | KeySelector[T_co, K], key_type: None = None
    ) -> KeyedStream[K, T_co]: ...

    @overload
    def key_by(self, key_selector: Field, key_type: None = None) -> KeyedStream[Any, T_co]: ...

    @overload
    def key_by(
        self, key_selector: list[Any] | tuple[Any, ...], key_type: None = None
    ) -> KeyedStream[tuple[Any, ...], T_co]: ...

    @overload
    def key_by(self, key_selector: KeyOrField[T_co], key_type: TypeInformation[K]) -> KeyedStream[K, T_co]: ...

    def key_by(
        self, key_selector: KeyOrField[T_co], key_type: TypeInformation[Any] | None = None
    ) -> KeyedStream[Any, T_co]:
        """Send elements with equal keys to the same subtask; fields may be named, numbered or listed."""
        from penstock.datastream.keyed_stream import KeyedStream

        return KeyedStream(self, make_key_selector(key_selector), check_type("key_by", "key_type", key_type))

    def shuffle(self) -> DataStream[T_co]:
        """Distribute elements randomly."""
        return self._dealt("shuffle", Partitioning(Exchange.SHUFFLE))

    def rebalance(self) -> DataStream[T_co]:
        """Distribute elements round-robin to all subtasks."""
        return self._dealt("rebalance", Partitioning(Exchange.REBALANCE))

    def rescale(self) -> DataStream[T_co]:
        """Distribute elements round-robin to a part of the subtasks."""
        return self._dealt("rescale", Partitioning(Exchange.RESCALE))

    def forward(self) -> DataStream[T_co]:
        """Keep elements in the subtask they are in; the next operator needs equal parallelism."""
        return self._dealt("forward", Partitioning(Exchange.FORWARD, is_explicit=True))

    @overload
    def broadcast(self) -> DataStream[T_co]: ...

    @overload
    def broadcast(
        self, broadcast_state_descriptor: MapStateDescriptor, *other_broadcast_state_descriptors: MapStateDescriptor
    ) -> BroadcastStream[T_co]: ...

    def broadcast(
        self,
        broadcast_state_descriptor: MapStateDescriptor | None = None,
        *other_broadcast_state_descriptors: MapStateDescriptor,
    ) -> DataStream[T_co] | BroadcastStream[T_co]:
        """Send each element to every subtask; with descriptors, to use as broadcast state in `connect`."""
        everywhere = self._dealt("broadcast", Partitioning(Exchange.BROADCAST))
        if broadcast_state_descriptor is None:
            return everywhere
        from penstock.datastream.broadcast_stream import BroadcastStream

        return BroadcastStream(everywhere, broadcast_state_descriptor, *other_broadcast_state_descriptors)

    def global_(self) -> DataStream[T_co]:
        """Send all elements to the first subtask."""
        return self._dealt("global_", Partitioning(Exchange.GLOBAL))

    def partition_custom(
        self,
        partitioner: Callable[[K, int], int] | Partitioner[K],
        key_selector: Callable[[T_co], K] | KeySelector[T_co, K] | Field,
    ) -> DataStream[T_co]:
        """Let the partitioner choose the subtask from the key and the number of subtasks."""
        selector = make_key_selector(key_selector, "partition_custom")
        partition = partition_callable(partitioner)
        return self._dealt("partition_custom", Partitioning(Exchange.CUSTOM, selector, partition))

    # ---- ends ----

    def print(self, sink_identifier: str | None = None) -> DataStreamSink:
        """Print elements to standard output."""
        return self._end("Print to Std. Out", self._printing(sink_identifier, to_stderr=False))

    def _printing(self, identifier: str | None, to_stderr: bool) -> Any:
        has_row_type = isinstance(self.output_type, RowTypeInfo)
        return operators.DriverSinkOperator(PrintSink(identifier or "", to_stderr, has_row_type))

    def print_to_err(self, sink_identifier: str | None = None) -> DataStreamSink:
        """Print elements to standard error."""
        return self._end("Print to Std. Err", self._printing(sink_identifier, to_stderr=True))

    def add_sink(self, sink_func: SinkFunction[T_co] | Sink[T_co]) -> DataStreamSink:
        """Write elements with a sink function (at least once) or a sink."""
        if hasattr(sink_func, "driver_sink"):  # a sink of penstock.testing: its records go to this program
            return self._end(identity_of(sink_func), operators.DriverSinkOperator(sink_func.driver_sink()))
        if isinstance(sink_func, SinkFunction):
            check_function("add_sink", sink_func, SinkFunction)
            return self._end(identity_of(sink_func), operators.SinkOperator(FunctionSink(sink_func)))
        if isinstance(sink_func, Sink):
            return self.sink_to(sink_func)
        raise unusable_sink("add_sink", "a SinkFunction or a Sink", sink_func)

    def sink_to(self, sink: Sink[T_co]) -> DataStreamSink:
        """Write elements to a sink."""
        if not isinstance(sink, Sink):
            raise unusable_sink("sink_to", "a Sink (for a SinkFunction use add_sink)", sink)
        return self._for(sink)._end(identity_of(sink), operators.SinkOperator(sink))

    def _for(self, sink: Sink) -> DataStream:
        """This stream, or what a sink that transforms its stream first wants to get instead."""
        # Here, because the connectors import the vocabulary of this package.
        from penstock.datastream.connectors.base import SupportsPreprocessing

        transformer = sink.get_transformer() if isinstance(sink, SupportsPreprocessing) else None
        if transformer is None:
            return self
        changed = transformer.apply(self)
        if not isinstance(changed, DataStream):
            raise GraphError(
                f"sink_to: apply() of {type(transformer).__name__!r}, the transformer of {type(sink).__name__!r}, must "
                f"return a DataStream, got {changed!r}."
            )
        return changed

    def write_with_spark(
        self, write: Callable[[Any, int], None], schema: TypeInformation | str | None = None
    ) -> DataStreamSink:
        """Pass each batch to `write(data_frame, batch_id)`, to use any Spark writer; see SparkWriterSink."""
        if not callable(write):
            raise GraphError(f"write_with_spark: expected a function of (data_frame, batch_id), got {write!r}.")
        if not isinstance(schema, str):
            check_type("write_with_spark", "schema", schema)
        return self._end("Spark writer", operators.DriverSinkOperator(SparkWriterSink(write, schema)))

    @overload
    def execute_and_collect(
        self, job_execution_name: str | None = None, limit: None = None
    ) -> CloseableIterator[T_co]: ...

    @overload
    def execute_and_collect(self, job_execution_name: str | None = None, *, limit: int) -> list[T_co]: ...

    @overload
    def execute_and_collect(self, job_execution_name: str | None, limit: int) -> list[T_co]: ...

    def execute_and_collect(
        self, job_execution_name: str | None = None, limit: int | None = None
    ) -> CloseableIterator[T_co] | list[T_co]:
        """Run the job and return the elements: an iterator, or with a limit a list of at most that many."""
        if limit is not None and (isinstance(limit, bool) or not isinstance(limit, int) or limit < 1):
            raise GraphError(f"execute_and_collect: the limit must be an int of 1 or more, got {limit!r}.")
        collected = self._collect(job_execution_name)
        if limit is None:
            return collected
        with collected:
            return list(itertools.islice(collected, limit))

    # ---- how nodes and edges are made ----

    def _then(
        self, name: str, operator: Any, output_type: TypeInformation | None, is_checked: bool = True
    ) -> DataStream[Any]:
        return add_operator(self.environment, name, operator, self.edges, output_type, is_checked)

    def _end(self, name: str, operator: Any) -> DataStreamSink:
        node = self.environment.graph.add(Role.SINK, NAME_PREFIX[Role.SINK] + name, operator, self.edges)
        return DataStreamSink(self.environment, node.id)

    def _only_edges(
        self, edges: tuple[Edge, ...], made_by: str, output_type: TypeInformation[Any] | None
    ) -> DataStream[Any]:
        return DataStream(self.environment, edges, made_by=made_by, output_type=output_type)

    def _dealt(self, made_by: str, partitioning: Partitioning) -> DataStream[T_co]:
        return self._only_edges(self.edges_with(partitioning), made_by, self.output_type)

    def edges_with(self, partitioning: Partitioning) -> tuple[Edge, ...]:
        """Return the edges of this stream with another partitioning."""
        return tuple([replace(edge, partitioning=partitioning) for edge in self.edges])

    def edges_into(self, input_index: int) -> tuple[Edge, ...]:
        """Edges of this stream, leading to one of the inputs of an operator with several."""
        return tuple([replace(edge, input_index=input_index) for edge in self.edges])

    def _collect(self, job_name: str | None) -> CloseableIterator[Any]:
        nodes = self.environment.graph.nodes
        known = set(nodes)
        collect_id = f"collect-{max(known, default=0)}"
        try:
            end = self._to_collect()._end("Collect", operators.DriverSinkOperator(CollectSink(collect_id)))
            end.uid(collect_id)
            client = self.environment.execute_async(job_name)
        except BaseException:
            # A job that could not start must not leave its collecting end to the next one.
            for node_id in set(nodes) - known:
                del nodes[node_id]
            raise
        return CloseableIterator(client.collected(collect_id), lambda: client.cancel().result())

    def _to_collect(self) -> DataStream:
        return self
