"""Makes order events of a shop whose clients send again when they hear nothing: many events come twice or more."""

from __future__ import annotations

import json
import random
from pathlib import Path
from typing import Any

SEED = 23
EVENTS = 3_000
EVERY_MS = 1_000
START_MS = 1_772_442_000_000  # 2026-03-02 09:00 UTC
MINUTE_MS = 60_000
OUTAGE_MS = (START_MS + 18 * MINUTE_MS, START_MS + 24 * MINUTE_MS)


def arrivals(seed: int = SEED) -> list[dict[str, Any]]:
    """Every copy of every event, in the order of arrival; `received_ms` is when that was.

    Copies come within five minutes, many of them during an outage. A few come again after half an hour or more, from a
    client that was switched off meanwhile.
    """
    chance = random.Random(seed)
    made = []
    for number in range(EVENTS):
        at = START_MS + number * EVERY_MS + chance.randrange(EVERY_MS)
        event = {
            "event_id": f"e{number:05}",
            "shop": f"shop-{chance.randrange(8)}",
            "cents": chance.randrange(99, 30_000),
            "at_ms": at,
        }
        is_outage = OUTAGE_MS[0] <= at < OUTAGE_MS[1]
        copies = chance.choices([1, 2, 3], [3, 4, 5] if is_outage else [90, 8, 2])[0]
        delays = [chance.randrange(5_000)] + [chance.randrange(10_000, 5 * MINUTE_MS) for _ in range(copies - 1)]
        if number < EVENTS // 3 and chance.random() < 0.01:
            delays.append(chance.randrange(30, 34) * MINUTE_MS)
        made += [{**event, "received_ms": at + delay} for delay in delays]
    return sorted(made, key=lambda event: (event["received_ms"], event["event_id"]))


if __name__ == "__main__":
    target = Path(__file__).parent / "run" / "input" / "events.jsonl"
    target.parent.mkdir(parents=True, exist_ok=True)
    made = arrivals()
    target.write_text("".join(json.dumps(event) + "\n" for event in made))
    print(f"wrote {len(made):,} arrivals of {EVENTS:,} events to {target}")
