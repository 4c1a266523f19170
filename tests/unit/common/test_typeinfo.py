"""Declared types: coercion, Arrow form, inference."""

from __future__ import annotations

import array
import datetime
import decimal
import pickle
from dataclasses import InitVar, dataclass, field
from typing import Any, NamedTuple

import numpy as np
import pyarrow as pa
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from penstock.common import Instant, Row, RowKind, Types, from_arrow, from_hint
from penstock.common.typeinfo import RecordTypeInfo, TypeInformation

WIDTHS = {"BYTE": 8, "SHORT": 16, "INT": 32, "LONG": 64}
SAMPLES: list[tuple[TypeInformation, Any]] = [
    (Types.STRING(), "a"),
    (Types.BYTE(), -128),
    (Types.BOOLEAN(), True),
    (Types.SHORT(), 32767),
    (Types.INT(), -1),
    (Types.LONG(), 2**63 - 1),
    (Types.FLOAT(), 0.5),
    (Types.DOUBLE(), 0.1),
    (Types.CHAR(), "x"),
    (Types.BIG_INT(), 10**30),
    (Types.BIG_DEC(), decimal.Decimal("1.250000000000000000")),
    (Types.INSTANT(), Instant(-5, 123_456_000)),
    (Types.SQL_DATE(), datetime.date(2020, 2, 29)),
    (Types.SQL_TIME(), datetime.time(1, 2, 3, 4)),
    (Types.SQL_TIMESTAMP(), datetime.datetime(2020, 1, 1, 2, 3, 4, 5)),
    (Types.PICKLED_BYTE_ARRAY(), {"any": {1, 2}}),
    (Types.ROW([Types.INT(), Types.STRING()]), Row(f0=1, f1="a")),
    (Types.ROW_NAMED(["id", "at"], [Types.INT(), Types.INSTANT()]), Row(id=1, at=Instant(0, 0))),
    (Types.TUPLE([Types.INT(), Types.LIST(Types.INSTANT())]), (1, [Instant(1, 0)])),
    (Types.PRIMITIVE_ARRAY(Types.INT()), [1, 2]),
    (Types.PRIMITIVE_ARRAY(Types.BYTE()), b"\x00\xff"),
    (Types.BASIC_ARRAY(Types.STRING()), ["a"]),
    (Types.OBJECT_ARRAY(Types.ROW([Types.INT()])), [Row(f0=1)]),
    (Types.LIST(Types.DOUBLE()), [1.0]),
    (Types.MAP(Types.STRING(), Types.ROW([Types.INT()])), {"a": Row(f0=1)}),
]


@pytest.mark.parametrize(("type_info", "value"), SAMPLES, ids=lambda part: repr(part)[:30])
def test_every_type_takes_its_values_through_arrow_and_back(type_info: TypeInformation, value: Any) -> None:
    assert type_info.coerce(value) == value
    column = pa.array([type_info.to_internal_type(value), None], type_info.arrow_type())
    stored = column.to_pylist()
    assert type_info.from_internal_type(stored[0]) == value
    assert type_info.from_internal_type(stored[1]) is None


@pytest.mark.parametrize(("type_info", "value"), SAMPLES, ids=lambda part: repr(part)[:30])
def test_every_type_passes_none_and_pickles(type_info: TypeInformation, value: Any) -> None:
    assert type_info.coerce(None) is None
    image = pickle.loads(pickle.dumps(type_info))
    assert image == type_info and hash(image) == hash(type_info) and repr(image) == repr(type_info)
    assert [other for other, _ in SAMPLES if other == type_info] == [type_info]


