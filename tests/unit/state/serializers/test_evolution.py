"""Which changes of a type keep old bytes readable, and what is read; which are refused, and why."""

from __future__ import annotations

import datetime
import json
import pickle
from dataclasses import dataclass, field
from decimal import Decimal
from typing import Any, NamedTuple

import cloudpickle
import pytest

from penstock.common import Row, Types, from_hint
from penstock.common.typeinfo import RecordTypeInfo, TypeInformation
from penstock.datastream.formats.avro import AvroSchema, GenericRecordAvroTypeInfo
from penstock.datastream.state import state_aliases
from penstock.errors import StateError
from penstock.state.serializers import incompatibility, reader_for, schema_of, serializer_for


@dataclass
class OldItem:
    sku: str
    cost: int
    gone: str = "?"


@state_aliases(price="cost")
@dataclass
class NewItem:
    price: float
    sku: str
    tags: list[str] = field(default_factory=list)
    seen: datetime.date | None = None


@dataclass
class OldOrder:
    items: list[OldItem]
    by_day: dict[str, OldItem]


@dataclass
class NewOrder:
    items: list[NewItem]
    by_day: dict[str, NewItem]


class OldPoint(NamedTuple):
    x: int


@state_aliases(left=("x", "from_left"))
class NewPoint(NamedTuple):
    left: float
    top: float = 1.5


def avro(*fields: dict[str, Any], name: str = "User", **more: Any) -> GenericRecordAvroTypeInfo:
    return GenericRecordAvroTypeInfo(AvroSchema({"type": "record", "name": name, "fields": list(fields), **more}))


def logical(kind: str, meaning: str, **more: Any) -> dict[str, Any]:
    return {"name": "at", "type": {"type": kind, "logicalType": meaning, **more}}


ID = {"name": "id", "type": "int"}
MOMENT = datetime.datetime(2026, 1, 1, 2, 3, 4, 5000, tzinfo=datetime.UTC)
OLD_ROW = Types.ROW_NAMED(["id", "cost"], [Types.INT(), Types.INT()])
ITEM, NEW_ITEM = OldItem("a", 2, "x"), NewItem(2.0, "a", [], None)

ALLOWED: list[tuple[str, TypeInformation, Any, TypeInformation, Any]] = [
    ("wider integer", Types.BYTE(), 5, Types.SHORT(), 5),
    ("wider integer", Types.SHORT(), 5, Types.INT(), 5),
    ("wider integer", Types.INT(), -5, Types.LONG(), -5),
    ("wider integer", Types.LONG(), 5, Types.BIG_INT(), 5),
    ("integer to float", Types.INT(), 5, Types.DOUBLE(), 5.0),
    ("integer to float", Types.LONG(), 5, Types.FLOAT(), 5.0),
    ("integer to float", Types.LONG(), 2**24 + 1, Types.FLOAT(), 2.0**24),
    ("integer to decimal", Types.LONG(), 5, Types.BIG_DEC(), Decimal(5)),
    ("wider float", Types.FLOAT(), 0.5, Types.DOUBLE(), 0.5),
    ("char to text", Types.CHAR(), "a", Types.STRING(), "a"),
    ("elements", Types.LIST(Types.INT()), [1, None], Types.LIST(Types.DOUBLE()), [1.0, None]),
    ("array to list", Types.BASIC_ARRAY(Types.INT()), [1], Types.LIST(Types.LONG()), [1]),
    (
        "keys and values",
        Types.MAP(Types.INT(), Types.INT()),
        {1: 2},
        Types.MAP(Types.LONG(), Types.DOUBLE()),
        {1: 2.0},
    ),
    ("positions", Types.TUPLE([Types.INT()]), (1,), Types.TUPLE([Types.DOUBLE()]), (1.0,)),
    ("positions", Types.ROW([Types.INT()]), Row(1), Types.ROW([Types.LONG()]), Row(f0=1)),
    ("fields", from_hint(OldItem), ITEM, from_hint(NewItem), NEW_ITEM),
    (
        "nested fields",
        from_hint(OldOrder),
        OldOrder([ITEM], {"mon": ITEM}),
        from_hint(NewOrder),
        NewOrder([NEW_ITEM], {"mon": NEW_ITEM}),
    ),
    ("named tuple", from_hint(OldPoint), OldPoint(3), from_hint(NewPoint), NewPoint(3.0, 1.5)),
    ("row to dataclass", Types.ROW_NAMED(["x"], [Types.LONG()]), Row(x=3), from_hint(OldPoint), OldPoint(3)),
    (
        "row",
        OLD_ROW,
        Row(id=1, cost=2),
        Types.ROW_NAMED(["price", "note"], [Types.LONG(), Types.STRING()])
        .with_aliases(price="cost")
        .with_defaults(note="-"),
        Row(price=2, note="-"),
    ),
    (
        "Avro",
        avro(ID, {"name": "mail", "type": "string"}),
        {"id": 1, "mail": "m"},
        avro(
            {"name": "number", "type": "double", "aliases": ["id"]},
            {"name": "age", "type": ["null", "int"], "default": None},
        ),
        {"number": 1.0, "age": None},
    ),
    (
        "Avro's finer times",
        avro(logical("long", "timestamp-millis")),
        {"at": MOMENT},
        avro(logical("long", "timestamp-micros")),
        {"at": MOMENT},
    ),
    (
        "Avro in a list",
        Types.LIST(avro(ID)),
        [{"id": 1}],
        Types.LIST(avro({"name": "id", "type": "long"})),
        [{"id": 1}],
    ),
]

