"""Enrichment from a table: each order asks a database for its customer, many at once, and the result goes to another
table by upserts. Mirrors Flink's lookup join with JDBC; the database is a SQLite file that the example makes itself."""

from __future__ import annotations

import asyncio
import contextlib
import sqlite3
import tempfile
from pathlib import Path

from penstock.common import Row, Time, Types
from penstock.datastream import AsyncDataStream, AsyncFunction, StreamExecutionEnvironment
from penstock.datastream.connectors.base import DeliveryGuarantee
from penstock.datastream.connectors.jdbc import JdbcConnectionOptions, JdbcSink

ORDERS = [(1, 7, 30), (2, 8, 10), (3, 7, 25), (4, 9, 5)]  # order, customer, amount
NAMED = Types.ROW_NAMED(["id", "customer", "amount"], [Types.INT(), Types.STRING(), Types.INT()])


class CustomerOf(AsyncFunction[tuple[int, int, int], Row]):
    def __init__(self, path: str) -> None:
        self.path = path

    async def async_invoke(self, value: tuple[int, int, int]) -> list[Row]:
        # A driver that blocks goes to a thread; one that does not (psycopg's AsyncConnection) is awaited here.
        return [Row(value[0], await asyncio.to_thread(self.name, value[1]), value[2])]

    def name(self, customer: int) -> str | None:
        with contextlib.closing(sqlite3.connect(self.path)) as database:
            found = database.execute("SELECT name FROM customers WHERE id = ?", (customer,)).fetchone()
        return None if found is None else str(found[0])


def main(folder: str) -> list[tuple[int, str | None, int]]:
    path = str(Path(folder) / "shop.db")
    with contextlib.closing(sqlite3.connect(path)) as database, database:
        database.execute("CREATE TABLE customers (id INTEGER PRIMARY KEY, name TEXT)")
        database.execute("CREATE TABLE named (id INTEGER PRIMARY KEY, customer TEXT, amount INTEGER)")
        database.executemany("INSERT INTO customers VALUES (?, ?)", [(7, "ann"), (8, "bob")])

    env = StreamExecutionEnvironment.get_execution_environment()
    orders = env.from_collection(ORDERS)
    named = AsyncDataStream.unordered_wait(orders, CustomerOf(path), Time.seconds(10), capacity=20)
    where = JdbcConnectionOptions.JdbcConnectionOptionsBuilder().with_url(f"jdbc:sqlite:{path}").build()
    exactly = DeliveryGuarantee.EXACTLY_ONCE
    named.sink_to(JdbcSink.upsert("named", ["id"], NAMED, where, delivery_guarantee=exactly))
    env.execute("orders with their customers")

    with contextlib.closing(sqlite3.connect(path)) as database:
        return database.execute("SELECT * FROM named ORDER BY id").fetchall()


if __name__ == "__main__":
    with tempfile.TemporaryDirectory() as folder:
        print(main(folder))
