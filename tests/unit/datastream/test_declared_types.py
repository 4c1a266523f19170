"""Declared types reach the data: at exchanges and between chained operators, in keys, side outputs and at collect."""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from typing import Any

import pytest

from penstock.common import Row, Time, Types, WatermarkStrategy
from penstock.common.typeinfo import TypeInformation
from penstock.datastream import (
    DataStream,
    KeyedProcessFunction,
    OutputTag,
    ProcessFunction,
    ProcessWindowFunction,
    RuntimeContext,
    StreamExecutionEnvironment,
)
from penstock.datastream.connectors.number_seq import NumberSequenceSource
from penstock.datastream.expressions import col
from penstock.datastream.functions import CoMapFunction
from penstock.datastream.state import MapStateDescriptor, ValueStateDescriptor
from penstock.datastream.window import CountTumblingWindowAssigner, TumblingEventTimeWindows
from penstock.errors import GraphError, JobFailedError
from penstock.vocabulary.field_aggregates import count
from tests.unit.common.declared_values import AS_PYFLINK, CUT_BY_PYFLINK, NAMED, ONLY_HERE, PAIR, REFUSED, ROW
from tests.unit.common.test_conversions import same

TAKEN = [*AS_PYFLINK, *ONLY_HERE]
TURNED, PLAIN, WANTED = Row(y=1, x="a"), Row("a", 1), Row(x="a", y=1)


@pytest.fixture
def env() -> StreamExecutionEnvironment:
    return StreamExecutionEnvironment.in_process().set_parallelism(2)


def collected(stream: DataStream) -> list[Any]:
    return list(stream.execute_and_collect())


def typed(env: StreamExecutionEnvironment, values: list[Any], declared: TypeInformation) -> DataStream:
    return env.from_collection(values).map(lambda value: value, output_type=declared)


@pytest.mark.parametrize(("declared", "value", "expected"), TAKEN[::5], ids=repr)
def test_results_are_of_their_type(
    env: StreamExecutionEnvironment, declared: TypeInformation, value: Any, expected: Any
) -> None:
    assert same(collected(typed(env, [value], declared)), [expected])


@pytest.mark.parametrize(("declared", "value"), [*REFUSED[::9], *(case[:2] for case in CUT_BY_PYFLINK[::4])], ids=repr)
def test_other_results_fail_the_job(env: StreamExecutionEnvironment, declared: TypeInformation, value: Any) -> None:
    with pytest.raises(JobFailedError) as caught:
        collected(typed(env, [value], declared).name("prices"))
    text = str(caught.value)
    assert f"the operator declares its results as {declared!r}, but returned a different value" in text
    assert "in operator 'prices'" in text and "checking the declared type of a result" in text
    assert "or declare their actual type" in text and "Traceback" not in text


def test_behind_an_exchange_and_in_the_chain_rows_have_names_and_order(env: StreamExecutionEnvironment) -> None:
    def shown(row: Row) -> Any:
        return row[0], row["x"], row.y

    stream = typed(env, [TURNED, PLAIN], NAMED)
    assert collected(stream.map(shown)) == [("a", "a", 1)] * 2
    assert collected(stream.rebalance().map(shown)) == [("a", "a", 1)] * 2
    assert collected(stream.key_by("x").sum("y"))[-1] == Row(x="a", y=2)
    assert collected(typed(env, [PLAIN], ROW).key_by(lambda row: row.f0).map(lambda row: row.f1)) == [1]


class Count(KeyedProcessFunction):
    def open(self, runtime_context: RuntimeContext) -> None:
        self.count = runtime_context.get_state(ValueStateDescriptor("count", Types.INT()))

    def process_element(self, value: Any, ctx: KeyedProcessFunction.Context) -> Iterator[Any]:
        self.count.update((self.count.value() or 0) + 1)
        ctx.timer_service().register_event_time_timer(1)
        yield ctx.get_current_key(), self.count.value()

    def on_timer(self, timestamp: int, ctx: KeyedProcessFunction.OnTimerContext) -> Iterator[Any]:
        yield ctx.get_current_key(), "timer"


