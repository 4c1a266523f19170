"""A small streaming warehouse in SQL: orders in, joined with prices, aggregated, kept up to date in a database.

The statements are in warehouse.sql. This program fills in the connectors and runs them: Kafka and PostgreSQL if you
name them, files and SQLite otherwise.
"""

from __future__ import annotations

import argparse
import contextlib
import shutil
import sqlite3
from pathlib import Path
from string import Template

from penstock.common import Configuration
from penstock.datastream import StreamExecutionEnvironment
from penstock.table import StreamTableEnvironment

HERE = Path(__file__).parent
RUN = HERE / "run"
TABLES = {
    "category_revenue": "category VARCHAR(20), window_start TIMESTAMP, orders BIGINT, cents BIGINT, "
    "PRIMARY KEY (category, window_start)",
    "customer_totals": "customer_id BIGINT PRIMARY KEY, orders BIGINT, cents BIGINT",
}


def connectors(kafka: str | None, database: str) -> dict[str, dict[str, str]]:
    """The connector of each table: what stands for ${orders} and the others in warehouse.sql."""
    outside = {name: {"connector": "jdbc", "url": database, "table-name": name} for name in TABLES}
    lenient = {"format": "json", "json.ignore-parse-errors": "true"}
    if kafka:
        broker = {"properties.bootstrap.servers": kafka, "scan.bounded.mode": "latest-offset"}
        orders = {"connector": "kafka", "topic": "orders", "scan.startup.mode": "earliest-offset", **broker, **lenient}
        formats = {"key.format": "json", "value.format": "json"}
        return outside | {
            "orders": orders,
            "products": {"connector": "upsert-kafka", "topic": "products", **broker, **formats},
        }
    folder = RUN / "input"
    return outside | {
        "orders": {"connector": "filesystem", "path": f"{folder / 'orders.jsonl'}", **lenient},
        "products": {"connector": "filesystem", "path": f"{folder / 'products.jsonl'}", "format": "json"},
    }


def as_sql(options: dict[str, str]) -> str:
    return ", ".join(f"'{name}' = '{value}'" for name, value in options.items())


def create_tables(database: str) -> None:
    """Make the tables of the warehouse, where they are missing."""
    statements = [f"CREATE TABLE IF NOT EXISTS {name} ({columns})" for name, columns in TABLES.items()]
    if database.startswith("jdbc:sqlite:"):
        with contextlib.closing(sqlite3.connect(database.removeprefix("jdbc:sqlite:"))) as file, file:
            for statement in statements:
                file.execute(statement)
    else:
        import psycopg

        with psycopg.connect(database.removeprefix("jdbc:"), autocommit=True) as server:
            for statement in statements:
                server.execute(statement.encode())


def main() -> None:
    parser = argparse.ArgumentParser(description="Keep a small warehouse up to date.")
    parser.add_argument("--engine", choices=["spark", "in-process"], default="spark")
    parser.add_argument("--kafka", metavar="HOST:PORT", help="read the topics orders and products instead of files")
    parser.add_argument("--database", metavar="URL", help="jdbc:postgresql://... instead of a SQLite file")
    args = parser.parse_args()
    shutil.rmtree(RUN / "output", ignore_errors=True)
    (RUN / "output").mkdir(parents=True)
    database = args.database or f"jdbc:sqlite:{RUN / 'output' / 'warehouse.db'}"
    create_tables(database)

    settings = Configuration().set_string("penstock.engine", args.engine)
    settings.set_integer("pipeline.watermark-every-records", 50)  # four minutes of orders
    tables = StreamTableEnvironment.create(
        StreamExecutionEnvironment.get_execution_environment(settings).set_parallelism(2)
    )
    tables.get_config().set("table.local-time-zone", "UTC")
    # Both INSERTs read `sales`: join orders and products once, not once for each.
    tables.get_config().set("table.optimizer.reuse-optimize-block-with-digest-enabled", "true")
    filled_in = {name: as_sql(options) for name, options in connectors(args.kafka, database).items()}
    text = Template((HERE / "warehouse.sql").read_text()).substitute(filled_in)
    inserts = tables.create_statement_set()
    for statement in filter(str.strip, text.split(";\n")):
        if statement.lstrip().startswith("INSERT"):
            inserts.add_insert_sql(statement)
        else:
            tables.execute_sql(statement)
    inserts.execute().wait()
    print(f"the warehouse is in {database}")


if __name__ == "__main__":
    main()
