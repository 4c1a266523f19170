"""Messages of JSON, Avro and CSV as rows: types, what is missing or wrong, and many at once as one by one."""

from __future__ import annotations

import datetime
import io
import json
import pickle
from collections.abc import Callable
from decimal import Decimal
from typing import Any

import fastavro
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from penstock.common import Row, Types
from penstock.common.serialization import ByteArraySchema, SimpleStringSchema
from penstock.datastream.formats.avro import AvroRowDeserializationSchema
from penstock.datastream.formats.csv import CsvRowDeserializationSchema
from penstock.datastream.formats.json import JsonRowDeserializationSchema
from penstock.errors import ConfigurationError

PLAIN = Types.ROW_NAMED(
    ["n", "x", "name", "ok", "big"], [Types.INT(), Types.DOUBLE(), Types.STRING(), Types.BOOLEAN(), Types.LONG()]
)


def json_of(row_type: Any = PLAIN) -> JsonRowDeserializationSchema:
    return JsonRowDeserializationSchema.builder().type_info(row_type).build()


def one(value: Any, value_type: Any) -> Any:
    """How a value reads in a field of a type."""
    row = json_of(Types.ROW_NAMED(["v"], [value_type])).deserialize(json.dumps({"v": value}).encode())
    assert row is not None
    return row[0]


@pytest.mark.parametrize(
    ("value", "value_type", "expected"),
    [
        (1, Types.INT(), 1),
        (" 7 ", Types.INT(), 7),
        (3.0, Types.LONG(), 3),
        (1, Types.DOUBLE(), 1.0),
        ("2.5", Types.DOUBLE(), 2.5),
        (5, Types.STRING(), "5"),
        ({"a": 1}, Types.STRING(), '{"a": 1}'),
        ("TRUE", Types.BOOLEAN(), True),
        (None, Types.INT(), None),
        (1.1, Types.BIG_DEC(), Decimal("1.1")),
        (10**30, Types.BIG_INT(), 10**30),
        ("2024-02-29", Types.SQL_DATE(), datetime.date(2024, 2, 29)),
        ("12:30:05", Types.SQL_TIME(), datetime.time(12, 30, 5)),
        ("2024-02-29T12:00:00Z", Types.SQL_TIMESTAMP(), datetime.datetime(2024, 2, 29, 12)),
        ("2024-02-29T12:00:00+02:00", Types.SQL_TIMESTAMP(), datetime.datetime(2024, 2, 29, 10)),
        ("aGk=", Types.PRIMITIVE_ARRAY(Types.BYTE()), b"hi"),
        ([1, "2"], Types.LIST(Types.INT()), [1, 2]),
        ([1, "a"], Types.TUPLE([Types.INT(), Types.STRING()]), (1, "a")),
        ({"1": 2}, Types.MAP(Types.INT(), Types.LONG()), {1: 2}),
        ({"a": 1}, Types.ROW_NAMED(["a"], [Types.INT()]), Row(a=1)),
    ],
)
def test_values_of_json_fields(value: Any, value_type: Any, expected: Any) -> None:
    got = one(value, value_type)
    assert got == expected and type(got) is type(expected)


@pytest.mark.parametrize(
    ("value", "value_type"),
    [
        ("x", Types.INT()),
        (1.5, Types.INT()),
        (True, Types.INT()),
        (2**31, Types.INT()),
        (True, Types.DOUBLE()),
        ("maybe", Types.BOOLEAN()),
        (1, Types.BOOLEAN()),
        ("yesterday", Types.SQL_DATE()),
        (5, Types.SQL_TIMESTAMP()),
        ("%", Types.PRIMITIVE_ARRAY(Types.BYTE())),
        (5, Types.LIST(Types.INT())),
        (5, Types.ROW_NAMED(["a"], [Types.INT()])),
        ("x", Types.BIG_DEC()),
    ],
)
def test_values_that_do_not_fit_name_the_field(value: Any, value_type: Any) -> None:
    with pytest.raises(ValueError, match="field 'v': expected"):
        one(value, value_type)
    forgiving = JsonRowDeserializationSchema.builder().type_info(Types.ROW_NAMED(["v"], [value_type]))
    assert forgiving.ignore_parse_errors().build().deserialize(json.dumps({"v": value}).encode()) == Row(v=None)


