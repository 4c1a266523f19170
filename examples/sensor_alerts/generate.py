"""Makes temperatures of cold rooms: doors left open, a gateway that fails, sensors that talk nonsense."""

from __future__ import annotations

import json
import math
import random
from pathlib import Path
from typing import Any

SEED = 5
ROOMS = ["fish", "meat", "fruit", "dairy", "flowers"]
START_MS = 1_772_427_600_000  # 2026-03-02 05:00 UTC
MINUTE_MS = 60_000
MINUTES = 180
EVERY_MS = 30_000

# room -> minutes from and to, and how much warmer it gets
DOORS_OPEN = {"meat": (42, 71, 9.0), "fruit": (100, 103, 7.0), "fish": (130, 155, 14.0)}
GATEWAY_OFF = {"dairy": (60, 78), "flowers": (60, 78)}


def readings(seed: int = SEED) -> list[dict[str, Any]]:
    """Every reading that makes sense, in the order of arrival (`received_ms`); a few of them come half an hour late."""
    chance = random.Random(seed)
    made = []
    for place, room in enumerate(ROOMS):
        for number in range(MINUTES * MINUTE_MS // EVERY_MS):
            at = START_MS + number * EVERY_MS + chance.randrange(1_000)
            minute = (at - START_MS) / MINUTE_MS
            off = GATEWAY_OFF.get(room, (0, 0))
            if off[0] <= minute < off[1]:
                continue
            opened, closed, degrees = DOORS_OPEN.get(room, (0, 0, 0.0))
            warmer = (
                degrees * math.sin(math.pi * (minute - opened) / (closed - opened)) if opened < minute < closed else 0
            )
            celsius = round(1.0 + place + math.sin(minute / 9 + place) * 0.6 + warmer + chance.gauss(0, 0.15), 2)
            is_late = minute < MINUTES / 2 and chance.random() < 0.006
            delay = chance.randrange(30, 40) * MINUTE_MS if is_late else chance.choice([100, 300, 2_000, 18_000])
            made.append({"room": room, "celsius": celsius, "at_ms": at, "received_ms": at + delay})
    return sorted(made, key=lambda reading: (reading["received_ms"], reading["room"]))


def lines(seed: int = SEED) -> list[str]:
    """What the gateway writes: the readings, and now and then what a broken sensor says."""
    chance = random.Random(seed + 1)
    written = []
    for reading in readings(seed):
        sent = {name: reading[name] for name in ("room", "celsius", "at_ms")}
        written.append(json.dumps(sent))
        if chance.random() < 0.01:
            nonsense = chance.choice(
                [{**sent, "celsius": 999.9}, {**sent, "celsius": None}, {"room": sent["room"]}, "E17"]
            )
            written.append(json.dumps(nonsense))
    return written


if __name__ == "__main__":
    target = Path(__file__).parent / "run" / "input" / "readings.jsonl"
    target.parent.mkdir(parents=True, exist_ok=True)
    target.write_text("\n".join(lines()) + "\n")
    print(f"wrote {len(lines()):,} lines to {target}")
