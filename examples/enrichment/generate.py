"""Makes three hours of orders and the changes of customer records that they are to be joined with."""

from __future__ import annotations

import json
import random
from pathlib import Path
from typing import Any

SEED = 17
CUSTOMERS = 120
ORDERS = 1_500
START_MS = 1_772_442_000_000  # 2026-03-02 09:00 UTC
MINUTE_MS = 60_000
MINUTES = 180
SEGMENTS = ["basic", "silver", "gold"]


def profiles(seed: int = SEED) -> list[dict[str, Any]]:
    """A record for each customer from before the start, and upgrades on the way; by time."""
    chance = random.Random(seed)
    made: list[dict[str, Any]] = []
    for customer in range(CUSTOMERS):
        rank = chance.choices([0, 1, 2], [6, 3, 1])[0]
        at = START_MS - chance.randrange(1, 10_000) * MINUTE_MS
        while rank < len(SEGMENTS):
            country = chance.choice(["DE", "FR", "PL"])
            made.append({"customer": customer, "segment": SEGMENTS[rank], "country": country, "at_ms": at})
            rank += 1
            # A campaign at 10:30 makes upgrades much more likely.
            at = START_MS + chance.choice([90, 95, 100, 400, 400]) * MINUTE_MS + chance.randrange(1, MINUTE_MS)
            if at > START_MS + MINUTES * MINUTE_MS or at <= made[-1]["at_ms"]:
                break
    return sorted(made, key=lambda profile: (profile["at_ms"], profile["customer"]))


def orders(seed: int = SEED) -> list[dict[str, Any]]:
    """Orders in the order of arrival: some of them twenty minutes late, some of customers that nobody knows."""
    chance = random.Random(seed + 1)
    made = []
    for number in range(ORDERS):
        at = START_MS + chance.randrange(MINUTES * MINUTE_MS)
        customer = chance.randrange(CUSTOMERS) if chance.random() > 0.02 else 900 + chance.randrange(9)
        delay = 20 * MINUTE_MS if chance.random() < 0.02 else chance.randrange(4_000)
        order = {"id": number, "customer": customer, "cents": chance.randrange(500, 20_000), "at_ms": at}
        made.append((at + delay, order))
    return [order for _, order in sorted(made, key=lambda each: each[0])]


if __name__ == "__main__":
    folder = Path(__file__).parent / "run" / "input"
    folder.mkdir(parents=True, exist_ok=True)
    for name, records in (("profiles", profiles()), ("orders", orders())):
        (folder / f"{name}.jsonl").write_text("".join(json.dumps(record) + "\n" for record in records))
        print(f"wrote {len(records):,} {name} to {folder}")
