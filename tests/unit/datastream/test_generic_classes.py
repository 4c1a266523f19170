"""Types in brackets are for type checkers: while a job runs they change nothing."""

from __future__ import annotations

import copy
import pickle
from typing import Any

import cloudpickle
import pytest

from penstock.common import Types, WatermarkStrategy
from penstock.common.serialization import DeserializationSchema, SerializationSchema
from penstock.common.typeinfo import TypeInformation
from penstock.connectors.sink import Sink
from penstock.connectors.source import Source
from penstock.datastream import (
    DataStream,
    KeyedProcessFunction,
    KeyedStream,
    MapFunction,
    OutputTag,
    StreamExecutionEnvironment,
    functions,
    state,
)
from penstock.datastream.data_stream import AllWindowedStream, CloseableIterator, ConnectedStreams, WindowedStream

GENERIC = [
    (DataStream, 1),
    (KeyedStream, 2),
    (WindowedStream, 3),
    (AllWindowedStream, 2),
    (ConnectedStreams, 2),
    (CloseableIterator, 1),
    (OutputTag, 1),
    (TypeInformation, 1),
    (WatermarkStrategy, 1),
    (SerializationSchema, 1),
    (DeserializationSchema, 1),
    (Source, 1),
    (Sink, 1),
    (functions.MapFunction, 2),
    (functions.FlatMapFunction, 2),
    (functions.FilterFunction, 1),
    (functions.ReduceFunction, 1),
    (functions.AggregateFunction, 3),
    (functions.KeySelector, 2),
    (functions.ProcessFunction, 2),
    (functions.KeyedProcessFunction, 3),
    (functions.KeyedProcessFunction.Context, 1),
    (functions.KeyedProcessFunction.OnTimerContext, 1),
    (functions.CoProcessFunction, 3),
    (functions.KeyedCoProcessFunction, 4),
    (functions.BroadcastProcessFunction, 3),
    (functions.KeyedBroadcastProcessFunction, 4),
    (functions.ProcessWindowFunction, 4),
    (functions.ProcessAllWindowFunction, 3),
    (state.ValueState, 1),
    (state.ListState, 1),
    (state.MapState, 2),
    (state.ReducingState, 1),
    (state.AggregatingState, 2),
    (state.ValueStateDescriptor, 1),
    (state.ListStateDescriptor, 1),
    (state.MapStateDescriptor, 2),
    (state.ReducingStateDescriptor, 1),
    (state.AggregatingStateDescriptor, 3),
]


class Plain(MapFunction):
    def map(self, value: Any) -> Any:
        return value + 1


class Typed(MapFunction[int, int]):
    def map(self, number: int) -> int:
        return number + 1


@pytest.mark.parametrize(("kind", "count"), GENERIC, ids=lambda given: getattr(given, "__qualname__", given))
def test_a_class_takes_types_in_brackets(kind: Any, count: int) -> None:
    assert len(kind.__parameters__) == count
    alias = kind[(int,) * count]
    assert alias.__origin__ is kind
    with pytest.raises(TypeError):
        kind[(int,) * (count + 1)]


@pytest.mark.parametrize("function", [Plain(), Typed()])
def test_functions_are_pickled_by_either_pickle(function: MapFunction) -> None:
    for dump in (pickle.dumps, cloudpickle.dumps):
        found = pickle.loads(dump(function))
        assert isinstance(found, MapFunction)
        assert found.map(1) == 2


def test_a_function_of_the_main_module_is_pickled_by_value() -> None:
    space: dict[str, Any] = {"__name__": "__main__"}
    exec(
        "from penstock.datastream import KeyedProcessFunction, OutputTag\n"
        "TAG = OutputTag[int]('odd')\n"
        "class Odd(KeyedProcessFunction[int, int, int]):\n"
        "    def process_element(self, value, ctx: KeyedProcessFunction.Context[int]):\n"
        "        yield (TAG, value) if value % 2 else value\n",
        space,
    )
    found = pickle.loads(cloudpickle.dumps(space["Odd"]()))
    assert isinstance(found, KeyedProcessFunction)
    assert list(found.process_element(2, None)) == [2]  # type: ignore[arg-type]


@pytest.mark.parametrize(
    "given",
    [
        OutputTag[int]("a", Types.LONG()),
        state.ValueStateDescriptor[int]("a", Types.LONG()),
        state.MapStateDescriptor[str, int]("a", Types.STRING(), Types.LONG()),
        WatermarkStrategy[int].for_monotonous_timestamps(),
    ],
)
def test_what_was_made_with_brackets_is_copied_and_pickled(given: Any) -> None:
    assert copy.deepcopy(given) == given
    assert pickle.loads(pickle.dumps(given)) == given


def test_brackets_make_no_other_tag_or_state() -> None:
    assert OutputTag[int]("a") == OutputTag("a")
    assert state.ValueStateDescriptor[int]("a") == state.ValueStateDescriptor("a")


def test_a_job_with_and_without_brackets_gives_the_same() -> None:
    environment = StreamExecutionEnvironment.in_process()
    for function in (Plain(), Typed()):
        with environment.from_collection([1, 2]).map(function).execute_and_collect() as results:
            assert list(results) == [2, 3]
