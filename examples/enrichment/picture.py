"""The picture of the enrichment: revenue by the segment that customers had when they ordered."""

from __future__ import annotations

from collections import Counter
from pathlib import Path

from gallery.json_rows import read_rows
from gallery.svg_chart import BLUE, GREY, ORANGE, RED, Axis, Chart

SPAN_MS = 10 * 60_000
SEGMENTS = {"basic": BLUE, "silver": GREY, "gold": ORANGE, "unknown customer": RED}


def draw(run: Path) -> Chart:
    orders = read_rows(run / "output" / "enriched")
    orders += [{**order, "segment": "unknown customer"} for order in read_rows(run / "output" / "unknown")]
    revenue: Counter[tuple[str, int]] = Counter()
    for order in orders:
        revenue[order["segment"], order["at_ms"] // SPAN_MS * SPAN_MS] += order["cents"]
    spans = sorted({span for _, span in revenue})
    highest = max(sum(revenue[segment, span] for segment in SEGMENTS) for span in spans) / 100
    chart = Chart(
        "Revenue by the segment of the customer at the time of the order",
        f"{len(orders):,} orders; a campaign at 10:30 upgrades many customers, which counts for later orders only",
        Axis.clock(spans[0], spans[-1] + SPAN_MS, "time of the order, UTC"),
        Axis.numbers(0, highest * 1.05, "€ in ten minutes"),
    )
    below: Counter[int] = Counter()
    for segment, colour in SEGMENTS.items():
        bars = []
        for span in spans:
            amount = revenue[segment, span]
            bars.append((span + 30_000, span + SPAN_MS - 30_000, below[span] / 100, (below[span] + amount) / 100))
            below[span] += amount
        chart.boxes(bars, colour, segment)
    return chart
