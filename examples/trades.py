"""The demo: an hour of out-of-order trades, summed by minute on Spark while you watch, then checked in plain Python.

    trades, a few seconds out of order and some of them minutes late (made, not read: record n is always the same)
      -> watermarks that wait BOUND_MS for stragglers
      -> notional per symbol and minute: keyed state, a timer at the end of the minute     -> Parquet files
      -> trades whose minute is already closed: side output                                -> JSON lines
      -> symbols that have not traded for QUIET_MS: keyed state, a timer after each trade
      -> everything also to the table on your terminal

Run it with `make demo`, or `python examples/trades.py --help`. Mirrors Flink's WindowWordCount and the timer example
of its process-function page, with the window written out by hand.
"""

from __future__ import annotations

import argparse
import json
import math
import random
import tempfile
import time
from collections import defaultdict
from collections.abc import Iterable, Iterator
from pathlib import Path
from typing import NamedTuple

import pyarrow.dataset
from trades_view import TradesView

from penstock.common import Configuration, Duration, Types, WatermarkStrategy
from penstock.datastream import DataStream, KeyedProcessFunction, OutputTag, RuntimeContext, StreamExecutionEnvironment
from penstock.datastream.connectors.data_gen import DataGeneratorSource, RateLimiterStrategy
from penstock.datastream.connectors.file_system import FileSink
from penstock.datastream.state import MapStateDescriptor, ValueStateDescriptor

SECOND_MS = 1_000
MINUTE_MS = 60 * SECOND_MS
OPENING_MS = 1_767_605_400_000  # 2026-01-05 09:30 UTC
TRADE_EVERY_MS = 100
BOUND_MS = 5 * SECOND_MS
QUIET_MS = MINUTE_MS

# symbol -> (share of the trades, price in cents); the rarely traded ones are there to fall silent
MARKET = {
    "AMUR": (200, 18_250),
    "EBRO": (140, 4_210),
    "ELBE": (100, 9_975),
    "NILE": (70, 31_040),
    "ODER": (50, 2_515),
    "OHIO": (30, 12_080),
    "YUKON": (8, 66_600),
    "TYNE": (2, 7_350),
}
SYMBOLS, SHARES = list(MARKET), [share for share, _ in MARKET.values()]


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


LATE = OutputTag("late")


# ---- the input ----


def make_trade(number: int) -> Trade:
    """Record `number` of the stream, the same whenever it is made: that is what lets a job go on after a crash."""
    chance = random.Random(number)
    symbol = chance.choices(SYMBOLS, SHARES)[0]
    # Most are reported within the bound; once some history is there, one in two hundred comes far too late.
    is_straggler = number > 20 * MINUTE_MS // TRADE_EVERY_MS and chance.random() < 0.005
    delay_ms = chance.randint(10 * MINUTE_MS, 15 * MINUTE_MS) if is_straggler else chance.randint(0, BOUND_MS)
    wave = 1.5 + math.sin(number / 3_000 + SYMBOLS.index(symbol))
    return Trade(
        id=number,
        symbol=symbol,
        at_ms=OPENING_MS + number * TRADE_EVERY_MS - delay_ms,
        cents=MARKET[symbol][1] + chance.randint(-50, 50),
        size=1 + int(100 * wave * chance.random()),
    )


def delay_of(trade: Trade) -> int:
    """How long after it happened a trade was reported."""
    return OPENING_MS + trade.id * TRADE_EVERY_MS - trade.at_ms


# ---- the job ----


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
    """Says when a symbol has not traded for QUIET_MS of event time.

    Trades come out of order, so each takes effect by a timer at its own time: when that fires, event time has got
    there, and no earlier trade is still on its way.
    """

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


def build(env: StreamExecutionEnvironment, output: Path, count: int, per_second: float | None) -> DataStream:
    """Put the job together; the stream returned carries all that the terminal shows."""
    limit = RateLimiterStrategy.per_second(per_second) if per_second else RateLimiterStrategy.no_op()
    watermarks = WatermarkStrategy.for_bounded_out_of_orderness(Duration.of_millis(BOUND_MS))
    by_symbol = env.from_source(
        DataGeneratorSource(make_trade, count, limit),
        watermarks.with_timestamp_assigner(lambda trade, _: trade.at_ms),
        "trades",
    ).key_by(lambda trade: trade.symbol)

    minutes = by_symbol.process(MinuteNotional()).name("notional by minute").uid("notional")
    late = minutes.get_side_output(LATE)
    quiet = by_symbol.process(Inactivity()).name("inactivity").uid("inactivity")

    minutes.sink_to(FileSink.parquet(output / "notional")).name("notional files")
    late.sink_to(FileSink.json(output / "late")).name("late files")
    return minutes.union(late, quiet)


