"""Broadcast streams in the logical graph: nodes, edges, and the arguments that are refused."""

from __future__ import annotations

from typing import Any

import pytest

from penstock.common import Types
from penstock.common.time import Time
from penstock.datastream import (
    BroadcastConnectedStream,
    BroadcastProcessFunction,
    BroadcastStream,
    DataStream,
    KeyedBroadcastProcessFunction,
    StreamExecutionEnvironment,
)
from penstock.datastream.state import MapStateDescriptor, StateTtlConfig, ValueStateDescriptor
from penstock.errors import GraphError
from penstock.graph import JobSettings, compile_plan
from penstock.graph.nodes import Exchange

RULES = MapStateDescriptor("rules")
LIMITS = MapStateDescriptor("limits")


class Plain(BroadcastProcessFunction):
    def process_element(self, value: Any, ctx: Any) -> Any:
        rules = ctx.get_broadcast_state(RULES)
        yield value, sorted(rules.keys())

    def process_broadcast_element(self, value: Any, ctx: Any) -> Any:
        ctx.get_broadcast_state(RULES).put(value, value)


class Keyed(KeyedBroadcastProcessFunction):
    def process_element(self, value: Any, ctx: Any) -> Any:
        yield ctx.get_current_key()

    def process_broadcast_element(self, value: Any, ctx: Any) -> Any:
        yield value


@pytest.fixture
def environment() -> StreamExecutionEnvironment:
    return StreamExecutionEnvironment.in_process()


@pytest.fixture
def data(environment: StreamExecutionEnvironment) -> DataStream:
    return environment.from_collection([1, 2])


@pytest.fixture
def rules(environment: StreamExecutionEnvironment) -> DataStream:
    return environment.from_collection(["a"])


def expiring() -> MapStateDescriptor:
    descriptor = MapStateDescriptor("old")
    descriptor.enable_time_to_live(StateTtlConfig.new_builder(Time.seconds(1)).build())
    return descriptor


def test_the_stream_is_the_first_input_and_the_broadcast_one_the_second(data: DataStream, rules: DataStream) -> None:
    broadcast = rules.broadcast(RULES, LIMITS)
    assert isinstance(broadcast, BroadcastStream)
    connected = data.connect(broadcast)
    assert isinstance(connected, BroadcastConnectedStream)
    assert connected.broadcast_state_descriptors == [RULES, LIMITS]
    result = connected.process(Plain(), Types.INT())
    assert (result.get_name(), result.get_type()) == ("Co-Process-Broadcast", Types.INT())
    node = result.get_execution_environment().graph.nodes[result.edges[0].source_id]
    assert [(edge.source_id, edge.input_index, edge.partitioning.exchange) for edge in node.inputs] == [
        (data.edges[0].source_id, 0, Exchange.FORWARD),
        (rules.edges[0].source_id, 1, Exchange.BROADCAST),
    ]


def test_a_keyed_stream_keeps_its_keys(data: DataStream, rules: DataStream) -> None:
    result = data.key_by(lambda value: value).connect(rules.broadcast(RULES)).process(Keyed())
    assert result.get_name() == "Co-Process-Broadcast-Keyed"
    node = result.get_execution_environment().graph.nodes[result.edges[0].source_id]
    assert [edge.partitioning.exchange for edge in node.inputs] == [Exchange.KEYED, Exchange.BROADCAST]


def test_unions_are_welcome_on_both_sides(
    environment: StreamExecutionEnvironment, data: DataStream, rules: DataStream
) -> None:
    more_data, more_rules = environment.from_collection([3]), environment.from_collection(["b"])
    result = data.union(more_data).connect(rules.union(more_rules).broadcast(RULES)).process(Plain())
    result.print()
    plan = compile_plan(environment.graph, JobSettings(job_name="job", parallelism=2))
    vertex = next(vertex for vertex in plan.vertices if "Co-Process-Broadcast" in vertex.name)
    assert sorted(edge.input_index for edge in vertex.inputs) == [0, 0, 1, 1]


def test_every_subtask_gets_the_rules(environment: StreamExecutionEnvironment, rules: DataStream) -> None:
    environment.set_parallelism(3)
    numbers = environment.from_collection(list(range(9))).rebalance()
    result = numbers.connect(rules.broadcast(RULES)).process(Plain())
    found = dict(result.execute_and_collect())
    assert set(found) == set(range(9))
    assert all(seen in ([], ["a"]) for seen in found.values())


@pytest.mark.parametrize(
    ("build", "words"),
    [
        (lambda data, rules: rules.broadcast(ValueStateDescriptor("v")), "expected MapStateDescriptors"),
        (lambda data, rules: rules.broadcast(RULES, "limits"), "expected MapStateDescriptors, got 'limits'"),
        (lambda data, rules: rules.broadcast(expiring()), "'old' has a time-to-live"),
        (lambda data, rules: data.connect(rules.broadcast(RULES)).process(Keyed()), "needs a keyed stream"),
        (
            lambda data, rules: data.key_by(str).connect(rules.broadcast(RULES)).process(Plain()),
            "needs a stream that is not keyed",
        ),
        (lambda data, rules: data.connect(rules.broadcast(RULES)).process(Plain), r"pass an instance, Plain\(\)"),
        (lambda data, rules: data.connect(rules.broadcast(RULES)).process(print), "expected a BroadcastProcessFunc"),
        (
            lambda data, rules: data.key_by(str).connect(rules.broadcast(RULES)).process(print),
            "expected a KeyedBroadcastProcessFunction",
        ),
        (lambda data, rules: data.connect(rules.broadcast(RULES)).process(Plain(), int), "output_type is of unknown"),
        (
            lambda data, rules: data.connect(
                StreamExecutionEnvironment.in_process().from_collection(["a"]).broadcast(RULES)
            ),
            "different environments",
        ),
    ],
)
def test_what_cannot_work_is_refused(data: DataStream, rules: DataStream, build: Any, words: str) -> None:
    with pytest.raises(GraphError, match=words):
        build(data, rules)