@pytest.mark.parametrize(
    ("records", "key_type", "key"),
    [
        ([WANTED, TURNED, PLAIN], NAMED, WANTED),
        ([Row("a", 1), Row(f1=1, f0="a"), ("a", 1)], ROW, Row(f0="a", f1=1)),
        ([TURNED, PLAIN, Row("a", 1)], Types.ROW_NAMED(["y", "x"], [Types.INT(), Types.STRING()]), None),
        ([1, 1.0, True], Types.INT(), 1),
        ([1.1, 1.100000023841858], Types.FLOAT(), 1.100000023841858),
    ],
    ids=["rows with names", "rows", "a plain row that does not fit", "int", "float"],
)
def test_keys_of_one_type_are_one_key(
    env: StreamExecutionEnvironment, records: list[Any], key_type: TypeInformation, key: Any
) -> None:
    counted = env.from_collection(records).key_by(lambda record: record, key_type).process(Count())
    if key is None:
        with pytest.raises(JobFailedError, match=r"the key is declared as ROW\(y: INT, x: STRING\)(.|\n)*selecting"):
            collected(counted)
        return
    found = collected(counted)
    assert same([each for each, _ in found], [key] * (len(records) + 1))
    assert [count for _, count in found] == [*range(1, len(records) + 1), "timer"]


def test_a_key_of_another_type_fails_the_job(env: StreamExecutionEnvironment) -> None:
    keyed = env.from_collection(["a", 5]).key_by(lambda record: record, key_type=Types.STRING())
    with pytest.raises(JobFailedError) as caught:
        collected(keyed.process(Count()))
    assert "the key is declared as STRING" in str(caught.value) and "expected STRING, got int 5" in str(caught.value)
    assert "record: 5" in str(caught.value) and "or change key_type" in str(caught.value)


def test_windows_and_joins_use_typed_keys(env: StreamExecutionEnvironment) -> None:
    rows = [(TURNED, 1), (PLAIN, 2), (WANTED, 3)]
    strategy = WatermarkStrategy.for_monotonous_timestamps().with_timestamp_assigner(1)
    stream = env.from_collection(rows).assign_timestamps_and_watermarks(strategy)
    keyed = stream.key_by(lambda pair: pair[0], key_type=NAMED)
    windows = keyed.window(TumblingEventTimeWindows.of(Time.seconds(1)))
    assert [pair[1] for pair in collected(windows.reduce(lambda one, other: (one[0], one[1] + other[1])))] == [6]
    assert collected(keyed.aggregate_fields(count()))[-1] == Row(key=WANTED, count=3)
    window = TumblingEventTimeWindows.of(Time.seconds(1))
    joined = stream.join(stream).where(lambda pair: pair[0], NAMED).equal_to(lambda pair: pair[0], NAMED).window(window)
    assert len(collected(joined.apply(lambda one, other: 1))) == 9


class Sides(ProcessFunction):
    def __init__(self, declared: TypeInformation) -> None:
        self.tag = OutputTag("side", declared)

    def process_element(self, value: Any, ctx: ProcessFunction.Context) -> Iterator[Any]:
        yield 1
        yield self.tag, value


def test_side_outputs_are_of_the_type_of_their_tag(env: StreamExecutionEnvironment) -> None:
    sides = Sides(NAMED)
    main = env.from_collection([TURNED, PLAIN]).process(sides, Types.DOUBLE())
    assert same(collected(main.get_side_output(sides.tag)), [WANTED] * 2)
    assert same(collected(main), [1.0] * 2)
    with pytest.raises(GraphError, match=r"'side' of 'PROCESS' is ROW\(x: STRING, y: INT\) elsewhere, here INT"):
        main.get_side_output(OutputTag("side", Types.INT()))
    wrong = Sides(Types.INT())
    stream = env.from_collection(["a"]).process(wrong)
    with pytest.raises(JobFailedError, match="the operator declares its side output 'side' as INT"):
        collected(stream.get_side_output(wrong.tag))


