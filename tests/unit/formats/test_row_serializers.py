"""Rows as messages of JSON, Avro and CSV: what is written is read back, and what does not fit is named."""

from __future__ import annotations

import datetime
import json
import pickle
import sys
from collections.abc import Callable
from dataclasses import dataclass
from decimal import Decimal
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from penstock.common import Row, Types
from penstock.common.time import Instant
from penstock.datastream.formats.avro import AvroRowDeserializationSchema, AvroRowSerializationSchema
from penstock.datastream.formats.csv import CsvRowDeserializationSchema, CsvRowSerializationSchema
from penstock.datastream.formats.json import JsonRowDeserializationSchema, JsonRowSerializationSchema
from penstock.errors import ConfigurationError

INNER = Types.ROW_NAMED(["a", "b"], [Types.INT(), Types.STRING()])


def json_text(value: Any, *types: Any) -> str:
    row_type = Types.ROW_NAMED([f"f{number}" for number in range(len(types))], list(types))
    return JsonRowSerializationSchema.builder().with_type_info(row_type).build().serialize(value).decode()


@pytest.mark.parametrize(
    ("value", "value_type", "expected"),
    [
        (1, Types.INT(), "1"),
        (10**30, Types.BIG_INT(), "1" + "0" * 30),
        (2.5, Types.DOUBLE(), "2.5"),
        (Decimal("12.34"), Types.BIG_DEC(), "12.34"),
        ("grün", Types.STRING(), '"grün"'),
        (True, Types.BOOLEAN(), "true"),
        (None, Types.INT(), "null"),
        (b"hi", Types.PRIMITIVE_ARRAY(Types.BYTE()), '"aGk="'),
        (datetime.date(2024, 2, 29), Types.SQL_DATE(), '"2024-02-29"'),
        (datetime.time(12, 30, 5), Types.SQL_TIME(), '"12:30:05"'),
        (datetime.datetime(2024, 2, 29, 12), Types.SQL_TIMESTAMP(), '"2024-02-29T12:00:00"'),
        (Instant.of_epoch_milli(0), Types.INSTANT(), '"1970-01-01T00:00:00+00:00"'),
        ([1, None], Types.LIST(Types.INT()), "[1,null]"),
        ({1: "x"}, Types.MAP(Types.INT(), Types.STRING()), '{"1":"x"}'),
        ((1, "x"), Types.TUPLE([Types.INT(), Types.STRING()]), '[1,"x"]'),
        (Row(1, "x"), INNER, '{"a":1,"b":"x"}'),
        (Row(b="x", a=1), INNER, '{"a":1,"b":"x"}'),
        ({"a": 1}, INNER, '{"a":1,"b":null}'),
    ],
)
def test_json_of_a_field(value: Any, value_type: Any, expected: str) -> None:
    assert json_text(Row(value), value_type) == f'{{"f0":{expected}}}'
    row_type = Types.ROW_NAMED(["f0"], [value_type])
    read = JsonRowDeserializationSchema.builder().type_info(row_type).build()
    again = read.deserialize(json_text(Row(value), value_type).encode())
    assert again is not None
    assert json_text(again, value_type) == f'{{"f0":{expected}}}'


@dataclass
class Order:
    f0: int
    f1: str


@pytest.mark.parametrize("record", [Row(7, "x"), Row(f1="x", f0=7), (7, "x"), {"f1": "x", "f0": 7}, Order(7, "x")])
def test_records_of_every_shape(record: Any) -> None:
    assert json_text(record, Types.INT(), Types.STRING()) == '{"f0":7,"f1":"x"}'


@pytest.mark.parametrize(
    ("record", "words"),
    [
        (Row("x", "x"), "field 'f0': expected INT, got 'x'"),
        (Row(True, "x"), "field 'f0'"),
        (Row(1), "has 1 fields where 2 are expected"),
        (Row(f0=1, other=2), "field 'other' is not declared"),
        (5, "is not a record"),
    ],
)
def test_what_is_no_such_row_is_named(record: Any, words: str) -> None:
    with pytest.raises((TypeError, ValueError), match=words):
        json_text(record, Types.INT(), Types.STRING())


