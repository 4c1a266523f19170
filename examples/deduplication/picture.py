"""The picture of the deduplication: what arrived in each minute, by what became of it."""

from __future__ import annotations

from collections import Counter
from pathlib import Path

from gallery.json_rows import read_rows
from gallery.svg_chart import BLUE, ORANGE, RED, Axis, Chart

MINUTE_MS = 60_000
KINDS = {"passed": (BLUE, "passed"), "duplicate": (ORANGE, "duplicate"), "too_old": (RED, "too old to be judged")}


def draw(run: Path) -> Chart:
    rows = {kind: read_rows(run / "output" / kind) for kind in KINDS}
    minutes = {kind: Counter(row["received_ms"] // MINUTE_MS for row in found) for kind, found in rows.items()}
    all_minutes = sorted(set().union(*minutes.values()))
    highest = max(sum(counts[minute] for counts in minutes.values()) for minute in all_minutes)
    total = sum(map(len, rows.values()))
    chart = Chart(
        "Events that are sent again",
        f"{total:,} arrivals; {len(rows['passed']):,} events went on, each of them once",
        Axis.clock(all_minutes[0] * MINUTE_MS, (all_minutes[-1] + 1) * MINUTE_MS, "time of arrival, UTC"),
        Axis.numbers(0, highest * 1.05, "arrivals per minute"),
    )
    below: Counter[int] = Counter()
    for kind, (colour, label) in KINDS.items():
        counts = minutes[kind]
        bars = [
            ((minute + 0.1) * MINUTE_MS, (minute + 0.9) * MINUTE_MS, below[minute], below[minute] + counts[minute])
            for minute in all_minutes
            if counts[minute]
        ]
        chart.boxes(bars, colour, label)
        below.update(counts)
    return chart