def test_a_wrong_value_deep_inside_names_its_place() -> None:
    inner = Types.ROW_NAMED(["deep"], [Types.INT()])
    with pytest.raises(ValueError, match=r"field 'v': field 'deep': expected INT, got 'x'"):
        one({"deep": "x"}, inner)


def test_missing_fields_and_messages_that_are_no_objects() -> None:
    lenient = json_of()
    assert lenient.deserialize(b'{"n": 1, "other": 2}') == Row(n=1, x=None, name=None, ok=None, big=None)
    strict = JsonRowDeserializationSchema.builder().type_info(PLAIN).fail_on_missing_field().build()
    for schema in (strict.deserialize, lambda message: strict.deserialize_many([message, message])):
        with pytest.raises(ValueError, match="field 'x' is missing"):
            schema(b'{"n": 1}')
    for message in (b"", b"nonsense", b"[1]", b"7", b"null"):
        with pytest.raises(ValueError, match=r"expected a JSON object|Expecting value"):
            lenient.deserialize(message)
        forgiving = JsonRowDeserializationSchema.builder().type_info(PLAIN).ignore_parse_errors().build()
        assert forgiving.deserialize(message) is None


JSON_VALUES = st.none() | st.booleans() | st.integers(-(2**70), 2**70) | st.floats() | st.text(max_size=5)
OBJECTS = st.dictionaries(
    st.sampled_from(["n", "x", "name", "ok", "big", "other"]), JSON_VALUES | st.lists(JSON_VALUES)
)
RAW = st.sampled_from([b"", b" ", b"{}", b"{}{}", b'{"n": 1}\n{"n": 2}', b'{"n":1,"n":2}', b"[]", b'{"n": 1} ', b"{"])


@settings(max_examples=60)
@given(st.lists(OBJECTS.map(lambda value: json.dumps(value).encode()) | RAW, max_size=4))
def test_many_at_once_give_what_one_by_one_gives(messages: list[bytes]) -> None:
    schema = json_of()

    def outcome(read: Callable[[], Any]) -> str:
        try:
            return repr(read())
        except ValueError:
            return "refused"

    expected = outcome(lambda: [schema.deserialize(message) for message in messages])
    assert outcome(lambda: schema.deserialize_many(messages)) == expected
    columns = schema.deserialize_columns(messages)
    assert columns is None or repr(columns.values()) == expected


@pytest.mark.parametrize("broken", [b'{"name":"\xff"}', b'{"undeclared":"\xff"}', b'{"\xff":1}'])
def test_a_message_that_is_no_unicode_is_refused_or_left_out_alone(broken: bytes) -> None:
    with pytest.raises(UnicodeDecodeError):
        json_of().deserialize_many([broken, b"{}"])
    row_type = Types.ROW_NAMED(["name"], [Types.STRING()])
    forgiving = JsonRowDeserializationSchema.builder().type_info(row_type).ignore_parse_errors().build()
    assert forgiving.deserialize_many([broken, b'{"name":"a"}']) == [None, Row(name="a")]


def test_columns_are_parsed_at_once(monkeypatch: pytest.MonkeyPatch) -> None:
    schema = json_of()
    monkeypatch.setattr(schema, "deserialize", None)
    messages = [json.dumps({"n": n, "x": n / 2, "name": f"é{n}", "ok": n > 2}).encode() for n in range(5)]
    got = schema.deserialize_many(messages)
    assert got == [Row(n=n, x=n / 2, name=f"é{n}", ok=n > 2, big=None) for n in range(5)]
    columns = schema.deserialize_columns(messages)
    assert columns is not None and columns.values() == got


def test_columns_are_not_asked_of_a_class_that_reads_in_its_own_way() -> None:
    class Upper(JsonRowDeserializationSchema):
        def deserialize(self, message: bytes) -> Any:
            return super().deserialize(message.upper())

    schema = Upper(Types.ROW_NAMED(["A"], [Types.STRING()]))
    assert schema.deserialize_columns([b'{"a":"x"}', b'{"a":"x"}']) is None


