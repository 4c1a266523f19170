"""Makes a day of card payments: ordinary ones, stolen cards that are tested first, and what only looks like those."""

from __future__ import annotations

import json
import random
from pathlib import Path
from typing import Any

SEED = 31
CARDS = 80
START_MS = 1_772_409_600_000  # 2026-03-02 00:00 UTC
MINUTE_MS = 60_000
DAY_MS = 24 * 60 * MINUTE_MS
STOLEN = 9
LOOKALIKES = 12


def payments(seed: int = SEED) -> list[dict[str, Any]]:
    """Every payment, in the order of arrival (`received_ms`); a few terminals are offline and deliver hours later."""
    chance = random.Random(seed)
    made = []
    for number in range(CARDS):
        card = f"card-{number:03}"
        for at in sorted(chance.sample(range(6 * 60, 23 * 60), chance.randint(4, 20))):
            amount = round(min(chance.lognormvariate(3.0, 1.0), 450), 2)
            made.append((card, amount, START_MS + at * MINUTE_MS + chance.randrange(MINUTE_MS)))
    for number in range(STOLEN + LOOKALIKES):
        is_stolen = number < STOLEN
        minute = 90 + 140 * number + chance.randrange(80) if is_stolen else chance.randrange(60, 22 * 60)
        card, at = f"card-{chance.randrange(CARDS):03}", START_MS + minute * MINUTE_MS
        probes = chance.randint(2, 4) if is_stolen else chance.randint(1, 2)
        for _ in range(probes):
            made.append((card, round(chance.uniform(0.1, 0.99), 2), at))
            at += chance.randrange(20_000, 90_000)
        # The lookalikes wait too long, or pay too little.
        wait, amount = (0, chance.uniform(500, 2_500)) if is_stolen else chance.choice([(30, 900.0), (0, 60.0)])
        made.append((card, round(amount, 2), at + wait * MINUTE_MS))
    return with_delays(made, chance)


def with_delays(made: list[tuple[str, float, int]], chance: random.Random) -> list[dict[str, Any]]:
    arrived = []
    for number, (card, amount, at) in enumerate(sorted(made, key=lambda payment: payment[2])):
        is_offline = at < START_MS + DAY_MS // 2 and amount > 1 and chance.random() < 0.02
        delay = chance.randrange(3 * 60, 5 * 60) * MINUTE_MS if is_offline else chance.choice([200, 1_000, 25_000])
        payment = {"id": number, "card": card, "amount": amount, "at_ms": at}
        arrived.append({**payment, "received_ms": at + delay + chance.randrange(500)})
    return sorted(arrived, key=lambda payment: (payment["received_ms"], payment["id"]))


if __name__ == "__main__":
    target = Path(__file__).parent / "run" / "input" / "payments.jsonl"
    target.parent.mkdir(parents=True, exist_ok=True)
    made = payments()
    sent = [{name: value for name, value in payment.items() if name != "received_ms"} for payment in made]
    target.write_text("".join(json.dumps(payment) + "\n" for payment in sent))
    print(f"wrote {len(made):,} payments to {target}")
