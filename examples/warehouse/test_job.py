"""The tables of the warehouse are what plain loops over the same orders and prices give."""

from __future__ import annotations

import contextlib
import sqlite3
from collections import defaultdict
from datetime import UTC, datetime
from typing import Any

import pytest
from gallery.readme_commands import ExampleRun
from warehouse.generate import arrivals, products

BOUND_MS = 10_000
SPAN_MS = 600_000

Totals = dict[tuple[Any, ...], tuple[int, int]]


def sales() -> list[tuple[dict[str, Any], str, int, bool]]:
    """Each order once, with the category and price of its time, and whether it came too late for its window."""
    found, seen = [], set()
    prices: dict[int, list[dict[str, Any]]] = defaultdict(list)
    for price in products():
        prices[price["product_id"]].append(price)
    for received_ms, order in arrivals():
        if order["order_id"] in seen:
            continue
        seen.add(order["order_id"])
        known = [price for price in prices[order["product_id"]] if price["changed_ms"] <= order["ordered_ms"]]
        is_late = received_ms - order["ordered_ms"] > BOUND_MS
        found.append((order, known[-1]["category"], order["quantity"] * known[-1]["cents"], is_late))
    return found


def expected_revenue(*, with_late: bool) -> Totals:
    totals: dict[tuple[Any, ...], list[int]] = defaultdict(lambda: [0, 0])
    for order, category, cents, is_late in sales():
        if with_late or not is_late:
            start = datetime.fromtimestamp(order["ordered_ms"] // SPAN_MS * SPAN_MS / 1000, UTC).replace(tzinfo=None)
            entry = totals[category, start]
            entry[0], entry[1] = entry[0] + 1, entry[1] + cents
    return {key: (orders, cents) for key, (orders, cents) in totals.items()}


def expected_customers() -> Totals:
    totals: dict[tuple[Any, ...], list[int]] = defaultdict(lambda: [0, 0])
    for order, _, cents, _ in sales():
        entry = totals[(order["customer_id"],)]
        entry[0], entry[1] = entry[0] + 1, entry[1] + cents
    return {key: (orders, cents) for key, (orders, cents) in totals.items()}


def check(run: ExampleRun) -> None:
    with contextlib.closing(sqlite3.connect(run.output / "warehouse.db")) as database:
        revenue = database.execute("SELECT * FROM category_revenue").fetchall()
        customers = database.execute("SELECT * FROM customer_totals").fetchall()
    found = {(category, datetime.fromisoformat(start)): (orders, cents) for category, start, orders, cents in revenue}
    # How late an order may be depends on the slower of the two joined streams, so windows may hold late orders.
    least, most = expected_revenue(with_late=False), expected_revenue(with_late=True)
    assert set(found) == set(most)
    assert all(least.get(key, (0, 0)) <= each <= most[key] for key, each in found.items())
    assert {(customer,): (orders, cents) for customer, orders, cents in customers} == expected_customers()


def test_the_job_agrees_with_plain_python(example_run: ExampleRun) -> None:
    assert expected_revenue(with_late=True) != expected_revenue(with_late=False)
    assert len(arrivals()) > len(sales())
    check(example_run)


def test_the_picture_is_of_this_run(example_run: ExampleRun) -> None:
    assert example_run.has_the_committed_picture(), "run the commands of the README and commit the picture"


@pytest.mark.slow
@pytest.mark.timeout(600)
def test_spark_gives_the_same(spark_run: ExampleRun) -> None:
    check(spark_run)
