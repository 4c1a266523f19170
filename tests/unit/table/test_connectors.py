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
from penstock.table.sql import parse_type
from penstock.vocabulary.sql.external_values import internal_row

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


@pytest.mark.parametrize("form", ["json", "csv", "parquet", "avro", "orc"])
def test_files_hold_what_was_written(tables: StreamTableEnvironment, tmp_path: Path, form: str) -> None:
    tables.create_temporary_view("t", tables.from_elements(ROWS, ROW_TYPE))
    tables.execute_sql(
        f"CREATE TABLE f ({COLUMNS}) WITH ('connector' = 'filesystem', 'path' = '{tmp_path}', 'format' = '{form}')"
    )
    tables.execute_sql("INSERT INTO f SELECT * FROM t").wait()
    assert sorted((tuple(row) for row in tables.from_path("f").execute().collect()), key=str) == ROWS


@pytest.mark.parametrize("form", ["json", "parquet", "avro"])
def test_partitions_are_folders(tables: StreamTableEnvironment, tmp_path: Path, form: str) -> None:
    rows = [(1, "a", 1), (2, "b", None), (3, "a", 1), (4, "a", 2)]
    row_type = parse_type("ROW<id INT, kind STRING, part INT> NOT NULL")
    tables.create_temporary_view("t", tables.from_elements(rows, row_type))
    tables.execute_sql(
        "CREATE TABLE f (kind STRING, id INT, part INT) PARTITIONED BY (kind, part) "
        f"WITH ('connector' = 'filesystem', 'path' = '{tmp_path}', 'format' = '{form}', "
        "'partition.default-name' = 'none')"
    )
    tables.execute_sql("INSERT INTO f SELECT kind, id, part FROM t").wait()
    folders = sorted(str(each.relative_to(tmp_path)) for each in tmp_path.glob("kind=*/part=*"))
    assert folders == ["kind=a/part=1", "kind=a/part=2", "kind=b/part=none"]
    tables.execute_sql("INSERT INTO f PARTITION (kind = 'c', part = 5) SELECT 9").wait()
    found = sorted(map(tuple, tables.from_path("f").execute().collect()), key=str)
    assert found == [("a", 1, 1), ("a", 3, 1), ("a", 4, 2), ("b", 2, None), ("c", 9, 5)]


NESTED = "a ARRAY<INT>, m MAP<STRING, BIGINT>, r ROW<x INT, y STRING>, b BYTES, f FLOAT, z TIMESTAMP_LTZ(3)"


@pytest.mark.parametrize("form", ["json", "parquet", "avro", "orc"])
def test_files_hold_nested_values(tables: StreamTableEnvironment, tmp_path: Path, form: str) -> None:
    source = "'connector' = 'datagen', 'number-of-rows' = '5', 'fields.a.null-rate' = '0.3', 'fields.r.y.length' = '2'"
    tables.execute_sql(f"CREATE TABLE g ({NESTED}) WITH ({source})")
    tables.execute_sql(
        f"CREATE TABLE f ({NESTED}) WITH ('connector' = 'filesystem', 'path' = '{tmp_path}', 'format' = '{form}')"
    )
    tables.execute_sql("INSERT INTO f SELECT * FROM g").wait()
    made = sorted(map(str, tables.from_path("g").execute().collect()))
    assert len(set(made)) == 5
    assert sorted(map(str, tables.from_path("f").execute().collect())) == made


def test_numbers_in_json_keep_all_digits() -> None:
    row_type = parse_type("ROW<d DECIMAL(38, 18), f FLOAT, x DOUBLE> NOT NULL")
    row = (0, Decimal("12345678901234567890.123456789012345678"), 0.10000000149011612, float("inf"))
    text = row_format("json", row_type, {}, "t").encode(row)
    assert text == b'{"d":12345678901234567890.123456789012345678,"f":0.1,"x":"Infinity"}'
    small = (0, Decimal("0.000000010000000000"), None, None)
    options = {"json.encode.ignore-null-fields": "true"}
    assert row_format("json", row_type, options, "t").encode(small) == b'{"d":1E-8}'
    plain = {**options, "json.encode.decimal-as-plain-number": "true"}
    assert row_format("json", row_type, plain, "t").encode(small) == b'{"d":0.00000001}'


def test_csv_has_other_quotes_and_delimiters() -> None:
    options = {"csv.field-delimiter": ";", "csv.quote-character": "'", "csv.null-literal": "-"}
    form = row_format("csv", parse_type("ROW<a STRING, b INT> NOT NULL"), options, "t")
    rows = [(0, "x;y", 1), (0, None, None)]
    assert [form.encode(row) for row in rows] == [b"'x;y';1", b"-;-"]
    assert [form.decode(form.encode(row)) for row in rows] == [[row] for row in rows]


@pytest.mark.parametrize(
    ("columns", "options", "message"),
    [
        ("a INT", "'format' = 'json', 'json.colour' = 'red'", "has no option 'json.colour'"),
        ("a INT, b INT", "'format' = 'raw'", "one column"),
        ("a ARRAY<INT>", "'format' = 'csv'", "no columns of type ARRAY<INT>"),
        ("a TIME(0)", "'format' = 'orc'", "no columns of type TIME"),
        ("a INT", "'format' = 'xml'", "cannot be written"),
        (
            "a INT, p STRING METADATA FROM 'path'",
            "'format' = 'json'",
            "metadata 'path', which the connector cannot write",
        ),
    ],
)
def test_what_files_cannot_hold_is_refused_before_a_job_starts(
    tables: StreamTableEnvironment, tmp_path: Path, columns: str, options: str, message: str
) -> None:
    tables.execute_sql(
        f"CREATE TABLE f ({columns}) WITH ('connector' = 'filesystem', 'path' = '{tmp_path}', {options})"
    )
    tables.execute_sql(f"CREATE TABLE g ({columns.replace(' METADATA FROM', '--')}\n) WITH ('connector' = 'datagen')")
    with pytest.raises(SqlError, match=message):
        tables.execute_sql("INSERT INTO f SELECT * FROM g")