def test_schemas_travel(monkeypatch: pytest.MonkeyPatch) -> None:
    for schema in (json_of(), CsvRowDeserializationSchema.Builder(Types.ROW_NAMED(["a"], [Types.INT()])).build()):
        message = b'{"n": 1}' if isinstance(schema, JsonRowDeserializationSchema) else b"1"
        first = schema.deserialize(message)
        assert pickle.loads(pickle.dumps(schema)).deserialize(message) == first
        assert schema.get_produced_type() is not None


def test_a_json_schema_is_read_as_flink_reads_it() -> None:
    text = json.dumps(
        {
            "type": "object",
            "properties": {
                "a": {"type": "integer"},
                "b": {"type": ["null", "number"]},
                "c": {"type": "array", "items": {"type": "string", "format": "date"}},
                "d": {"type": "object", "properties": {"e": {"type": "boolean"}}},
                "f": {"type": "string", "contentEncoding": "base64"},
            },
        }
    )
    schema = JsonRowDeserializationSchema.builder().json_schema(text).build()
    assert schema.get_produced_type() == Types.ROW_NAMED(
        ["a", "b", "c", "d", "f"],
        [
            Types.BIG_INT(),
            Types.BIG_DEC(),
            Types.OBJECT_ARRAY(Types.SQL_DATE()),
            Types.ROW_NAMED(["e"], [Types.BOOLEAN()]),
            Types.PRIMITIVE_ARRAY(Types.BYTE()),
        ],
    )
    for wrong in ("{", "[]", '{"type": "object"}', '{"type": "string"}'):
        with pytest.raises(ConfigurationError):
            JsonRowDeserializationSchema.builder().json_schema(wrong)


def test_builders_refuse_what_cannot_work() -> None:
    builder = JsonRowDeserializationSchema.builder
    with pytest.raises(ConfigurationError, match="needs type_info"):
        builder().build()
    with pytest.raises(ConfigurationError, match="ROW_NAMED"):
        builder().type_info(Types.INT())
    with pytest.raises(ConfigurationError, match="exclude each other"):
        builder().type_info(PLAIN).ignore_parse_errors().fail_on_missing_field().build()
    with pytest.raises(ConfigurationError, match="ROW_NAMED"):
        CsvRowDeserializationSchema.Builder(Types.INT())
    with pytest.raises(ConfigurationError, match="one character"):
        CsvRowDeserializationSchema.Builder(PLAIN).set_field_delimiter("||")


AVRO = {
    "type": "record",
    "name": "Order",
    "fields": [
        {"name": "id", "type": "long"},
        {"name": "note", "type": ["null", "string"]},
        {"name": "at", "type": {"type": "long", "logicalType": "timestamp-millis"}},
        {"name": "tags", "type": {"type": "map", "values": "int"}},
        {"name": "lines", "type": {"type": "array", "items": {"type": "record", "name": "Line", "fields": [
            {"name": "sku", "type": "string"}, {"name": "raw", "type": "bytes"}]}}},
        {"name": "next", "type": ["null", "Order"]},
    ],
}  # fmt: skip


def avro(value: dict[str, Any]) -> bytes:
    stream = io.BytesIO()
    fastavro.schemaless_writer(stream, fastavro.parse_schema(AVRO), value)
    return stream.getvalue()


def test_avro_records_are_rows_and_maps_stay_dicts() -> None:
    at = datetime.datetime(2024, 1, 1, tzinfo=datetime.UTC)
    last = {"id": 2, "note": None, "at": at, "tags": {}, "lines": [], "next": None}
    first = {"id": 1, "note": "n", "at": at, "tags": {"a": 1}, "lines": [{"sku": "s", "raw": b"\0"}], "next": last}
    schema = pickle.loads(pickle.dumps(AvroRowDeserializationSchema(avro_schema_string=json.dumps(AVRO))))
    row = schema.deserialize(avro(first))
    assert (row.id, row.note, row.at, row.tags) == (1, "n", at, {"a": 1})
    assert row.lines == [Row(sku="s", raw=b"\0")] and row.next.id == 2
    assert schema.get_produced_type().get_field_names() == ["id", "note", "at", "tags", "lines", "next"]
    for damaged in (avro(first)[:-3], avro(first) + b"\0"):
        with pytest.raises((ValueError, EOFError)):
            schema.deserialize(damaged)


