"""Makes three hours of a ledger: transfers in blocks, and the commands of people who want to hear about accounts."""

from __future__ import annotations

import json
import random
from pathlib import Path
from typing import Any

SEED = 41
ACCOUNTS = [f"acc-{number:02}" for number in range(1, 25)]
START_MS = 1_772_442_000_000  # 2026-03-02 09:00 UTC
MINUTE_MS = 60_000
MINUTES = 180
BLOCK_MS = 12_000

# minute, account ("*": all of them), notify about transfers from this amount on (None: not at all)
COMMANDS = [
    (5, "acc-03", 200),
    (10, "acc-07", 50),
    (20, "acc-11", 400),
    (60, "*", None),  # maintenance
    (80, "*", 500),
    (95, "acc-03", 100),
    (110, "acc-07", None),
    (120, "acc-15", 300),
]


def transfers(seed: int = SEED) -> list[dict[str, Any]]:
    """Changes of accounts in the order of arrival: each block a few seconds late, some blocks after the next ones."""
    chance = random.Random(seed)
    made = []
    for block in range(MINUTES * MINUTE_MS // BLOCK_MS):
        at = START_MS + block * BLOCK_MS
        delay = chance.choice([500, 500, 800, 30_000])
        for number in range(chance.randint(0, 4)):
            amount = int(chance.lognormvariate(4.6, 1.1)) * chance.choice([1, 1, -1])
            transfer = {
                "id": block * 10 + number,
                "block": block,
                "account": chance.choice(ACCOUNTS),
                "amount": amount,
                "at_ms": at,
            }
            made.append((at + delay, transfer))
    return [transfer for _, transfer in sorted(made, key=lambda each: (each[0], each[1]["id"]))]


def commands() -> list[dict[str, Any]]:
    return [
        {"account": account, "above": above, "at_ms": START_MS + minute * MINUTE_MS}
        for minute, account, above in COMMANDS
    ]


if __name__ == "__main__":
    folder = Path(__file__).parent / "run" / "input"
    folder.mkdir(parents=True, exist_ok=True)
    for name, records in (("transfers", transfers()), ("commands", commands())):
        (folder / f"{name}.jsonl").write_text("".join(json.dumps(record) + "\n" for record in records))
        print(f"wrote {len(records):,} {name} to {folder}")
