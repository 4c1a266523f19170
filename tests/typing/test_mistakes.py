"""What type checkers refuse: each `type: ignore` is one complaint, and `make types` fails where it is not needed."""

from __future__ import annotations

from collections.abc import Iterable

import pytest

from penstock.common import Time, Types
from penstock.datastream import (
    DataStream,
    FilterFunction,
    KeyedProcessFunction,
    MapFunction,
    OutputTag,
    ProcessFunction,
    StreamExecutionEnvironment,
    WindowFunction,
)
from penstock.datastream.state import ValueStateDescriptor
from penstock.datastream.window import CountWindow, TumblingEventTimeWindows
from penstock.errors import GraphError, JobFailedError


class Length(MapFunction[str, int]):
    def map(self, value: str) -> int:
        return len(value)


class Long(FilterFunction[str]):
    def filter(self, value: str) -> bool:
        return len(value) > 3


class Keyed(KeyedProcessFunction[str, int, int]):
    def process_element(self, value: int, ctx: KeyedProcessFunction.Context[str]) -> Iterable[int]:
        return [value]


class OfCounts(WindowFunction[int, int, int, CountWindow]):
    def apply(self, key: int, window: CountWindow, inputs: Iterable[int]) -> Iterable[int]:
        return inputs


class WrongTag(ProcessFunction[int, int]):
    def process_element(self, value: int, ctx: ProcessFunction.Context) -> Iterable[int]:
        tag: OutputTag[str] = OutputTag("texts", Types.STRING())
        ctx.output(tag, value)  # type: ignore[misc]
        return [value]


def numbers() -> DataStream[int]:
    return StreamExecutionEnvironment.in_process().from_collection([1, 2])


def test_functions_of_other_elements() -> None:
    stream = numbers()
    stream.map(Length())  # type: ignore[arg-type]
    stream.filter(Long())  # type: ignore[arg-type]
    stream.map(lambda number: number.upper())  # type: ignore[attr-defined]
    stream.key_by(lambda number: number % 2).process(Keyed())  # type: ignore[arg-type]
    windows = stream.key_by(lambda number: number % 2).window(TumblingEventTimeWindows.of(Time.seconds(1)))
    windows.apply(OfCounts())  # type: ignore[arg-type]


def test_functions_of_another_kind() -> None:
    with pytest.raises(GraphError, match="needs a keyed stream"):
        numbers().process(Keyed())  # type: ignore[call-overload]
    with pytest.raises(GraphError, match="expected a MapFunction"):
        numbers().map(Long())  # type: ignore[call-overload]


def test_a_value_of_another_type_for_a_side_output() -> None:
    stream = numbers().process(WrongTag())
    stream.get_side_output(OutputTag("texts", Types.STRING()))
    with pytest.raises(JobFailedError), stream.execute_and_collect() as results:
        list(results)


def test_a_state_of_another_type() -> None:
    descriptor: ValueStateDescriptor[str] = ValueStateDescriptor("a", Types.LONG())  # type: ignore[arg-type]
    assert descriptor.get_name() == "a"
