"""The demo: an hour of out-of-order trades, summed by minute on Spark while you watch, then checked in plain Python.

    trades, a few seconds out of order and some of them minutes late (made, not read: record n is always the same)
      -> watermarks that wait BOUND_MS for stragglers
      -> notional per symbol and minute: keyed state, a timer at the end of the minute     -> Parquet files
      -> trades whose minute is already closed: side output                                -> JSON lines
      -> symbols that have not traded for QUIET_MS: keyed state, a timer after each trade  -> JSON lines
      -> everything also to the table on your terminal

Run it with `make demo`, or `python examples/trades/demo.py --help`. The job is that of job.py.
"""

from __future__ import annotations

import argparse
import json
import math
import sys
import tempfile
import time
from collections import defaultdict
from collections.abc import Iterable, Iterator
from pathlib import Path

import pyarrow.dataset

sys.path.insert(0, str(Path(__file__).parents[1]))  # so that a script, and Spark's workers, find the folder `trades`

from trades.generate import BOUND_MS, MINUTE_MS, OPENING_MS, SYMBOLS, TRADE_EVERY_MS, make_trade
from trades.job import QUIET_MS, Minute, Quiet, Trade, build, by_time
from trades.view import TradesView

from penstock.common import Configuration
from penstock.datastream import StreamExecutionEnvironment
from penstock.datastream.connectors.data_gen import DataGeneratorSource, RateLimiterStrategy


def next_trade(number: int) -> Trade:
    return Trade(*make_trade(number))


def delay_of(trade: Trade) -> int:
    """How long after it happened a trade was reported."""
    return OPENING_MS + trade.id * TRADE_EVERY_MS - trade.at_ms


# ---- the check: the same answer, worked out without Penstock ----


def check(output: Path, alerts: Iterable[Quiet], count: int) -> dict[str, bool]:
    """Compare what was written and shown with the answer from plain Python."""
    trades = [next_trade(number) for number in range(count)]
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
    limit = RateLimiterStrategy.per_second(per_second) if per_second else RateLimiterStrategy.no_op()
    trades = env.from_source(DataGeneratorSource(next_trade, count, limit), by_time(), "trades")
    updates = build(trades, output).execute_and_collect("trades")
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
