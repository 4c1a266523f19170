"""Rows: access, equality, printing, pickling."""

from __future__ import annotations

import copy
import pickle

import cloudpickle
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from penstock.common.types import Row, RowKind
from penstock.keys.codec import encode_key


def test_named_and_positional_access() -> None:
    row = Row(id=1, name="a")
    assert (row.id, row["name"], row[1], row[-1]) == (1, "a", "a", "a")
    assert list(row) == [1, "a"] and len(row) == 2
    row["id"] = 5
    row[1] = "b"
    assert row == Row(id=5, name="b")


def test_row_of_names_makes_rows() -> None:
    person = Row("name", "age")
    assert person("Ann", 7) == Row(name="Ann", age=7)
    with pytest.raises(ValueError, match="names 2 fields but was called with 3"):
        person(1, 2, 3)
    with pytest.raises(TypeError, match="only a Row of field names"):
        Row(1, 2)(3)


@pytest.mark.parametrize(
    ("row", "text"),
    [
        (Row(f0=1, f1="a"), "Row(f0=1, f1='a')"),
        (Row("a", 2), "<Row('a', 2)>"),
        (Row(), "<Row()>"),
        (Row(x=Row("a"), y=None), "Row(x=<Row('a')>, y=None)"),
        (Row.of_kind(RowKind.DELETE, a=1), "Row(a=1)"),
    ],
)
def test_prints_as_in_pyflink(row: Row, text: str) -> None:
    assert str(row) == repr(row) == text


def test_kinds_print_as_flink_does() -> None:
    assert [str(kind) for kind in RowKind] == ["+I", "-U", "+U", "-D"]


def test_membership_asks_for_names_where_there_are_any() -> None:
    assert "x" in Row(x=1) and 1 not in Row(x=1)
    assert 1 in Row(1) and "x" not in Row(1)


@pytest.mark.parametrize(
    "other", [Row(1, 3), Row(a=1, b=2), Row.of_kind(RowKind.DELETE, 1, 2), Row(1, 2, 3), (1, 2), [1, 2]]
)
def test_rows_differ_by_value_names_and_kind(other: object) -> None:
    assert Row(1, 2) != other


def test_the_order_of_names_does_not_matter() -> None:
    assert Row(x="a", y=1) == Row(y=1, x="a") != Row(y="a", x=1)
    assert Row(x=1) != Row(y=1) and Row(x=1) != Row(x=1, y=1)


@given(st.permutations(["a", "b", "c", "d"]), st.lists(st.one_of(st.integers(), st.text()), min_size=4, max_size=4))
def test_equal_rows_are_one_key(order: list[str], values: list[object]) -> None:
    row = Row(**dict(zip("abcd", values, strict=True)))
    turned = Row(**{name: row[name] for name in order})
    assert turned == row and hash(turned) == hash(row) and encode_key(turned) == encode_key(row)
    assert {Row(*values): "x"}[Row(*values)] == "x"


@given(
    st.lists(st.one_of(st.none(), st.integers(), st.text(), st.lists(st.integers()))),
    st.sampled_from(RowKind),
    st.booleans(),
)
@settings(max_examples=50)
def test_survives_pickle_and_copy(values: list[object], kind: RowKind, named: bool) -> None:
    row = Row.of_kind(kind, *values)
    if named:
        row.set_field_names([f"f{at}" for at in range(len(values))])
    for image in (pickle.loads(pickle.dumps(row, 5)), cloudpickle.loads(cloudpickle.dumps(row)), copy.deepcopy(row)):
        assert image == row
        assert image.get_row_kind() is kind


def test_field_names_are_pickled_once_a_block() -> None:
    fields = ("a_rather_long_field_name", "another_long_field_name")
    rows = [Row.of_fields(fields, [at, at]) for at in range(1000)]
    assert len(pickle.dumps(rows, 5)) < 25_000


def test_as_dict() -> None:
    row = Row(a=Row(b=1), c=[Row(d=2)], e={"k": Row(1)})
    assert row.as_dict()["a"] == Row(b=1)
    assert row.as_dict(recursive=True) == {"a": {"b": 1}, "c": [{"d": 2}], "e": {"k": [1]}}
    with pytest.raises(TypeError, match="without field names"):
        Row(1).as_dict()


def test_missing_field_names_what_there_is() -> None:
    with pytest.raises(ValueError, match="no field 'x' in this Row; its fields are a, b"):
        Row(a=1, b=2)["x"]
    with pytest.raises(ValueError, match="no field 'x'"):
        Row(a=1, b=2)["x"] = 3
    with pytest.raises(AttributeError, match="its fields are a"):
        _ = Row(a=1).x
    with pytest.raises(ValueError, match="no field names"):
        Row(1)["a"]


def test_get_fields_by_names() -> None:
    assert Row(a=1, b=2).get_fields_by_names(["b", "a"]) == [2, 1]
    assert Row(1, 2).get_fields_by_names(["b", "a"]) == [1, 2]


def test_wrong_use_is_refused() -> None:
    with pytest.raises(ValueError, match="not both"):
        Row(1, a=2)
    with pytest.raises(ValueError, match="1 field names for a Row of 2"):
        Row(1, 2).set_field_names(["a"])
    with pytest.raises(TypeError, match="expected a RowKind"):
        Row(1).set_row_kind(3)  # type: ignore[arg-type]


def test_many_rows_at_once_are_rows_of_their_own() -> None:
    first, second = Row.of_all(("a", "b"), [(1, 2), [3, 4]])
    assert (first, second) == (Row(a=1, b=2), Row(a=3, b=4))
    first["a"] = 9
    assert second.a == 3 and first.get_row_kind() is RowKind.INSERT
    assert Row.of_all(None, [(1,)]) == [Row(1)]
