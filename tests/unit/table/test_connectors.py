"""Connectors and formats: what is written is what is read."""

from __future__ import annotations

import datetime
import json
import pickle
import sqlite3
from decimal import Decimal
from pathlib import Path
from typing import Any

import pytest

from penstock.connectors.kafka.decoding import KafkaRecord
from penstock.datastream import StreamExecutionEnvironment
from penstock.errors import SqlError
from penstock.table import StreamTableEnvironment
from penstock.table.catalog import CatalogTable, PhysicalColumn, PrimaryKey, TableSchema
from penstock.table.connectors.contract import TableContext
from penstock.table.connectors.kafka import _Deserializer, _Layout, _Serializer
from penstock.table.connectors.options import Options
from penstock.table.connectors.row_formats import row_format
from penstock.table.external_values import internal_row
from penstock.table.sql import parse_type

COLUMNS = "id INT, name STRING, price DECIMAL(10, 2), at TIMESTAMP(3), day DATE, good BOOLEAN, x DOUBLE"
ROW_TYPE = parse_type(f"ROW<{COLUMNS}> NOT NULL")
ROWS = [
    (1, 'a, "b"', Decimal("1.50"), datetime.datetime(2020, 1, 2, 3, 4, 5, 6000), datetime.date(2020, 2, 3), True, 0.5),
    (2, None, None, None, None, None, None),
]


@pytest.fixture
def tables() -> StreamTableEnvironment:
    environment = StreamExecutionEnvironment.in_process()
    environment.set_parallelism(1)
    return StreamTableEnvironment.create(environment)


@pytest.mark.parametrize("name", ["json", "csv", "avro", "debezium-json"])
def test_a_format_reads_what_it_writes(name: str) -> None:
    form = pickle.loads(pickle.dumps(row_format(name, ROW_TYPE, {}, "t")))
    rows = [internal_row(ROW_TYPE)(row) for row in ROWS]
    assert [form.decode(form.encode(row)) for row in rows] == [[row] for row in rows]


def test_json_is_written_as_flink_writes_it() -> None:
    row = internal_row(ROW_TYPE)(ROWS[0])
    assert json.loads(row_format("json", ROW_TYPE, {}, "t").encode(row)) == {
        "id": 1,
        "name": 'a, "b"',
        "price": 1.5,
        "at": "2020-01-02 03:04:05.006",
        "day": "2020-02-03",
        "good": True,
        "x": 0.5,
    }


def test_a_debezium_update_is_two_rows() -> None:
    form = row_format("debezium-json", parse_type("ROW<a INT> NOT NULL"), {}, "t")
    message = json.dumps({"payload": {"before": {"a": 1}, "after": {"a": 2}, "op": "u"}}).encode()
    assert form.decode(message) == [(1, 1), (2, 2)]
    assert json.loads(form.encode((3, 5))) == {"before": {"a": 5}, "after": None, "op": "d"}


def test_wrong_records_fail_or_are_left_out() -> None:
    row_type = parse_type("ROW<a INT> NOT NULL")
    with pytest.raises(Exception, match="x"):
        row_format("json", row_type, {}, "t").decode(b'{"a": "x"}')
    assert row_format("json", row_type, {"json.ignore-parse-errors": "true"}, "t").decode(b"{") == []
    with pytest.raises(SqlError, match="has no field 'a'"):
        row_format("json", row_type, {"json.fail-on-missing-field": "true"}, "t").decode(b"{}")


@pytest.mark.parametrize("form", ["json", "csv", "parquet"])
def test_files_hold_what_was_written(tables: StreamTableEnvironment, tmp_path: Path, form: str) -> None:
    tables.create_temporary_view("t", tables.from_elements(ROWS, ROW_TYPE))
    tables.execute_sql(
        f"CREATE TABLE f ({COLUMNS}) WITH ('connector' = 'filesystem', 'path' = '{tmp_path}', 'format' = '{form}')"
    )
    tables.execute_sql("INSERT INTO f SELECT * FROM t").wait()
    assert sorted((tuple(row) for row in tables.from_path("f").execute().collect()), key=str) == ROWS


def test_partitions_are_folders(tables: StreamTableEnvironment, tmp_path: Path) -> None:
    tables.create_temporary_view("t", tables.from_elements([(1, "a"), (2, "b"), (3, "a")], ["id", "kind"]))
    tables.execute_sql(
        "CREATE TABLE f (kind STRING, id BIGINT) PARTITIONED BY (kind) "
        f"WITH ('connector' = 'filesystem', 'path' = '{tmp_path}', 'format' = 'json')"
    )
    tables.execute_sql("INSERT INTO f SELECT kind, id FROM t").wait()
    assert sorted(each.name for each in tmp_path.glob("kind=*")) == ["kind=a", "kind=b"]
    lines = [line for path in tmp_path.glob("kind=b/part*") for line in path.read_text().splitlines()]
    assert lines == ['{"id":2}']
    assert sorted(map(tuple, tables.from_path("f").execute().collect())) == [("a", 1), ("a", 3), ("b", 2)]


