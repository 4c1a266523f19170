"""Makes the clicks of a web shop: visits of many users, out of order, some of them an hour late, some lines broken."""

from __future__ import annotations

import json
import random
from datetime import UTC, datetime
from pathlib import Path
from typing import Any

SEED = 11
USERS = 40
START_MS = 1_772_442_000_000  # 2026-03-02 09:00 UTC
HOURS = 4
HOUR_MS = 3_600_000
PAGES = ["home", "search", "product", "product", "product", "cart", "help"]


def clicks(seed: int = SEED) -> list[dict[str, Any]]:
    """Every click with the time it happened (`at_ms`), in the order of their arrival (`received_ms`)."""
    chance = random.Random(seed)
    made = []
    for number in range(USERS):
        user = f"user-{number:02}"
        at = START_MS + chance.randrange(90 * 60_000)
        while at < START_MS + HOURS * HOUR_MS:
            # A phone without network keeps a whole visit and delivers it later.
            is_offline = at < START_MS + 2 * HOUR_MS and chance.random() < 0.15
            offline_ms = chance.randrange(60, 75) * 60_000 if is_offline else 0
            visit = [chance.choice(PAGES) for _ in range(chance.randint(2, 14))]
            visit += ["checkout", "thanks"] if "cart" in visit and chance.random() < 0.5 else []
            for page in visit:
                delay = offline_ms or chance.choice([0, 0, 500, 2_000, 20_000])
                made.append(
                    {"user": user, "page": page, "at_ms": at, "received_ms": at + delay + chance.randrange(400)}
                )
                at += int(chance.expovariate(1 / 70_000)) + 1_000
                # Some go for a coffee: back soon enough, or just too late, to go on with the visit.
                at += chance.choice([14, 15, 16, 18]) * 60_000 if chance.random() < 0.02 else 0
            at += chance.randrange(40, 130) * 60_000
    return sorted(made, key=lambda click: (click["received_ms"], click["user"]))


def lines(seed: int = SEED) -> list[str]:
    """The clicks as the server logs them; now and then it writes half a line, or the time is missing."""
    chance = random.Random(seed + 1)
    written = []
    for click in clicks(seed):
        at = datetime.fromtimestamp(click["at_ms"] / 1000, UTC).isoformat(timespec="milliseconds")
        line = json.dumps({"user": click["user"], "page": click["page"], "at": at})
        written.append(line)
        if chance.random() < 0.01:
            written.append(chance.choice([line[: len(line) // 2], line.replace(at, ""), '{"page": "home"}', "null"]))
    return written


if __name__ == "__main__":
    target = Path(__file__).parent / "run" / "input" / "clicks.jsonl"
    target.parent.mkdir(parents=True, exist_ok=True)
    target.write_text("\n".join(lines()) + "\n")
    print(f"wrote {len(lines()):,} lines to {target}")
