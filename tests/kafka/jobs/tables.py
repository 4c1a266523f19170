"""SQL into upsert sinks as a program: `python -m tests.kafka.jobs.tables '{"folder": ..., ...}'`.

Queries whose rows come, change and go again (groups, a join, a Top-N) and an interval join, into topics of Kafka and
tables of SQLite. Ways to die are in `tests.spark.jobs.deaths`.
"""

from __future__ import annotations

import json
import os
import sqlite3
import sys
from collections import Counter, defaultdict
from dataclasses import asdict, dataclass

from penstock.common import RestartStrategies
from penstock.datastream import StreamExecutionEnvironment
from penstock.table import StatementSet, StreamTableEnvironment
from tests.kafka.reading import read_all
from tests.spark.jobs import counters, deaths

MODULE = "tests.kafka.jobs.tables"
DATABASE = "tables.db"
KEYS, ERA = 41, 7
PLACES, FACTOR, DRAWS = 3, 7_919, 1_009
NEAR = 100
"""Seconds; a number is a second of event time."""
FAST = 1_000_000.0
COUNTS = f"SELECT MOD(n * n, {KEYS}) AS k, COUNT(*) AS c FROM numbers GROUP BY MOD(n * n, {KEYS})"
ERAS = f"SELECT MOD(n * n, {KEYS}) AS k, MAX(n / {ERA}) AS era FROM numbers GROUP BY MOD(n * n, {KEYS})"
QUERIES = {
    # A count of counts: every number moves its key from one group to the next.
    "sizes": f"SELECT c, COUNT(*), SUM(k) FROM ({COUNTS}) GROUP BY c",
    # A join of two tables that update, under an aggregate.
    "eras": f"SELECT e.era, COUNT(*), SUM(s.c) FROM ({COUNTS}) AS s JOIN ({ERAS}) AS e ON s.k = e.k GROUP BY e.era",
    # The three largest of each key; a row that comes moves those behind it.
    "places": (
        "SELECT k * 10 + place, n, v FROM (SELECT k, n, v, ROW_NUMBER() OVER (PARTITION BY k ORDER BY v DESC, n) "
        f"AS place FROM (SELECT MOD(n * n, {KEYS}) AS k, n, MOD(n * {FACTOR}, {DRAWS}) AS v FROM numbers)) "
        f"WHERE place <= {PLACES} ON CONFLICT DO DEDUPLICATE"
    ),
    # Pairs of rows that are at most so far apart in time.
    "near": (
        f"SELECT MOD(a.n, {KEYS}), COUNT(*), SUM(b.n) FROM numbers AS a JOIN numbers AS b "
        f"ON MOD(a.n, {KEYS}) = MOD(b.n * 3, {KEYS}) AND b.ts BETWEEN a.ts AND a.ts + INTERVAL '{NEAR}' SECOND "
        f"GROUP BY MOD(a.n, {KEYS})"
    ),
}
Table = dict[int, tuple[int, int]]


@dataclass(frozen=True)
class Order(counters.Order):
    """How one process is to run the job; topics are named after the queries, with a prefix."""

    servers: str = ""
    prefix: str = ""
    topics: tuple[str, ...] = ()
    tables: tuple[str, ...] = ()

    def arguments(self) -> list[str]:
        """What to start the program with."""
        return [sys.executable, "-m", MODULE, json.dumps(asdict(self))]


