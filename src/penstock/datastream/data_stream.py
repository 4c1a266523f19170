"""The fluent stream classes: each call checks its arguments and appends nodes to the environment's logical graph.

Owns no behaviour of operators and runs nothing itself; a stream is an environment and the edges a next node will read.
"""

from __future__ import annotations

import itertools
from collections.abc import Callable, Iterator
from dataclasses import replace
from typing import TYPE_CHECKING, Any, NoReturn, Self

from penstock.common.execution_config import ExecutionConfig
from penstock.common.typeinfo import TypeInformation, Types
from penstock.common.watermark_strategy import WatermarkStrategy
from penstock.connectors.driver_sinks import CollectSink, PrintSink, SparkWriterSink
from penstock.connectors.function_sink import FunctionSink
from penstock.connectors.sink import Sink
from penstock.datastream.aggregations import RollingExtreme, RollingExtremeBy, RollingSum
from penstock.datastream.arguments import (
    check_function,
    check_max_parallelism,
    check_parallelism,
    check_timeout,
    check_type,
    check_uid_hash,
    non_empty_text,
    partition_callable,
    projected_type,
    unusable_sink,
)
from penstock.datastream.functions import (
    FilterFunction,
    FlatMapFunction,
    KeyedProcessFunction,
    KeySelector,
    MapFunction,
    Partitioner,
    ProcessFunction,
    ReduceFunction,
    SinkFunction,
)
from penstock.datastream.output_tag import OutputTag
from penstock.datastream.selectors import Field, KeyAndValue, Projection, check_field, make_key_selector
from penstock.datastream.slot_sharing_group import SlotSharingGroup
from penstock.errors import GraphError
from penstock.graph.nodes import Chaining, Edge, Exchange, Node, Partitioning, Role

# The module and not its names: the operators import the vocabulary of this package, so either may be loaded first.
from penstock.runtime import operators

if TYPE_CHECKING:
    from penstock.datastream.stream_execution_environment import StreamExecutionEnvironment

__all__ = ["CloseableIterator", "DataStream", "DataStreamSink", "KeyedStream"]

# Flink shows what a node is for in front of its name; `name()` and `get_name()` deal in the bare name.
_NAME_PREFIX = {Role.SOURCE: "Source: ", Role.OPERATOR: "", Role.SINK: "Sink: "}


class _NodeHandle:
    """Settings of the node behind a stream or sink; streams that are only edges have none."""

    def __init__(self, environment: StreamExecutionEnvironment, node_id: int | None) -> None:
        self._environment = environment
        self._node_id = node_id

    def _node(self, method: str) -> Node:
        """The node that a setting goes to."""
        if self._node_id is None:
            self._refuse(method)
        return self._environment.graph.nodes[self._node_id]

    def _refuse(self, method: str) -> NoReturn:
        raise GraphError(f"{method}() needs an operator, source or sink.")

    def _set(self, method: str, **settings: Any) -> Self:
        self._environment.graph.change(self._node(method).id, **settings)
        return self

    def name(self, name: str) -> Self:
        """Name the operator, for plans, logs and metrics."""
        node = self._node("name")
        return self._set("name", name=_NAME_PREFIX[node.role] + non_empty_text("name", name))

    def uid(self, uid: str) -> Self:
        """Give the operator the id its state is found by, unique in the job."""
        return self._set("uid", uid=non_empty_text("uid", uid))

    def set_uid_hash(self, uid_hash: str) -> Self:
        """Use a hash of 32 hex digits as the operator's uid; the later of this and `uid` counts."""
        return self._set("set_uid_hash", uid=check_uid_hash(uid_hash))

    def set_parallelism(self, parallelism: int) -> Self:
        """Set in how many subtasks the operator runs."""
        node = self._node("set_parallelism")
        check_parallelism(parallelism, f"operator {node.name!r}")
        if node.is_single and parallelism != 1:
            raise GraphError(f"operator {node.name!r} can only run with parallelism 1, not {parallelism}.")
        return self._set("set_parallelism", parallelism=parallelism)

    def set_max_parallelism(self, max_parallelism: int) -> Self:
        """Set the number of key groups, the limit of any later parallelism."""
        node = self._node("set_max_parallelism")
        check_max_parallelism(max_parallelism, f"operator {node.name!r}")
        return self._set("set_max_parallelism", max_parallelism=max_parallelism)

    def set_description(self, description: str) -> Self:
        """Describe the operator at length, for plans."""
        return self._set("set_description", description=non_empty_text("set_description", description))

    def disable_chaining(self) -> Self:
        """Keep the operator apart from its neighbours."""
        return self._set("disable_chaining", chaining=Chaining.NEVER)

    def slot_sharing_group(self, slot_sharing_group: str | SlotSharingGroup) -> Self:
        """Note the group; Spark places tasks, so it has no effect on where the operator runs."""
        node = self._node("slot_sharing_group")
        is_group = isinstance(slot_sharing_group, SlotSharingGroup)
        name = slot_sharing_group.get_name() if is_group else slot_sharing_group  # type: ignore[union-attr]
        self._environment.slot_sharing_groups[node.id] = non_empty_text("slot_sharing_group", name)
        return self


