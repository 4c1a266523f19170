"""Tables in topics, in each format: what a job writes, another reads, and others can read too."""

from __future__ import annotations

import io
import json
from typing import Any

import fastavro
import pytest

from penstock.common import Configuration
from penstock.datastream import StreamExecutionEnvironment
from penstock.kafka_broker import LocalBroker
from penstock.table import StreamTableEnvironment
from tests.kafka.conftest import NewTopic
from tests.kafka.producing import produce
from tests.kafka.reading import read_all

ROWS = [(1, 'a, "b"', True), (2, "ä", False), (3, None, None)]
COLUMNS = "id BIGINT, name STRING, is_open BOOLEAN"


def new_tables(kafka: LocalBroker, topic: str, form: str, columns: str = COLUMNS) -> StreamTableEnvironment:
    """An environment with a table `messages` in a topic."""
    tables = StreamTableEnvironment.create(StreamExecutionEnvironment.in_process().set_parallelism(1))
    tables.execute_sql(f"""CREATE TABLE messages ({columns}) WITH (
        'connector' = 'kafka', 'topic' = '{topic}', 'properties.bootstrap.servers' = '{kafka.address}',
        'format' = '{form}', 'scan.startup.mode' = 'earliest-offset', 'scan.bounded.mode' = 'latest-offset')""")
    return tables


def written(kafka: LocalBroker, topic: str, form: str) -> StreamTableEnvironment:
    """The same, with ROWS in it."""
    tables = new_tables(kafka, topic, form)
    values = "(1, 'a, \"b\"', TRUE), (2, 'ä', FALSE), (3, CAST(NULL AS STRING), CAST(NULL AS BOOLEAN))"
    tables.execute_sql(f"INSERT INTO messages VALUES {values}").wait()
    return tables


def read(tables: StreamTableEnvironment) -> list[Any]:
    with tables.execute_sql("SELECT * FROM messages").collect() as rows:
        return sorted((tuple(row) for row in rows), key=repr)


@pytest.mark.parametrize("form", ["csv", "avro"])
def test_rows_come_back(kafka: LocalBroker, topic: NewTopic, form: str) -> None:
    name = topic()
    assert read(written(kafka, name, form)) == sorted(ROWS, key=repr)


def test_csv_is_what_others_write(kafka: LocalBroker, topic: NewTopic) -> None:
    name = topic()
    written(kafka, name, "csv")
    assert read_all(kafka.address, name)[0].value == b'1,"a, ""b""",true'
    other = topic()
    produce(kafka.address, other, ["7,x,false", '8,"y, z",true'])
    assert read(new_tables(kafka, other, "csv")) == [(7, "x", False), (8, "y, z", True)]


def test_avro_is_what_others_read(kafka: LocalBroker, topic: NewTopic) -> None:
    name = topic()
    written(kafka, name, "avro")
    schema = fastavro.parse_schema(
        {
            "type": "record",
            "name": "record",
            "namespace": "org.apache.flink.avro.generated",
            "fields": [{"name": each, "type": ["null", kind]} for each, kind in _AVRO],
        }
    )
    messages = [seen.value or b"" for seen in read_all(kafka.address, name)]
    found = [fastavro.schemaless_reader(io.BytesIO(each), schema, schema) for each in messages]
    assert [tuple(each.values()) for each in found if isinstance(each, dict)] == ROWS


_AVRO = (("id", "long"), ("name", "string"), ("is_open", "boolean"))


def test_raw_messages_are_one_column(kafka: LocalBroker, topic: NewTopic) -> None:
    name = topic()
    produce(kafka.address, name, ["first", "zweite ä"])
    tables = new_tables(kafka, name, "raw", "line STRING")
    tables.execute_sql("INSERT INTO messages VALUES ('third')").wait()
    assert read(tables) == [("first",), ("third",), ("zweite ä",)]


def test_changes_travel_as_debezium_tells_them(kafka: LocalBroker, topic: NewTopic) -> None:
    name, counts = topic(), topic()
    ann, bob = [{"id": number, "name": who, "is_open": True} for number, who in ((1, "ann"), (2, "bob"))]
    changes = [
        {"before": None, "after": ann, "op": "c"},
        {"before": None, "after": bob, "op": "c"},
        {"before": ann, "after": {**ann, "name": "bob"}, "op": "u"},
        {"before": bob, "after": None, "op": "d"},
    ]
    produce(kafka.address, name, map(json.dumps, changes))
    tables = new_tables(kafka, name, "debezium-json")
    tables.execute_sql(f"""CREATE TABLE counts (name STRING, n BIGINT) WITH (
        'connector' = 'kafka', 'topic' = '{counts}', 'properties.bootstrap.servers' = '{kafka.address}',
        'format' = 'debezium-json', 'scan.startup.mode' = 'earliest-offset', 'scan.bounded.mode' = 'latest-offset')""")
    tables.execute_sql("INSERT INTO counts SELECT name, COUNT(*) FROM messages GROUP BY name").wait()
    messages = [json.loads(seen.value or b"") for seen in read_all(kafka.address, counts)]
    assert {each["op"] for each in messages} == {"c", "d"}  # as in Flink: an update is a deletion and an insertion
    with tables.execute_sql("SELECT name, n FROM counts").collect() as rows:
        table: dict[tuple[Any, ...], int] = {}
        for row in rows:
            table[tuple(row)] = table.get(tuple(row), 0) + (1 if str(row.get_row_kind())[0] == "+" else -1)
    assert {row for row, count in table.items() if count} == {("bob", 1)}


def test_partitions_of_one_subtask_lose_no_rows_as_late(kafka: LocalBroker, topic: NewTopic) -> None:
    """Each partition is in order of time, and an hour behind the other: no row of it is late."""
    name = topic(partitions=2)
    for partition, first in ((0, 3_600_000), (1, 0)):
        produce(kafka.address, name, [str(first + each * 100) for each in range(5_000)], partition=partition)
    columns = "millis BIGINT, ts AS TO_TIMESTAMP_LTZ(millis, 3), WATERMARK FOR ts AS ts"
    tables = new_tables(kafka, name, "csv", columns)
    tables.stream_environment.configure(Configuration().set_string("pipeline.watermark-every-records", "100"))
    windows = (
        "SELECT window_start, COUNT(*) AS n FROM TABLE(TUMBLE(TABLE messages, DESCRIPTOR(ts), INTERVAL '1' MINUTE))"
    )
    with tables.execute_sql(f"{windows} GROUP BY window_start, window_end").collect() as rows:
        assert sum(row["n"] for row in rows) == 10_000
