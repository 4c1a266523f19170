"""Every transformation and every shape of user function, end to end in one shared job."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass
from typing import Any, NamedTuple

import pytest
from pyspark.sql import SparkSession

from penstock.common import Row
from penstock.datastream import (
    FilterFunction,
    FlatMapFunction,
    KeyedProcessFunction,
    KeySelector,
    MapFunction,
    OutputTag,
    ProcessFunction,
    ReduceFunction,
    RuntimeContext,
    StreamExecutionEnvironment,
)
from penstock.datastream.state import ValueStateDescriptor
from tests.spark.collecting import collect_all

ODD = OutputTag("odd")
BIG = OutputTag("big")


@dataclass(frozen=True)
class Point:
    """A record and key of the test module."""

    x: int
    y: int


class Order(NamedTuple):
    """A record with named fields."""

    user: str
    amount: int


class Doubled(MapFunction):
    def map(self, value: int) -> int:
        return value * 2


class Opened(MapFunction):
    """Tells what it learned in open()."""

    def open(self, runtime_context: RuntimeContext) -> None:
        self.known = (
            runtime_context.get_task_name(),
            runtime_context.get_number_of_parallel_subtasks(),
            runtime_context.get_max_number_of_parallel_subtasks(),
            runtime_context.get_attempt_number(),
            runtime_context.get_job_parameter("who", "nobody"),
            runtime_context.get_job_parameter("what", "nothing"),
        )
        self.index = runtime_context.get_index_of_this_subtask()
        self.name = runtime_context.get_task_name_with_subtasks()

    def map(self, value: int) -> tuple[int, tuple[Any, ...], str]:
        return self.index, self.known, self.name


class Twice(FlatMapFunction):
    def flat_map(self, value: int) -> Iterator[int]:
        yield value
        yield value


class TwiceCollected(FlatMapFunction):
    def flat_map(self, value: int, out: Any) -> None:
        out.collect(value)
        out.collect(-value)


class Even(FilterFunction):
    def filter(self, value: int) -> bool:
        return value % 2 == 0


class Splitting(ProcessFunction):
    """Side outputs by yield and by ctx.output, main output by yield."""

    def process_element(self, value: int, ctx: ProcessFunction.Context) -> Iterator[Any]:
        if value % 2:
            yield ODD, value
        if value > 7:
            ctx.output(BIG, value)
        yield value


class CollectingProcess(ProcessFunction):
    def process_element(self, value: int, ctx: ProcessFunction.Context, out: Any) -> None:
        out.collect((value, ctx.timestamp()))


class RunningCount(KeyedProcessFunction):
    def open(self, runtime_context: RuntimeContext) -> None:
        self.count = runtime_context.get_state(ValueStateDescriptor("count"))

    def process_element(self, value: int, ctx: KeyedProcessFunction.Context) -> Iterator[Any]:
        self.count.update((self.count.value() or 0) + 1)
        yield ctx.get_current_key(), self.count.value()


class CountingMap(MapFunction):
    """A map with keyed state, as a key_by() before it allows."""

    def open(self, runtime_context: RuntimeContext) -> None:
        self.count = runtime_context.get_state(ValueStateDescriptor("count"))

    def map(self, value: int) -> tuple[int, int]:
        self.count.update((self.count.value() or 0) + 1)
        return value, self.count.value()


class Longest(ReduceFunction):
    def reduce(self, value1: str, value2: str) -> str:
        return value2 if len(value2) > len(value1) else value1


class ByUser(KeySelector):
    def get_key(self, value: Order) -> str:
        return value.user


class Keyed(MapFunction):
    """Shows the key that a selector chose."""

    def open(self, runtime_context: RuntimeContext) -> None:
        self.seen = runtime_context.get_state(ValueStateDescriptor("seen"))

    def map(self, value: Any) -> tuple[Any, int]:
        self.seen.update((self.seen.value() or 0) + 1)
        return value, self.seen.value()


NUMBERS = list(range(1, 11))
ORDERS = [Order("ann", 5), Order("bob", 1), Order("ann", 2), Order("bob", 7), Order("ann", 5)]


def class_of_a_function() -> type:
    class Local:
        def __init__(self, number: int) -> None:
            self.number = number

    return Local


@pytest.fixture(scope="module")
def results(spark: SparkSession) -> dict[str, list[Any]]:
    """Everything the shared job brought, by name of the stream."""
    environment = StreamExecutionEnvironment.get_execution_environment()
    environment.set_parallelism(2)
    environment.get_config().set_global_job_parameters({"who": "tests"})
    numbers = environment.from_collection(NUMBERS)
    orders = environment.from_collection(ORDERS).map(lambda order: order).set_parallelism(1)
    local = class_of_a_function()
    split = numbers.process(Splitting())
    keyed = orders.key_by(lambda order: order.user)
    odd_keys = [1, True, 1.0, None, "1", (1, "a"), [1, "a"], Point(1, 2), Point(1, 2), b"1", 2.5, None, [1, "a"]]
    return collect_all(
        {
            "map lambda": numbers.map(lambda value: value + 1),
            "map class": numbers.map(Doubled()),
            "opened": numbers.map(Opened()).name("tells"),
            "flat_map yield": numbers.flat_map(Twice()),
            "flat_map list": numbers.flat_map(lambda value: [value] * (value % 3)),
            "flat_map collector": numbers.flat_map(TwiceCollected()),
            "flat_map none": numbers.flat_map(lambda value: None),
            "filter lambda": numbers.filter(lambda value: value > 8),
            "filter class": numbers.filter(Even()),
            "split": split,
            "odd": split.get_side_output(ODD),
            "big": split.get_side_output(BIG).map(lambda value: -value),
            "process collector": numbers.process(CollectingProcess()),
            "keyed process": numbers.key_by(lambda value: value % 3).process(RunningCount()),
            "keyed map": numbers.key_by(lambda value: value % 3).map(CountingMap()),
            "keyed filter": numbers.key_by(lambda value: value % 3).filter(lambda value: value < 3),
            "keyed flat_map": numbers.key_by(lambda value: value).flat_map(lambda value: [value, value]),
            "reduce lambda": numbers.key_by(lambda value: "all").reduce(lambda left, right: left + right),
            "reduce class": environment.from_collection(["a", "bbb", "cc", "dddd"])
            .key_by(lambda word: 0)
            .reduce(Longest()),
            "sum": keyed.sum("amount"),
            "min": keyed.min(1),
            "max": keyed.max("amount"),
            "min_by": keyed.min_by("amount"),
            "max_by": keyed.max_by(1),
            "union": numbers.union(numbers.map(lambda value: value * 10), numbers.map(lambda value: value * 100)),
            "project": environment.from_collection([(1, "a", 2.5), (2, "b", 3.5)]).project(2, 0),
            "project keyed": environment.from_collection([(1, "a"), (2, "b")]).key_by(0).project(1),
            "by selector": orders.key_by(ByUser()).map(Keyed()),
            "by name": orders.key_by("user").map(Keyed()),
            "by position": orders.key_by(0).map(Keyed()),
            "by fields": orders.key_by(["user", "amount"]).map(Keyed()),
            "kinds of keys": environment.from_collection(odd_keys).key_by(lambda value: value).map(Keyed()),
            "row": environment.from_collection([Row(name="ann", age=3)]).key_by("name").map(lambda row: row.age),
            "dict": environment.from_collection([{"a": 1}, {"a": 2}]).key_by("a").map(lambda each: each["a"]),
            "local class": numbers.map(lambda value: local(value)).key_by(lambda value: value.number % 2).map(Keyed()),
            "none": numbers.map(lambda value: None),
        }
    )


def test_map_takes_lambdas_and_classes(results: dict[str, list[Any]]) -> None:
    assert sorted(results["map lambda"]) == [value + 1 for value in NUMBERS]
    assert sorted(results["map class"]) == [value * 2 for value in NUMBERS]
    assert results["none"] == [None] * 10


def test_rich_function_learns_about_its_subtask_in_open(results: dict[str, list[Any]]) -> None:
    assert {known for _, known, _ in results["opened"]} == {("tells", 2, 128, 0, "tests", "nothing")}
    assert {(index, name) for index, _, name in results["opened"]} == {(0, "tells (1/2)"), (1, "tells (2/2)")}


def test_flat_map_takes_generators_lists_collectors_and_none(results: dict[str, list[Any]]) -> None:
    assert sorted(results["flat_map yield"]) == sorted(NUMBERS * 2)
    assert sorted(results["flat_map list"]) == sorted(value for value in NUMBERS for _ in range(value % 3))
    assert sorted(results["flat_map collector"]) == sorted([*NUMBERS, *(-value for value in NUMBERS)])
    assert results["flat_map none"] == []


def test_filter_keeps_what_the_function_says(results: dict[str, list[Any]]) -> None:
    assert sorted(results["filter lambda"]) == [9, 10]
    assert sorted(results["filter class"]) == [2, 4, 6, 8, 10]


def test_side_outputs_by_yield_and_by_context_are_apart_from_the_main_output(results: dict[str, list[Any]]) -> None:
    assert sorted(results["split"]) == NUMBERS
    assert sorted(results["odd"]) == [1, 3, 5, 7, 9]
    assert sorted(results["big"]) == [-10, -9, -8]


def test_process_function_may_use_a_collector_and_sees_no_timestamp_where_none_was_given(
    results: dict[str, list[Any]],
) -> None:
    assert sorted(results["process collector"]) == [(value, None) for value in NUMBERS]


def test_keyed_functions_have_state_of_their_key_only(results: dict[str, list[Any]]) -> None:
    assert sorted(results["keyed process"]) == [
        (0, 1),
        (0, 2),
        (0, 3),
        (1, 1),
        (1, 2),
        (1, 3),
        (1, 4),
        (2, 1),
        (2, 2),
        (2, 3),
    ]
    assert sorted(count for _, count in results["keyed map"]) == [1, 1, 1, 2, 2, 2, 3, 3, 3, 4]
    assert sorted(results["keyed filter"]) == [1, 2]
    assert sorted(results["keyed flat_map"]) == sorted(NUMBERS * 2)


def test_reduce_emits_every_intermediate_result(results: dict[str, list[Any]]) -> None:
    assert results["reduce lambda"][-1] == sum(NUMBERS)
    assert len(results["reduce lambda"]) == len(NUMBERS)
    assert results["reduce class"] == ["a", "bbb", "bbb", "dddd"]


def test_rolling_aggregates_follow_each_key(results: dict[str, list[Any]]) -> None:
    def of(name: str, user: str) -> list[int]:
        return [order.amount for order in results[name] if order.user == user]

    assert (of("sum", "ann"), of("sum", "bob")) == ([5, 7, 12], [1, 8])
    assert (of("min", "ann"), of("min", "bob")) == ([5, 2, 2], [1, 1])
    assert (of("max", "ann"), of("max", "bob")) == ([5, 5, 5], [1, 7])
    assert (of("min_by", "ann"), of("max_by", "bob")) == ([5, 2, 2], [1, 7])
    assert {type(order) for order in results["sum"]} == {Order}


def test_union_of_three_has_all_elements_of_all(results: dict[str, list[Any]]) -> None:
    expected = [value * factor for factor in (1, 10, 100) for value in NUMBERS]
    assert sorted(results["union"]) == sorted(expected)


def test_project_keeps_fields_in_the_order_given(results: dict[str, list[Any]]) -> None:
    assert results["project"] == [(2.5, 1), (3.5, 2)]
    assert sorted(results["project keyed"]) == [("a",), ("b",)]


@pytest.mark.parametrize("name", ["by selector", "by name", "by position"])
def test_key_by_reads_the_key_in_every_way(results: dict[str, list[Any]], name: str) -> None:
    assert sorted(results[name]) == sorted(
        [(ORDERS[0], 1), (ORDERS[2], 2), (ORDERS[4], 3), (ORDERS[1], 1), (ORDERS[3], 2)]
    )


def test_key_by_several_fields_makes_one_key(results: dict[str, list[Any]]) -> None:
    assert sorted(count for _, count in results["by fields"]) == [1, 1, 1, 1, 2]


def test_keys_of_any_kind_work_and_equal_keys_are_one_key(results: dict[str, list[Any]]) -> None:
    seen = [(repr(value), count) for value, count in results["kinds of keys"]]
    assert sorted(seen) == sorted(
        [
            ("1", 1), ("True", 2), ("1.0", 3), ("None", 1), ("'1'", 1), ("(1, 'a')", 1), ("[1, 'a']", 1),
            ("Point(x=1, y=2)", 1), ("Point(x=1, y=2)", 2), ("b'1'", 1), ("2.5", 1), ("None", 2), ("[1, 'a']", 2),
        ]
    )  # fmt: skip
    assert results["row"] == [3]
    assert sorted(results["dict"]) == [1, 2]


def test_objects_of_a_class_defined_in_a_function_travel_and_have_keys(results: dict[str, list[Any]]) -> None:
    assert sorted(value.number for value, _ in results["local class"]) == NUMBERS
    assert sorted(count for _, count in results["local class"]) == [1, 1, 2, 2, 3, 3, 4, 4, 5, 5]