class DataStream(_NodeHandle):
    """A stream of elements: what the next operator will read, and how they will be dealt to its subtasks."""

    def __init__(
        self,
        environment: StreamExecutionEnvironment,
        edges: tuple[Edge, ...],
        *,
        node_id: int | None = None,
        made_by: str = "",
        output_type: TypeInformation | None = None,
    ) -> None:
        """Made by the environment and by other streams; `made_by` names the method if no node is behind it."""
        super().__init__(environment, node_id)
        self._edges = edges
        self._made_by = made_by
        self._output_type = output_type

    def _refuse(self, method: str) -> NoReturn:
        raise GraphError(
            f"{method}() has no meaning on a stream made by {self._made_by}(), which is not an operator: "
            f"call it before {self._made_by}(), or after the next operator."
        )

    # ---- about the stream ----

    def get_name(self) -> str:
        """Name of the operator."""
        node = self._node("get_name")
        return node.name.removeprefix(_NAME_PREFIX[node.role])

    def get_type(self) -> TypeInformation:
        """Declared type of the elements; pickled objects if none was declared."""
        return self._output_type if self._output_type is not None else Types.PICKLED_BYTE_ARRAY()

    def get_execution_environment(self) -> StreamExecutionEnvironment:
        """Return the environment the stream belongs to."""
        return self._environment

    def get_execution_config(self) -> ExecutionConfig:
        """Return the execution configuration of the environment."""
        return self._environment.get_config()

    # ---- settings of its operator ----

    def force_non_parallel(self) -> Self:
        """Pin the operator to parallelism 1."""
        return self._set("force_non_parallel", parallelism=1, max_parallelism=1, is_single=True)

    def start_new_chain(self) -> Self:
        """Start a new chain with this operator."""
        return self._set("start_new_chain", chaining=Chaining.HEAD)

    def set_buffer_timeout(self, timeout_millis: int) -> Self:
        """Accepted for PyFlink programs; blocks are sent when a batch has produced them."""
        self._node("set_buffer_timeout")
        check_timeout(timeout_millis)
        return self

    # ---- transformations ----

    def map(self, func: Callable[[Any], Any] | MapFunction, output_type: TypeInformation | None = None) -> DataStream:
        """Replace each element by what the function returns for it."""
        check_function("map", func, MapFunction)
        return self._then(
            "Map", operators.MapOperator(func, self._is_keyed()), check_type("map", "output_type", output_type)
        )

    def flat_map(
        self, func: Callable[[Any], Any] | FlatMapFunction, output_type: TypeInformation | None = None
    ) -> DataStream:
        """Replace each element by any number of elements."""
        check_function("flat_map", func, FlatMapFunction)
        declared = check_type("flat_map", "output_type", output_type)
        return self._then("Flat Map", operators.FlatMapOperator(func, self._is_keyed()), declared)

    def filter(self, func: Callable[[Any], bool] | FilterFunction) -> DataStream:
        """Keep the elements for which the function is true."""
        check_function("filter", func, FilterFunction)
        return self._then("Filter", operators.FilterOperator(func, self._is_keyed()), self._output_type)

    def process(self, func: ProcessFunction, output_type: TypeInformation | None = None) -> DataStream:
        """Apply a process function: any output, side outputs, timestamps."""
        if isinstance(func, KeyedProcessFunction):
            raise GraphError("process: a KeyedProcessFunction needs a keyed stream; call key_by() first.")
        check_function("process", func, ProcessFunction, takes_callable=False)
        return self._then("PROCESS", operators.ProcessOperator(func), check_type("process", "output_type", output_type))

    def project(self, *field_indexes: int) -> DataStream:
        """Keep some fields of tuples or Rows, as a tuple in the order given."""
        if not field_indexes:
            raise GraphError("project: give at least one field.")
        fields = tuple([check_field("project", index) for index in field_indexes])
        return self._then(
            "Projection", operators.MapOperator(Projection(fields), False), projected_type(self._output_type, fields)
        )

    def assign_timestamps_and_watermarks(self, watermark_strategy: WatermarkStrategy) -> DataStream:
        """Give elements event times and the stream watermarks."""
        if not isinstance(watermark_strategy, WatermarkStrategy):
            raise GraphError(
                f"assign_timestamps_and_watermarks: expected a WatermarkStrategy, got {watermark_strategy!r}."
            )
        return self._then("Timestamps/Watermarks", operators.WatermarkOperator(watermark_strategy), self._output_type)

    def get_side_output(self, output_tag: OutputTag) -> DataStream:
        """Return the elements that the operator sent to the tag."""
        if not isinstance(output_tag, OutputTag):
            raise GraphError(f"get_side_output: expected an OutputTag, got {output_tag!r}.")
        node = self._node("get_side_output")
        if node.role is not Role.OPERATOR:
            raise GraphError(f"get_side_output: {node.name!r} is a source; only an operator has side outputs.")
        edge = Edge(node.id, tag=output_tag.tag_id)
        return self._edges_only((edge,), "get_side_output", output_tag.type_info)

    def union(self, *streams: DataStream) -> DataStream:
        """Merge streams of the same type."""
        if not streams:
            raise GraphError("union: give at least one other stream.")
        for stream in streams:
            if not isinstance(stream, DataStream):
                raise GraphError(f"union: expected DataStreams, got {stream!r}.")
            if stream._environment is not self._environment:
                raise GraphError("union: the streams belong to different environments; build them from one.")
        edges = itertools.chain(self._edges, *(stream._edges for stream in streams))
        return self._edges_only(tuple(edges), "union", self._output_type)

    # ---- distribution ----

    def key_by(
        self,
        key_selector: Callable[[Any], Any] | KeySelector | Field | list[Any] | tuple[Any, ...],
        key_type: TypeInformation | None = None,
    ) -> KeyedStream:
        """Send elements with equal keys to the same subtask; fields may be named, numbered or listed."""
        return KeyedStream(self, make_key_selector(key_selector), check_type("key_by", "key_type", key_type))

    def shuffle(self) -> DataStream:
        """Deal elements out at random."""
        return self._dealt("shuffle", Partitioning(Exchange.SHUFFLE))

    def rebalance(self) -> DataStream:
        """Deal elements out in turn to all subtasks."""
        return self._dealt("rebalance", Partitioning(Exchange.REBALANCE))

    def rescale(self) -> DataStream:
        """Deal elements out in turn to a part of the subtasks."""
        return self._dealt("rescale", Partitioning(Exchange.RESCALE))

    def forward(self) -> DataStream:
        """Keep elements in the subtask they are in; the next operator needs equal parallelism."""
        return self._dealt("forward", Partitioning(Exchange.FORWARD, is_explicit=True))

    def broadcast(self) -> DataStream:
        """Send each element to every subtask."""
        return self._dealt("broadcast", Partitioning(Exchange.BROADCAST))

    def global_(self) -> DataStream:
        """Send all elements to the first subtask."""
        return self._dealt("global_", Partitioning(Exchange.GLOBAL))

    def partition_custom(
        self,
        partitioner: Callable[[Any, int], int] | Partitioner,
        key_selector: Callable[[Any], Any] | KeySelector | Field,
    ) -> DataStream:
        """Let the partitioner choose the subtask from the key and the number of subtasks."""
        selector = make_key_selector(key_selector, "partition_custom")
        partition = partition_callable(partitioner)
        return self._dealt("partition_custom", Partitioning(Exchange.CUSTOM, selector, partition))

    # ---- ends ----

    def print(self, sink_identifier: str | None = None) -> DataStreamSink:
        """Print elements to standard output."""
        return self._end("Print to Std. Out", operators.DriverSinkOperator(PrintSink(sink_identifier or "", False)))

    def print_to_err(self, sink_identifier: str | None = None) -> DataStreamSink:
        """Print elements to standard error."""
        return self._end("Print to Std. Err", operators.DriverSinkOperator(PrintSink(sink_identifier or "", True)))

    def add_sink(self, sink_func: SinkFunction | Sink) -> DataStreamSink:
        """Write elements with a sink function (at least once) or a sink."""
        if hasattr(sink_func, "driver_sink"):  # a sink of penstock.testing: its records go to this program
            return self._end(type(sink_func).__name__, operators.DriverSinkOperator(sink_func.driver_sink()))
        if isinstance(sink_func, SinkFunction):
            return self._end(type(sink_func).__name__, operators.SinkOperator(FunctionSink(sink_func)))
        if isinstance(sink_func, Sink):
            return self.sink_to(sink_func)
        raise unusable_sink("add_sink", "a SinkFunction or a Sink", sink_func)

    def sink_to(self, sink: Sink) -> DataStreamSink:
        """Write elements to a sink."""
        if not isinstance(sink, Sink):
            raise unusable_sink("sink_to", "a Sink (for a SinkFunction use add_sink)", sink)
        return self._end(type(sink).__name__, operators.SinkOperator(sink))

    def write_with_spark(
        self, write: Callable[[Any, int], None], schema: TypeInformation | str | None = None
    ) -> DataStreamSink:
        """Hand each batch to `write(data_frame, batch_id)`: anything Spark can write; see SparkWriterSink."""
        if not callable(write):
            raise GraphError(f"write_with_spark: expected a function of (data_frame, batch_id), got {write!r}.")
        if not isinstance(schema, str):
            check_type("write_with_spark", "schema", schema)
        return self._end("Spark writer", operators.DriverSinkOperator(SparkWriterSink(write, schema)))

    def execute_and_collect(
        self, job_execution_name: str | None = None, limit: int | None = None
    ) -> CloseableIterator | list[Any]:
        """Run the job and return the elements: an iterator, or with a limit a list of at most that many."""
        if limit is not None and (isinstance(limit, bool) or not isinstance(limit, int) or limit < 1):
            raise GraphError(f"execute_and_collect: the limit must be an int of 1 or more, got {limit!r}.")
        collected = self._collect(job_execution_name)
        if limit is None:
            return collected
        with collected:
            return list(itertools.islice(collected, limit))

    # ---- how nodes and edges are made ----

    def _is_keyed(self) -> bool:
        return False

    def _then(self, name: str, operator: Any, output_type: TypeInformation | None) -> DataStream:
        node = self._environment.graph.add(Role.OPERATOR, name, operator, self._edges, output_type=output_type)
        return DataStream(self._environment, (Edge(node.id),), node_id=node.id, output_type=output_type)

    def _end(self, name: str, operator: Any) -> DataStreamSink:
        node = self._environment.graph.add(Role.SINK, _NAME_PREFIX[Role.SINK] + name, operator, self._edges)
        return DataStreamSink(self._environment, node.id)

    def _edges_only(self, edges: tuple[Edge, ...], made_by: str, output_type: TypeInformation | None) -> DataStream:
        return DataStream(self._environment, edges, made_by=made_by, output_type=output_type)

    def _dealt(self, made_by: str, partitioning: Partitioning) -> DataStream:
        return self._edges_only(self._edges_with(partitioning), made_by, self._output_type)

    def _edges_with(self, partitioning: Partitioning) -> tuple[Edge, ...]:
        return tuple([replace(edge, partitioning=partitioning) for edge in self._edges])

    def _collect(self, job_name: str | None) -> CloseableIterator:
        nodes = self._environment.graph.nodes
        known = set(nodes)
        collect_id = f"collect-{max(known, default=0)}"
        try:
            self._to_collect()._end("Collect", operators.DriverSinkOperator(CollectSink(collect_id)))
            client: Any = self._environment.execute_async(job_name)
        except BaseException:
            # A job that could not start must not leave its collecting end to the next one.
            for node_id in set(nodes) - known:
                del nodes[node_id]
            raise
        return CloseableIterator(client.collected(collect_id), lambda: client.cancel().result())

    def _to_collect(self) -> DataStream:
        return self


