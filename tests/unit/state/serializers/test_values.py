"""Values of every type to bytes and back, as values and as plain data; what is of another type is refused."""

from __future__ import annotations

import pickle
import pickletools
from dataclasses import dataclass
from typing import Any

import numpy as np
import pyarrow as pa
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from penstock.common import Row, Types, from_hint
from penstock.common.typeinfo import TypeInformation
from penstock.errors import StateError
from penstock.state.serializers import (
    arrow_type,
    described,
    number_of,
    plain_reader,
    plain_writer,
    schema_of,
    serializer_for,
)
from tests.unit.state.serializers.typed_values import AVRO, EVERY, MISFITS, Item, Opaque, Order, Point

IDS = [repr(type_info) for type_info, _ in EVERY]


@pytest.mark.parametrize(("type_info", "values"), EVERY, ids=IDS)
def test_a_value_comes_back_from_its_bytes(type_info: TypeInformation, values: st.SearchStrategy[Any]) -> None:
    serializer = serializer_for(type_info, "s")
    assert not serializer.is_pickle

    @settings(max_examples=25, deadline=None)
    @given(values)
    def check(value: Any) -> None:
        data = serializer.dumps(value)
        found = serializer.loads(data)
        assert found == value
        assert type(found) is type(value)
        assert data[0] not in (0x80, 0x00, *range(0x20, 0x60))  # pickles, keys of map entries, stamps

    check()


@pytest.mark.parametrize(("type_info", "values"), EVERY, ids=IDS)
def test_plain_data_name_no_class_fit_arrow_and_go_back(
    type_info: TypeInformation, values: st.SearchStrategy[Any]
) -> None:
    serializer = serializer_for(type_info, "s")
    read, write = plain_reader(serializer.schema), plain_writer(serializer.schema)
    arrow = arrow_type(serializer.schema)
    has_range = "BIG" in repr(type_info) or "INSTANT" in repr(type_info) or "STRING" in repr(type_info)

    @settings(max_examples=10, deadline=None)
    @given(values)
    def check(value: Any) -> None:
        data = serializer.dumps(value)
        payload = data[5:]
        if payload.startswith(b"\x80\x05"):
            assert not {"GLOBAL", "STACK_GLOBAL", "REDUCE"} & {code.name for code, _, _ in pickletools.genops(payload)}
        plain = read(data)
        assert read(write(plain)) == plain
        if not has_range:  # Arrow's big numbers have 38 digits, its text has no lone surrogates
            pa.array([plain, None], arrow)

    check()


@pytest.mark.parametrize(("type_info", "value"), MISFITS, ids=lambda each: repr(each)[:40])
def test_a_value_of_another_type_is_refused_with_what_was_expected(type_info: TypeInformation, value: Any) -> None:
    serializer = serializer_for(type_info, "totals")
    with pytest.raises(StateError, match=r"State 'totals' is declared as .*: .*expected .*, got \w+ "):
        serializer.dumps(value)


def test_a_refusal_says_which_part_does_not_fit() -> None:
    serializer = serializer_for(from_hint(Order), "orders")
    wrong: Any = "two"
    with pytest.raises(StateError, match=r"field 'count' of an element of field 'items': expected LONG, got str 'two'"):
        serializer.dumps(Order(1, 1.0, [Item("a", wrong)]))


def test_what_converts_without_loss_is_converted() -> None:
    assert serializer_for(Types.LONG(), "s").loads(serializer_for(Types.LONG(), "s").dumps(np.int64(7))) == 7
    doubles = serializer_for(Types.LIST(Types.DOUBLE()), "s")
    assert doubles.loads(doubles.dumps(np.array([1, 2]))) == [1.0, 2.0]
    rows = serializer_for(Types.ROW_NAMED(["a", "b"], [Types.LONG(), Types.DOUBLE()]), "s")
    assert rows.loads(rows.dumps({"b": 1, "a": True})) == Row(a=1, b=1.0)
    points = serializer_for(from_hint(Point), "s")
    assert points.loads(points.dumps((1, 2))) == Point(1, 2.0)


