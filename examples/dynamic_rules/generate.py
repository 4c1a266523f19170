"""Makes four hours of payments, and the limits that the risk desk sets, changes and lifts meanwhile."""

from __future__ import annotations

import json
import random
from pathlib import Path
from typing import Any

SEED = 3
PAYMENTS = 1_200
START_MS = 1_772_442_000_000  # 2026-03-02 09:00 UTC
MINUTE_MS = 60_000
MERCHANTS = {"casino": 4.3, "electronics": 5.6, "grocery": 3.4}  # size of their payments

# minute, merchant, limit; no limit lifts the rule
CHANGES = [
    (20, "electronics", 900.0),
    (45, "casino", 300.0),
    (105, "casino", 100.0),
    (130, "electronics", 500.0),
    (170, "casino", None),
    (200, "electronics", 1_500.0),
]
NONSENSE = ['{"merchant": "casino", "limit": "lots", "at_ms": 0}', "set casino 50", '{"limit": 10}']


def payments(seed: int = SEED) -> list[dict[str, Any]]:
    """Payments in the order of arrival: seconds out of order, a few of them half an hour late."""
    chance = random.Random(seed)
    made = []
    for number in range(PAYMENTS):
        at = START_MS + chance.randrange(240 * MINUTE_MS)
        merchant = chance.choices(list(MERCHANTS), [3, 3, 2])[0]
        amount = round(chance.lognormvariate(MERCHANTS[merchant], 0.9), 2)
        delay = 30 * MINUTE_MS if chance.random() < 0.01 else chance.randrange(8_000)
        made.append(
            (
                at + delay,
                {"id": number, "card": f"card-{number % 90}", "merchant": merchant, "amount": amount, "at_ms": at},
            )
        )
    return [payment for _, payment in sorted(made, key=lambda each: each[0])]


def rules() -> list[dict[str, Any]]:
    return [
        {"merchant": name, "limit": limit, "at_ms": START_MS + minute * MINUTE_MS} for minute, name, limit in CHANGES
    ]


def rule_lines(seed: int = SEED) -> list[str]:
    """The changes as the desk sends them: two of them overtake each other, and some lines make no sense."""
    lines = [json.dumps(rule) for rule in rules()]
    lines[2], lines[3] = lines[3], lines[2]
    chance = random.Random(seed)
    for line in NONSENSE:
        lines.insert(chance.randrange(len(lines)), line)
    return lines


if __name__ == "__main__":
    folder = Path(__file__).parent / "run" / "input"
    folder.mkdir(parents=True, exist_ok=True)
    (folder / "payments.jsonl").write_text("".join(json.dumps(payment) + "\n" for payment in payments()))
    (folder / "rules.jsonl").write_text("\n".join(rule_lines()) + "\n")
    print(f"wrote {PAYMENTS:,} payments and {len(rule_lines())} lines of rules to {folder}")
