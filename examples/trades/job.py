"""Trades with late data: totals by symbol and minute, trades whose minute is closed, and symbols that fall silent.
Mirrors Flink's WindowWordCount and the timers of its process-function page, with the window written out by hand."""

from __future__ import annotations

import argparse
import json
import shutil
from collections.abc import Iterator
from pathlib import Path
from typing import NamedTuple

from penstock.common import Configuration, Duration, Types, WatermarkStrategy
from penstock.datastream import (
    DataStream,
    KeyedProcessFunction,
    OutputTag,
    ProcessFunction,
    RuntimeContext,
    StreamExecutionEnvironment,
)
from penstock.datastream.connectors.file_system import FileSink
from penstock.datastream.state import MapStateDescriptor, ValueStateDescriptor

RUN = Path(__file__).parent / "run"
MINUTE_MS = 60_000
OUT_OF_ORDER = Duration.of_seconds(5)
QUIET_MS = MINUTE_MS


class Trade(NamedTuple):
    id: int
    symbol: str
    at_ms: int
    cents: int
    size: int


class Minute(NamedTuple):
    symbol: str
    start_ms: int
    trades: int
    notional_cents: int


class Quiet(NamedTuple):
    symbol: str
    since_ms: int


LATE = OutputTag[Trade]("late")
REJECTED = OutputTag[str]("rejected")


class ParseTrade(ProcessFunction[str, Trade]):
    def process_element(self, line: str, ctx: ProcessFunction.Context) -> Iterator[Trade | tuple[OutputTag[str], str]]:
        try:
            yield Trade(**json.loads(line))
        except (ValueError, TypeError):
            yield REJECTED, line


class MinuteNotional(KeyedProcessFunction):
    """Sums the trades of a symbol by minute; a minute is emitted once event time has passed its end."""

    def open(self, runtime_context: RuntimeContext) -> None:
        sums = Types.TUPLE([Types.LONG(), Types.LONG()])
        self.minutes = runtime_context.get_map_state(MapStateDescriptor("minutes", Types.LONG(), sums))

    def process_element(self, trade: Trade, ctx: KeyedProcessFunction.Context) -> Iterator[object]:
        start = trade.at_ms - trade.at_ms % MINUTE_MS
        last = start + MINUTE_MS - 1
        if last <= ctx.timer_service().current_watermark():
            yield LATE, trade  # its minute is closed and written
            return
        trades, cents = self.minutes.get(start) or (0, 0)
        self.minutes.put(start, (trades + 1, cents + trade.cents * trade.size))
        ctx.timer_service().register_event_time_timer(last)  # the same timer again is one timer

    def on_timer(self, timestamp: int, ctx: KeyedProcessFunction.OnTimerContext) -> Iterator[Minute]:
        start = timestamp + 1 - MINUTE_MS
        trades, cents = self.minutes.get(start) or (0, 0)
        yield Minute(ctx.get_current_key(), start, trades, cents)
        self.minutes.remove(start)


class Inactivity(KeyedProcessFunction):
    """Says when a symbol has not traded for QUIET_MS of event time. Each trade waits for a timer at its own time, when
    no earlier one is on its way any more."""

    def open(self, runtime_context: RuntimeContext) -> None:
        self.waiting = runtime_context.get_map_state(MapStateDescriptor("waiting", Types.LONG(), Types.BOOLEAN()))
        self.last_trade = runtime_context.get_state(ValueStateDescriptor("last trade", Types.LONG()))

    def process_element(self, trade: Trade, ctx: KeyedProcessFunction.Context) -> None:
        if trade.at_ms > ctx.timer_service().current_watermark():
            self.waiting.put(trade.at_ms, True)
            ctx.timer_service().register_event_time_timer(trade.at_ms)

    def on_timer(self, timestamp: int, ctx: KeyedProcessFunction.OnTimerContext) -> Iterator[Quiet]:
        if self.waiting.contains(timestamp):
            self.waiting.remove(timestamp)
            self.last_trade.update(timestamp)
            ctx.timer_service().register_event_time_timer(timestamp + QUIET_MS)
        elif self.last_trade.value() == timestamp - QUIET_MS:
            yield Quiet(ctx.get_current_key(), timestamp - QUIET_MS)


def by_time() -> WatermarkStrategy[Trade]:
    waiting = WatermarkStrategy.for_bounded_out_of_orderness(OUT_OF_ORDER)
    return waiting.with_timestamp_assigner(lambda trade, _: trade.at_ms)


def build(trades: DataStream[Trade], output: Path) -> DataStream[Trade | Minute | Quiet]:
    """Put the job together; the stream returned carries everything that is written, for those who want to look on."""
    by_symbol = trades.key_by(lambda trade: trade.symbol)
    minutes = by_symbol.process(MinuteNotional()).name("notional by minute").uid("notional")
    late = minutes.get_side_output(LATE)
    quiet = by_symbol.process(Inactivity()).name("inactivity").uid("inactivity")

    minutes.sink_to(FileSink.parquet(output / "notional")).name("notional files")
    late.sink_to(FileSink.json(output / "late")).name("late files")
    quiet.sink_to(FileSink.json(output / "quiet")).name("alert files")
    return minutes.union(late, quiet)


def main() -> None:
    parser = argparse.ArgumentParser(description="Sum trades by minute.")
    parser.add_argument("--engine", choices=["spark", "in-process"], default="spark")
    args = parser.parse_args()
    shutil.rmtree(RUN / "output", ignore_errors=True)

    settings = Configuration().set_string("penstock.engine", args.engine)
    settings.set_integer("pipeline.watermark-every-records", 200)  # twenty seconds of trades
    env = StreamExecutionEnvironment.get_execution_environment(settings).set_parallelism(2)
    trades = env.read_text_file(str(RUN / "input" / "trades.jsonl")).process(ParseTrade())
    build(trades.assign_timestamps_and_watermarks(by_time()), RUN / "output")
    trades.get_side_output(REJECTED).sink_to(FileSink.text(RUN / "output" / "rejected"))
    env.execute("trades")
    print(f"minutes, late trades, silent symbols and rejected lines are in {RUN / 'output'}")


if __name__ == "__main__":
    main()
