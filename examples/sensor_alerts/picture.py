"""The picture of the sensor alerts: all temperatures, and what the job said about them."""

from __future__ import annotations

import json
from collections import defaultdict
from itertools import pairwise
from pathlib import Path
from typing import Any

from gallery.json_rows import read_rows
from gallery.svg_chart import COLOURS, GREY, INK, RED, Axis, Chart

GAP_MS = 120_000


def draw(run: Path) -> Chart:
    rejected = {line for part in (run / "output" / "rejected").glob("part-*") for line in part.read_text().splitlines()}
    lines = [line for line in (run / "input" / "readings.jsonl").read_text().splitlines() if line not in rejected]
    temperatures: dict[str, list[tuple[int, float]]] = defaultdict(list)
    for reading in map(json.loads, lines):
        temperatures[reading["room"]].append((reading["at_ms"], reading["celsius"]))
    times = [at_ms for series in temperatures.values() for at_ms, _ in series]
    alerts = sorted(read_rows(run / "output" / "alerts"), key=lambda row: (row["at_ms"], row["room"], row["alert"]))
    chart = Chart(
        "Cold rooms",
        f"{len(times):,} readings, {len(rejected)} rejected; {sum(row['state'] == 'on' for row in alerts)} alerts "
        "(the end of the file makes every room silent)",
        Axis.clock(min(times), max(times) + 5 * 60_000, "time of the reading, UTC"),
        Axis.numbers(-2, 20, "°C"),
    )
    for place, (alert, room, began, ended) in enumerate(spans(alerts, max(times))):
        chart.boxes([(began, ended, -2, 20)], RED if alert == "too warm" else GREY, opacity=0.14)
        chart.text(began + 60_000, 18.6 - 1.1 * (place % 3), f"{room}: {alert}", INK)
    chart.line([(min(times), 8), (max(times), 8)], RED, "limit", dashed=True)
    for colour, (room, series) in zip(COLOURS, sorted(temperatures.items()), strict=False):
        label = room
        for piece in pieces(sorted(series)):
            chart.line(piece, colour, label)
            label = ""
    return chart


def spans(alerts: list[dict[str, Any]], end_ms: int) -> list[tuple[str, str, int, int]]:
    """Alerts with the time they began and ended; those of the end of the file are left out."""
    found = []
    for row in alerts:
        if row["state"] == "on" and row["at_ms"] <= end_ms:
            same = [other for other in alerts if other["room"] == row["room"] and other["alert"] == row["alert"]]
            ends = [other["at_ms"] for other in same if other["state"] == "off" and other["at_ms"] > row["at_ms"]]
            found.append((row["alert"], row["room"], row["at_ms"], min([*ends, end_ms])))
    return found


def pieces(series: list[tuple[int, float]]) -> list[list[tuple[int, float]]]:
    """The series, cut where nothing was heard for a while."""
    cut = [[series[0]]]
    for before, after in pairwise(series):
        if after[0] - before[0] > GAP_MS:
            cut.append([])
        cut[-1].append(after)
    return cut
