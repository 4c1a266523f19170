"""The picture of the dynamic rules: payments, the limit of the time, and what was above it."""

from __future__ import annotations

from pathlib import Path
from typing import Any

from gallery.json_rows import read_rows
from gallery.svg_chart import BLUE, GREY, ORANGE, RED, Axis, Chart

TOP = 20_000
LIMITED = {"casino": ORANGE, "electronics": BLUE}


def draw(run: Path) -> Chart:
    payments = read_rows(run / "input" / "payments.jsonl")
    alerts = sorted(read_rows(run / "output" / "alerts"), key=lambda row: int(row["id"]))
    times = [payment["at_ms"] for payment in payments]
    chart = Chart(
        "Limits that change while the job runs",
        f"{len(payments):,} payments, {len(alerts)} of them above the limit of their merchant at their time",
        Axis.clock(min(times), max(times), "time of the payment, UTC"),
        Axis.powers(1, TOP, "€"),
    )
    chart.dots(points(payment for payment in payments if payment["merchant"] not in LIMITED), GREY, "grocery", radius=2)
    for merchant, colour in LIMITED.items():
        chart.dots(
            points(payment for payment in payments if payment["merchant"] == merchant), colour, merchant, radius=2
        )
        for piece in limits(alerts, merchant):
            chart.line(piece, colour)
    chart.rings(points(alerts), RED, "above the limit", radius=5)
    return chart


def points(payments: Any) -> list[tuple[int, float]]:
    return [(payment["at_ms"], payment["amount"]) for payment in payments]


def limits(alerts: list[dict[str, Any]], merchant: str) -> list[list[tuple[int, float]]]:
    """The limit as the alerts tell it: a line from the first to the last alert of each limit."""
    mine = sorted((row["at_ms"], row["limit"]) for row in alerts if row["merchant"] == merchant)
    values = {limit for _, limit in mine}
    return [[each for each in mine if each[1] == value] for value in sorted(values)]