@pytest.mark.parametrize(
    ("type_info", "value", "message"),
    [
        (Types.STRING(), 1, "expected STRING, got int 1"),
        (Types.INT(), "1", "expected INT, got str '1'"),
        (Types.INT(), 1.5, "expected INT, got float 1.5: its fraction would be lost"),
        (Types.BOOLEAN(), 2, "expected BOOLEAN, got int 2"),
        (Types.DOUBLE(), "x", "expected DOUBLE, got str 'x'"),
        (Types.DOUBLE(), 10**400, "expected DOUBLE, got int"),
        (Types.CHAR(), "ab", "expected CHAR, got str 'ab'"),
        (Types.BIG_DEC(), "x", "expected BIG_DEC, got str 'x'"),
        (Types.INSTANT(), 5, "expected INSTANT, got int 5"),
        (Types.SQL_DATE(), "2020-01-01", "expected SQL_DATE, got str"),
        (Types.SQL_TIME(), 5, "expected SQL_TIME, got int"),
        (Types.SQL_TIMESTAMP(), datetime.date(2020, 1, 1), "expected SQL_TIMESTAMP, got date"),
        (Types.LIST(Types.INT()), "12", r"expected LIST\(INT\), got str '12'"),
        (Types.LIST(Types.INT()), [1, "x"], r"element 1 of LIST\(INT\): expected INT, got str 'x'"),
        (Types.MAP(Types.STRING(), Types.INT()), {"a": "b"}, "the value of key 'a' of .*expected INT, got str 'b'"),
        (Types.MAP(Types.STRING(), Types.INT()), {1: 1}, "a key of .*expected STRING, got int 1"),
        (Types.MAP(Types.STRING(), Types.INT()), [1], "expected MAP.*got list"),
        (Types.TUPLE([Types.INT()]), (1, 2), r"expected TUPLE\(INT\) of 1 fields, got 2 in \(1, 2\)"),
        (Types.TUPLE([Types.INT()]), 5, r"expected TUPLE\(INT\), got int 5"),
        (Types.ROW_NAMED(["a"], [Types.INT()]), Row(b=1), r"expected ROW\(a: INT\), got Row with the fields b"),
        (Types.ROW_NAMED(["a"], [Types.INT()]), Row(a="x"), r"field 'a' of ROW\(a: INT\): expected INT, got str"),
    ],
)
def test_wrong_values_are_refused(type_info: TypeInformation, value: Any, message: str) -> None:
    with pytest.raises(TypeError, match=message):
        type_info.coerce(value)
    with pytest.raises(TypeError, match=message):
        type_info.check(value)


@pytest.mark.parametrize(
    ("type_info", "text"),
    [
        (Types.INT(), "Integer"),
        (Types.INSTANT(), "Instant"),
        (Types.SQL_DATE(), "DateTypeInfo"),
        (Types.PICKLED_BYTE_ARRAY(), "PickledByteArrayTypeInfo"),
        (Types.PRIMITIVE_ARRAY(Types.LONG()), "PrimitiveArrayTypeInfo<Long>"),
        (Types.MAP(Types.STRING(), Types.LIST(Types.INT())), "MapTypeInfo<String, ListTypeInfo<Integer>>"),
        (Types.TUPLE([Types.STRING(), Types.INT()]), "TupleTypeInfo(String, Integer)"),
        (Types.ROW([Types.STRING(), Types.INT()]), "RowTypeInfo(String, Integer)"),
        (Types.ROW_NAMED(["a", "b"], [Types.STRING(), Types.INT()]), "RowTypeInfo(a: String, b: Integer)"),
    ],
)
def test_types_print_as_in_pyflink(type_info: TypeInformation, text: str) -> None:
    assert str(type_info) == text


def test_a_huge_wrong_value_makes_a_short_message() -> None:
    with pytest.raises(TypeError) as caught:
        Types.INT().coerce("x" * 1_000_000)
    assert len(str(caught.value)) < 200


@given(st.sampled_from(sorted(WIDTHS)), st.integers(-(2**70), 2**70))
@settings(max_examples=100)
def test_integers_that_do_not_fit_are_refused(name: str, value: int) -> None:
    bits, declared = WIDTHS[name], getattr(Types, name)()
    if -(2 ** (bits - 1)) <= value < 2 ** (bits - 1):
        assert declared.coerce(value) == value
    else:
        with pytest.raises(TypeError, match=f"expected {name}, got int .*, which {bits} bits cannot hold: declare"):
            declared.coerce(value)


