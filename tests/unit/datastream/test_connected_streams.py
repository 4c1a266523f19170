"""Connected streams: the graph they leave behind, and what they refuse."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import pytest

from penstock.common.typeinfo import Types
from penstock.datastream import (
    CoFlatMapFunction,
    CoMapFunction,
    ConnectedStreams,
    CoProcessFunction,
    DataStream,
    KeyedCoProcessFunction,
    KeyedProcessFunction,
    OutputTag,
    StreamExecutionEnvironment,
)
from penstock.errors import GraphError
from penstock.graph import JobSettings, compile_plan
from penstock.graph.nodes import Edge, Exchange, Node
from penstock.runtime import operators

SIDE = OutputTag("side", Types.INT())


class Same(CoMapFunction):
    def map1(self, value: Any) -> Any:
        return value

    def map2(self, value: Any) -> Any:
        return value


class Nothing(CoFlatMapFunction):
    def flat_map1(self, value: Any) -> None:
        return None

    def flat_map2(self, value: Any) -> None:
        return None


class Plain(CoProcessFunction):
    def process_element1(self, value: Any, ctx: Any) -> Any:
        yield value

    def process_element2(self, value: Any, ctx: Any) -> Any:
        yield value


class Keyed(KeyedCoProcessFunction):
    def process_element1(self, value: Any, ctx: Any) -> Any:
        yield value

    def process_element2(self, value: Any, ctx: Any) -> Any:
        yield value


class OneInput(KeyedProcessFunction):
    def process_element(self, value: Any, ctx: Any) -> Any:
        yield value


@pytest.fixture
def env() -> StreamExecutionEnvironment:
    return StreamExecutionEnvironment.in_process()


@pytest.fixture
def numbers(env: StreamExecutionEnvironment) -> DataStream:
    return env.from_collection([1, 2, 3])


@pytest.fixture
def words(env: StreamExecutionEnvironment) -> DataStream:
    return env.from_collection(["a", "b"])


def last_node(env: StreamExecutionEnvironment) -> Node:
    return env.graph.nodes[max(env.graph.nodes)]


def exchanges(node: Node) -> list[tuple[int, Exchange]]:
    return [(edge.input_index, edge.partitioning.exchange) for edge in node.inputs]


# ---- the graph ----


@pytest.mark.parametrize(
    ("apply", "name", "operator"),
    [
        (lambda both: both.map(Same(), Types.INT()), "Co-Map", operators.CoMapOperator),
        (lambda both: both.flat_map(Nothing(), Types.INT()), "Co-Flat Map", operators.CoFlatMapOperator),
        (lambda both: both.process(Plain(), Types.INT()), "Co-Process", operators.CoProcessOperator),
    ],
)
def test_one_operator_reads_both_streams(
    env: StreamExecutionEnvironment,
    numbers: DataStream,
    words: DataStream,
    apply: Callable[[ConnectedStreams], DataStream],
    name: str,
    operator: type,
) -> None:
    result = apply(numbers.connect(words))
    node = last_node(env)
    assert (node.name, type(node.operator), node.operator.is_keyed) == (name, operator, False)
    assert [(edge.source_id, edge.input_index) for edge in node.inputs] == [(1, 0), (2, 1)]
    assert result.get_type() == Types.INT()


@pytest.mark.parametrize(
    ("apply", "operator"),
    [
        (lambda both: both.map(Same()), operators.CoMapOperator),
        (lambda both: both.flat_map(Nothing()), operators.CoFlatMapOperator),
        (lambda both: both.process(Keyed()), operators.KeyedCoProcessOperator),
        (lambda both: both.process(Plain()), operators.KeyedCoProcessOperator),
    ],
)
@pytest.mark.parametrize(
    "connect",
    [
        lambda left, right: left.connect(right).key_by(abs, len),
        lambda left, right: left.key_by(abs).connect(right.key_by(len)),
        lambda left, right: left.key_by(str).connect(right).key_by(abs, len),
    ],
)
def test_keyed_streams_make_a_keyed_operator(
    env: StreamExecutionEnvironment,
    numbers: DataStream,
    words: DataStream,
    connect: Callable[[DataStream, DataStream], ConnectedStreams],
    apply: Callable[[ConnectedStreams], DataStream],
    operator: type,
) -> None:
    apply(connect(numbers, words))
    node = last_node(env)
    assert (type(node.operator), node.operator.is_keyed) == (operator, True)
    assert exchanges(node) == [(0, Exchange.KEYED), (1, Exchange.KEYED)]
    selectors = [edge.partitioning.key_selector for edge in node.inputs]
    assert (selectors[0](-3), selectors[1]("abc")) == (3, 3)  # type: ignore[misc]


def test_the_keyed_process_is_named_as_in_pyflink(
    env: StreamExecutionEnvironment, numbers: DataStream, words: DataStream
) -> None:
    numbers.connect(words).key_by(abs, len, Types.INT()).process(Keyed())
    assert last_node(env).name == "Keyed Co-Process"
    assert [edge.partitioning.key_type for edge in last_node(env).inputs] == [Types.INT()] * 2


def test_one_keyed_stream_keeps_its_exchange_but_makes_no_keyed_operator(
    env: StreamExecutionEnvironment, numbers: DataStream, words: DataStream
) -> None:
    for apply in (lambda both: both.map(Same()), lambda both: both.process(Plain())):
        apply(numbers.key_by(abs).connect(words))
        assert not last_node(env).operator.is_keyed
        assert exchanges(last_node(env)) == [(0, Exchange.KEYED), (1, Exchange.FORWARD)]


def test_unions_side_outputs_and_dealt_streams_are_connected_edge_by_edge(
    env: StreamExecutionEnvironment, numbers: DataStream, words: DataStream
) -> None:
    first = numbers.connect(words).process(Plain())
    first.union(numbers.rebalance()).connect(first.get_side_output(SIDE).broadcast()).map(Same())
    assert [(edge.source_id, edge.tag, edge.input_index) for edge in last_node(env).inputs] == [
        (3, None, 0),
        (1, None, 0),
        (3, "side", 1),
    ]
    assert [exchange for _, exchange in exchanges(last_node(env))] == [
        Exchange.FORWARD,
        Exchange.REBALANCE,
        Exchange.BROADCAST,
    ]


def test_a_stream_is_connected_with_itself_by_two_edges(env: StreamExecutionEnvironment, numbers: DataStream) -> None:
    numbers.connect(numbers).map(Same()).print()
    assert env.graph.nodes[2].inputs == (Edge(1), Edge(1, input_index=1))
    plan = compile_plan(env.graph, JobSettings(job_name="job", parallelism=1))
    assert [(edge.number, edge.target_input) for edge in plan.vertices[0].outputs] == [(0, 0), (1, 1)]


def test_two_inputs_are_never_chained_to_one_of_them(
    env: StreamExecutionEnvironment, numbers: DataStream, words: DataStream
) -> None:
    numbers.connect(words).map(Same()).map(str).print()
    plan = compile_plan(env.graph, JobSettings(job_name="job", parallelism=1))
    assert [vertex.name for vertex in plan.vertices][2] == "Co-Map -> Map"


# ---- what is refused ----


@pytest.mark.parametrize(
    ("call", "complaint"),
    [
        (lambda both: both.map(lambda value: value), "map: expected a CoMapFunction"),
        (lambda both: both.map(Same), r"map: pass an instance, Same\(\)"),
        (lambda both: both.flat_map(Same()), "flat_map: expected a CoFlatMapFunction"),
        (lambda both: both.process(lambda value, ctx: []), "process: expected a CoProcessFunction"),
        (lambda both: both.process(Keyed()), "process: a KeyedCoProcessFunction needs both streams keyed; call key_by"),
        (lambda both: both.key_by(abs, len).process(OneInput()), "process: expected a KeyedCoProcessFunction"),
        (lambda both: both.key_by(abs, len).process(Keyed), r"pass an instance, Keyed\(\)"),
        (lambda both: both.key_by(abs, None), "key_by"),
        (lambda both: both.map(Same(), int), "map: output_type"),
        (lambda both: both.process(Plain(), int), "process: output_type"),
    ],
)
def test_mistakes_are_refused_at_the_call(
    numbers: DataStream, words: DataStream, call: Callable[[Any], Any], complaint: str
) -> None:
    with pytest.raises(GraphError, match=complaint):
        call(numbers.connect(words))


@pytest.mark.parametrize("keyed_side", [0, 1])
def test_a_keyed_function_needs_both_streams_keyed(numbers: DataStream, words: DataStream, keyed_side: int) -> None:
    streams = [numbers, words]
    streams[keyed_side] = streams[keyed_side].key_by(str)
    with pytest.raises(GraphError, match="both streams keyed"):
        streams[0].connect(streams[1]).process(Keyed())


def test_streams_of_two_environments_are_not_connected(numbers: DataStream) -> None:
    other = StreamExecutionEnvironment.in_process().from_collection([1])
    with pytest.raises(GraphError, match="connect: the streams belong to different environments"):
        numbers.connect(other)


def test_only_streams_are_connected(numbers: DataStream) -> None:
    with pytest.raises(GraphError, match=r"connect: expected a DataStream or a BroadcastStream, got \[1\]"):
        numbers.connect([1])  # type: ignore[call-overload]
