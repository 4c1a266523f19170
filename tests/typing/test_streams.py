"""What type checkers know of streams: checked by `make types`, and run like any test."""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from dataclasses import dataclass
from typing import Any, NamedTuple, assert_type

from penstock.common import Duration, Row, Time, Types, WatermarkStrategy
from penstock.datastream import (
    AggregateFunction,
    AllWindowFunction,
    AsyncDataStream,
    AsyncFunction,
    BroadcastProcessFunction,
    CoFlatMapFunction,
    CoMapFunction,
    ConnectedStreams,
    CoProcessFunction,
    DataStream,
    FilterFunction,
    FlatMapFunction,
    KeyedBroadcastProcessFunction,
    KeyedCoProcessFunction,
    KeyedProcessFunction,
    KeyedStream,
    KeySelector,
    MapFunction,
    OutputTag,
    ProcessAllWindowFunction,
    ProcessFunction,
    ProcessWindowFunction,
    ReduceFunction,
    StreamExecutionEnvironment,
    WindowedStream,
    WindowFunction,
)
from penstock.datastream.data_stream import AllWindowedStream, CloseableIterator
from penstock.datastream.state import MapStateDescriptor
from penstock.datastream.window import CountWindow, TimeWindow, TumblingEventTimeWindows
from penstock.vocabulary.expressions import col
from penstock.vocabulary.field_aggregates import count
from penstock.vocabulary.join_functions import CoGroupFunction, FlatJoinFunction, JoinFunction, ProcessJoinFunction


@dataclass(frozen=True)
class Trade:
    symbol: str
    price: float
    time: int


class Quote(NamedTuple):
    symbol: str
    bid: float


TRADES = [Trade("a", 1.5, 1), Trade("b", 2.5, 2), Trade("a", 3.5, 3)]
QUOTES = [Quote("a", 1.0), Quote("b", 2.0)]
LATE = OutputTag("late", Types.DOUBLE())
EXPENSIVE = OutputTag[Trade]("expensive")
WINDOWS = TumblingEventTimeWindows.of(Time.seconds(1))

environment = StreamExecutionEnvironment.in_process


def trades(env: StreamExecutionEnvironment) -> DataStream[Trade]:
    strategy = WatermarkStrategy[Trade].for_bounded_out_of_orderness(Duration.of_seconds(1))
    stream = env.from_collection(TRADES)
    return stream.assign_timestamps_and_watermarks(strategy.with_timestamp_assigner(lambda trade, _: trade.time))


def quotes(env: StreamExecutionEnvironment) -> DataStream[Quote]:
    return env.from_collection(QUOTES).assign_ascending_timestamps(lambda quote: int(quote.bid))


class Price(MapFunction[Trade, float]):
    def map(self, value: Trade) -> float:
        return value.price


class OldStyle(MapFunction):
    """As PyFlink's programs write it."""

    def map(self, value):  # type: ignore[no-untyped-def]
        return value.price


class Letters(FlatMapFunction[Trade, str]):
    def flat_map(self, value: Trade) -> Iterator[str]:
        yield from value.symbol


class Cheap(FilterFunction[Trade]):
    def filter(self, value: Trade) -> bool:
        return value.price < 2


class BySymbol(KeySelector[Trade, str]):
    def get_key(self, value: Trade) -> str:
        return value.symbol


class Later(ReduceFunction[Trade]):
    def reduce(self, value1: Trade, value2: Trade) -> Trade:
        return value2


class Mean(AggregateFunction[Trade, tuple[int, float], float]):
    def create_accumulator(self) -> tuple[int, float]:
        return 0, 0.0

    def add(self, value: Trade, accumulator: tuple[int, float]) -> tuple[int, float]:
        return accumulator[0] + 1, accumulator[1] + value.price

    def get_result(self, accumulator: tuple[int, float]) -> float:
        return accumulator[1] / accumulator[0]

    def merge(self, acc_a: tuple[int, float], acc_b: tuple[int, float]) -> tuple[int, float]:
        return acc_a[0] + acc_b[0], acc_a[1] + acc_b[1]


class Split(ProcessFunction[Trade, str]):
    def process_element(
        self, value: Trade, ctx: ProcessFunction.Context
    ) -> Iterator[str | tuple[OutputTag[float], float]]:
        ctx.output(EXPENSIVE, value)
        yield value.symbol
        yield LATE, value.price