def test_numbers_of_other_kinds_become_plain_ones() -> None:
    for coerced, expected in [
        (Types.INT().coerce(np.int64(5)), 5),
        (Types.INT().coerce(True), 1),
        (Types.DOUBLE().coerce(np.float32(0.5)), 0.5),
        (Types.DOUBLE().coerce(2), 2.0),
        (Types.BOOLEAN().coerce(np.bool_(True)), True),
        (Types.BIG_DEC().coerce(3), decimal.Decimal(3)),
        (Types.LIST(Types.INT()).coerce(np.array([1, 2])), [1, 2]),
        (Types.PRIMITIVE_ARRAY(Types.INT()).coerce(array.array("i", [1, 2])), [1, 2]),
        (Types.PRIMITIVE_ARRAY(Types.BYTE()).coerce([0, -1]), b"\x00\xff"),
    ]:
        assert coerced == expected and type(coerced) is type(expected)


def test_float_has_single_precision() -> None:
    assert Types.FLOAT().coerce(0.1) == float(np.float32(0.1))
    with pytest.raises(TypeError, match="which 32 bits cannot hold: declare DOUBLE"):
        Types.FLOAT().coerce(1e300)


def test_times_with_a_zone_become_utc() -> None:
    zone = datetime.timezone(datetime.timedelta(hours=2))
    noon = datetime.datetime(2020, 1, 1, 12, tzinfo=zone)
    assert Types.SQL_TIMESTAMP().coerce(noon) == datetime.datetime(2020, 1, 1, 10)
    assert Types.INSTANT().coerce(noon) == Instant.of_datetime(noon)
    with pytest.raises(TypeError, match=r"its time of day would be lost, so give its date\(\)"):
        Types.SQL_DATE().coerce(noon)


def test_named_rows_come_in_many_forms() -> None:
    @dataclass
    class Point:
        x: int
        y: int

    row_type = Types.ROW_NAMED(["y", "x"], [Types.INT(), Types.INT()])
    for value in (Row(x=1, y=2), {"x": 1, "y": 2}, Point(1, 2), (2, 1), Row(2, 1)):
        assert row_type.coerce(value) == Row(y=2, x=1)
    assert row_type.coerce(Row.of_kind(RowKind.DELETE, 1, 2)).get_row_kind() is RowKind.DELETE
    assert Types.ROW([Types.INT()]).coerce(Row(1)) == Row(f0=1)
    with pytest.raises(TypeError, match="got Row with the fields a"):
        Types.ROW([Types.INT()]).coerce(Row(a=1))
    assert row_type.get_field_names() == ["y", "x"]
    assert (row_type.get_field_index("x"), row_type.get_field_index("z")) == (1, -1)


def test_wrong_declarations_are_refused() -> None:
    with pytest.raises(ValueError, match="1 field names for 2 types"):
        Types.ROW_NAMED(["a"], [Types.INT(), Types.INT()])
    with pytest.raises(ValueError, match="a field name twice: a, a"):
        Types.ROW_NAMED(["a", "a"], [Types.INT(), Types.INT()])
    with pytest.raises(TypeError, match=r"LIST expects types such as Types\.INT"):
        Types.LIST(int)  # type: ignore[arg-type]


@dataclass
class Order:
    id: int
    tags: list[str]
    note: str | None = None


class Pair(NamedTuple):
    left: int
    right: Order


@dataclass
class Tree:
    children: list[Tree]