def test_a_subclass_is_not_taken_for_its_parent() -> None:
    @dataclass
    class Larger(Item):
        more: int = 0

    with pytest.raises(StateError, match="expected Item"):
        serializer_for(from_hint(Item), "s").dumps(Larger("a"))


@pytest.mark.parametrize(("type_info", "_"), EVERY, ids=IDS)
def test_none_comes_back_as_none(type_info: TypeInformation, _: Any) -> None:
    serializer = serializer_for(type_info, "s")
    data = serializer.dumps(None)
    assert serializer.loads(data) is None
    assert plain_reader(serializer.schema)(data) is None
    assert serializer.loads(plain_writer(serializer.schema)(None)) is None


def test_without_a_type_values_are_pickled() -> None:
    for type_info in (None, Types.PICKLED_BYTE_ARRAY()):
        serializer = serializer_for(type_info, "s")
        assert serializer.is_pickle
        assert serializer.schema == {"type": "PICKLE"}
        assert serializer.loads(serializer.dumps({1, 2})) == {1, 2}
        assert serializer.dumps({1, 2})[0] == 0x80
    assert arrow_type({"type": "PICKLE"}) is None


def test_pickles_from_before_a_type_was_declared_are_read_if_they_fit() -> None:
    serializer = serializer_for(from_hint(Item), "s")
    assert serializer.loads(pickle.dumps(Item("a", 2), 5)) == Item("a", 2)
    with pytest.raises(StateError, match=r"was pickled, and contains a value .*expected Item"):
        serializer.loads(pickle.dumps({"sku": "a"}, 5))


def test_bytes_of_an_unknown_schema_are_refused() -> None:
    data = serializer_for(Types.LONG(), "other").dumps(1)
    with pytest.raises(StateError, match="the checkpoint does not describe"):
        serializer_for(Types.STRING(), "s").loads(data)
    with pytest.raises(StateError, match="can no longer be loaded"):
        serializer_for(None, "s").loads(data)
    with pytest.raises(StateError, match="another schema"):
        plain_reader(schema_of(Types.STRING()))(data)


def test_a_part_without_a_type_is_pickled_by_itself() -> None:
    serializer = serializer_for(from_hint(Opaque), "s")
    plain = plain_reader(serializer.schema)(serializer.dumps(Opaque(1, {2})))
    assert plain["id"] == 1
    assert pickle.loads(plain["anything"]) == {2}
    assert arrow_type(serializer.schema) == pa.struct([("id", pa.int64()), ("anything", pa.binary())])


def test_wrong_plain_data_are_refused() -> None:
    write = plain_writer(schema_of(from_hint(Item)))
    with pytest.raises(StateError, match=r"a dict of the fields count, sku, got dict \{'sku': 'a'\}"):
        write({"sku": "a"})
    with pytest.raises(StateError, match=r"field 'count': expected LONG, got str 'b'"):
        write({"sku": "a", "count": "b"})
    with pytest.raises(StateError, match=r"LIST\(LONG\)"):
        plain_writer(schema_of(Types.LIST(Types.LONG())))("a")


def test_numbers_depend_on_the_layout_only() -> None:
    record = from_hint(Item)
    row = Types.ROW_NAMED(["sku", "count"], [Types.STRING(), Types.LONG()])
    assert number_of(schema_of(record)) == number_of(schema_of(row))
    assert number_of(schema_of(row)) == number_of(schema_of(row.with_aliases(sku="old").with_defaults(count=0)))
    other = Types.ROW_NAMED(["sku", "number"], [Types.STRING(), Types.LONG()])
    assert number_of(schema_of(row)) != number_of(schema_of(other))
    assert number_of(schema_of(Types.LONG())) == bytes.fromhex("09bbe13d")  # on disk: must never change


def test_schemas_read_like_types() -> None:
    assert described(schema_of(from_hint(Item))) == "Item(sku: STRING, count: LONG)"
    assert described(schema_of(Types.MAP(Types.STRING(), Types.LIST(AVRO)))) == "MAP(STRING, LIST(AVRO))"
    assert described(schema_of(Types.ROW([Types.INT()]))) == "ROW(INT)"
