"""Many values of a declared type at once: what becomes of them, what is refused, and that most cost nothing."""

from __future__ import annotations

import math
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from penstock.common import Row, RowKind, Types
from penstock.common.conversions import MisfitError, conversion_of
from penstock.common.typeinfo import TypeInformation
from tests.unit.common.declared_values import AS_PYFLINK, CUT_BY_PYFLINK, ONLY_HERE, REFUSED, Record

TAKEN = [*AS_PYFLINK, *ONLY_HERE]
NOT_TAKEN = [*REFUSED, *((declared, value) for declared, value, _ in CUT_BY_PYFLINK)]


def converted(type_info: TypeInformation, values: list[Any]) -> list[Any]:
    convert = conversion_of(type_info)
    return values if convert is None else convert(values)


def same(one: Any, other: Any) -> bool:
    """Equal, and of the same types all the way down; rows in the same order."""
    if type(one) is not type(other):
        return False
    if isinstance(one, float) and math.isnan(one):
        return math.isnan(other)
    if isinstance(one, Row):
        return (one._fields, one.get_row_kind()) == (other._fields, other.get_row_kind()) and same(
            list(one), list(other)
        )
    if isinstance(one, (list, tuple)):
        return len(one) == len(other) and all(map(same, one, other))
    if isinstance(one, dict):
        return same(list(one), list(other)) and same(list(one.values()), list(other.values()))
    return bool(one == other)


@pytest.mark.parametrize(("type_info", "value", "expected"), TAKEN, ids=repr)
def test_a_value_becomes_one_of_its_type(type_info: TypeInformation, value: Any, expected: Any) -> None:
    assert same(type_info.coerce(value), expected)
    # Alone, among others that need no change, and beside None: each takes another way.
    for before in ([], [expected], [None]):
        made = converted(type_info, [*before, value])
        assert same(made, [*before, expected])
        again = converted(type_info, made)
        assert same(again, made)


@pytest.mark.parametrize(("type_info", "value", "expected"), TAKEN, ids=repr)
def test_values_of_their_type_pass_as_they_are(type_info: TypeInformation, value: Any, expected: Any) -> None:
    values = [expected, expected, None]
    assert converted(type_info, values) is values or type_info == Types.FLOAT()  # whose zero may be another object


@pytest.mark.parametrize(("type_info", "value"), NOT_TAKEN, ids=repr)
def test_what_would_lose_something_or_is_another_thing_is_refused(type_info: TypeInformation, value: Any) -> None:
    with pytest.raises(TypeError):
        type_info.coerce(value)
    for before in ([], [None]):
        with pytest.raises(MisfitError) as caught:
            converted(type_info, [*before, value, None])
        assert caught.value.value is value


@pytest.mark.parametrize(
    ("type_info", "value", "text"),
    [
        (Types.INT(), 1.5, "expected INT, got float 1.5: its fraction would be lost, so round it or declare DOUBLE"),
        (Types.BYTE(), 128, "expected BYTE, got int 128, which 8 bits cannot hold: declare SHORT"),
        (Types.FLOAT(), 1e40, r"expected FLOAT, got float 1e\+40, which 32 bits cannot hold: declare DOUBLE"),
        (
            Types.ROW([Types.LIST(Types.MAP(Types.STRING(), Types.LONG()))]),
            Row([{}, {"a": "b"}]),
            r"field 'f0' of ROW.*element 1 of LIST.*the value of key 'a' of MAP.*expected LONG, got str 'b'",
        ),
        (Types.ROW_NAMED(["x"], [Types.INT()]), Row(y=1), r"expected ROW\(x: INT\), got Row with the fields y"),
    ],
)
def test_a_refusal_names_the_part_and_what_to_do(type_info: TypeInformation, value: Any, text: str) -> None:
    with pytest.raises(MisfitError, match=text):
        converted(type_info, [value])


def test_pickled_and_undeclared_values_are_left_alone() -> None:
    assert conversion_of(None) is None and conversion_of(Types.PICKLED_BYTE_ARRAY()) is None
    pair = Types.TUPLE([Types.PICKLED_BYTE_ARRAY(), Types.DOUBLE()])
    thing = object()
    assert converted(pair, [(thing, 1)]) == [(thing, 1.0)]


def test_rows_of_one_block_may_come_in_many_orders() -> None:
    declared = Types.ROW_NAMED(["x", "y"], [Types.STRING(), Types.LONG()])
    rows = [Row(y=1, x="a"), Row(x="b", y=2), Row("c", 3), ("d", 4), Row.of_kind(RowKind.DELETE, "e", 5)]
    for block in (rows, rows[:1] * 3, rows[1:3], rows[4:]):
        made = converted(declared, block)
        assert [row._fields for row in made] == [("x", "y")] * len(block)
        assert [list(row) for row in made] == [list(declared.coerce(row)) for row in block]
        assert [row.get_row_kind() for row in made] == [declared.coerce(row).get_row_kind() for row in block]


def test_objects_of_a_class_stay_what_they_are() -> None:
    from penstock.common.type_inference import from_hint

    records = [Record("a", 1), Record("b", 2)]
    assert converted(from_hint(Record), records) is records
    assert converted(from_hint(Record), [Record("a", True)]) == [Record("a", 1)]
    with pytest.raises(MisfitError, match=r"field 'y' of Record.*got str"):
        converted(from_hint(Record), [Record("a", "b")])  # type: ignore[arg-type]


NUMBERS = st.one_of(st.none(), st.booleans(), st.integers(), st.floats(), st.decimals(), st.text(max_size=3))
DECLARED = st.recursive(
    st.sampled_from([Types.BYTE(), Types.INT(), Types.LONG(), Types.FLOAT(), Types.DOUBLE(), Types.STRING()]),
    lambda parts: st.one_of(
        parts.map(Types.LIST),
        st.lists(parts, min_size=1, max_size=3).map(Types.TUPLE),
        st.lists(parts, min_size=1, max_size=3).map(Types.ROW),
        parts.map(lambda part: Types.MAP(Types.STRING(), part)),
    ),
    max_leaves=4,
)
VALUES = st.recursive(
    NUMBERS,
    lambda parts: st.one_of(
        st.lists(parts, max_size=3),
        st.lists(parts, max_size=3).map(tuple),
        st.lists(parts, max_size=3).map(lambda values: Row(*values)),
        st.dictionaries(st.text(max_size=2), parts, max_size=2),
    ),
    max_leaves=6,
)


@given(DECLARED, st.lists(VALUES, max_size=4))
def test_the_quick_way_agrees_with_the_slow_one(type_info: TypeInformation, values: list[Any]) -> None:
    try:
        expected = [type_info.coerce(value) for value in values]
    except (TypeError, ValueError, OverflowError):
        with pytest.raises(MisfitError):
            converted(type_info, values)
        return
    made = converted(type_info, values)
    assert same(made, expected) and same(converted(type_info, made), made)