def test_avro_needs_a_schema() -> None:
    for wrong in (
        {},
        {"record_class": "com.example.Order"},
        {"avro_schema_string": "{"},
        {"avro_schema_string": '"x"'},
    ):
        with pytest.raises(ConfigurationError):
            AvroRowDeserializationSchema(**wrong)


def test_csv_lines() -> None:
    wanted = Types.ROW_NAMED(
        ["a", "b", "c", "d"], [Types.INT(), Types.STRING(), Types.LIST(Types.INT()), Types.DOUBLE()]
    )
    schema = CsvRowDeserializationSchema.Builder(wanted).set_null_literal("-").set_allow_comments(True).build()
    assert schema.deserialize(b'7,"x, ""y""",1;2,0.5') == Row(a=7, b='x, "y"', c=[1, 2], d=0.5)
    assert schema.deserialize(b"-,,,") == Row(a=None, b="", c=None, d=None)
    assert schema.deserialize(b"# no record") is None
    for wrong in (b"x,y,1,2", b"1,2", b'1,"open,1,2', b""):
        with pytest.raises((ValueError, Exception), match=r"field 'a'|expected one line|unexpected end"):
            schema.deserialize(wrong)
    builder = CsvRowDeserializationSchema.Builder(wanted).set_field_delimiter("|").set_quote_character("'")
    forgiving = (
        builder.set_array_element_delimiter(" ").set_escape_character("\\").set_ignore_parse_errors(True).build()
    )
    assert forgiving.deserialize(b"x|'a|b'|1 2|3") == Row(a=None, b="a|b", c=[1, 2], d=3.0)
    assert forgiving.deserialize(b"1|2") is None


def test_plain_schemas_read_many_at_once() -> None:
    assert SimpleStringSchema().deserialize_many([b"a", "é".encode()]) == ["a", "é"]
    assert ByteArraySchema().deserialize_many([b"a"]) == [b"a"]


DEEP = b'{"a":' + b"[" * 100_000 + b"]" * 100_000 + b"}"
ONE = Types.ROW_NAMED(["a"], [Types.INT()])


def test_json_that_is_nested_too_deep_is_a_parse_error() -> None:
    strict = JsonRowDeserializationSchema.builder().type_info(ONE).build()
    with pytest.raises(ValueError, match="200006 bytes is nested too deep"):
        strict.deserialize(DEEP)
    forgiving = JsonRowDeserializationSchema.builder().type_info(ONE).ignore_parse_errors().build()
    assert forgiving.deserialize(DEEP) is None
    assert forgiving.deserialize_many([DEEP, b'{"a":1}']) == [None, Row(a=1)]


@pytest.mark.parametrize("message", [b'{"a":' + b"9" * 10_000 + b"}", b'{"a":1e999}', b'{"a":NaN}', b'{"a":"\xff"}'])
def test_json_of_huge_numbers_and_broken_texts_is_forgiven(message: bytes) -> None:
    forgiving = JsonRowDeserializationSchema.builder().type_info(ONE).ignore_parse_errors().build()
    assert forgiving.deserialize(message) in (None, Row(a=None))


def test_csv_that_is_no_text_is_a_parse_error() -> None:
    builder = CsvRowDeserializationSchema.Builder(Types.ROW_NAMED(["a", "b"], [Types.INT(), Types.STRING()]))
    with pytest.raises(ValueError, match="decode"):
        builder.build().deserialize(b"1,\xff")
    assert builder.set_ignore_parse_errors(True).build().deserialize(b"1,\xff") is None


NESTED = '{"type":"record","name":"N","fields":[{"name":"next","type":["null","N"]},{"name":"x","type":"bytes"}]}'


def test_avro_that_is_nested_too_deep_does_not_end_the_process() -> None:
    schema = AvroRowDeserializationSchema(avro_schema_string=NESTED)
    with pytest.raises(ValueError, match="100001 bytes is nested too deep"):
        schema.deserialize(b"\x02" * 100_000 + b"\x00")
    long = b"\x02\x00\x00" + b"\xa0\x8d\x06" + b"x" * 50_000  # not deep, only long
    assert schema.deserialize(long) == Row(next=Row(next=None, x=b""), x=b"x" * 50_000)