@pytest.mark.parametrize("value", [float("nan"), Decimal("0.1234567890123456789")])
def test_numbers_that_json_has_not_are_refused(value: Any) -> None:
    with pytest.raises(ValueError, match=r"JSON|more digits"):
        json_text(Row(value), Types.DOUBLE() if isinstance(value, float) else Types.BIG_DEC())


FLAT = Types.ROW_NAMED(
    ["n", "name", "ok", "all"], [Types.LONG(), Types.STRING(), Types.BOOLEAN(), Types.LIST(Types.INT())]
)
TEXTS = st.text(st.characters(exclude_categories=["Cs"]), max_size=8)
ROWS = st.builds(
    lambda n, name, ok, numbers: Row(n=n, name=name, ok=ok, all=numbers),
    st.integers(-(2**63), 2**63 - 1),
    TEXTS,
    st.booleans(),
    st.lists(st.integers(-9, 9), min_size=1, max_size=3),
)


@given(ROWS)
def test_what_json_writes_is_read_back(row: Row) -> None:
    written = JsonRowSerializationSchema.builder().with_type_info(FLAT).build().serialize(row)
    assert JsonRowDeserializationSchema.builder().type_info(FLAT).build().deserialize(written) == row
    assert json.loads(written)["n"] == row.n


def csv_schema(change: Callable[[Any], Any] = lambda builder: builder) -> CsvRowSerializationSchema:
    return change(CsvRowSerializationSchema.Builder(FLAT)).build()  # type: ignore[no-any-return]


@given(ROWS.filter(lambda row: not set(row.name) & set("\r\n\0")))
def test_what_csv_writes_is_read_back(row: Row) -> None:
    written = csv_schema(lambda builder: builder.set_line_delimiter("")).serialize(row)
    assert CsvRowDeserializationSchema.Builder(FLAT).build().deserialize(written) == row


def test_the_layout_of_csv() -> None:
    row = Row(1, 'a;"b', None, [1, 2])
    assert csv_schema().serialize(row) == b'1,"a;""b",,1;2\n'
    changed = csv_schema(
        lambda builder: (
            builder.set_field_delimiter("|")
            .set_line_delimiter("\r\n")
            .set_array_element_delimiter("+")
            .set_quote_character("'")
            .set_escape_character("\\")
            .set_null_literal("nil")
        )
    )
    assert changed.serialize(Row(1, "it's|", None, [1, 2])) == b"1|'it''s|'|nil|'1+2'\r\n"
    bare = csv_schema(lambda builder: builder.disable_quote_character())
    assert bare.serialize(Row(1, "a", True, [])) == b"1,a,true,\n"
    with pytest.raises(ValueError, match="needs quotes, but quoting is off"):
        bare.serialize(Row(1, "a,b", True, []))


AVRO = json.dumps(
    {
        "type": "record",
        "name": "Node",
        "fields": [
            {"name": "id", "type": "long"},
            {"name": "label", "type": ["null", "string"]},
            {"name": "day", "type": {"type": "int", "logicalType": "date"}},
            {"name": "tags", "type": {"type": "map", "values": "double"}},
            {"name": "children", "type": {"type": "array", "items": "Node"}},
        ],
    }
)


def test_what_avro_writes_is_read_back() -> None:
    day = datetime.date(2024, 2, 29)
    leaf = Row(id=2, label=None, day=day, tags={}, children=[])
    tree = Row(id=1, label="x", day=day, tags={"a": 0.5}, children=[leaf, leaf])
    written = AvroRowSerializationSchema(avro_schema_string=AVRO).serialize(tree)
    assert AvroRowDeserializationSchema(avro_schema_string=AVRO).deserialize(written) == tree
    positions = Row(1, "x", day, {"a": 0.5}, [tuple(leaf), {**leaf.as_dict(), "children": []}])
    assert AvroRowSerializationSchema(avro_schema_string=AVRO).serialize(positions) == written


