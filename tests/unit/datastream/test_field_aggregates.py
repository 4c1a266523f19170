"""Field aggregates on objects: every shape of record, the rules of None and NaN, and what is refused when."""

from __future__ import annotations

import math
import pickle
from collections import namedtuple
from dataclasses import dataclass
from typing import Any

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from penstock.common import Row, Types, WatermarkStrategy
from penstock.datastream import (
    FieldAggregate,
    StreamExecutionEnvironment,
    avg_of,
    count,
    count_of,
    max_of,
    min_of,
    sum_of,
)
from penstock.datastream.window import GlobalWindows, SlidingEventTimeWindows, TumblingEventTimeWindows
from penstock.errors import GraphError, JobFailedError
from penstock.runtime.operators import LocalWindowAggregation
from penstock.testing import CollectSink
from penstock.vocabulary.field_aggregation import FieldAggregation

TEN = TumblingEventTimeWindows.of(10)
NAN = math.nan
Pair = namedtuple("Pair", "k v")


@dataclass
class Trade:
    k: str
    v: Any


def folded(function: FieldAggregation, records: list[Any]) -> Any:
    accumulator = function.create_accumulator()
    for record in records:
        accumulator = function.add(record, accumulator)
    return accumulator


def of(*aggregates: FieldAggregate) -> FieldAggregation:
    return FieldAggregation(aggregates)


def collected(stream: Any) -> list[Any]:
    sink = CollectSink()
    stream.add_sink(sink)
    stream.environment.execute()
    return list(sink.results)


def timed(records: list[Any], type_info: Any = None) -> Any:
    """A stream whose timestamps are the numbers of the records."""
    environment = StreamExecutionEnvironment.in_process().set_parallelism(1)
    numbers = iter(range(1_000_000))
    strategy = WatermarkStrategy.for_monotonous_timestamps().with_timestamp_assigner(lambda value, _: next(numbers))
    return environment.from_collection(records, type_info).assign_timestamps_and_watermarks(strategy)


@pytest.mark.parametrize(
    "make",
    [
        lambda k, v: Row(k=k, v=v),
        lambda k, v: {"k": k, "v": v},
        Trade,
        Pair,
    ],
    ids=["row", "dict", "dataclass", "named tuple"],
)
def test_fields_by_name(make: Any) -> None:
    function = of(count(), sum_of("v"), max_of("k"))
    assert function.get_result(folded(function, [make("a", 2), make("b", None), make("a", 5)])) == (3, 7, "b")


@pytest.mark.parametrize("make", [tuple, list, lambda pair: Row(*pair), lambda pair: Pair(*pair)])
def test_fields_by_position(make: Any) -> None:
    function = of(sum_of(1), min_of(0))
    assert function.get_result(folded(function, [make(("b", 2)), make(("a", 3))])) == (5, "a")


def test_records_of_several_shapes_may_come_in_one_stream() -> None:
    function = of(sum_of("v"))
    records = [Row(k=0, v=1), {"v": 2}, Trade("a", 4), Row(v=8, k=0)]
    assert function.get_result(folded(function, records)) == (15,)


def test_a_plain_value_is_its_own_position_0() -> None:
    function = of(sum_of(0), max_of(0))
    assert function.get_result(folded(function, [3, 4])) == (7, 4)


def test_a_sum_and_a_mean_share_what_they_keep() -> None:
    function = of(sum_of("v"), avg_of("v"), count_of("v"))
    assert len(function.create_accumulator()) == 2
    assert function.get_result(folded(function, [{"v": 1}, {"v": 2}])) == (3, 1.5, 2)


def test_ints_are_unlimited_and_truth_counts_as_one() -> None:
    function = of(sum_of(0))
    assert folded(function, [2**63 - 1, 2**63 - 1]) == (2**64 - 2,)
    result = folded(function, [True])[0]
    assert (result, type(result)) == (1, int)