class Halves(ProcessWindowFunction[Any, Any, Any, Any]):
    def process(self, key: Any, context: Any, elements: Iterable[Any]) -> Iterator[Any]:
        yield Row(y=len(list(elements)), x=key)


class Both(CoMapFunction):
    def map1(self, value: Any) -> Any:
        return TURNED

    def map2(self, value: Any) -> Any:
        return PLAIN


def test_every_operator_with_a_declared_type_keeps_it(env: StreamExecutionEnvironment) -> None:
    words = env.from_collection([("a", 1), ("a", 2)])
    two = words.key_by(lambda word: word[0]).window(CountTumblingWindowAssigner.of(2))
    assert same(collected(two.process(Halves(), NAMED)), [Row(x="a", y=2)])
    typed_rows = env.from_collection([PLAIN, Row("a", 2)], NAMED)
    added = typed_rows.key_by("x").reduce(lambda one, other: Row(y=one.y + other.y, x=one.x))
    assert same(collected(added), [WANTED, Row(x="a", y=3)])
    assert same(collected(words.connect(words).map(Both(), NAMED)), [WANTED] * 4)
    assert same(collected(words.flat_map(lambda word: [TURNED, PLAIN], NAMED)), [WANTED] * 4)
    numbers = env.from_source(NumberSequenceSource(1, 2), WatermarkStrategy.no_watermarks(), "n", Types.DOUBLE())
    assert same(sorted(collected(numbers)), [1.0, 2.0])


def test_operators_that_only_pass_records_on_check_nothing(env: StreamExecutionEnvironment) -> None:
    rows = env.from_collection([PLAIN], NAMED)
    passed = [rows.filter(lambda row: True), rows.filter(col("y") == 1), rows.select("x", "y"), rows.project(0, 1)]
    for stream in passed:
        assert env.graph.nodes[stream.edges[0].source_id].checked_type is None
    assert [collected(stream) for stream in passed[:3]] == [[WANTED]] * 3


def test_a_union_of_different_types_has_none(env: StreamExecutionEnvironment) -> None:
    one, other = env.from_collection([1], Types.INT()), env.from_collection(["a"], Types.STRING())
    assert one.union(other).get_type() == Types.PICKLED_BYTE_ARRAY()
    assert one.union(one).get_type() == Types.INT()
    reduced = one.union(other).key_by(lambda value: 0).reduce(lambda first, second: f"{first}{second}")
    assert sorted(map(str, collected(reduced))) == ["1", "1a"]


class Remember(KeyedProcessFunction):
    def open(self, runtime_context: RuntimeContext) -> None:
        self.seen = runtime_context.get_map_state(MapStateDescriptor("seen", NAMED, Types.FLOAT()))

    def process_element(self, value: Any, ctx: KeyedProcessFunction.Context) -> Iterator[Any]:
        self.seen.put(value, 1.1)
        yield list(self.seen.items())


def test_state_has_its_type_before_the_batch_ends(env: StreamExecutionEnvironment) -> None:
    remembered = env.from_collection([TURNED, PLAIN]).key_by(lambda row: 0).process(Remember())
    assert same(collected(remembered), [[(WANTED, 1.100000023841858)]] * 2)


def test_rows_of_a_declared_type_are_printed_as_in_pyflink(
    env: StreamExecutionEnvironment, capsys: pytest.CaptureFixture[str]
) -> None:
    env.from_collection([Row("b", None)], NAMED).print()
    env.from_collection([Row("a", 1)]).print("plain")
    env.from_collection([("a", 1)], PAIR).print("pair")
    env.execute()
    assert sorted(capsys.readouterr().out.splitlines()) == ["+I[b,None]", "pair> ('a', 1)", "plain> <Row('a', 1)>"]
