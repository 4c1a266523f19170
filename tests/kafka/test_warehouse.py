"""The warehouse of the examples from Kafka to PostgreSQL, by the commands of its README."""

from __future__ import annotations

from pathlib import Path

from gallery.readme_commands import commands, readme_of, run_commands
from warehouse.test_job import expected_customers, expected_revenue

from penstock.kafka_broker import LocalBroker
from tests.jdbc.conftest import postgres
from tests.jdbc.local_postgres import LocalPostgres

__all__ = ["postgres"]

DATABASE = "jdbc:postgresql://localhost/postgres?user=postgres"


def test_the_warehouse_is_filled_from_kafka(own_kafka: LocalBroker, postgres: LocalPostgres, tmp_path: Path) -> None:
    kafka = own_kafka.start()
    start, generate, job, stop = commands(readme_of("warehouse"), "kafka")
    assert (start, stop) == ("penstock kafka start --topic orders:2 --topic products:2", "penstock kafka stop")
    assert DATABASE in job
    for topic in ("orders", "products"):
        kafka.create_topic(topic, 2)
    lines = [line.replace("127.0.0.1:9092", kafka.address).replace(DATABASE, postgres.url) for line in (generate, job)]
    run_commands("warehouse", tmp_path, lines)

    customers = postgres.run("SELECT customer_id, orders, cents FROM customer_totals")
    assert {(customer,): (orders, cents) for customer, orders, cents in customers} == expected_customers()
    revenue = postgres.run("SELECT category, window_start, orders, cents FROM category_revenue")
    found = {(category, start): (orders, cents) for category, start, orders, cents in revenue}
    # A late order counts if it is in the partition that is behind, so windows may hold some of them.
    least, most = expected_revenue(with_late=False), expected_revenue(with_late=True)
    assert set(found) == set(most)
    assert all(least.get(key, (0, 0)) <= each <= most[key] for key, each in found.items())