@pytest.mark.parametrize("values", [[1.0, NAN, 0.5], [NAN, 1.0, 0.5], [1.0, 0.5, NAN]])
def test_nan_is_greater_than_every_number_wherever_it_comes(values: list[float]) -> None:
    function = of(min_of(0), max_of(0), sum_of(0))
    for accumulator in (
        folded(function, values),
        function.merge(folded(function, values[:1]), folded(function, values[1:])),
        function.merge(folded(function, values[:2]), folded(function, values[2:])),
    ):
        smallest, largest, total = function.get_result(accumulator)
        assert smallest == 0.5 and math.isnan(largest) and math.isnan(total)
    assert math.isnan(function.get_result(folded(function, [NAN, NAN]))[0])


@given(st.lists(st.none() | st.integers(-(2**70), 2**70)), st.integers(0, 20))
@settings(max_examples=50)
def test_merging_gives_what_folding_gives(values: list[int | None], cut: int) -> None:
    function = pickle.loads(pickle.dumps(of(count(), count_of(0), sum_of(0), min_of(0), max_of(0))))
    records = [(value,) for value in values]
    whole = folded(function, records)
    assert function.merge(folded(function, records[:cut]), folded(function, records[cut:])) == whole
    known = [value for value in values if value is not None]
    expected = (sum(known), min(known), max(known)) if known else (None, None, None)
    assert function.get_result(whole) == (len(values), len(known), *expected)


@pytest.mark.parametrize(
    ("records", "said"),
    [
        ([{"v": "x"}], "sum of field 'v' cannot take 'x': expected a number, got 'x' of type str"),
        ([{"v": 1}, {"v": "x"}], "sum of field 'v' cannot take 'x' after 1: unsupported operand"),
    ],
)
def test_a_value_that_cannot_be_summed_is_named(records: list[Any], said: str) -> None:
    with pytest.raises(TypeError, match=said):
        folded(of(count(), sum_of("v")), records)


def test_values_that_cannot_be_compared_are_named() -> None:
    with pytest.raises(TypeError, match="min of field 0 cannot take 'x' after 1: '<' not supported"):
        folded(of(min_of(0)), [(1,), ("x",)])


def test_a_missing_field_is_named_at_the_first_record() -> None:
    stream = timed([{"k": 1, "w": 2}]).key_by("k").aggregate_fields(sum_of("v"))
    with pytest.raises(
        JobFailedError, match=r"(?s)no field 'v' .* its fields are \['k', 'w'\].*Field Aggregation"
    ) as said:
        collected(stream)
    assert "During handling" not in str(said.value)


@pytest.mark.parametrize(
    ("declared", "aggregate", "said"),
    [
        (Types.ROW_NAMED(["k", "v"], [Types.STRING(), Types.INT()]), sum_of("w"), "no field 'w' in ROW"),
        (Types.ROW_NAMED(["k", "v"], [Types.STRING(), Types.INT()]), sum_of(2), "no position 2 in ROW"),
        (
            Types.ROW_NAMED(["k", "v"], [Types.STRING(), Types.INT()]),
            sum_of("k"),
            "needs numbers, but the field is STR",
        ),
        (Types.TUPLE([Types.STRING(), Types.INT()]), max_of(7), "no position 7 in TUPLE"),
        (Types.TUPLE([Types.STRING(), Types.INT()]), max_of("f0"), "no field 'f0' in TUPLE"),
        (Types.LONG(), avg_of(1), "no field 1 in LONG; a plain value is its own position 0"),
    ],
)
def test_a_field_that_is_not_declared_is_refused_at_the_call(declared: Any, aggregate: Any, said: str) -> None:
    stream = StreamExecutionEnvironment.in_process().from_collection([], declared)
    with pytest.raises(GraphError, match=f"aggregate_fields: .*{said}"):
        stream.key_by(lambda record: 0).aggregate_fields(aggregate)