# ---- the check: the same answer, worked out without Penstock ----


def check(output: Path, alerts: Iterable[Quiet], count: int) -> dict[str, bool]:
    """Compare what was written and shown with the answer from plain Python."""
    trades = [make_trade(number) for number in range(count)]
    on_time = [trade for trade in trades if delay_of(trade) <= BOUND_MS]
    too_late = [trade for trade in trades if delay_of(trade) > BOUND_MS]
    return {
        "notional by symbol and minute": sorted(expected_minutes(on_time)) == sorted(written_minutes(output)),
        "trades that came too late": too_late == sorted(written_late(output)),
        "inactivity alerts": sorted(expected_alerts(on_time)) == sorted(alerts),
    }


def expected_minutes(trades: Iterable[Trade]) -> Iterator[Minute]:
    sums: dict[tuple[str, int], list[int]] = defaultdict(lambda: [0, 0])
    for trade in trades:
        entry = sums[trade.symbol, trade.at_ms // MINUTE_MS * MINUTE_MS]
        entry[0] += 1
        entry[1] += trade.cents * trade.size
    return (Minute(*key, *entry) for key, entry in sums.items())


def expected_alerts(trades: Iterable[Trade]) -> Iterator[Quiet]:
    """The gaps of each symbol; the end of the stream is the end of time, so there every symbol falls silent."""
    times: dict[str, list[float]] = defaultdict(list)
    for trade in trades:
        times[trade.symbol].append(trade.at_ms)
    for symbol, each in times.items():
        ordered = sorted(each)
        for before, after in zip(ordered, [*ordered[1:], math.inf], strict=True):
            if after - before > QUIET_MS:
                yield Quiet(symbol, int(before))


def written_minutes(output: Path) -> list[Minute]:
    table = pyarrow.dataset.dataset(output / "notional", format="parquet").to_table()
    return [Minute(**record) for record in table.to_pylist()]


def written_late(output: Path) -> list[Trade]:
    lines = [line for path in (output / "late").glob("part-*") for line in path.read_text().splitlines()]
    return [Trade(**json.loads(line)) for line in lines]


# ---- the show ----


def main(output: Path, count: int = 36_000, per_second: float | None = 3_000) -> bool:
    """Run the job, show it, check it; True if everything was right."""
    configuration = Configuration()
    # Watermarks follow the records here, so that what is late does not depend on how fast this machine is.
    configuration.set_integer("pipeline.watermark-every-records", 200)
    configuration.set_integer("penstock.batch.max-records", 3_000)  # small batches, so that there is something to see
    env = StreamExecutionEnvironment.get_execution_environment(configuration).set_parallelism(2)
    alerts: list[Quiet] = []
    began = time.monotonic()
    print("Starting Spark (about ten seconds) ...", flush=True)
    updates = build(env, output, count, per_second).execute_and_collect("trades")
    with updates, TradesView(SYMBOLS, OPENING_MS, OPENING_MS + count * TRADE_EVERY_MS) as view:
        for update in updates:
            match update:
                case Minute():
                    view.on_minute(*update)
                case Quiet():
                    view.on_quiet(*update)
                    alerts.append(update)
                case Trade():
                    view.on_late(update.symbol)
    seconds = time.monotonic() - began
    verdicts = check(output, alerts, count)
    view.show_result(verdicts, count, seconds, output)
    return all(verdicts.values())


if __name__ == "__main__":
    parser = argparse.ArgumentParser(description="An hour of out-of-order trades on Spark, checked in plain Python.")
    parser.add_argument("--output", type=Path, help="where to write (default: a new temporary directory)")
    parser.add_argument("--count", type=int, default=36_000, help="number of trades (default: 36000, one hour)")
    parser.add_argument("--rate", type=float, default=3_000, help="trades a second; 0: as fast as possible")
    args = parser.parse_args()
    if args.count < 1 or args.rate < 0:
        parser.error("--count must be 1 or more, --rate 0 or more")
    if args.output and args.output.exists() and any(args.output.iterdir()):
        parser.error(f"{args.output} is not empty, and what is there would be taken for this run's: choose another")
    folder = args.output or Path(tempfile.mkdtemp(prefix="penstock-trades-"))
    raise SystemExit(0 if main(folder, args.count, args.rate or None) else 1)