@pytest.mark.parametrize("record", [Row(1, "x"), Row(id="x", label=None, day=None, tags={}, children=[]), 5])
def test_avro_refuses_what_does_not_fit(record: Any) -> None:
    with pytest.raises((ValueError, TypeError)):
        AvroRowSerializationSchema(avro_schema_string=AVRO).serialize(record)


def test_schemas_travel_to_the_workers() -> None:
    row = Row(1, "a", True, [3])
    for schema in (csv_schema(), JsonRowSerializationSchema.builder().with_type_info(FLAT).build()):
        before = schema.serialize(row)
        assert pickle.loads(pickle.dumps(schema)).serialize(row) == before
    avro = AvroRowSerializationSchema(avro_schema_string='{"type":"record","name":"R","fields":[]}')
    avro.serialize(Row())
    assert pickle.loads(pickle.dumps(avro)).serialize({}) == b""


REFUSED: dict[str, tuple[Callable[[], Any], str]] = {
    "no type": (lambda: JsonRowSerializationSchema.builder().build(), "with_type_info"),
    "another type": (lambda: JsonRowSerializationSchema.builder().with_type_info(Types.INT()), "ROW_NAMED"),
    "no row of CSV": (lambda: CsvRowSerializationSchema.Builder(Types.INT()), "ROW_NAMED"),
    "a map in a line": (
        lambda: CsvRowSerializationSchema.Builder(Types.ROW_NAMED(["m"], [Types.MAP(Types.STRING(), Types.INT())])),
        "cannot be written to CSV",
    ),
    "two signs": (lambda: csv_schema(lambda builder: builder.set_field_delimiter("||")), "one character"),
    "another line end": (lambda: csv_schema(lambda builder: builder.set_line_delimiter("x")), "line break"),
    "a Java class": (lambda: AvroRowSerializationSchema(record_class="X"), "avro_schema_string"),
    "no schema": (lambda: AvroRowSerializationSchema(avro_schema_string='{"type":"nothing"}'), "not an Avro schema"),
}


@pytest.mark.parametrize("what", REFUSED)
def test_what_cannot_work_is_refused(what: str) -> None:
    make, words = REFUSED[what]
    with pytest.raises(ConfigurationError, match=words):
        make()


@pytest.mark.parametrize(
    ("value", "value_type", "words"),
    [
        (2**31, Types.INT(), "'f0': expected INT, got 2147483648"),
        (128, Types.BYTE(), "'f0': expected BYTE, got 128"),
        (-(2**63) - 1, Types.LONG(), "'f0': expected LONG"),
        (2.5, Types.LONG(), "'f0': expected LONG, got 2.5"),
        (1e300, Types.FLOAT(), "'f0': expected FLOAT, got 1e"),
        (datetime.datetime(2024, 2, 29, 12), Types.SQL_DATE(), "'f0': expected SQL_DATE"),
        (Instant(1, 1), Types.INSTANT(), "'f0': .*nanoseconds"),
        ([1, 2**31], Types.LIST(Types.INT()), "'f0': expected LIST"),
        (float("nan"), Types.DOUBLE(), "'f0': nan cannot be written as JSON"),
        ("\ud800", Types.STRING(), "'f0': .*cannot be written as JSON"),
    ],
)
def test_json_changes_no_value(value: Any, value_type: Any, words: str) -> None:
    with pytest.raises(ValueError, match=words):
        json_text(Row(value), value_type)


def test_a_single_is_written_with_its_own_digits() -> None:
    """As Java does; 1.1 of 32 bits is 1.100000023841858 of 64."""
    assert json_text(Row(1.1), Types.FLOAT()) == '{"f0":1.1}'


def avro_field(value: Any, schema: Any) -> Any:
    """A value through Avro and back."""
    text = json.dumps({"type": "record", "name": "R", "fields": [{"name": "price", "type": schema}]})
    written = AvroRowSerializationSchema(avro_schema_string=text).serialize(Row(price=value))
    return AvroRowDeserializationSchema(avro_schema_string=text).deserialize(written).price