@pytest.mark.parametrize(
    ("aggregates", "said"),
    [
        ((), "give at least one aggregate"),
        ((count,), r"expected aggregates .* Call it\."),
        (("v",), "expected aggregates"),
        ((count(), sum_of("v").alias("count")), "two columns 'count'; rename one with .alias"),
        ((count().alias("key"),), "two columns 'key'"),
    ],
)
def test_other_mistakes_are_refused_at_the_call(aggregates: Any, said: str) -> None:
    stream = StreamExecutionEnvironment.in_process().from_collection([1])
    with pytest.raises(GraphError, match=f"aggregate_fields: .*{said}"):
        stream.key_by(lambda record: 0).aggregate_fields(*aggregates)


@pytest.mark.parametrize("field", ["", -1, True, None, 1.0])
def test_a_field_is_a_name_or_a_position(field: Any) -> None:
    with pytest.raises(GraphError, match="sum_of: a field is a name or a position"):
        sum_of(field)
    with pytest.raises(GraphError, match="alias: expected a non-empty name"):
        count().alias("" if field != "" else field)


@pytest.mark.parametrize(
    ("key", "names"),
    [
        ("k", ("k",)),
        (1, ("v",)),
        (["k", 1], ("k", "v")),
        (lambda record: record.k, ("key",)),
        (["k", lambda record: record.v], ("key",)),
    ],
)
def test_the_key_is_named_after_its_fields(key: Any, names: tuple[str, ...]) -> None:
    declared = Types.ROW_NAMED(["k", "v"], [Types.STRING(), Types.INT()])
    (row,) = collected(timed([Row(k="a", v=1)], declared).key_by(key).aggregate_fields(count()))
    expected = {"k": "a", "v": 1, "key": ("a", 1) if isinstance(key, list) else "a"}
    assert row == Row.of_fields((*names, "count"), [*(expected[name] for name in names), 1])


def test_rows_are_typed_where_the_input_is() -> None:
    declared = Types.ROW_NAMED(["k", "v", "w"], [Types.STRING(), Types.INT(), Types.FLOAT()])
    stream = StreamExecutionEnvironment.in_process().from_collection([], declared)
    windows = stream.key_by("k").window(TEN)
    produced = windows.aggregate_fields(count(), sum_of("v"), avg_of("v"), max_of("w"), sum_of("w")).get_type()
    assert repr(produced) == (
        "ROW(k: STRING, window_start: LONG, window_end: LONG, count: LONG, sum_v: LONG, avg_v: DOUBLE, max_w: FLOAT, "
        "sum_w: DOUBLE)"
    )


@pytest.mark.parametrize("two_phase", [None, False])
@pytest.mark.parametrize("assigner", [TEN, SlidingEventTimeWindows.of(10, 5)])
def test_windows_give_the_same_with_two_phases_which_are_the_default(assigner: Any, two_phase: Any) -> None:
    records = [("ab"[at % 2], at) for at in range(20)]
    windows = timed(records).key_by(0).window(assigner)
    stream = (windows if two_phase is None else windows.two_phase(two_phase)).aggregate_fields(count(), sum_of(1))
    operators = [node.operator for node in stream.environment.graph.nodes.values()]
    assert any(isinstance(each, LocalWindowAggregation) for each in operators) == (two_phase is None)
    expected = []
    for start in range(0 if assigner is TEN else -5, 20, 10 if assigner is TEN else 5):
        for name in "ab":
            inside = [v for k, v in records if k == name and start <= v < start + 10]
            expected.append([name, start, start + 10, len(inside), sum(inside)])
    assert sorted(map(list, collected(stream))) == sorted(expected)


def test_windows_of_a_whole_stream_have_no_key_and_windows_without_time_none() -> None:
    rows = collected(timed([1, 2, 3]).window_all(TEN).aggregate_fields(sum_of(0)))
    assert rows == [Row(window_start=0, window_end=10, sum_0=6)]
    rows = collected(timed([1, 2, 3]).key_by(lambda value: 7).count_window(2).aggregate_fields(sum_of(0)))
    assert rows == [Row(key=7, sum_0=3)]
    stream = timed([1]).key_by(lambda value: 7).window(GlobalWindows.create()).aggregate_fields(count())
    assert collected(stream) == []
