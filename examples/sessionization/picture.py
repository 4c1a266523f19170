"""The picture of the visits: a bar for each, on the line of its user, and the clicks that came too late."""

from __future__ import annotations

from pathlib import Path

from gallery.json_rows import read_rows
from gallery.svg_chart import BLUE, GREEN, RED, Axis, Chart

USERS_SHOWN = 16


def draw(run: Path) -> Chart:
    visits = sorted(read_rows(run / "output" / "visits"), key=lambda visit: (visit["user"], visit["start_ms"]))
    late = sorted((click["user"], click["at_ms"]) for click in read_rows(run / "output" / "late"))
    # Users with late clicks first: those are what the picture is about.
    users = sorted({visit["user"] for visit in visits}, key=lambda user: (user not in dict(late), user))[:USERS_SHOWN]
    place = {user: len(users) - 1 - rank for rank, user in enumerate(users)}
    shown = [visit for visit in visits if visit["user"] in place]
    first, last = min(visit["start_ms"] for visit in visits), max(visit["end_ms"] for visit in visits)
    chart = Chart(
        "Visits to a web shop",
        f"{len(visits)} visits from {sum(visit['clicks'] for visit in visits)} clicks; "
        f"{len(late)} clicks came too late. {USERS_SHOWN} of the users are shown.",
        Axis.clock(first - 300_000, last + 300_000, "time of the click, UTC"),
        Axis.names(list(reversed(users))),
    )
    for colour, bought, label in ((BLUE, False, "visit"), (GREEN, True, "visit with a purchase")):
        bars = [
            (visit["start_ms"], visit["end_ms"], place[visit["user"]] - 0.3, place[visit["user"]] + 0.3)
            for visit in shown
            if visit["bought"] is bought
        ]
        chart.boxes(bars, colour, label)
    chart.crosses([(at_ms, place[user]) for user, at_ms in late if user in place], RED, "click that came too late")
    return chart
