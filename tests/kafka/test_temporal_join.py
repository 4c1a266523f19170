"""Versioned tables in topics: upserts with tombstones, and changes as Debezium tells them."""

from __future__ import annotations

import json
from typing import Any

from penstock.common import Row
from penstock.datastream import StreamExecutionEnvironment
from penstock.kafka_broker import LocalBroker
from penstock.table import StreamTableEnvironment
from penstock.table.connectors import values
from tests.kafka.conftest import NewTopic
from tests.kafka.producing import produce

START = 1_700_000_000_000
ORDERS = [(1, "euro", 5), (2, "euro", 15), (3, "euro", 25), (4, "euro", 35), (5, "yen", 35)]


def rates_at_orders(kafka: LocalBroker, topic: str, connector: str, columns: str) -> list[tuple[Any, ...]]:
    values.clear()
    tables = StreamTableEnvironment.create(StreamExecutionEnvironment.in_process().set_parallelism(2))
    orders = [Row(number, currency, START + at) for number, currency, at in ORDERS]
    tables.execute_sql(f"""CREATE TABLE orders (
        id INT, currency STRING, at BIGINT, ts AS TO_TIMESTAMP_LTZ(at, 3), WATERMARK FOR ts AS ts
    ) WITH ('connector' = 'values', 'data-id' = '{values.register(orders)}')""")
    tables.execute_sql(f"""CREATE TABLE rates (
        currency STRING, rate INT, {columns}, WATERMARK FOR ts AS ts, PRIMARY KEY (currency) NOT ENFORCED
    ) WITH ({connector}, 'topic' = '{topic}', 'properties.bootstrap.servers' = '{kafka.address}',
        'scan.bounded.mode' = 'latest-offset')""")
    found = tables.execute_sql("""SELECT o.id, r.rate FROM orders AS o
        LEFT JOIN rates FOR SYSTEM_TIME AS OF o.ts AS r ON o.currency = r.currency""").collect()
    return sorted(map(tuple, found))


def test_a_tombstone_ends_a_version_at_the_time_of_its_message(kafka: LocalBroker, topic: NewTopic) -> None:
    name = topic(partitions=2)
    key = json.dumps({"currency": "euro"})
    changes = [(10, {"currency": "euro", "rate": 114}), (20, None), (30, {"currency": "euro", "rate": 116})]
    messages = [(at, None if value is None else json.dumps(value)) for at, value in changes]
    produce(kafka.address, name, [{"key": key, "value": value, "timestamp": START + at} for at, value in messages])
    upsert = "'connector' = 'upsert-kafka', 'key.format' = 'json', 'value.format' = 'json'"
    found = rates_at_orders(kafka, name, upsert, "ts TIMESTAMP_LTZ(3) METADATA FROM 'timestamp'")
    assert found == [(1, None), (2, 114), (3, None), (4, 116), (5, None)]


def test_changes_of_debezium_are_versions(kafka: LocalBroker, topic: NewTopic) -> None:
    name = topic()

    def row(rate: int, at: int) -> dict[str, Any]:
        return {"currency": "euro", "rate": rate, "at": START + at}

    changes = [
        {"before": None, "after": row(114, 10), "op": "c"},
        {"before": row(114, 10), "after": row(115, 20), "op": "u"},
        {"before": row(115, 20), "after": row(116, 30), "op": "u"},
    ]
    produce(kafka.address, name, map(json.dumps, changes))
    debezium = "'connector' = 'kafka', 'format' = 'debezium-json', 'scan.startup.mode' = 'earliest-offset'"
    found = rates_at_orders(kafka, name, debezium, "at BIGINT, ts AS TO_TIMESTAMP_LTZ(at, 3)")
    assert found == [(1, None), (2, 114), (3, 115), (4, 116), (5, None)]
