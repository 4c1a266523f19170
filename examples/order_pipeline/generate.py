"""Makes two hours of orders and the customers who place them: out of order, some of them late, cancelled or of nobody.

Writes files, and with `--kafka HOST:PORT` also the topics `orders` and `customers`.
"""

from __future__ import annotations

import argparse
import json
import random
from pathlib import Path
from typing import Any

SEED = 37
CUSTOMERS = 150
ORDERS = 2_000
COUNTRIES = ["Chile", "Ghana", "Japan", "Spain"]
START_MS = 1_772_442_000_000  # 2026-03-02 09:00 UTC
MINUTE_MS = 60_000
MINUTES = 120


def customers(seed: int = SEED) -> list[dict[str, Any]]:
    chance = random.Random(seed)
    shares = [2, 1, 5, 3]
    return [
        {"customer_id": number, "country": chance.choices(COUNTRIES, shares)[0], "at_ms": START_MS - CUSTOMERS + number}
        for number in range(CUSTOMERS)
    ]


def arrivals(seed: int = SEED) -> list[tuple[int, dict[str, Any]]]:
    """Orders with their time of arrival, in that order."""
    chance = random.Random(seed + 1)
    made = []
    for number in range(ORDERS):
        at = START_MS + chance.randrange(MINUTES * MINUTE_MS)
        customer = chance.randrange(CUSTOMERS) if chance.random() > 0.02 else 9_000 + chance.randrange(5)
        cents = chance.randrange(500, 9_000) if chance.random() > 0.03 else 0  # cancelled
        is_late = at < START_MS + MINUTES * MINUTE_MS // 2 and chance.random() < 0.02
        delay = 40 * MINUTE_MS if is_late else chance.randrange(9_000)
        made.append((at + delay, {"order_id": number, "customer_id": customer, "cents": cents, "at_ms": at}))
    return sorted(made, key=lambda each: (each[0], each[1]["order_id"]))


def send(servers: str) -> None:
    """Send all of it to Kafka, keyed by customer."""
    from confluent_kafka import Producer

    producer = Producer({"bootstrap.servers": servers})
    for topic, records in (("customers", customers()), ("orders", [order for _, order in arrivals()])):
        for record in records:
            producer.produce(topic, key=json.dumps(record["customer_id"]), value=json.dumps(record))
        producer.flush()


if __name__ == "__main__":
    parser = argparse.ArgumentParser(description="Make the input of the pipeline.")
    parser.add_argument("--kafka", metavar="HOST:PORT", help="send it to the topics orders and customers there too")
    args = parser.parse_args()
    folder = Path(__file__).parent / "run" / "input"
    folder.mkdir(parents=True, exist_ok=True)
    for name, records in (("customers", customers()), ("orders", [order for _, order in arrivals()])):
        (folder / f"{name}.jsonl").write_text("".join(json.dumps(record) + "\n" for record in records))
    print(f"wrote {ORDERS:,} orders and {CUSTOMERS} customers to {folder}")
    if args.kafka:
        send(args.kafka)
        print(f"sent them to {args.kafka}")