def test_a_database_follows_an_updating_query(tables: StreamTableEnvironment, tmp_path: Path) -> None:
    file = tmp_path / "x.db"
    with sqlite3.connect(file) as database:
        database.execute("CREATE TABLE counts (name TEXT PRIMARY KEY, n INTEGER)")
    tables.create_temporary_view("t", tables.from_elements([("a",), ("b",), ("a",)], ["name"]))
    tables.execute_sql(
        "CREATE TABLE d (name STRING, n BIGINT, PRIMARY KEY (name) NOT ENFORCED) "
        f"WITH ('connector' = 'jdbc', 'url' = 'jdbc:sqlite:{file}', 'table-name' = 'counts')"
    )
    tables.execute_sql("INSERT INTO d SELECT name, COUNT(*) FROM t GROUP BY name").wait()
    assert sorted(map(tuple, tables.from_path("d").execute().collect())) == [("a", 2), ("b", 1)]


def test_a_database_row_is_deleted(tables: StreamTableEnvironment, tmp_path: Path) -> None:
    file = tmp_path / "x.db"
    with sqlite3.connect(file) as database:
        database.execute("CREATE TABLE counts (n INTEGER PRIMARY KEY, id INTEGER)")
        database.execute("INSERT INTO counts VALUES (1, 7)")
    tables.create_temporary_view("t", tables.from_elements([(7,), (7,)], ["id"]))
    tables.execute_sql(
        "CREATE TABLE d (n BIGINT, id BIGINT, PRIMARY KEY (n) NOT ENFORCED) "
        f"WITH ('connector' = 'jdbc', 'url' = 'jdbc:sqlite:{file}', 'table-name' = 'counts')"
    )
    tables.get_config().set("table.exec.sink.require-on-conflict", "false")
    tables.execute_sql("INSERT INTO d SELECT COUNT(*), id FROM t GROUP BY id").wait()
    with sqlite3.connect(file) as database:
        assert database.execute("SELECT n, id FROM counts").fetchall() == [(2, 7)]


def test_generated_rows(tables: StreamTableEnvironment) -> None:
    tables.execute_sql(
        "CREATE TABLE g (id INT, name STRING, x DOUBLE) WITH ('connector' = 'datagen', 'fields.id.kind' = 'sequence', "
        "'fields.id.start' = '5', 'fields.id.end' = '9', 'fields.name.length' = '4', 'fields.x.max' = '1')"
    )
    rows = sorted(map(tuple, tables.from_path("g").execute().collect()))
    assert [row[0] for row in rows] == [5, 6, 7, 8, 9]
    assert all(len(row[1]) == 4 and 0 <= row[2] <= 1 for row in rows)
    assert rows == sorted(map(tuple, tables.from_path("g").execute().collect()))


# ---- kafka, without a broker ----


def kafka(options: dict[str, str], key: tuple[str, ...] = ()) -> TableContext:
    columns = tuple(PhysicalColumn(name, parse_type(kind)) for name, kind in (("id", "INT"), ("name", "STRING")))
    schema = TableSchema(columns, primary_key=PrimaryKey(key) if key else None)
    return TableContext(("c", "d", "t"), CatalogTable(schema, options), Options(options, "c.d.t"))


def record(key: bytes | None, value: bytes | None) -> KafkaRecord:
    return KafkaRecord("topic", 3, 42, 1_000, "create", key, value)


def test_kafka_messages_are_rows() -> None:
    layout = _Layout.of(kafka({"format": "json"}), is_upsert=False)
    reader: Any = pickle.loads(pickle.dumps(_Deserializer(layout, ("offset", "timestamp"))))
    assert reader.deserialize(record(None, b'{"id": 1, "name": "a"}')) == [(0, 1, "a", 42, 1_000)]
    assert reader.deserialize(record(None, None)) == []
    written = _Serializer("topic", layout, None).to_record((0, 1, "a"), None)
    assert (written.topic, written.key, written.value) == ("topic", None, b'{"id":1,"name":"a"}')


def test_kafka_keys_hold_their_columns() -> None:
    options = {"format": "json", "key.format": "json", "key.fields": "id", "value.fields-include": "EXCEPT_KEY"}
    layout = _Layout.of(kafka(options), is_upsert=False)
    written = _Serializer("topic", layout, None).to_record((0, 1, "a"), None)
    assert (written.key, written.value) == (b'{"id":1}', b'{"name":"a"}')
    assert _Deserializer(layout, ()).deserialize(record(written.key, written.value)) == [(0, 1, "a")]


def test_upsert_kafka_deletes_without_a_value() -> None:
    layout = _Layout.of(kafka({"value.format": "json", "key.format": "json"}, ("id",)), is_upsert=True)
    writer = _Serializer("topic", layout, None)
    assert writer.to_record((3, 1, "a"), None).value is None
    assert writer.to_record((2, 1, "a"), None).value == b'{"id":1,"name":"a"}'
    assert _Deserializer(layout, ()).deserialize(record(b'{"id":1}', None)) == [(3, 1, None)]
    with pytest.raises(SqlError, match="needs a PRIMARY KEY"):
        _Layout.of(kafka({"value.format": "json"}), is_upsert=True)
