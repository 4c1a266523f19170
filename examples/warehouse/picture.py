"""The picture of the warehouse: what its table `category_revenue` says."""

from __future__ import annotations

import contextlib
import sqlite3
from collections import Counter
from datetime import UTC, datetime
from pathlib import Path

from gallery.svg_chart import COLOURS, Axis, Chart

SPAN_MS = 10 * 60_000


def draw(run: Path) -> Chart:
    with contextlib.closing(sqlite3.connect(run / "output" / "warehouse.db")) as database:
        rows = database.execute("SELECT category, window_start, orders, cents FROM category_revenue").fetchall()
        (customers,) = database.execute("SELECT COUNT(*) FROM customer_totals").fetchone()
    revenue: Counter[tuple[str, int]] = Counter()
    for category, start, _, cents in rows:
        revenue[category, round(datetime.fromisoformat(start).replace(tzinfo=UTC).timestamp() * 1000)] = cents
    spans = sorted({span for _, span in revenue})
    categories = sorted({category for category, _ in revenue})
    highest = max(sum(revenue[category, span] for category in categories) for span in spans) / 100
    chart = Chart(
        "Revenue of a canteen, kept up to date in a database",
        f"{sum(row[2] for row in rows):,} orders of {customers} customers; coffee is half price from 13:30 to 14:30",
        Axis.clock(spans[0], spans[-1] + SPAN_MS, "time of the order, UTC"),
        Axis.numbers(0, highest * 1.05, "€ in ten minutes"),
    )
    below: Counter[int] = Counter()
    for colour, category in zip(COLOURS, categories, strict=False):
        bars = []
        for span in spans:
            cents = revenue[category, span]
            bars.append((span + 30_000, span + SPAN_MS - 30_000, below[span] / 100, (below[span] + cents) / 100))
            below[span] += cents
        chart.boxes(bars, colour, category)
    return chart
