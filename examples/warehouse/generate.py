"""Makes the input of the warehouse: an afternoon of orders, sent twice now and then, and products whose prices change.

Writes files, and with `--kafka HOST:PORT` also the topics `orders` and `products`.
"""

from __future__ import annotations

import argparse
import json
import random
from pathlib import Path
from typing import Any

SEED = 29
START_MS = 1_772_452_800_000  # 2026-03-02 12:00 UTC
MINUTE_MS = 60_000
MINUTES = 180
ORDERS = 2_400
CATEGORIES = {"coffee": 450, "cake": 380, "soup": 690, "salad": 820}
PRODUCTS = 20
HAPPY_HOUR = (START_MS + 90 * MINUTE_MS, START_MS + 150 * MINUTE_MS)


def products(seed: int = SEED) -> list[dict[str, Any]]:
    """Every price from before the start; coffee is cheaper during the happy hour."""
    chance = random.Random(seed)
    made = []
    for product in range(PRODUCTS):
        category = list(CATEGORIES)[product % len(CATEGORIES)]
        cents = CATEGORIES[category] + chance.randrange(-50, 200, 10)
        times = {START_MS - 60 * MINUTE_MS: cents}
        if category == "coffee":
            times |= {HAPPY_HOUR[0] + product: cents // 2, HAPPY_HOUR[1] + product: cents}
        made += [
            {"product_id": product, "category": category, "cents": price, "changed_ms": at}
            for at, price in times.items()
        ]
    return sorted(made, key=lambda row: row["changed_ms"])


def arrivals(seed: int = SEED) -> list[tuple[int, dict[str, Any]]]:
    """Orders with their time of arrival, in that order; some come twice, some most of an hour late."""
    chance = random.Random(seed + 1)
    made = []
    for number in range(ORDERS):
        at = START_MS + chance.randrange(MINUTES * MINUTE_MS)
        is_happy = HAPPY_HOUR[0] <= at < HAPPY_HOUR[1]
        product = chance.randrange(0, PRODUCTS, 4) if is_happy and chance.random() < 0.5 else chance.randrange(PRODUCTS)
        order = {"order_id": number, "customer_id": chance.randrange(60), "product_id": product}
        order |= {"quantity": chance.randint(1, 4), "ordered_ms": at}
        is_late = at < START_MS + 39 * MINUTE_MS and chance.random() < 0.04
        first = at + (50 * MINUTE_MS if is_late else chance.randrange(9_000))
        made.append((first, order))
        if chance.random() < 0.05:
            made.append((first + chance.randrange(1, 60_000), order))
    return sorted(made, key=lambda each: (each[0], each[1]["order_id"]))


def lines(seed: int = SEED) -> list[str]:
    """What the tills send; now and then that is no order."""
    chance = random.Random(seed + 2)
    written = []
    for _, order in arrivals(seed):
        written.append(json.dumps(order))
        if chance.random() < 0.01:
            written.append(chance.choice(['{"order_id": 7, "quant', json.dumps({**order, "quantity": 0}), "OK"]))
    return written


def send(servers: str) -> None:
    """Send all of it to Kafka: orders of a customer, and prices of a product, keep their order."""
    from confluent_kafka import Producer

    producer = Producer({"bootstrap.servers": servers})
    for line in lines():
        producer.produce("orders", value=line)
    for product in products():
        producer.produce("products", key=json.dumps({"product_id": product["product_id"]}), value=json.dumps(product))
    producer.flush()


if __name__ == "__main__":
    parser = argparse.ArgumentParser(description="Make the input of the warehouse.")
    parser.add_argument("--kafka", metavar="HOST:PORT", help="send it to the topics orders and products there too")
    args = parser.parse_args()
    folder = Path(__file__).parent / "run" / "input"
    folder.mkdir(parents=True, exist_ok=True)
    (folder / "orders.jsonl").write_text("\n".join(lines()) + "\n")
    (folder / "products.jsonl").write_text("".join(json.dumps(product) + "\n" for product in products()))
    print(f"wrote {len(lines()):,} lines of orders and {len(products())} prices to {folder}")
    if args.kafka:
        send(args.kafka)
        print(f"sent them to {args.kafka}")
