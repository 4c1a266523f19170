"""The picture of the word count: the most frequent words."""

from __future__ import annotations

from pathlib import Path

from gallery.json_rows import read_rows
from gallery.svg_chart import BLUE, INK, Axis, Chart

SHOWN = 16


def draw(run: Path) -> Chart:
    totals: dict[str, int] = {}
    for row in read_rows(run / "output" / "counts"):
        totals[row["word"]] = max(totals.get(row["word"], 0), row["count"])
    top = sorted(totals.items(), key=lambda item: (-item[1], item[0]))[:SHOWN]
    chart = Chart(
        "What customers write about",
        f"the {SHOWN} most frequent of {len(totals)} different words in the chat of a help desk",
        Axis.numbers(0, top[0][1] * 1.08, "times written"),
        Axis.names([word for word, _ in reversed(top)]),
    )
    places = {word: len(top) - 1 - rank for rank, (word, _) in enumerate(top)}
    chart.boxes([(0, count, places[word] - 0.36, places[word] + 0.36) for word, count in top], BLUE)
    for word, count in top:
        chart.text(count + top[0][1] * 0.008, places[word] - 0.2, f"{count:,}", INK)
    return chart
