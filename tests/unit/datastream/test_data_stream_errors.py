"""Every mistake that the fluent API can see is refused at the call, in one sentence that says what to do."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import pytest

from penstock.common.typeinfo import Types
from penstock.datastream.data_stream import DataStream
from penstock.datastream.expressions import col
from penstock.datastream.functions import FilterFunction, KeyedProcessFunction, MapFunction, ProcessFunction
from penstock.datastream.output_tag import OutputTag
from penstock.datastream.stream_execution_environment import StreamExecutionEnvironment
from penstock.errors import GraphError


class Increment(MapFunction):
    def map(self, value: int) -> int:
        return value + 1


class Keep(FilterFunction):
    def filter(self, value: Any) -> bool:
        return True


class CallableKeep(Keep):
    def __call__(self, value: Any) -> bool:
        return True


class PassOn(ProcessFunction):
    def process_element(self, value: Any, ctx: Any) -> Any:
        yield value


class PassOnKeyed(KeyedProcessFunction):
    def process_element(self, value: Any, ctx: Any) -> Any:
        yield value


def typed(stream: DataStream) -> DataStream:
    return stream.map(str, Types.ROW_NAMED(["a"], [Types.INT()]))


class Builder:
    def build(self) -> None:
        pass


@pytest.fixture
def stream() -> DataStream:
    return StreamExecutionEnvironment.get_execution_environment().from_collection([1], Types.INT())


MISTAKES: list[tuple[Callable[[Any], Any], str]] = [
    (lambda s: s.map(5), "map: expected a MapFunction or a callable, got 5 of type int"),
    (lambda s: s.map(Keep()), "map: expected a MapFunction or a callable"),
    (lambda s: s.map(CallableKeep()), "map: expected a MapFunction or a callable"),
    (lambda s: s.map(Increment), r"map: pass an instance, Increment\(\)"),
    (lambda s: s.map(str, "STRING"), "map: output_type is of unknown type 'STRING'"),
    (lambda s: s.flat_map(None), "flat_map: expected a FlatMapFunction or a callable"),
    (lambda s: s.flat_map(str, int), "flat_map: output_type is of unknown type"),
    (lambda s: s.filter("x"), "filter: expected a FilterFunction or a callable"),
    (
        lambda s: s.process(PassOnKeyed()),
        r"process: a KeyedProcessFunction needs a keyed stream; call key_by\(\) first",
    ),
    (lambda s: s.process(str), "process: expected a ProcessFunction"),
    (lambda s: s.process(PassOn), r"process: pass an instance, PassOn\(\)"),
    (lambda s: s.process(PassOn(), 1), "process: output_type is of unknown type 1"),
    (lambda s: s.key_by(str).process(PassOn()), "process: a keyed stream needs a KeyedProcessFunction"),
    (lambda s: s.key_by(str).process(str), "process: expected a KeyedProcessFunction"),
    (lambda s: s.key_by(str).reduce(3), "reduce: expected a ReduceFunction or a callable"),
    (lambda s: s.key_by(str).sum(-1), "sum: a field is a name or a position from 0, got -1"),
    (lambda s: s.key_by(str).min(None), "min: a field"),
    (lambda s: s.key_by(str).max(""), "max: a field"),
    (lambda s: s.key_by(str).min_by(1.0), "min_by: a field"),
    (lambda s: s.key_by(str).max_by(True), "max_by: a field"),
    (lambda s: s.key_by(3.5), "key_by: expected a callable"),
    (lambda s: s.key_by(str, int), "key_by: key_type is of unknown type"),
    (lambda s: s.partition_custom(3, str), "partition_custom: expected a Partitioner or a callable"),
    (lambda s: s.partition_custom(max, 2.5), "partition_custom: expected a callable"),
    (lambda s: s.select(), "select: give at least one field or expression"),
    (lambda s: s.select(1), r"select: expected field names or expressions such as col\('a'\) \+ 1, got 1"),
    (lambda s: s.select(col("a") + 1), r"select: \(col\('a'\) \+ 1\) has no name; give it one with .alias"),
    (lambda s: s.select(col(0)), r"select: col\(0\) has no name"),
    (lambda s: s.select("a", col("b").alias("a")), "select: 'a' is used twice as a name"),
    (lambda s: typed(s).select("b"), r"select: no field 'b' in ROW\(a: INT\)"),
    (lambda s: typed(s).filter((col("a") > 1) & ~col("b")), r"filter: no field 'b' in ROW\(a: INT\)"),
    (
        lambda s: s.filter(col("a") > 1 and col("b") > 1),
        "combine conditions with &, | and ~ instead of and",
    ),
    (lambda s: s.filter(1 < col("a") < 3), r"write between\(low, high\)"),
    (lambda s: s.filter(col("a") == [1]), r"lit: a constant must be a number.* got \[1\] of type list"),
    (lambda s: s.filter(col("")), "col: a field is a name or a position from 0, got ''"),
    (lambda s: s.filter(col(True)), "col: a field is a name"),
    (lambda s: s.select(col("a").alias("")), "alias: expected a name, got ''"),
    (lambda s: s.project(), "project: give at least one field"),
    (lambda s: s.project(-1), "project: a field"),
    (lambda s: s.project(0), "project: only tuples and Rows have fields"),
    (lambda s: s.map(str, Types.TUPLE([Types.INT()])).project(1), "project: no field 1 in TUPLE"),
    (lambda s: s.assign_timestamps_and_watermarks(5), "expected a WatermarkStrategy, got 5"),
    (lambda s: s.union([1]), "union: expected DataStreams"),
    (lambda s: s.map(str).get_side_output("late"), "get_side_output: expected an OutputTag"),
    (lambda s: s.get_side_output(OutputTag("t")), "'Source: Collection Source' is a source"),
    (lambda s: s.key_by(str).get_side_output(OutputTag("t")), r"stream made by key_by\(\)"),
    (lambda s: s.add_sink(5), "add_sink: expected a SinkFunction or a Sink, got 5"),
    (lambda s: s.sink_to(5), "sink_to: expected a Sink"),
    (lambda s: s.sink_to(Builder()), r"call .build\(\) on it first"),
    (lambda s: s.write_with_spark(5), "write_with_spark: expected a function"),
    (lambda s: s.write_with_spark(print, 5), "write_with_spark: schema is of unknown type"),
    (lambda s: s.execute_and_collect(limit=0), "execute_and_collect: the limit must be an int of 1 or more"),
    (lambda s: s.map(str).set_parallelism(0), "parallelism of operator 'Map' must be an int of 1 or more, got 0"),
    (lambda s: s.map(str).set_parallelism(True), "operator 'Map'"),
    (lambda s: s.map(str).set_parallelism("2"), "operator 'Map'"),
    (lambda s: s.set_parallelism(2), "'Source: Collection Source' can only run with parallelism 1"),
    (lambda s: s.map(str).force_non_parallel().set_parallelism(2), "'Map' can only run with parallelism 1"),
    (lambda s: s.map(str).set_max_parallelism(32769), "operator 'Map' must be an int from 1 to 32768, got 32769"),
    (lambda s: s.map(str).set_max_parallelism(0), "from 1 to 32768"),
    (lambda s: s.print().set_parallelism(0), "operator 'Sink: Print to Std. Out'"),
    (lambda s: s.name(""), "name: expected a non-empty string"),
    (lambda s: s.uid(5), "uid: expected a non-empty string"),
    (lambda s: s.set_uid_hash("xyz"), "set_uid_hash: expected a string of 32 hex digits"),
    (lambda s: s.slot_sharing_group(5), "slot_sharing_group: expected a non-empty string"),
    (lambda s: s.set_buffer_timeout(-2), "set_buffer_timeout: expected milliseconds"),
]


@pytest.mark.parametrize(("mistake", "text"), MISTAKES, ids=[text for _, text in MISTAKES])
def test_a_mistake_is_refused_and_leaves_no_node(stream: DataStream, mistake: Callable[[Any], Any], text: str) -> None:
    with pytest.raises(GraphError, match=text):
        mistake(stream)
    wrong = [node for node in stream.environment.graph.nodes.values() if node.name not in KNOWN_NAMES]
    assert wrong == []


KNOWN_NAMES = {"Source: Collection Source", "Map", "Sink: Print to Std. Out"}

NO_NODE: list[tuple[str, Callable[[DataStream], DataStream]]] = [
    ("union", lambda s: s.union(s)),
    ("key_by", lambda s: s.key_by(str)),
    ("rebalance", lambda s: s.rebalance()),
    ("forward", lambda s: s.forward()),
    ("partition_custom", lambda s: s.partition_custom(max, str)),
    ("get_side_output", lambda s: s.map(str).get_side_output(OutputTag("t"))),
]
SETTINGS: list[tuple[str, tuple[Any, ...]]] = [
    ("name", ("x",)),
    ("get_name", ()),
    ("uid", ("x",)),
    ("set_uid_hash", ("0" * 32,)),
    ("set_parallelism", (1,)),
    ("set_max_parallelism", (1,)),
    ("force_non_parallel", ()),
    ("start_new_chain", ()),
    ("disable_chaining", ()),
    ("slot_sharing_group", ("x",)),
    ("set_buffer_timeout", (1,)),
    ("set_description", ("x",)),
    ("get_side_output", (OutputTag("t"),)),
]


@pytest.mark.parametrize(("made_by", "make"), NO_NODE, ids=[made_by for made_by, _ in NO_NODE])
@pytest.mark.parametrize(("method", "arguments"), SETTINGS, ids=[method for method, _ in SETTINGS])
def test_streams_that_are_only_edges_have_no_settings(
    stream: DataStream,
    made_by: str,
    make: Callable[[DataStream], DataStream],
    method: str,
    arguments: tuple[Any, ...],
) -> None:
    with pytest.raises(GraphError, match=rf"{method}\(\) does not work on a stream made by {made_by}\(\)"):
        getattr(make(stream), method)(*arguments)


def test_streams_of_two_environments_do_not_unite(stream: DataStream) -> None:
    other = StreamExecutionEnvironment.get_execution_environment().from_collection([2])
    with pytest.raises(GraphError, match="different environments"):
        stream.union(other)