class Keyed(KeyedProcessFunction[str, Trade, int]):
    def process_element(self, value: Trade, ctx: KeyedProcessFunction.Context[str]) -> Iterable[int]:
        assert_type(ctx.get_current_key(), str)
        ctx.timer_service().register_event_time_timer(value.time)
        return [value.time]

    def on_timer(self, timestamp: int, ctx: KeyedProcessFunction.OnTimerContext[str]) -> Iterable[int]:
        assert_type(ctx.get_current_key(), str)
        return [timestamp]


def test_sources() -> None:
    env = environment()
    assert_type(env.from_collection([1, 2]), DataStream[int])
    assert_type(env.from_collection(TRADES), DataStream[Trade])
    assert_type(env.from_collection([(1, "a")], Types.ROW([Types.INT(), Types.STRING()])), DataStream[Row])
    assert_type(env.from_collection([1], Types.DOUBLE()), DataStream[float])
    assert_type(env.from_sequence(1, 3), DataStream[int])


def test_steps_of_one_stream() -> None:
    stream = trades(environment())
    assert_type(stream, DataStream[Trade])
    assert_type(stream.map(lambda trade: trade.price), DataStream[float])
    assert_type(stream.map(lambda trade: (trade.symbol, trade.time)), DataStream[tuple[str, int]])
    assert_type(stream.map(Price()), DataStream[float])
    assert_type(stream.map(OldStyle()), DataStream[Any])
    assert_type(stream.map(lambda trade: int(trade.price), Types.DOUBLE()), DataStream[float])
    assert_type(stream.map(OldStyle(), output_type=Types.DOUBLE()), DataStream[float])
    assert_type(stream.flat_map(lambda trade: [trade.symbol] * 2), DataStream[str])
    assert_type(stream.flat_map(lambda trade: None), DataStream[Any])
    assert_type(stream.flat_map(Letters()), DataStream[str])
    assert_type(stream.flat_map(Letters(), Types.STRING()), DataStream[str])
    assert_type(stream.filter(lambda trade: trade.price > 1), DataStream[Trade])
    assert_type(stream.filter(Cheap()), DataStream[Trade])
    assert_type(stream.filter(col("price") > 1), DataStream[Trade])
    assert_type(stream.select("symbol", (col("price") * 2).alias("double")), DataStream[Row])
    assert_type(stream.rebalance(), DataStream[Trade])
    assert_type(stream.map(Price()).name("price").set_parallelism(1), DataStream[float])


def test_side_outputs() -> None:
    split = trades(environment()).process(Split())
    assert_type(split, DataStream[str])
    assert_type(LATE, OutputTag[float])
    assert_type(split.get_side_output(LATE), DataStream[float])
    assert_type(split.get_side_output(EXPENSIVE), DataStream[Trade])
    assert_type(split.get_side_output(OutputTag("other")), DataStream[Any])


def test_keyed_streams() -> None:
    stream = trades(environment())
    by_symbol = stream.key_by(lambda trade: trade.symbol)
    assert_type(by_symbol, KeyedStream[str, Trade])
    assert_type(stream.key_by(BySymbol()), KeyedStream[str, Trade])
    assert_type(stream.key_by("symbol"), KeyedStream[Any, Trade])
    assert_type(stream.key_by("symbol", Types.STRING()), KeyedStream[str, Trade])
    assert_type(stream.key_by(["symbol", "time"]), KeyedStream[tuple[Any, ...], Trade])
    assert_type(by_symbol.process(Keyed()), DataStream[int])
    assert_type(by_symbol.process(Keyed(), Types.DOUBLE()), DataStream[float])
    assert_type(by_symbol.reduce(lambda left, right: right), DataStream[Trade])
    assert_type(by_symbol.reduce(Later()), DataStream[Trade])
    assert_type(by_symbol.max_by("price"), DataStream[Trade])
    assert_type(by_symbol.aggregate_fields(count()), DataStream[Row])
    counted = by_symbol.map_with_state(lambda trade, seen: (trade.symbol, (seen or 0) + 1), Types.LONG())
    assert_type(counted, DataStream[str])
    assert_type(by_symbol.map_with_state(lambda trade, seen: (trade.price, trade)), DataStream[float])
    assert_type(by_symbol.filter_with_state(lambda trade, seen: (seen is None, True)), DataStream[Trade])


