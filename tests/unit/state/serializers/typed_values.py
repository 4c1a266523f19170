"""Every declared type with a strategy of its values, and classes whose fields change from version to version."""

from __future__ import annotations

import datetime
from dataclasses import dataclass, field
from decimal import Decimal
from typing import Any, NamedTuple

import numpy as np
from hypothesis import strategies as st

from penstock.common import Instant, Row, RowKind, Types, from_hint
from penstock.common.typeinfo import TypeInformation
from penstock.datastream.formats.avro import AvroSchema, GenericRecordAvroTypeInfo


def integers(bits: int) -> st.SearchStrategy[int]:
    return st.integers(-(2 ** (bits - 1)), 2 ** (bits - 1) - 1)


@dataclass
class Item:
    sku: str
    count: int = 1


@dataclass(frozen=True)
class Order:
    id: int
    price: float | None
    items: list[Item]
    notes: dict[str, str] = field(default_factory=dict)


@dataclass(kw_only=True)
class Named:
    text: str


class Point(NamedTuple):
    x: int
    y: float = 0.0


class Opaque(NamedTuple):
    """One field has no type that a schema could tell."""

    id: int
    anything: Any


AVRO = GenericRecordAvroTypeInfo(
    AvroSchema.parse_string(
        '{"type": "record", "name": "User", "fields": [{"name": "id", "type": "long"}, '
        '{"name": "mail", "type": ["null", "string"], "default": null}]}'
    )
)
CHARACTERS = st.sampled_from("aZ\0\né€\U0001d11e")  # the whole of Unicode takes seconds to draw from
TEXT = st.text(CHARACTERS, max_size=8)
FLOATS = st.floats(allow_nan=False)
ITEMS = st.builds(Item, TEXT, integers(64))

BASIC: list[tuple[TypeInformation, st.SearchStrategy[Any]]] = [
    (Types.STRING(), TEXT | st.just("\ud800")),
    (Types.CHAR(), CHARACTERS),
    (Types.BOOLEAN(), st.booleans()),
    (Types.BYTE(), integers(8)),
    (Types.SHORT(), integers(16)),
    (Types.INT(), integers(32)),
    (Types.LONG(), integers(64)),
    (Types.FLOAT(), st.floats(allow_nan=False, width=32)),
    (Types.DOUBLE(), FLOATS),
    (Types.BIG_INT(), st.integers()),
    (Types.BIG_DEC(), st.decimals(allow_nan=False)),
    (Types.INSTANT(), st.builds(Instant, integers(40), st.integers(0, 999_999_999))),
    (Types.SQL_DATE(), st.dates()),
    (Types.SQL_TIME(), st.times()),
    (Types.SQL_TIMESTAMP(), st.datetimes() | st.datetimes(timezones=st.just(datetime.UTC))),
    (Types.PRIMITIVE_ARRAY(Types.BYTE()), st.binary(max_size=8)),
]
COMPOSITE: list[tuple[TypeInformation, st.SearchStrategy[Any]]] = [
    (Types.LIST(Types.LONG()), st.lists(integers(64) | st.none(), max_size=4)),
    (Types.PRIMITIVE_ARRAY(Types.DOUBLE()), st.lists(FLOATS, max_size=4)),
    (Types.BASIC_ARRAY(Types.STRING()), st.lists(TEXT, max_size=4)),
    (Types.OBJECT_ARRAY(Types.SQL_DATE()), st.lists(st.dates() | st.none(), max_size=4)),
    (Types.MAP(Types.STRING(), Types.INT()), st.dictionaries(TEXT, integers(32), max_size=4)),
    (Types.MAP(Types.SQL_DATE(), Types.LIST(Types.STRING())), st.dictionaries(st.dates(), st.lists(TEXT, max_size=2))),
    (Types.TUPLE([Types.LONG(), Types.BIG_DEC()]), st.tuples(integers(64), st.decimals(allow_nan=False) | st.none())),
    (Types.TUPLE([]), st.just(())),
    (
        Types.ROW([Types.INT(), Types.STRING()]),
        st.builds(Row, f0=integers(32), f1=TEXT),
    ),
    (
        Types.ROW_NAMED(["id", "day"], [Types.INT(), Types.SQL_DATE()]),
        st.builds(
            lambda kind, number, day: Row.of_kind(kind, id=number, day=day),
            st.sampled_from(RowKind),
            integers(32),
            st.dates() | st.none(),
        ),
    ),
    (from_hint(Item), ITEMS),
    (
        from_hint(Order),
        st.builds(
            Order,
            integers(64),
            FLOATS | st.none(),
            st.lists(ITEMS, max_size=2),
            st.dictionaries(TEXT, TEXT, max_size=2),
        ),
    ),
    (from_hint(Named), st.builds(Named, text=TEXT)),
    (from_hint(Point), st.builds(Point, integers(64), FLOATS)),
    (from_hint(Opaque), st.builds(Opaque, integers(64), st.none() | st.sets(integers(8)))),
    (AVRO, st.fixed_dictionaries({"id": integers(64), "mail": st.none() | TEXT})),
    (Types.LIST(AVRO), st.lists(st.fixed_dictionaries({"id": integers(64), "mail": st.none()}), max_size=2)),
    (Types.MAP(Types.STRING(), from_hint(Point)), st.dictionaries(TEXT, st.builds(Point, integers(64), FLOATS))),
]
EVERY = BASIC + COMPOSITE