NOON = datetime.datetime(2024, 2, 29, 12, tzinfo=datetime.UTC)
MILLIS = {"type": "long", "logicalType": "timestamp-millis"}
MONEY = {"type": "bytes", "logicalType": "decimal", "precision": 4, "scale": 2}


@pytest.mark.parametrize(
    ("value", "schema"),
    [
        (2.5, "long"),
        (2.0, "long"),
        (True, "long"),
        (2**63, "long"),
        (2**31, "int"),
        ("x", "boolean"),
        (1, "boolean"),
        (1e300, "float"),
        (2**53 + 1, "double"),
        (Decimal("1.1"), "double"),
        (True, "double"),
        (5, "string"),
        (b"x", "string"),
        ("x", "bytes"),
        (None, "long"),
        (2.5, ["null", "long"]),
        (2.5, ["null", "int", "string"]),
        (NOON, {"type": "int", "logicalType": "date"}),
        (NOON.replace(microsecond=1), MILLIS),
        (5, MILLIS),
        (NOON, {"type": "long", "logicalType": "local-timestamp-micros"}),
        (datetime.time(1, 2, 3, 4), {"type": "int", "logicalType": "time-millis"}),
        (Decimal("1.234"), MONEY),
        (Decimal("100"), MONEY),
        (Decimal("NaN"), MONEY),
        (1.5, MONEY),
        (b"abc", {"type": "fixed", "name": "F", "size": 2}),
        ("b", {"type": "enum", "name": "E", "symbols": ["a"]}),
        ([1, 2.5], {"type": "array", "items": "long"}),
        ({"x": 2.5}, {"type": "map", "values": "long"}),
        ({1: 2}, {"type": "map", "values": "long"}),
        ({"x": 2.5}, {"type": "record", "name": "S", "fields": [{"name": "x", "type": "long"}]}),
        ({"x": 2, "y": 3}, {"type": "record", "name": "S", "fields": [{"name": "x", "type": "long"}]}),
        ({}, {"type": "record", "name": "S", "fields": [{"name": "x", "type": "long"}]}),
    ],
    ids=repr,
)
def test_avro_changes_no_value(value: Any, schema: Any) -> None:
    with pytest.raises(ValueError, match="field 'price': "):
        avro_field(value, schema)


@pytest.mark.parametrize(
    ("value", "schema", "expected"),
    [
        (1, "double", 1.0),
        (2**31, "long", 2**31),
        (None, ["null", "long"], None),
        (2.5, ["null", "long", "double"], 2.5),
        (1e300, ["float", "double"], 1e300),
        (NOON, MILLIS, NOON),
        (NOON.replace(tzinfo=None), MILLIS, NOON),
        (Instant.of_datetime(NOON), MILLIS, NOON),
        (Decimal("1.2"), MONEY, Decimal("1.20")),
        (5, MONEY, Decimal("5.00")),
        ((1, 2), {"type": "array", "items": "long"}, [1, 2]),
        (("int", 5), ["long", "int"], 5),
    ],
    ids=repr,
)
def test_avro_keeps_what_fits(value: Any, schema: Any, expected: Any) -> None:
    assert avro_field(value, schema) == expected


def test_a_field_with_a_default_may_be_left_out() -> None:
    text = '{"type":"record","name":"R","fields":[{"name":"a","type":"int"},{"name":"b","type":"int","default":7}]}'
    written = AvroRowSerializationSchema(avro_schema_string=text).serialize({"a": 1})
    assert AvroRowDeserializationSchema(avro_schema_string=text).deserialize(written) == Row(a=1, b=7)


@pytest.mark.parametrize("schema", [AvroRowSerializationSchema, AvroRowDeserializationSchema])
def test_without_the_library_avro_says_so_first(schema: Any, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setitem(sys.modules, "fastavro", None)
    with pytest.raises(ConfigurationError, match=r"^Avro needs its library: pip install"):
        schema(avro_schema_string=AVRO)