class KeyedStream(DataStream):
    """A stream whose elements go to the subtask of their key, where state and timers belong to the key."""

    def __init__(
        self, stream: DataStream, key_selector: Callable[[Any], Any], key_type: TypeInformation | None = None
    ) -> None:
        """Made by `DataStream.key_by`."""
        keyed = Partitioning(Exchange.KEYED, key_selector, key_type=key_type)
        super().__init__(
            stream._environment, stream._edges_with(keyed), made_by="key_by", output_type=stream._output_type
        )
        self._key_selector = key_selector

    def process(  # type: ignore[override]
        self, func: KeyedProcessFunction, output_type: TypeInformation | None = None
    ) -> DataStream:
        """Apply a keyed process function: state and timers of the key, any output, side outputs."""
        if isinstance(func, ProcessFunction):
            raise GraphError("process: a keyed stream needs a KeyedProcessFunction; derive from that instead.")
        check_function("process", func, KeyedProcessFunction, takes_callable=False)
        declared = check_type("process", "output_type", output_type)
        return self._then("KEYED PROCESS", operators.KeyedProcessOperator(func), declared)

    def reduce(self, func: Callable[[Any, Any], Any] | ReduceFunction) -> DataStream:
        """Combine each element with what the function returned last for its key, and emit the result."""
        check_function("reduce", func, ReduceFunction)
        return self._then("Reduce", operators.ReduceOperator(func), self._output_type)

    def sum(self, position_to_sum: Field = 0) -> DataStream:
        """Rolling sum of a field; other fields are those of the key's first element."""
        return self._aggregate(RollingSum(check_field("sum", position_to_sum)))

    def min(self, position_to_min: Field = 0) -> DataStream:
        """Rolling minimum of a field; other fields are those of the key's first element."""
        return self._aggregate(RollingExtreme(check_field("min", position_to_min)))

    def max(self, position_to_max: Field = 0) -> DataStream:
        """Rolling maximum of a field; other fields are those of the key's first element."""
        return self._aggregate(RollingExtreme(check_field("max", position_to_max), largest=True))

    def min_by(self, position_to_min_by: Field = 0) -> DataStream:
        """Element with the smallest field so far, the first one if there are several."""
        return self._aggregate(RollingExtremeBy(check_field("min_by", position_to_min_by)))

    def max_by(self, position_to_max_by: Field = 0) -> DataStream:
        """Element with the largest field so far, the first one if there are several."""
        return self._aggregate(RollingExtremeBy(check_field("max_by", position_to_max_by), largest=True))

    def _is_keyed(self) -> bool:
        return True

    def _aggregate(self, function: Callable[[Any, Any], Any]) -> DataStream:
        return self._then("Keyed Aggregation", operators.ReduceOperator(function), self._output_type)

    def _to_collect(self) -> DataStream:
        return self._then("Key and Value", operators.MapOperator(KeyAndValue(self._key_selector), False), None)


class DataStreamSink(_NodeHandle):
    """The end of a stream."""


class CloseableIterator:
    """Elements of a running job; closing it before its end cancels the job."""

    def __init__(self, values: Iterator[Any], cancel: Callable[[], object]) -> None:
        """Take the elements and what to call if the reader stops early."""
        self._values = values
        self._cancel = cancel
        self._is_open = True

    def __iter__(self) -> Self:
        """Return itself: the elements can be read once."""
        return self

    def __next__(self) -> Any:
        """Wait for the next element; raises the job's failure if it has one."""
        if not self._is_open:
            raise StopIteration
        try:
            return next(self._values)
        except BaseException as error:
            # End and failure of the job both leave nothing to cancel; an interrupted reader does.
            self._is_open = not isinstance(error, Exception)
            raise

    def next(self) -> Any:
        """Return the next element, as in PyFlink."""
        return next(self)

    def close(self) -> None:
        """Stop reading; cancels the job unless it has ended."""
        if self._is_open:
            self._is_open = False
            self._cancel()

    def __enter__(self) -> Self:
        """Return itself."""
        return self

    def __exit__(self, exc_type: object, exc_val: object, exc_tb: object) -> None:
        """Close."""
        self.close()