def test_results() -> None:
    prices = trades(environment()).map(Price())
    with prices.execute_and_collect() as results:
        assert_type(results, CloseableIterator[float])
        assert sorted(results) == [1.5, 2.5, 3.5]
    found = prices.execute_and_collect(limit=2)
    assert_type(found, list[float])
    assert len(found) == 2
    rows = trades(environment()).key_by("symbol").execute_and_collect("pairs", 1)
    assert_type(rows, list[Row])
    assert {row.f0 for row in rows} <= {"a", "b"}


class Evaluate(ProcessWindowFunction[Trade, str, str, TimeWindow]):
    def process(
        self, key: str, context: ProcessWindowFunction.Context[TimeWindow], elements: Iterable[Trade]
    ) -> Iterable[str]:
        assert_type(context.window(), TimeWindow)
        return [f"{key} {context.window().end} {len(list(elements))}"]


class Apply(WindowFunction[Trade, int, str, TimeWindow]):
    def apply(self, key: str, window: TimeWindow, inputs: Iterable[Trade]) -> Iterable[int]:
        return [window.start]


class OfMean(WindowFunction[float, tuple[str, float], str, TimeWindow]):
    def apply(self, key: str, window: TimeWindow, inputs: Iterable[float]) -> Iterable[tuple[str, float]]:
        return [(key, mean) for mean in inputs]


class EvaluateAll(ProcessAllWindowFunction[Trade, int, TimeWindow]):
    def process(
        self, context: ProcessAllWindowFunction.Context[TimeWindow], elements: Iterable[Trade]
    ) -> Iterable[int]:
        return [len(list(elements))]


class ApplyAll(AllWindowFunction[Trade, int, CountWindow]):
    def apply(self, window: CountWindow, inputs: Iterable[Trade]) -> Iterable[int]:
        return [len(list(inputs))]


def test_windows() -> None:
    stream = trades(environment())
    windows = stream.key_by(lambda trade: trade.symbol).window(WINDOWS)
    assert_type(windows, WindowedStream[str, Trade, TimeWindow])
    assert_type(windows.allowed_lateness(1), WindowedStream[str, Trade, TimeWindow])
    assert_type(windows.reduce(lambda left, right: left), DataStream[Trade])
    assert_type(windows.reduce(Later(), Evaluate()), DataStream[str])
    assert_type(windows.reduce(Later(), Evaluate(), Types.STRING()), DataStream[str])
    assert_type(windows.aggregate(Mean()), DataStream[float])
    assert_type(windows.aggregate(Mean(), OfMean()), DataStream[tuple[str, float]])
    assert_type(windows.aggregate(Mean(), output_type=Types.DOUBLE()), DataStream[float])
    assert_type(windows.apply(Apply()), DataStream[int])
    assert_type(windows.process(Evaluate()), DataStream[str])
    assert_type(windows.process(Evaluate(), Types.STRING()), DataStream[str])
    assert_type(windows.max("price"), DataStream[Trade])
    assert_type(windows.aggregate_fields(count()), DataStream[Row])
    assert_type(stream.key_by(BySymbol()).count_window(2), WindowedStream[str, Trade, CountWindow])


def test_windows_of_a_whole_stream() -> None:
    stream = trades(environment())
    windows = stream.window_all(WINDOWS)
    assert_type(windows, AllWindowedStream[Trade, TimeWindow])
    assert_type(windows.process(EvaluateAll()), DataStream[int])
    assert_type(windows.aggregate(Mean()), DataStream[float])
    assert_type(windows.reduce(Later()), DataStream[Trade])
    assert_type(stream.count_window_all(2).apply(ApplyAll()), DataStream[int])


class Both(CoMapFunction[Trade, Quote, str]):
    def map1(self, value: Trade) -> str:
        return value.symbol

    def map2(self, value: Quote) -> str:
        return value.symbol


class BothFlat(CoFlatMapFunction[Trade, Quote, str]):
    def flat_map1(self, value: Trade) -> Iterable[str]:
        return [value.symbol]

    def flat_map2(self, value: Quote) -> None:
        return None


class BothProcess(CoProcessFunction[Trade, Quote, float]):
    def process_element1(self, value: Trade, ctx: CoProcessFunction.Context) -> Iterable[float]:
        return [value.price]

    def process_element2(self, value: Quote, ctx: CoProcessFunction.Context) -> Iterable[float]:
        return [value.bid]


class BothKeyed(KeyedCoProcessFunction[str, Trade, Quote, float]):
    def process_element1(self, value: Trade, ctx: KeyedCoProcessFunction.Context[str]) -> Iterable[float]:
        assert_type(ctx.get_current_key(), str)
        return [value.price]

    def process_element2(self, value: Quote, ctx: KeyedCoProcessFunction.Context[str]) -> Iterable[float]:
        return [value.bid]


