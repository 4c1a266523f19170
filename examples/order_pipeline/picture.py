"""The picture of the order pipeline: the results of the three programs, drawn on top of each other."""

from __future__ import annotations

from collections import defaultdict
from pathlib import Path

from gallery.json_rows import read_rows
from gallery.svg_chart import COLOURS, GREY, Axis, Chart

HALF_MS = 5 * 60_000


def draw(run: Path) -> Chart:
    found = {name: revenue(run / "output" / name) for name in ("datastream", "sql", "kstreams")}
    values = [point for series in found["datastream"].values() for point in series]
    chart = Chart(
        "One pipeline, three programs",
        "revenue by country: a line for the DataStream API, a dot for SQL, a ring for Kafka Streams' DSL",
        Axis.clock(
            min(at for at, _ in values) - HALF_MS, max(at for at, _ in values) + HALF_MS, "time of the order, UTC"
        ),
        Axis.numbers(0, max(value for _, value in values) * 1.08, "€ in ten minutes"),
    )
    chart.dots([], GREY, "SQL")
    chart.rings([], GREY, "Kafka Streams")
    for colour, country in zip(COLOURS, sorted(found["datastream"]), strict=False):
        chart.line(found["datastream"][country], colour, country)
        chart.dots(found["sql"][country], colour, radius=3.5)
        chart.rings(found["kstreams"][country], colour)
    return chart


def revenue(folder: Path) -> dict[str, list[tuple[int, float]]]:
    """Of each country the middles of the windows, and what was sold in them."""
    series: dict[str, list[tuple[int, float]]] = defaultdict(list)
    for row in sorted(read_rows(folder), key=lambda row: int(row["start_ms"])):
        series[row["country"]].append((row["start_ms"] + HALF_MS, row["cents"] / 100))
    return series