REFUSED: list[tuple[TypeInformation, TypeInformation, str]] = [
    (Types.LONG(), Types.INT(), "it was LONG and is INT now: LONG may only become BIG_INT, FLOAT, DOUBLE or BIG_DEC"),
    (Types.DOUBLE(), Types.STRING(), "it was DOUBLE and is STRING now: DOUBLE must stay DOUBLE"),
    (Types.CHAR(), Types.LONG(), "it was CHAR and is LONG now: CHAR may only become STRING"),
    (Types.BOOLEAN(), Types.INT(), "BOOLEAN must stay BOOLEAN"),
    (Types.LONG(), Types.PICKLED_BYTE_ARRAY(), "has no declared type now: declare its type again"),
    (Types.LIST(Types.LONG()), Types.LIST(Types.STRING()), "an element of it was LONG and is STRING now"),
    (Types.LIST(Types.LONG()), Types.LONG(), r"was LIST\(LONG\) and is LONG now: its fields may change"),
    (Types.MAP(Types.STRING(), Types.LONG()), Types.MAP(Types.LONG(), Types.LONG()), "a key of it was STRING"),
    (Types.MAP(Types.LONG(), Types.STRING()), Types.MAP(Types.LONG(), Types.LONG()), "a value of it was STRING"),
    (Types.TUPLE([Types.LONG()]), Types.TUPLE([]), "it had 1 fields and has 0 now: fields without names"),
    (Types.ROW([Types.STRING()]), Types.ROW([Types.LONG()]), "field f0 of it was STRING"),
    (OLD_ROW, Types.ROW_NAMED(["id", "x"], [Types.INT(), Types.INT()]), "field 'x' is new and has no default"),
    (OLD_ROW, Types.ROW_NAMED(["id"], [Types.STRING()]), "field 'id' was INT and is STRING now"),
    (
        OLD_ROW,
        Types.ROW_NAMED(["cost", "price"], [Types.INT(), Types.INT()]).with_aliases(price="cost"),
        "fields 'cost' and 'price' both stand for the old field 'cost'",
    ),
    (
        Types.LIST(OLD_ROW),
        Types.LIST(Types.ROW_NAMED(["id"], [Types.STRING()])),
        "field 'id' of an element of it was INT",
    ),
    (avro(ID), avro({"name": "id", "type": "string"}), "field 'id' was int and is string now"),
    (avro(ID), avro(ID, {"name": "x", "type": "int"}), "field 'x' is new and has no default"),
    (avro(ID), avro(ID, name="Person"), "was record User and is Person now"),
    (
        avro({"name": "id", "type": ["null", "int"]}),
        avro(ID),
        "field 'id' was null and is int now",
    ),
    (avro(logical("int", "date")), avro({"name": "at", "type": "int"}), "'at' was date and is int now"),
    (avro(logical("int", "date")), avro(logical("long", "timestamp-millis")), "was date and is timestamp-millis now"),
    (
        avro(logical("bytes", "decimal", precision=9, scale=2)),
        avro(logical("bytes", "decimal", precision=9, scale=1)),
        "was decimal of scale 2 and is decimal of scale 1 now",
    ),
    (avro(ID), avro({"name": "id", "type": ["null", "string"]}), "is one of null, string now"),
    (
        avro({"name": "c", "type": {"type": "enum", "name": "C", "symbols": ["A", "B"]}}),
        avro({"name": "c", "type": {"type": "enum", "name": "C", "symbols": ["A"]}}),
        "had the symbols B, which are gone",
    ),
    (
        avro({"name": "f", "type": {"type": "fixed", "name": "F", "size": 4}}),
        avro({"name": "f", "type": {"type": "fixed", "name": "F", "size": 8}}),
        "had 4 bytes and has 8 now",
    ),
    (
        avro({"name": "l", "type": {"type": "array", "items": "int"}}),
        avro({"name": "l", "type": {"type": "array", "items": "string"}}),
        "an element of field 'l' was int",
    ),
]


@pytest.mark.parametrize(("_", "old", "value", "new", "expected"), ALLOWED, ids=[each[0] for each in ALLOWED])
def test_an_allowed_change_reads_old_bytes_as_the_new_type(
    _: str, old: TypeInformation, value: Any, new: TypeInformation, expected: Any
) -> None:
    before, after = serializer_for(old, "s"), serializer_for(new, "s")
    # Schemas come back from JSON, as they are kept.
    written = json.loads(json.dumps(before.schema))
    assert incompatibility(written, after.schema) is None
    found = reader_for(written, after)(before.dumps(value))
    assert found == expected
    assert type(found) is type(expected)
    after.learn(written)
    assert after.loads(before.dumps(value)) == expected
    assert after.loads(before.dumps(None)) is None
    assert after.loads(after.dumps(found)) == expected