def test_two_streams() -> None:
    env = environment()
    first, second = trades(env), quotes(env)
    assert_type(first.union(first), DataStream[Trade])
    assert_type(first.union(second), DataStream[Trade | Quote])
    both = first.connect(second)
    assert_type(both, ConnectedStreams[Trade, Quote])
    assert_type(both.map(Both()), DataStream[str])
    assert_type(both.flat_map(BothFlat()), DataStream[str])
    assert_type(both.process(BothProcess()), DataStream[float])
    keyed = both.key_by(lambda trade: trade.symbol, lambda quote: quote.symbol)
    assert_type(keyed, ConnectedStreams[Trade, Quote])
    assert_type(keyed.process(BothKeyed()), DataStream[float])


class Rules(BroadcastProcessFunction[Trade, Quote, str]):
    def process_element(self, value: Trade, ctx: BroadcastProcessFunction.ReadOnlyContext) -> Iterable[str]:
        assert_type(ctx.get_broadcast_state(BIDS).get(value.symbol), float | None)
        return [value.symbol]

    def process_broadcast_element(self, value: Quote, ctx: BroadcastProcessFunction.Context) -> None:
        ctx.get_broadcast_state(BIDS).put(value.symbol, value.bid)


class KeyedRules(KeyedBroadcastProcessFunction[str, Trade, Quote, str]):
    def process_element(self, value: Trade, ctx: KeyedBroadcastProcessFunction.ReadOnlyContext[str]) -> Iterable[str]:
        assert_type(ctx.get_current_key(), str)
        return [value.symbol]

    def process_broadcast_element(self, value: Quote, ctx: KeyedBroadcastProcessFunction.Context[str]) -> None:
        ctx.get_broadcast_state(BIDS).put(value.symbol, value.bid)


BIDS = MapStateDescriptor("bids", Types.STRING(), Types.DOUBLE())


def test_broadcast_streams() -> None:
    env = environment()
    rules = quotes(env).broadcast(BIDS)
    assert_type(trades(env).connect(rules).process(Rules()), DataStream[str])
    assert_type(trades(env).key_by(BySymbol()).connect(rules).process(KeyedRules()), DataStream[str])


class Pair(JoinFunction[Trade, Quote, float]):
    def join(self, first: Trade, second: Quote) -> float:
        return first.price - second.bid


class FlatPair(FlatJoinFunction[Trade, Quote, float]):
    def join(self, first: Trade, second: Quote) -> Iterable[float]:
        return [first.price, second.bid]


class Group(CoGroupFunction[Trade, Quote, int]):
    def co_group(self, first: list[Trade], second: list[Quote]) -> Iterable[int]:
        return [len(first) + len(second)]


class Near(ProcessJoinFunction[Trade, Quote | None, str]):
    def process_element(self, left: Trade, right: Quote | None, ctx: ProcessJoinFunction.Context) -> Iterable[str]:
        return [left.symbol]


def test_joins() -> None:
    env = environment()
    first, second = trades(env), quotes(env)
    joined = first.join(second).where(lambda trade: trade.symbol).equal_to(lambda quote: quote.symbol).window(WINDOWS)
    assert_type(joined.apply(lambda trade, quote: (trade.symbol, quote.bid)), DataStream[tuple[str, float]])
    assert_type(joined.apply(Pair()), DataStream[float])
    assert_type(joined.apply(FlatPair()), DataStream[float])
    assert_type(joined.apply(Pair(), Types.DOUBLE()), DataStream[float])
    grouped = first.co_group(second).where("symbol").equal_to("symbol").window(WINDOWS)
    assert_type(grouped.apply(lambda left, right: [len(left), len(right)]), DataStream[int])
    assert_type(grouped.apply(Group()), DataStream[int])
    near = first.key_by("symbol").interval_join(second.key_by("symbol")).between(Time.seconds(-1), Time.seconds(1))
    assert_type(near.left_outer().process(Near()), DataStream[str])


class Lookup(AsyncFunction[Trade, str]):
    async def async_invoke(self, value: Trade) -> list[str]:
        return [value.symbol]


def test_asynchronous_calls() -> None:
    stream = trades(environment())
    assert_type(AsyncDataStream.unordered_wait(stream, Lookup(), Time.seconds(1)), DataStream[str])
