"""The three programs give the same result: that of a loop over the same orders."""

from __future__ import annotations

from collections import defaultdict

import pytest
from gallery.json_rows import read_rows
from gallery.readme_commands import ExampleRun
from order_pipeline.generate import arrivals, customers
from order_pipeline.job_kstreams import topology

from penstock.kstreams import TopologyTestDriver

BOUND_MS = 10_000
SPAN_MS = 600_000

Revenue = dict[tuple[str, int], tuple[int, int]]


def expected(*, with_late: bool = False) -> Revenue:
    countries = {customer["customer_id"]: customer["country"] for customer in customers()}
    totals: dict[tuple[str, int], list[int]] = defaultdict(list)
    for received_ms, order in arrivals():
        is_late = received_ms - order["at_ms"] > BOUND_MS
        if order["cents"] > 0 and order["customer_id"] in countries and (with_late or not is_late):
            totals[countries[order["customer_id"]], order["at_ms"] // SPAN_MS * SPAN_MS].append(order["cents"])
    return {key: (len(cents), sum(cents)) for key, cents in totals.items()}


@pytest.mark.parametrize("program", ["datastream", "sql", "kstreams"])
def test_each_program_agrees_with_plain_python(example_run: ExampleRun, program: str) -> None:
    rows = read_rows(example_run.output / program)
    assert len(rows) == len(expected())
    assert {(row["country"], row["start_ms"]): (row["orders"], row["cents"]) for row in rows} == expected()


def test_the_orders_have_what_makes_it_hard() -> None:
    assert expected(with_late=True) != expected()
    assert any(order["cents"] == 0 for _, order in arrivals())
    assert [order["at_ms"] for _, order in arrivals()] != sorted(order["at_ms"] for _, order in arrivals())


def test_the_topology_drops_what_comes_after_the_grace() -> None:
    with TopologyTestDriver(topology()) as driver:
        customers_topic, orders = driver.create_input_topic("customers"), driver.create_input_topic("orders")
        customers_topic.pipe_input(1, {"country": "Japan", "at_ms": 0})
        for cents, at_ms in (
            (500, 1_000),
            (700, SPAN_MS + BOUND_MS - 1),
            (50, 2_000),
            (0, SPAN_MS),
            (9, SPAN_MS + BOUND_MS),
        ):
            orders.pipe_input(1, {"cents": cents, "at_ms": at_ms})
        orders.pipe_input(1, {"cents": 80, "at_ms": 3_000})  # the grace of the first window is over
        orders.pipe_input(2, {"cents": 60, "at_ms": SPAN_MS})  # nobody's
        found = driver.create_output_topic("revenue").read_key_values_to_list()
    assert [(each.key, each.value["cents"]) for each in found] == [
        ("Japan 0", 500),
        (f"Japan {SPAN_MS}", 700),
        ("Japan 0", 550),
        (f"Japan {SPAN_MS}", 709),
    ]


def test_the_picture_is_of_this_run(example_run: ExampleRun) -> None:
    assert example_run.has_the_committed_picture(), "run the commands of the README and commit the picture"
