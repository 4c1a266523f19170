"""The picture of the trades: notional by minute of the busiest symbols, and the trades that came too late."""

from __future__ import annotations

from collections import defaultdict
from pathlib import Path

import pyarrow.dataset
from gallery.json_rows import read_rows
from gallery.svg_chart import COLOURS, RED, Axis, Chart

SHOWN = 5
MINUTE_MS = 60_000


def draw(run: Path) -> Chart:
    series: dict[str, list[tuple[int, float]]] = defaultdict(list)
    for row in pyarrow.dataset.dataset(run / "output" / "notional", format="parquet").to_table().to_pylist():
        series[row["symbol"]].append((row["start_ms"], row["notional_cents"] / 100_000))
    late = sorted(trade["at_ms"] for trade in read_rows(run / "output" / "late"))
    quiet = read_rows(run / "output" / "quiet")
    busiest = sorted(series, key=lambda symbol: (-sum(value for _, value in series[symbol]), symbol))[:SHOWN]
    times = [at_ms for points in series.values() for at_ms, _ in points]
    highest = max(value for symbol in busiest for _, value in series[symbol])
    chart = Chart(
        "Trades by minute",
        f"{len(series)} symbols, {len(late)} trades came after their minute was closed, {len(quiet)} alerts of silence",
        Axis.clock(min(times), max(times), "time of the trade, UTC"),
        Axis.numbers(0, highest * 1.05, "thousands in a minute"),
    )
    for colour, symbol in zip(COLOURS, busiest, strict=False):
        chart.line(sorted(series[symbol]), colour, symbol)
    chart.crosses([(at_ms, 0) for at_ms in late if at_ms >= min(times)], RED, "late trade")
    return chart
