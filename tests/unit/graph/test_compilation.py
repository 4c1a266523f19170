"""From programs to plans: chaining, levels, ids, exchanges, and what is refused before anything runs."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import replace
from pathlib import Path
from typing import Any

import pytest

from penstock.connectors.sink import Sink, SinkContext, SinkWriter
from penstock.datastream import KeyedProcessFunction, OutputTag, ProcessFunction, StreamExecutionEnvironment
from penstock.datastream.data_stream import DataStream
from penstock.errors import ConfigurationError, GraphError, LikelyMistakeWarning
from penstock.graph import Exchange, JobPlan, JobSettings, LogicalGraph, Role, Vertex, compile_plan
from penstock.keys.groups import MAX_PARALLELISM_LIMIT
from penstock.runtime.operators import MapOperator

Build = Callable[[StreamExecutionEnvironment], Any]


class PassOn(ProcessFunction):
    def process_element(self, value: Any, ctx: Any) -> Any:
        yield value


class PassOnKeyed(KeyedProcessFunction):
    def process_element(self, value: Any, ctx: Any) -> Any:
        yield value


class TaskSink(Sink):
    def create_writer(self, context: SinkContext) -> SinkWriter:
        raise AssertionError("nothing runs here")


def plan_of(build: Build, **settings: Any) -> JobPlan:
    environment = StreamExecutionEnvironment.get_execution_environment()
    build(environment)
    return compile_plan(environment.graph, replace(JobSettings(job_name="test", parallelism=2), **settings))


def names(plan: JobPlan) -> list[str]:
    return [vertex.name for vertex in plan.vertices]


def numbers(environment: StreamExecutionEnvironment) -> DataStream:
    return environment.from_sequence(1, 100).name("numbers")


def step(stream: DataStream, name: str) -> DataStream:
    return stream.map(str).name(name)


# Chaining


def test_forward_edges_of_equal_parallelism_are_chained() -> None:
    plan = plan_of(lambda env: step(step(numbers(env), "a"), "b").print())
    assert names(plan) == ["Source: numbers -> a -> b", "Sink: Print to Std. Out"]


def test_another_parallelism_starts_a_vertex_and_rebalances() -> None:
    plan = plan_of(lambda env: step(step(numbers(env), "a"), "b").set_parallelism(3).print())
    assert names(plan)[:2] == ["Source: numbers -> a", "b"]
    assert plan.vertices[0].outputs[0].partitioning.exchange is Exchange.REBALANCE


def test_another_max_parallelism_starts_a_vertex_but_still_forwards() -> None:
    plan = plan_of(lambda env: step(step(numbers(env), "a"), "b").set_max_parallelism(64).print())
    assert names(plan)[:2] == ["Source: numbers -> a", "b"]
    assert plan.vertices[0].outputs[0].partitioning.exchange is Exchange.FORWARD


def test_disable_chaining_keeps_an_operator_apart_from_both_neighbours() -> None:
    def build(env: StreamExecutionEnvironment) -> None:
        step(step(step(numbers(env), "a"), "b").disable_chaining(), "c").print()

    assert names(plan_of(build))[:3] == ["Source: numbers -> a", "b", "c"]


def test_start_new_chain_cuts_before_the_operator_only() -> None:
    def build(env: StreamExecutionEnvironment) -> None:
        step(step(step(numbers(env), "a"), "b").start_new_chain(), "c").print()

    assert names(plan_of(build))[:2] == ["Source: numbers -> a", "b -> c"]


def test_chaining_can_be_switched_off_for_a_job() -> None:
    plan = plan_of(lambda env: step(step(numbers(env), "a"), "b").print(), chaining=False)
    assert names(plan)[:3] == ["Source: numbers", "a", "b"]


@pytest.mark.parametrize(
    "deal",
    [
        DataStream.rebalance,
        DataStream.rescale,
        DataStream.shuffle,
        DataStream.broadcast,
        DataStream.global_,
        lambda stream: stream.partition_custom(lambda key, n: 0, lambda value: value),
        lambda stream: stream.key_by(lambda value: value),
    ],
    ids=["rebalance", "rescale", "shuffle", "broadcast", "global", "custom", "key_by"],
)
def test_exchanges_are_not_chained(deal: Callable[[DataStream], DataStream]) -> None:
    assert names(plan_of(lambda env: step(deal(numbers(env)), "a").print()))[:2] == ["Source: numbers", "a"]


def test_unions_are_not_chained() -> None:
    plan = plan_of(lambda env: step(numbers(env).union(env.from_sequence(1, 2).name("more")), "a").print())
    assert names(plan)[:3] == ["Source: numbers", "Source: more", "a"]


def test_a_sink_of_tasks_is_not_chained_to_a_source_but_to_operators() -> None:
    plan = plan_of(lambda env: step(numbers(env), "a").sink_to(TaskSink()))
    assert names(plan) == ["Source: numbers -> a", "Sink: TaskSink"]
    plan = plan_of(lambda env: step(numbers(env).rebalance(), "a").sink_to(TaskSink()))
    assert names(plan) == ["Source: numbers", "a -> Sink: TaskSink"]


def test_side_outputs_may_be_chained_and_several_branches_too() -> None:
    def build(env: StreamExecutionEnvironment) -> None:
        split = numbers(env).rebalance().process(PassOn()).name("split")
        step(split, "main").print()
        step(split.get_side_output(OutputTag("odd")), "side").print()

    vertex = plan_of(build).vertices[1]
    assert vertex.name == "split -> main -> side"
    assert [(op.parent, op.tag) for op in vertex.operators] == [(None, None), (0, None), (0, "odd")]
    assert [(edge.number, edge.operator, edge.to_driver) for edge in vertex.outputs] == [(0, 1, True), (1, 2, True)]


def test_driver_sinks_stand_behind_everything_and_get_records_as_they_are() -> None:
    def build(env: StreamExecutionEnvironment) -> None:
        stream = numbers(env)
        stream.key_by(lambda value: value).print()
        step(step(stream.rebalance(), "a").rebalance(), "b").sink_to(TaskSink())

    plan = plan_of(build)
    assert [vertex.is_driver for vertex in plan.vertices] == [False, False, False, True]
    assert plan.driver_vertices()[0].level == 3
    to_driver = [edge for edge in plan.vertices[0].outputs if edge.to_driver]
    assert [edge.partitioning.exchange for edge in to_driver] == [Exchange.FORWARD]


# Levels and edges


def diamond(env: StreamExecutionEnvironment) -> None:
    start = step(numbers(env).rebalance(), "start")
    short = step(start.rebalance(), "short")
    long = step(step(start.rebalance(), "long1").rebalance(), "long2")
    step(short.union(long), "join").print()


def test_a_level_is_one_more_than_the_highest_input() -> None:
    plan = plan_of(diamond)
    levels = {vertex.name: vertex.level for vertex in plan.vertices}
    assert levels == {
        "Source: numbers": 0, "start": 1, "short": 2, "long1": 2, "long2": 3, "join": 4, "Sink: Print to Std. Out": 5
    }  # fmt: skip
    assert [(level, [v.name for v in vertices]) for level, vertices in plan.levels()] == [
        (1, ["start"]), (2, ["short", "long1"]), (3, ["long2"]), (4, ["join"])
    ]  # fmt: skip


def test_ids_are_positions_and_edges_agree_on_both_sides() -> None:
    plan = plan_of(diamond)
    assert [vertex.id for vertex in plan.vertices] == list(range(len(plan.vertices)))
    sent = {(v.id, edge.number, edge.target) for v in plan.vertices for edge in v.outputs}
    received = {(edge.source, edge.number, v.id) for v in plan.vertices for edge in v.inputs}
    assert sent == received
    assert all(v.level < plan.vertex(edge.target).level for v in plan.vertices for edge in v.outputs)


def test_two_edges_between_the_same_vertices_are_told_apart() -> None:
    def build(env: StreamExecutionEnvironment) -> None:
        split = numbers(env).rebalance().process(PassOn()).name("split")
        step(split.union(split.get_side_output(OutputTag("odd"))), "both").print()

    both = next(vertex for vertex in plan_of(build).vertices if vertex.name == "both")
    assert len({edge.sender for edge in both.inputs}) == 2


def test_a_source_has_as_many_subtasks_as_splits() -> None:
    def build(env: StreamExecutionEnvironment) -> None:
        step(env.from_sequence(1, 2).name("few").disable_chaining(), "a").print()

    plan = plan_of(build, parallelism=4)
    assert [vertex.parallelism for vertex in plan.vertices[:2]] == [2, 4]
    assert plan.vertices[1].inputs[0].channels == 2
    assert not plan.vertices[1].inputs[0].is_pointwise


def test_a_collection_has_one_subtask() -> None:
    plan = plan_of(lambda env: step(env.from_collection([1, 2]).name("c"), "a").print())
    assert [vertex.parallelism for vertex in plan.vertices[:2]] == [1, 2]
    assert plan.vertices[0].outputs[0].partitioning.exchange is Exchange.REBALANCE


def test_equal_forward_edges_are_pointwise() -> None:
    plan = plan_of(lambda env: step(step(numbers(env).rebalance(), "a"), "b").start_new_chain().print())
    b = next(vertex for vertex in plan.vertices if vertex.name == "b")
    assert b.inputs[0].is_pointwise


# Operator ids


def uids(plan: JobPlan) -> list[str]:
    return [op.uid for vertex in plan.vertices for op in vertex.operators]


def twins(env: StreamExecutionEnvironment) -> None:
    start = numbers(env)
    for _ in range(3):
        start.map(str).print()


def test_generated_uids_are_unique_and_the_same_in_every_build() -> None:
    assert len(set(uids(plan_of(twins)))) == 7
    assert uids(plan_of(twins)) == uids(plan_of(twins))
    assert uids(plan_of(diamond)) == uids(plan_of(diamond))


def test_a_generated_uid_does_not_depend_on_parallelism_or_operators_beside() -> None:
    def build(env: StreamExecutionEnvironment) -> None:
        start = numbers(env)
        start.filter(bool).name("beside").print()
        step(start, "a").print()

    alone = plan_of(lambda env: step(numbers(env), "a").print())
    beside = plan_of(build, parallelism=3)
    by_name = {op.name: op.uid for vertex in beside.vertices for op in vertex.operators}
    assert by_name["a"] == {op.name: op.uid for vertex in alone.vertices for op in vertex.operators}["a"]


def test_own_uids_are_kept() -> None:
    plan = plan_of(lambda env: step(numbers(env), "a").uid("mine").print())
    assert plan.vertices[0].operators[1].uid == "mine"


# What is refused


def refused(build: Build, **settings: Any) -> str:
    with pytest.raises((GraphError, ConfigurationError)) as error:
        plan_of(build, **settings)
    return str(error.value)


def test_a_uid_used_twice_is_refused_with_both_names() -> None:
    text = refused(lambda env: step(step(numbers(env), "a").uid("same"), "b").uid("same").print())
    assert "'same'" in text and "'a'" in text and "'b'" in text


def test_an_empty_job_is_refused() -> None:
    assert "empty" in refused(lambda env: None)


def test_a_job_without_sink_runs_with_a_warning(tmp_path: Path) -> None:
    environment = StreamExecutionEnvironment.in_process().set_parallelism(1)
    environment.from_collection([1, 2]).map(lambda value: (tmp_path / str(value)).touch()).name("a")
    with pytest.warns(LikelyMistakeWarning, match=r"The job has no sink, .*last operators: .*'a'") as told:
        environment.execute()
    assert sorted(path.name for path in tmp_path.iterdir()) == ["1", "2"]
    assert {each.filename for each in told} == {__file__}


def test_forward_with_unequal_parallelism_is_refused() -> None:
    text = refused(lambda env: step(numbers(env).forward(), "a").set_parallelism(3).print())
    assert "forward needs equal parallelism" in text and "'a'" in text


def test_a_stream_of_an_executed_job_is_refused() -> None:
    def build(env: StreamExecutionEnvironment) -> None:
        stream = numbers(env)
        stream.print()
        del env.graph.nodes[stream._node_id]  # type: ignore[arg-type]

    assert "another environment" in refused(build)


@pytest.mark.parametrize("limit", [0, -1, MAX_PARALLELISM_LIMIT + 1])
def test_max_parallelism_out_of_bounds_is_refused(limit: int) -> None:
    graph = LogicalGraph()
    graph.add(Role.SOURCE, "numbers", MapOperator(str), max_parallelism=limit)
    graph.add(Role.SINK, "sink", MapOperator(str))
    with pytest.raises(GraphError, match=f"max parallelism {limit}"):
        compile_plan(graph, JobSettings())


@pytest.mark.parametrize("parallelism", [0, -2])
def test_parallelism_below_one_is_refused(parallelism: int) -> None:
    graph = LogicalGraph()
    graph.add(Role.SOURCE, "numbers", MapOperator(str), parallelism=parallelism)
    graph.add(Role.SINK, "sink", MapOperator(str))
    with pytest.raises(GraphError, match=f"'numbers' has parallelism {parallelism}"):
        compile_plan(graph, JobSettings())


def test_more_parallelism_than_max_parallelism_is_refused() -> None:
    text = refused(lambda env: step(numbers(env), "a").set_max_parallelism(2).set_parallelism(3).print())
    assert "'a' has parallelism 3 but max parallelism 2" in text


def test_an_operator_without_input_is_refused() -> None:
    graph = LogicalGraph()
    graph.add(Role.SINK, "lonely", MapOperator(str))
    with pytest.raises(GraphError, match="'lonely' has no input"):
        compile_plan(graph, JobSettings())


@pytest.mark.parametrize(("parallelism", "limit"), [(1, 128), (128, 256), (85, 128), (86, 256), (30000, 32768)])
def test_the_default_max_parallelism_follows_flink(parallelism: int, limit: int) -> None:
    plan = plan_of(lambda env: step(numbers(env), "a").set_parallelism(parallelism).print(), parallelism=1)
    assert next(vertex for vertex in plan.vertices if vertex.name.endswith("a")).max_parallelism == limit


# Fingerprint and explanation


def fingerprint(build: Build, **settings: Any) -> str:
    return plan_of(build, **settings).digest()


def test_the_fingerprint_sees_what_state_depends_on_and_nothing_else() -> None:
    def build(env: StreamExecutionEnvironment, name: str = "a", with_print: bool = True) -> None:
        stream = numbers(env).key_by(lambda value: value).process(PassOnKeyed()).name(name).uid("state")
        stream.sink_to(TaskSink())
        if with_print:
            stream.print()

    base = fingerprint(build)
    assert fingerprint(build) == base
    assert fingerprint(lambda env: build(env, with_print=False)) == base, "the driver's side has no state"
    assert fingerprint(build, job_name="another name") == base
    assert fingerprint(build, parallelism=3) != base
    assert fingerprint(build, max_parallelism=64) != base
    assert fingerprint(lambda env: build(env, name="b")) != base


EXPLAINED = """\
Job 'test': 3 vertices

Level 0 (sources)
  [0] Source: numbers, parallelism 2 (max 128)
        Source: numbers <SourceOperator> uid=source
            rows: the source gives records one by one
        --keyed--> [1]

Level 1
  [1] count, parallelism 2 (max 128)
        count <KeyedProcessOperator> uid=count
        --to driver--> [2] side output 'odd'

Driver
  [2] Sink: Print to Std. Out
        Sink: Print to Std. Out <DriverSinkOperator> uid={uid}*

* the uid was generated; give the operator one with .uid(...) so that its state is found again"""


def test_the_explanation_reads_as_it_should() -> None:
    def build(env: StreamExecutionEnvironment) -> None:
        counted = (
            numbers(env).uid("source").key_by(lambda value: value).process(PassOnKeyed()).name("count").uid("count")
        )
        counted.get_side_output(OutputTag("odd")).print()

    plan = plan_of(build)
    sink: Vertex = plan.driver_vertices()[0]
    assert plan.explain() == EXPLAINED.format(uid=sink.uid)
