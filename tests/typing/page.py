"""The program of docs/typing.md, block by block; test_page.py compares them and runs it."""

from collections.abc import Iterable
from dataclasses import dataclass

from penstock.common import Time, Types, WatermarkStrategy
from penstock.datastream import (
    AggregateFunction,
    DataStream,
    KeyedProcessFunction,
    OutputTag,
    RuntimeContext,
    StreamExecutionEnvironment,
)
from penstock.datastream.state import ValueStateDescriptor
from penstock.datastream.window import TumblingEventTimeWindows


@dataclass
class Trade:
    symbol: str
    price: float
    time: int


env = StreamExecutionEnvironment.in_process()
trades = env.from_collection([Trade("IBM", 10.0, 1_000), Trade("IBM", 12.5, 2_000), Trade("SAP", 99.0, 2_500)])
prices = trades.map(lambda trade: trade.price)
by_symbol = trades.key_by(lambda trade: trade.symbol)


LARGE = OutputTag[Trade]("large")


class Rise(KeyedProcessFunction[str, Trade, tuple[str, float]]):
    def open(self, runtime_context: RuntimeContext) -> None:
        self.last = runtime_context.get_state(ValueStateDescriptor("last price", Types.DOUBLE()))

    def process_element(self, trade: Trade, ctx: KeyedProcessFunction.Context[str]) -> Iterable[tuple[str, float]]:
        last = self.last.value()
        self.last.update(trade.price)
        if trade.price > 50:
            ctx.output(LARGE, trade)
        return [] if last is None else [(ctx.get_current_key(), trade.price - last)]


rises = by_symbol.process(Rise())
large = rises.get_side_output(LARGE)


class Mean(AggregateFunction[Trade, tuple[int, float], float]):
    def create_accumulator(self) -> tuple[int, float]:
        return 0, 0.0

    def add(self, trade: Trade, accumulator: tuple[int, float]) -> tuple[int, float]:
        return accumulator[0] + 1, accumulator[1] + trade.price

    def get_result(self, accumulator: tuple[int, float]) -> float:
        return accumulator[1] / accumulator[0]

    def merge(self, left: tuple[int, float], right: tuple[int, float]) -> tuple[int, float]:
        return left[0] + right[0], left[1] + right[1]


strategy = WatermarkStrategy[Trade].for_monotonous_timestamps()
timed = trades.assign_timestamps_and_watermarks(strategy.with_timestamp_assigner(lambda trade, _: trade.time))
windows = timed.key_by(lambda trade: trade.symbol).window(TumblingEventTimeWindows.of(Time.minutes(1)))
means = windows.aggregate(Mean())


def spread(prices: DataStream[float]) -> float:
    with prices.execute_and_collect() as results:
        found = list(results)
    return max(found) - min(found)


print(spread(means))