@pytest.mark.parametrize(
    ("hint", "expected"),
    [
        (int, Types.LONG()),
        (float, Types.DOUBLE()),
        (str, Types.STRING()),
        (bool, Types.BOOLEAN()),
        (bytes, Types.PRIMITIVE_ARRAY(Types.BYTE())),
        (list[int], Types.LIST(Types.LONG())),
        (dict[str, float], Types.MAP(Types.STRING(), Types.DOUBLE())),
        (tuple[int, str], Types.TUPLE([Types.LONG(), Types.STRING()])),
        (tuple[int, ...], Types.PICKLED_BYTE_ARRAY()),
        (int | None, Types.LONG()),
        (int | str, Types.PICKLED_BYTE_ARRAY()),
        (list, Types.PICKLED_BYTE_ARRAY()),
        (Any, Types.PICKLED_BYTE_ARRAY()),
        (set[int], Types.PICKLED_BYTE_ARRAY()),
        (Types.INT(), Types.INT()),
    ],
    ids=repr,
)
def test_hints(hint: Any, expected: TypeInformation) -> None:
    assert from_hint(hint) == expected


def test_records_keep_their_class() -> None:
    order_type = from_hint(Order)
    assert isinstance(order_type, RecordTypeInfo)
    assert repr(order_type) == "Order(id: LONG, tags: LIST(STRING), note: STRING)"
    order = Order(1, ["a"])
    assert order_type.coerce(order) == order
    assert order_type.from_internal_type(order_type.to_internal_type(order)) == order
    pair = Pair(1, order)
    assert from_hint(Pair).coerce(pair) == pair and type(from_hint(Pair).coerce(pair)) is Pair
    with pytest.raises(TypeError, match=r"field 'right' of Pair.*field 'id' of Order.*expected LONG, got str 'x'"):
        from_hint(Pair).coerce(Pair(1, Order("x", [])))  # type: ignore[arg-type]


@dataclass
class MadeOfMore:
    given: InitVar[int]
    kept: int = 0


@dataclass
class MadeOfLess:
    kept: int = field(init=False, default=0)


@dataclass
class MadeItsOwnWay:
    kept: int

    def __init__(self, text: str) -> None:
        self.kept = int(text)


@dataclass
class MadeByName:
    first: int = field(kw_only=True)
    second: str = ""


def test_what_cannot_be_made_of_its_fields_is_pickled() -> None:
    for cls in (MadeOfMore, MadeOfLess, MadeItsOwnWay):
        assert from_hint(cls) == Types.PICKLED_BYTE_ARRAY()
    assert isinstance(from_hint(MadeByName), RecordTypeInfo)


def test_a_class_that_contains_itself_is_pickled_inside() -> None:
    assert repr(from_hint(Tree)) == "Tree(children: LIST(PICKLED_BYTE_ARRAY))"


@pytest.mark.parametrize("hint", [5, "int", [int]])
def test_what_is_no_hint_is_refused(hint: Any) -> None:
    with pytest.raises(TypeError, match="hint"):
        from_hint(hint)


@pytest.mark.parametrize(
    "type_info",
    [
        sample
        for sample, _ in SAMPLES
        if repr(sample) not in ("CHAR", "PICKLED_BYTE_ARRAY") and repr(sample).startswith(("LIST", "MAP", "ROW(id"))
    ]
    + [Types.STRING(), Types.SHORT(), Types.LONG(), Types.FLOAT(), Types.INSTANT(), Types.SQL_TIMESTAMP()],
    ids=repr,
)
def test_arrow_types_name_the_type_that_made_them(type_info: TypeInformation) -> None:
    found = from_arrow(type_info.arrow_type())
    assert found.arrow_type() == type_info.arrow_type()


def test_arrow_schemas_become_named_rows() -> None:
    schema = pa.schema([("a", pa.uint32()), ("b", pa.dictionary(pa.int8(), pa.large_string()))])
    assert from_arrow(schema) == Types.ROW_NAMED(["a", "b"], [Types.LONG(), Types.STRING()])
    with pytest.raises(TypeError, match=r"duration.*cast the column first"):
        from_arrow(pa.duration("s"))
    with pytest.raises(TypeError, match="expected an Arrow schema or type"):
        from_arrow("int")