MISFITS: list[tuple[TypeInformation, Any]] = [
    (Types.STRING(), 1),
    (Types.STRING(), b"a"),
    (Types.CHAR(), "ab"),
    (Types.BOOLEAN(), 2),
    (Types.BYTE(), 128),
    (Types.INT(), 2**31),
    (Types.LONG(), 2**63),
    (Types.LONG(), 1.5),
    (Types.LONG(), "1"),
    (Types.FLOAT(), 1e300),
    (Types.DOUBLE(), "1.0"),
    (Types.LIST(Types.DOUBLE()), ["0.1"]),
    (Types.LONG(), np.array([1, 2])),
    (Types.BIG_DEC(), np.array([1, 2])),
    (Types.DOUBLE(), np.array([1.5, 2])),
    (Types.TUPLE([Types.LONG(), Types.LONG()]), (1, np.array([1, 2]))),
    (Types.BIG_INT(), 1.5),
    (Types.BIG_DEC(), "x"),
    (Types.INSTANT(), 5),
    (Types.SQL_DATE(), "2026-01-01"),
    (Types.SQL_DATE(), datetime.datetime(2026, 1, 1, 12)),
    (Types.SQL_TIME(), datetime.date(2026, 1, 1)),
    (Types.SQL_TIMESTAMP(), datetime.date(2026, 1, 1)),
    (Types.PRIMITIVE_ARRAY(Types.BYTE()), "a"),
    (Types.LIST(Types.LONG()), ["a"]),
    (Types.LIST(Types.LONG()), [2**63]),
    (Types.LIST(Types.STRING()), "ab"),
    (Types.MAP(Types.STRING(), Types.INT()), {1: 1}),
    (Types.MAP(Types.STRING(), Types.INT()), [("a", 1)]),
    (Types.MAP(Types.LIST(Types.INT()), Types.INT()), {(1, 2): 1}),
    (Types.TUPLE([Types.LONG()]), (1, 2)),
    (Types.TUPLE([Types.LONG()]), 1),
    (Types.ROW([Types.LONG()]), Row(1, 2)),
    (Types.ROW_NAMED(["a"], [Types.LONG()]), Row(b=1)),
    (from_hint(Item), Row(sku="a", count=1)),
    (from_hint(Item), Item("a", "many")),  # type: ignore[arg-type]
    (from_hint(Point), (1,)),
    (AVRO, {"id": "one"}),
    (AVRO, {"id": 1.7}),
    (AVRO, {"id": 1, "unknown": 1}),
    (AVRO, Decimal(1)),
]
