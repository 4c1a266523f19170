"""Makes an hour of trades: a few seconds out of order, some of them minutes late, and lines that are no trade.

Trade number n is the same whenever it is made, so that the demo can make trades while it runs and go on after a crash.
"""

from __future__ import annotations

import json
import math
import random
from pathlib import Path
from typing import NamedTuple

SECOND_MS = 1_000
MINUTE_MS = 60 * SECOND_MS
OPENING_MS = 1_767_605_400_000  # 2026-01-05 09:30 UTC
TRADE_EVERY_MS = 100
TRADES = 24_000
BOUND_MS = 5 * SECOND_MS

# symbol -> (share of the trades, price in cents); the rarely traded ones are there to fall silent
MARKET = {
    "AMUR": (200, 18_250),
    "EBRO": (140, 4_210),
    "ELBE": (100, 9_975),
    "NILE": (70, 31_040),
    "ODER": (50, 2_515),
    "OHIO": (30, 12_080),
    "YUKON": (8, 66_600),
    "TYNE": (2, 7_350),
}
SYMBOLS, SHARES = list(MARKET), [share for share, _ in MARKET.values()]


class Trade(NamedTuple):
    id: int
    symbol: str
    at_ms: int
    cents: int
    size: int


def make_trade(number: int) -> Trade:
    """Record `number` of the stream, the same whenever it is made: that is what lets a job go on after a crash."""
    chance = random.Random(number)
    symbol = chance.choices(SYMBOLS, SHARES)[0]
    # Most are reported within the bound; once some history is there, one in two hundred comes far too late.
    is_straggler = number > 20 * MINUTE_MS // TRADE_EVERY_MS and chance.random() < 0.005
    delay_ms = chance.randint(10 * MINUTE_MS, 15 * MINUTE_MS) if is_straggler else chance.randint(0, BOUND_MS)
    wave = 1.5 + math.sin(number / 3_000 + SYMBOLS.index(symbol))
    return Trade(
        id=number,
        symbol=symbol,
        at_ms=OPENING_MS + number * TRADE_EVERY_MS - delay_ms,
        cents=MARKET[symbol][1] + chance.randint(-50, 50),
        size=1 + int(100 * wave * chance.random()),
    )


def lines(count: int = TRADES) -> list[str]:
    """The trades as a feed sends them, with what a broken feed sends now and then."""
    chance = random.Random(count)
    written = []
    for trade in map(make_trade, range(count)):
        line = json.dumps(trade._asdict())
        written.append(line)
        if chance.random() < 0.001:
            written.append(chance.choice([line[:40], "heartbeat", "null", "{}"]))
    return written


if __name__ == "__main__":
    target = Path(__file__).parent / "run" / "input" / "trades.jsonl"
    target.parent.mkdir(parents=True, exist_ok=True)
    target.write_text("\n".join(lines()) + "\n")
    print(f"wrote {len(lines()):,} lines to {target}")
