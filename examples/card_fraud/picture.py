"""The picture of the card fraud: all payments of the day by size, and those the job warned of."""

from __future__ import annotations

from pathlib import Path

from gallery.json_rows import read_rows
from gallery.svg_chart import GREY, INK, ORANGE, RED, Axis, Chart


def draw(run: Path) -> Chart:
    payments = {payment["id"]: payment for payment in read_rows(run / "input" / "payments.jsonl")}
    alerts = sorted(read_rows(run / "output" / "alerts"), key=lambda row: int(row["payment"]))
    tests = {number for row in alerts for number in row["tests"]}
    times = [payment["at_ms"] for payment in payments.values()]
    chart = Chart(
        "Stolen cards",
        f"{len(payments):,} payments of a day, {len(alerts)} alerts: two tests below 1 €, then 500 € or more",
        Axis.clock(min(times) - 600_000, max(times) + 2_400_000, "time of the payment, UTC"),
        Axis.powers(0.08, 5_000, "€"),
    )

    def points(numbers: set[int]) -> list[tuple[int, float]]:
        return [(payments[number]["at_ms"], payments[number]["amount"]) for number in sorted(numbers)]

    fraud = {row["payment"] for row in alerts}
    chart.dots(points(set(payments) - tests - fraud), GREY, "payment", radius=2)
    for row in alerts:
        large = payments[row["payment"]]
        chart.line([*points(set(row["tests"])), (large["at_ms"], large["amount"])], ORANGE)
        chart.text(large["at_ms"] + 500_000, large["amount"], row["card"], INK)
    chart.dots(points(tests), ORANGE, "test of a stolen card", radius=4)
    chart.rings(points(fraud), RED, "alert")
    return chart