@pytest.mark.parametrize(("old", "new", "reason"), REFUSED, ids=[each[2] for each in REFUSED])
def test_any_other_change_is_refused_with_the_reason(old: TypeInformation, new: TypeInformation, reason: str) -> None:
    with pytest.raises(StateError, match=reason):
        reader_for(schema_of(old), serializer_for(new, "s"))
    assert incompatibility(schema_of(old), schema_of(new)) is not None
    with pytest.raises(StateError, match=r"State 's' cannot be read as its current type: .*"):
        serializer_for(new, "s").learn(schema_of(old))


def refusing(_: Any = None) -> Any:
    raise ValueError("not today")


@dataclass
class WrongDefault:
    sku: str
    count: int = "none"  # type: ignore[assignment]


@dataclass
class FailingDefault:
    sku: str
    count: int = field(default_factory=refusing)


@dataclass
class Choosy:
    sku: str

    __post_init__ = refusing


@pytest.mark.parametrize(
    ("old", "value", "new", "reason"),
    [
        (Types.BIG_INT(), 10**400, Types.DOUBLE(), "expected DOUBLE, got int 1000"),
        (from_hint(OldItem), ITEM, from_hint(WrongDefault), "expected LONG, got str 'none'"),
        (from_hint(OldItem), ITEM, from_hint(FailingDefault), "ValueError: not today"),
        (from_hint(OldItem), ITEM, from_hint(Choosy), "ValueError: not today"),
        (Types.TUPLE([Types.PICKLED_BYTE_ARRAY()]), ("a",), Types.TUPLE([Types.LONG()]), "expected LONG, got str 'a'"),
    ],
)
def test_an_old_value_that_the_new_type_cannot_hold_names_the_state(
    old: TypeInformation, value: Any, new: TypeInformation, reason: str
) -> None:
    before, after = serializer_for(old, "totals"), serializer_for(new, "totals")
    after.learn(before.schema)
    with pytest.raises(StateError, match=f"State 'totals' holds a value of an older type .*{reason}"):
        after.loads(before.dumps(value))


def test_defaults_are_made_anew_for_each_value() -> None:
    before, after = serializer_for(from_hint(OldItem), "s"), serializer_for(from_hint(NewItem), "s")
    read = reader_for(before.schema, after)
    first, second = read(before.dumps(ITEM)), read(before.dumps(ITEM))
    first.tags.append("changed")
    assert second.tags == []


def test_classes_that_travelled_by_value_keep_their_defaults() -> None:
    # Classes of a script do; the mark for "no default" is not the same object afterwards.
    @dataclass
    class Item:
        sku: str
        note: str = "-"
        tags: list[str] = field(default_factory=list)

    travelled = from_hint(pickle.loads(cloudpickle.dumps(Item)))
    assert isinstance(travelled, RecordTypeInfo)
    assert travelled.field_defaults().keys() == {"note", "tags"}
    old, new = Types.ROW_NAMED(["sku"], [Types.STRING()]), serializer_for(travelled, "s")
    found = reader_for(schema_of(old), new)(serializer_for(old, "s").dumps(Row(sku="a")))
    assert (found.sku, found.note, found.tags) == ("a", "-", [])
    without = Types.ROW_NAMED(["note"], [Types.STRING()])
    assert incompatibility(schema_of(without), new.schema) is not None


def test_a_field_keeps_its_own_name_before_any_alias() -> None:
    old = Types.ROW_NAMED(["price", "cost"], [Types.INT(), Types.INT()])
    new = serializer_for(Types.ROW_NAMED(["price"], [Types.INT()]).with_aliases(price="cost"), "s")
    assert reader_for(schema_of(old), new)(serializer_for(old, "s").dumps(Row(price=1, cost=2))) == Row(price=1)


def test_recursive_avro_types_are_compared() -> None:
    def tree(value: str) -> GenericRecordAvroTypeInfo:
        return avro({"name": "v", "type": value}, {"name": "next", "type": ["null", "Tree"]}, name="Tree")

    assert incompatibility(schema_of(tree("int")), schema_of(tree("long"))) is None
    assert incompatibility(schema_of(tree("int")), schema_of(tree("string"))) is not None


def test_aliases_are_declared_on_classes_with_fields() -> None:
    with pytest.raises(TypeError, match="put @state_aliases above @dataclass"):
        state_aliases(a="b")(object)
    with pytest.raises(ValueError, match="OldPoint has no field 'y'"):
        state_aliases(y="b")(OldPoint)
    with pytest.raises(ValueError, match="has no field 'y'"):
        OLD_ROW.with_aliases(y="x")
    assert OLD_ROW.field_aliases() == {}
