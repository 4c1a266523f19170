"""The picture of the notifications: transfers of some accounts, what was told, and when somebody wanted to know."""

from __future__ import annotations

from pathlib import Path
from typing import Any

from gallery.json_rows import read_rows
from gallery.svg_chart import BLUE, GREY, INK, ORANGE, Axis, Chart

SHOWN = 14


def draw(run: Path) -> Chart:
    transfers = read_rows(run / "input" / "transfers.jsonl")
    commands = read_rows(run / "input" / "commands.jsonl")
    told = sorted(read_rows(run / "output" / "notifications"), key=lambda row: int(row["id"]))
    asked = [command["account"] for command in commands if command["account"] != "*"]
    accounts = sorted(set(asked)) + sorted({row["account"] for row in told} - set(asked))
    place = {account: SHOWN - 1 - rank for rank, account in enumerate(accounts[:SHOWN])}
    times = [transfer["at_ms"] for transfer in transfers]
    chart = Chart(
        "Who is told about which transfer",
        f"{len(transfers):,} transfers, {len(told)} notifications; +2: two more since the one before. "
        f"{SHOWN} accounts are shown.",
        Axis.clock(min(times), max(times), "time of the block, UTC"),
        Axis.names(sorted(place, key=lambda account: place[account])),
    )
    spans = [
        (*span, place[account] - 0.4, place[account] + 0.4)
        for account in place
        for span in watched(commands, account, max(times))
    ]
    chart.boxes(spans, BLUE, "notify", opacity=0.15)
    chart.dots(
        [(row["at_ms"], place[row["account"]]) for row in transfers if row["account"] in place],
        GREY,
        "transfer",
        radius=1.5,
    )
    shown = [row for row in told if row["account"] in place]
    chart.dots([(row["at_ms"], place[row["account"]]) for row in shown], ORANGE, "notification", radius=4.5)
    for row in shown:
        if row["untold"]:
            chart.text(row["at_ms"] + 60_000, place[row["account"]] + 0.15, f"+{row['untold']}", INK)
    return chart


def watched(commands: list[dict[str, Any]], account: str, end_ms: int) -> list[tuple[int, int]]:
    """From when to when somebody wanted to hear about the account."""
    mine = [command for command in commands if command["account"] in (account, "*")]
    ends = [*(command["at_ms"] for command in mine[1:]), end_ms]
    return [(command["at_ms"], end) for command, end in zip(mine, ends, strict=True) if command["above"] is not None]
