"""The graph that each fluent call leaves behind."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import cloudpickle
import pytest

from penstock.common.typeinfo import Types
from penstock.common.types import Row
from penstock.common.watermark_strategy import WatermarkStrategy
from penstock.connectors.driver_sinks import PrintSink, SparkWriterSink
from penstock.connectors.function_sink import FunctionSink
from penstock.connectors.sink import Sink, SinkContext, SinkWriter
from penstock.datastream.aggregations import RollingExtreme, RollingExtremeBy, RollingSum
from penstock.datastream.data_stream import DataStream, KeyedStream
from penstock.datastream.expressions import col, lit
from penstock.datastream.functions import KeyedProcessFunction, Partitioner, ProcessFunction, SinkFunction
from penstock.datastream.output_tag import OutputTag
from penstock.datastream.slot_sharing_group import SlotSharingGroup
from penstock.datastream.stream_execution_environment import StreamExecutionEnvironment
from penstock.graph.nodes import FORWARD, Chaining, Edge, Exchange, Node, Role
from penstock.runtime import operators


class PassOn(ProcessFunction):
    def process_element(self, value: Any, ctx: Any) -> Any:
        yield value


class PassOnKeyed(KeyedProcessFunction):
    def process_element(self, value: Any, ctx: Any) -> Any:
        yield value


class Forget(SinkFunction):
    def invoke(self, value: Any, context: Any) -> None:
        pass


class NoSink(Sink):
    def create_writer(self, context: SinkContext) -> SinkWriter:
        raise AssertionError("a graph is only described here")


class Modulo(Partitioner):
    def partition(self, key: int, num_partitions: int) -> int:
        return key % num_partitions


@pytest.fixture
def env() -> StreamExecutionEnvironment:
    return StreamExecutionEnvironment.get_execution_environment()


@pytest.fixture
def numbers(env: StreamExecutionEnvironment) -> DataStream:
    return env.from_collection([1, 2, 3], Types.INT())


def node_of(stream: Any) -> Node:
    """The node behind a stream or sink."""
    node: Node = stream.environment.graph.nodes[stream._node_id]
    return node


def exchange_of(stream: DataStream) -> Exchange:
    """The exchange by which the next operator reads the stream."""
    return node_of(stream.map(str)).inputs[0].partitioning.exchange


TRANSFORMATIONS: list[tuple[Callable[[DataStream], DataStream], str, type]] = [
    (lambda stream: stream.map(str, Types.STRING()), "Map", operators.MapOperator),
    (lambda stream: stream.flat_map(lambda value: [value]), "Flat Map", operators.FlatMapOperator),
    (lambda stream: stream.filter(bool), "Filter", operators.FilterOperator),
    (lambda stream: stream.process(PassOn()), "PROCESS", operators.ProcessOperator),
    (lambda stream: stream.key_by(str).process(PassOnKeyed()), "KEYED PROCESS", operators.KeyedProcessOperator),
    (lambda stream: stream.key_by(str).reduce(max), "Reduce", operators.ReduceOperator),
    (lambda stream: stream.key_by(str).sum(), "Keyed Aggregation", operators.ReduceOperator),
    (lambda stream: stream.key_by(str).min(), "Keyed Aggregation", operators.ReduceOperator),
    (lambda stream: stream.key_by(str).max(0), "Keyed Aggregation", operators.ReduceOperator),
    (lambda stream: stream.key_by(str).min_by("f"), "Keyed Aggregation", operators.ReduceOperator),
    (lambda stream: stream.key_by(str).max_by(1), "Keyed Aggregation", operators.ReduceOperator),
    (
        lambda stream: stream.assign_timestamps_and_watermarks(WatermarkStrategy.for_monotonous_timestamps()),
        "Timestamps/Watermarks",
        operators.WatermarkOperator,
    ),
]


@pytest.mark.parametrize(("build", "name", "operator"), TRANSFORMATIONS)
def test_a_transformation_appends_one_operator_that_reads_the_stream(
    numbers: DataStream, build: Callable[[DataStream], DataStream], name: str, operator: type
) -> None:
    node = node_of(build(numbers))
    assert (node.id, node.role, node.name, type(node.operator)) == (2, Role.OPERATOR, name, operator)
    assert [edge.source_id for edge in node.inputs] == [1]


def test_each_aggregation_has_its_own_function_and_field(numbers: DataStream) -> None:
    keyed = numbers.key_by(str)
    made = [node_of(stream).operator.function for stream in (keyed.sum(), keyed.min(1), keyed.max("f"))]
    assert made == [RollingSum(0), RollingExtreme(1), RollingExtreme("f", largest=True)]
    made = [node_of(stream).operator.function for stream in (keyed.min_by(2), keyed.max_by("f"))]
    assert made == [RollingExtremeBy(2), RollingExtremeBy("f", largest=True)]


def test_operators_of_a_keyed_stream_are_keyed_and_read_by_key(numbers: DataStream) -> None:
    keyed = numbers.key_by(lambda value: value % 2, Types.INT())
    for stream in (keyed.map(str), keyed.flat_map(lambda value: [value]), keyed.filter(bool)):
        node = node_of(stream)
        partitioning = node.inputs[0].partitioning
        assert node.operator.is_keyed
        assert (partitioning.exchange, partitioning.key_type) == (Exchange.KEYED, Types.INT())
        assert partitioning.key_selector is not None
        assert partitioning.key_selector(3) == 1
    assert not node_of(numbers.map(str)).operator.is_keyed
    assert exchange_of(keyed.map(str)) is Exchange.FORWARD


def test_a_new_key_replaces_the_old_one(numbers: DataStream) -> None:
    stream = numbers.key_by(lambda value: 0).key_by(lambda value: 1)
    assert isinstance(stream, KeyedStream)
    edge = node_of(stream.map(str)).inputs[0]
    assert edge.partitioning.key_selector is not None
    assert edge.partitioning.key_selector(5) == 1


@pytest.mark.parametrize(
    ("method", "exchange"),
    [
        ("shuffle", Exchange.SHUFFLE),
        ("rebalance", Exchange.REBALANCE),
        ("rescale", Exchange.RESCALE),
        ("forward", Exchange.FORWARD),
        ("broadcast", Exchange.BROADCAST),
        ("global_", Exchange.GLOBAL),
    ],
)
def test_distribution_changes_only_the_edges(numbers: DataStream, method: str, exchange: Exchange) -> None:
    dealt = getattr(numbers, method)()
    assert list(numbers.environment.graph.nodes) == [1]
    edge = node_of(dealt.map(str)).inputs[0]
    assert edge.partitioning.exchange is exchange
    assert edge.partitioning.is_explicit == (method == "forward")
    assert exchange_of(numbers) is Exchange.FORWARD


def test_custom_partitioning_carries_plain_callables(numbers: DataStream) -> None:
    for partitioner in (Modulo(), lambda key, count: key % count):
        partitioning = (
            node_of(numbers.partition_custom(partitioner, lambda value: value + 1).map(str)).inputs[0].partitioning
        )
        travelled = cloudpickle.loads(cloudpickle.dumps(partitioning))
        assert travelled.exchange is Exchange.CUSTOM
        assert travelled.partitioner(travelled.key_selector(4), 3) == 2


def test_union_gathers_the_edges_with_their_partitioning(env: StreamExecutionEnvironment, numbers: DataStream) -> None:
    others = env.from_collection([4]), env.from_collection([5])
    merged = numbers.union(others[0].rebalance(), others[1].key_by(str))
    node = node_of(merged.map(str))
    assert [edge.source_id for edge in node.inputs] == [1, 2, 3]
    assert [edge.partitioning.exchange for edge in node.inputs] == [
        Exchange.FORWARD,
        Exchange.REBALANCE,
        Exchange.KEYED,
    ]
    keyed = node_of(merged.key_by(str).map(str))
    assert {edge.partitioning.exchange for edge in keyed.inputs} == {Exchange.KEYED}


def test_a_side_output_is_an_edge_with_its_tag(numbers: DataStream) -> None:
    processed = numbers.process(PassOn())
    side = processed.get_side_output(OutputTag("late", Types.STRING()))
    assert side.get_type() == Types.STRING()
    assert node_of(side.map(str)).inputs == (Edge(2, FORWARD, "late"),)
    keyed_edge = node_of(side.key_by(str).map(str)).inputs[0]
    assert (keyed_edge.tag, keyed_edge.partitioning.exchange) == ("late", Exchange.KEYED)


@pytest.mark.filterwarnings("ignore:.* has no effect")
def test_settings_reach_the_node(env: StreamExecutionEnvironment, numbers: DataStream) -> None:
    stream = numbers.map(str).name("texts").uid("texts-1").set_parallelism(3).set_max_parallelism(64)
    stream = stream.set_description("numbers as texts").start_new_chain().set_buffer_timeout(10)
    stream.slot_sharing_group(SlotSharingGroup.builder("big").build())
    node = node_of(stream)
    assert (node.name, node.uid, node.parallelism, node.max_parallelism) == ("texts", "texts-1", 3, 64)
    assert (node.description, node.chaining) == ("numbers as texts", Chaining.HEAD)
    assert env.slot_sharing_groups == {2: "big"}
    assert node_of(stream.disable_chaining().slot_sharing_group("small")).chaining is Chaining.NEVER
    assert env.slot_sharing_groups == {2: "small"}
    assert node_of(stream.set_uid_hash("0123456789abcdef0123456789ABCDEF")).uid == "0123456789abcdef0123456789ABCDEF"
    single = node_of(stream.force_non_parallel())
    assert (single.parallelism, single.max_parallelism, single.is_single) == (1, 1, True)


def test_names_are_shown_with_their_role_but_given_and_told_without(numbers: DataStream) -> None:
    assert node_of(numbers).name == "Source: Collection Source"
    assert numbers.name("numbers").get_name() == "numbers"
    assert node_of(numbers).name == "Source: numbers"
    assert numbers.map(str).get_name() == "Map"
    assert node_of(numbers.print().name("screen")).name == "Sink: screen"


def test_types_follow_the_stream(numbers: DataStream) -> None:
    assert numbers.get_type() == Types.INT()
    for stream in (numbers.filter(bool), numbers.rebalance(), numbers.key_by(str), numbers.union(numbers)):
        assert stream.get_type() == Types.INT()
    assert numbers.key_by(str).reduce(max).get_type() == Types.INT()
    assert numbers.map(str, Types.STRING()).get_type() == Types.STRING()
    assert numbers.map(str).get_type() == Types.PICKLED_BYTE_ARRAY()


def test_selections_know_their_type_as_far_as_it_is_declared(env: StreamExecutionEnvironment) -> None:
    declared = Types.ROW_NAMED(["a", "b", "c"], [Types.STRING(), Types.INT(), Types.FLOAT()])
    typed = env.from_collection([Row(a="x", b=1, c=2.0)], declared)
    assert typed.filter(col("b") > 1).get_type() == declared
    selected = typed.select(
        "a",
        col("b").alias("n"),
        (col("b") + 1).alias("d"),
        (col("b") * col("c")).alias("e"),
        (col("b") / 2).alias("f"),
        col("a").is_null().alias("g"),
        lit("k").alias("h"),
    )
    assert selected.get_type() == Types.ROW_NAMED(
        ["a", "n", "d", "e", "f", "g", "h"],
        [Types.STRING(), Types.INT(), Types.LONG(), Types.DOUBLE(), Types.DOUBLE(), Types.BOOLEAN(), Types.STRING()],
    )
    assert typed.select("a", (col("a") + "x").alias("b")).get_type() == Types.PICKLED_BYTE_ARRAY()
    assert env.from_collection([{"a": 1}]).select("a").get_type() == Types.PICKLED_BYTE_ARRAY()


def test_projection_knows_its_type(env: StreamExecutionEnvironment) -> None:
    typed = env.from_collection([("a", 1, 2.0)], Types.TUPLE([Types.STRING(), Types.INT(), Types.DOUBLE()]))
    projected = typed.project(2, 0)
    assert projected.get_type() == Types.TUPLE([Types.DOUBLE(), Types.STRING()])
    assert repr(node_of(projected).operator.expressions) == "(col(2), col(0))"
    assert env.from_collection([("a", 1)]).project(1).get_type() == Types.PICKLED_BYTE_ARRAY()


def test_sinks_of_every_kind(numbers: DataStream) -> None:
    def write(frame: Any, batch: int) -> None:
        raise AssertionError("nothing runs here")

    printed = node_of(numbers.print("id"))
    assert (printed.role, printed.name) == (Role.SINK, "Sink: Print to Std. Out")
    assert printed.operator.description == PrintSink("id", False)
    assert node_of(numbers.print_to_err()).operator.description == PrintSink("", True)
    assert node_of(numbers.write_with_spark(write, "n INT")).operator.description == SparkWriterSink(write, "n INT")
    function_sink = node_of(numbers.add_sink(Forget()))
    assert (function_sink.name, type(function_sink.operator.sink)) == ("Sink: Forget", FunctionSink)
    sink = NoSink()
    assert node_of(numbers.add_sink(sink)).operator.sink is sink
    assert node_of(numbers.sink_to(sink)).operator.sink is sink
    settings = node_of(numbers.sink_to(NoSink()).uid("u").set_parallelism(2).disable_chaining().set_description("d"))
    assert (settings.uid, settings.parallelism, settings.chaining, settings.description) == (
        "u",
        2,
        Chaining.NEVER,
        "d",
    )


def test_a_sink_on_a_keyed_stream_reads_plain_values_by_key(numbers: DataStream) -> None:
    node = node_of(numbers.key_by(str).print())
    assert [(edge.source_id, edge.partitioning.exchange) for edge in node.inputs] == [(1, Exchange.KEYED)]


def test_a_keyed_stream_is_collected_as_key_and_value(numbers: DataStream) -> None:
    collected = numbers.key_by(lambda value: -value)._to_collect()
    assert node_of(collected).operator.function(5) == Row(f0=-5, f1=5)
    assert numbers._to_collect() is numbers


def test_the_whole_graph_travels(env: StreamExecutionEnvironment) -> None:
    env.from_collection([{"a": 1, 0: 2}]).key_by(["a", 0]).sum("a").project(0).process(PassOn()).print()
    travelled = cloudpickle.loads(cloudpickle.dumps(list(env.graph.nodes.values())))
    assert [node.name for node in travelled] == [node.name for node in env.graph.nodes.values()]