def test_overwriting_is_refused(tables: StreamTableEnvironment) -> None:
    tables.execute_sql("CREATE TABLE b (a INT) WITH ('connector' = 'blackhole')")
    with pytest.raises(SqlError, match=r"INSERT OVERWRITE .*b is not supported"):
        tables.execute_sql("INSERT OVERWRITE b SELECT 1")
    with pytest.raises(SqlError, match=r"INSERT OVERWRITE .*b is not supported"):
        tables.sql_query("SELECT 1").execute_insert("b", overwrite=True)


def test_a_blackhole_needs_no_rows_before_an_update(tables: StreamTableEnvironment) -> None:
    tables.create_temporary_view("t", tables.from_elements([("a", 1), ("a", 2)], ["name", "x"]))
    tables.execute_sql("CREATE TABLE b (name STRING, n BIGINT) WITH ('connector' = 'blackhole')")
    query = "SELECT name, COUNT(*) FROM t GROUP BY name"
    assert "changelogMode=[I,UA]" in tables.explain_sql(f"INSERT INTO b {query}")
    assert "changelogMode=[I,UB,UA]" in tables.explain_sql(query)
    tables.execute_sql(f"INSERT INTO b {query}").wait()


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


def test_a_database_without_booleans_is_read(tables: StreamTableEnvironment, tmp_path: Path) -> None:
    file = tmp_path / "x.db"
    columns = "id BIGINT, is_open BOOLEAN, name STRING, share DOUBLE"
    with sqlite3.connect(file) as database:
        database.execute("CREATE TABLE accounts (id INTEGER, is_open BOOLEAN, name TEXT, share REAL)")
    tables.execute_sql(
        f"CREATE TABLE d ({columns}) "
        f"WITH ('connector' = 'jdbc', 'url' = 'jdbc:sqlite:{file}', 'table-name' = 'accounts')"
    )
    rows = [(1, True, "a", 0.5), (2, False, "b", 1.0), (3, None, None, None)]
    values = "(1, TRUE, 'a', 0.5e0), (2, FALSE, 'b', 1e0), (3, CAST(NULL AS BOOLEAN), NULL, NULL)"
    tables.execute_sql(f"INSERT INTO d VALUES {values}").wait()
    found = sorted(map(tuple, tables.from_path("d").execute().collect()))
    assert repr(found) == repr(rows)
    opened = tables.sql_query("SELECT id FROM d WHERE is_open").execute().collect()
    assert [tuple(row) for row in opened] == [(1,)]


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


def test_datagen_makes_columns_within_the_bounds_of_their_fields(tables: StreamTableEnvironment) -> None:
    columns = "n BIGINT, s STRING, small TINYINT, wide BIGINT, x FLOAT, y DOUBLE, b BOOLEAN, at TIMESTAMP(3), day DATE"
    tables.execute_sql(
        f"CREATE TABLE g ({columns}) WITH ('connector' = 'datagen', 'fields.n.kind' = 'sequence', "
        "'fields.n.start' = '5', 'fields.n.end' = '504', 'fields.s.kind' = 'sequence', 'fields.s.start' = '1', "
        "'fields.s.end' = '900', 'fields.small.min' = '-3', 'fields.small.max' = '3', 'fields.x.max' = '2', "
        "'fields.wide.null-rate' = '0.5', 'rows-per-second' = '1000000')"
    )
    with tables.execute_sql("SELECT n, s, small, wide, x, y, b FROM g").collect() as found:
        rows = sorted([tuple(row) for row in found])
    assert [row[0] for row in rows] == list(range(5, 505))
    assert [row[1] for row in rows] == [str(number) for number in range(1, 501)]
    assert {row[2] for row in rows} == set(range(-3, 4))
    known = [row[3] for row in rows if row[3] is not None]
    assert 150 < len(known) < 350
    assert min(known) < -(2**61) and max(known) > 2**61
    assert all(0 <= row[4] < 2 and 0 <= row[5] < 1e6 for row in rows)
    assert {row[6] for row in rows} == {True, False}


LAYOUTS: list[dict[str, str]] = [
    {},
    {"csv.null-literal": "NULL"},
    {"csv.field-delimiter": ";", "csv.quote-character": "'"},
]


@pytest.mark.parametrize(("name", "options"), [("json", {}), *[("csv", each) for each in LAYOUTS]], ids=str)
def test_rows_together_are_the_lines_of_single_rows(name: str, options: dict[str, str]) -> None:
    form = row_format(name, ROW_TYPE, options, "t")
    rows = [internal_row(ROW_TYPE)(each) for each in ROWS] * 2
    wide = [(row[0], "p", *row[1:]) for row in rows]  # the column of a partition is in no file
    assert form.encode_lines(wide, range(1, 8)) == b"".join([form.encode(row) + b"\n" for row in rows])