def expected(count: int) -> dict[str, Table]:
    """What the tables hold in the end, by plain Python."""
    sizes = Counter(n * n % KEYS for n in range(count))
    eras = {n * n % KEYS: n // ERA for n in range(count)}
    by_size, by_era = defaultdict(list), defaultdict(list)
    for key, size in sizes.items():
        by_size[size].append(key)
        by_era[eras[key]].append(size)
    return {
        "sizes": {size: (len(keys), sum(keys)) for size, keys in by_size.items()},
        "eras": {era: (len(found), sum(found)) for era, found in by_era.items()},
        "places": _places(count),
        "near": _near(count),
    }


def _places(count: int) -> Table:
    by_key = defaultdict(list)
    for n in range(count):
        by_key[n * n % KEYS].append((-(n * FACTOR % DRAWS), n))
    return {
        key * 10 + place: (n, -value)
        for key, found in by_key.items()
        for place, (value, n) in enumerate(sorted(found)[:PLACES], 1)
    }


def _near(count: int) -> Table:
    pairs = defaultdict(list)
    for a in range(count):
        for b in range(a, min(a + NEAR + 1, count)):
            if a % KEYS == b * 3 % KEYS:
                pairs[a % KEYS].append(b)
    return {key: (len(found), sum(found)) for key, found in pairs.items()}


def in_topics(order: Order, *, waits: bool = True) -> dict[str, Table]:
    """The tables as a reader of committed messages holds them."""
    found: dict[str, Table] = {}
    for name in order.topics:
        held = found[name] = {}
        for message in read_all(order.servers, order.prefix + name, waits=waits):
            key = json.loads(message.key or b"")["id"]
            if message.value is None:
                del held[key]  # one that was never there is an error
            else:
                row = json.loads(message.value)
                held[key] = (row["members"], row["total"])
    return found


def in_database(order: Order) -> dict[str, Table]:
    """The tables in SQLite."""
    with sqlite3.connect(order.path(DATABASE)) as database:
        rows = {name: database.execute(f"SELECT id, members, total FROM {name}").fetchall() for name in order.tables}
    return {name: {id: (members, total) for id, members, total in found} for name, found in rows.items()}


def create_database(order: Order) -> None:
    """Make the empty tables."""
    with sqlite3.connect(order.path(DATABASE)) as database:
        for name in order.tables:
            database.execute(f"CREATE TABLE {name} (id INTEGER PRIMARY KEY, members INTEGER, total INTEGER)")


def build(order: Order) -> StatementSet:
    """The program."""
    environment = StreamExecutionEnvironment.get_execution_environment(counters.configuration_of(order))
    environment.set_parallelism(2)
    environment.get_checkpoint_config().set_checkpoint_storage_dir(order.path("checkpoint"))
    environment.set_restart_strategy(RestartStrategies.fixed_delay_restart(3, 100))
    tables = StreamTableEnvironment.create(environment)
    tables.execute_sql(f"""
        CREATE TABLE numbers (
            n BIGINT, ts AS TO_TIMESTAMP_LTZ(n * 1000, 3), WATERMARK FOR ts AS ts - INTERVAL '5' SECOND
        ) WITH (
            'connector' = 'datagen', 'rows-per-second' = '{int(order.records_per_second or FAST)}',
            'fields.n.kind' = 'sequence', 'fields.n.start' = '0', 'fields.n.end' = '{order.count - 1}'
        )
    """)
    columns = "id BIGINT, members BIGINT, total BIGINT, PRIMARY KEY (id) NOT ENFORCED"
    statements = tables.create_statement_set()
    for name in order.topics:
        tables.execute_sql(f"""
            CREATE TABLE {name}_topic ({columns}) WITH (
                'connector' = 'upsert-kafka', 'topic' = '{order.prefix}{name}', 'key.format' = 'json',
                'value.format' = 'json', 'properties.bootstrap.servers' = '{order.servers}',
                'sink.delivery-guarantee' = 'exactly-once', 'sink.transactional-id-prefix' = '{order.prefix}{name}'
            )
        """)
        statements.add_insert_sql(f"INSERT INTO {name}_topic {QUERIES[name]}")
    for name in order.tables:
        tables.execute_sql(f"""
            CREATE TABLE {name}_table ({columns}) WITH (
                'connector' = 'jdbc', 'url' = 'jdbc:sqlite:{order.path(DATABASE)}', 'table-name' = '{name}'
            )
        """)
        statements.add_insert_sql(f"INSERT INTO {name}_table {QUERIES[name]}")
    return statements


def main() -> None:
    """Run the job that the command line orders."""
    order = Order(**json.loads(sys.argv[1]))
    os.makedirs(order.path("notes"), exist_ok=True)
    deaths.let_seals_die(*order.driver_death)
    build(order).execute().wait()


if __name__ == "__main__":
    main()
