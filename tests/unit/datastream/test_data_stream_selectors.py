"""What a field, a position and a key selector mean for each shape of record."""

from __future__ import annotations

from collections import defaultdict, namedtuple
from dataclasses import dataclass
from typing import Any

import cloudpickle
import pytest

from penstock.common.types import Row, RowKind
from penstock.datastream.functions import KeySelector
from penstock.datastream.selectors import KeyAndValue, make_key_selector, read_field, replace_field
from penstock.errors import GraphError

Pair = namedtuple("Pair", ["name", "count"])


@dataclass(frozen=True)
class Reading:
    name: str
    count: int


class Thing:
    def __init__(self, name: str, count: int) -> None:
        self.name, self.count = name, count


class FirstLetter(KeySelector):
    def get_key(self, value: str) -> str:
        return value[0]


NAMED: list[Any] = [
    Row(name="a", count=1),
    {"name": "a", "count": 1},
    Pair("a", 1),
    Reading("a", 1),
    Thing("a", 1),
]
POSITIONAL: list[Any] = [("a", 1), ["a", 1], Row("a", 1), Row(name="a", count=1), Pair("a", 1)]


@pytest.mark.parametrize("record", NAMED, ids=lambda record: type(record).__name__)
def test_a_field_name_reads_every_shape_that_has_names(record: Any) -> None:
    selector = make_key_selector("count")
    assert selector(record) == 1
    assert cloudpickle.loads(cloudpickle.dumps(selector))(record) == 1


@pytest.mark.parametrize("record", POSITIONAL, ids=repr)
def test_a_position_reads_every_shape_that_has_positions(record: Any) -> None:
    assert make_key_selector(1)(record) == 1


@pytest.mark.parametrize("field", ["count", "price", 1, 7])
def test_a_key_is_what_reading_the_field_gives_or_says(field: Any) -> None:
    selector = make_key_selector(field)
    for record in [*NAMED, *POSITIONAL, defaultdict(int, name="a"), 5, "text", {1: "b"}]:
        assert _outcome(selector, record) == _outcome(lambda record: read_field(record, field), record)


def _outcome(read: Any, record: Any) -> Any:
    try:
        return read(record)
    except KeyError as missing:
        return str(missing), missing.__context__ is None or missing.__suppress_context__


def test_several_fields_make_a_tuple_key() -> None:
    assert make_key_selector(["name", lambda record: record["count"] + 1])({"name": "a", "count": 1}) == ("a", 2)
    assert make_key_selector((1, 0))(("a", 1)) == (1, "a")


def test_key_selector_objects_and_callables_are_used_as_they_are() -> None:
    selector = make_key_selector(FirstLetter())
    assert cloudpickle.loads(cloudpickle.dumps(selector))("penstock") == "p"
    assert make_key_selector(str)(5) == "5"


@pytest.mark.parametrize("record", [*NAMED, Row("a", 1), ("a", 1)], ids=lambda record: type(record).__name__)
def test_a_missing_field_is_named_with_the_fields_there_are(record: Any) -> None:
    with pytest.raises(KeyError) as failure:
        read_field(record, "price")
    text = str(failure.value)
    assert "'price'" in text
    assert "'name', 'count'" in text or "'count', 'name'" in text or "no named fields" in text


@pytest.mark.parametrize("record", [("a",), [], Row(1), {"a": 1}, Reading("a", 1), 7, "text"], ids=repr)
def test_a_missing_position_is_named(record: Any) -> None:
    with pytest.raises(KeyError, match="position 3"):
        read_field(record, 3)


def test_attributes_and_methods_of_built_in_values_are_not_fields() -> None:
    for record, field in ((5, "real"), ("text", "count"), (("a", 1), "count"), (["a"], "index")):
        with pytest.raises(KeyError, match=field):
            read_field(record, field)


@pytest.mark.parametrize("record", NAMED, ids=lambda record: type(record).__name__)
def test_replacing_a_field_leaves_the_record_alone(record: Any) -> None:
    changed = replace_field(record, "count", 9)
    assert type(changed) is type(record)
    assert (read_field(changed, "name"), read_field(changed, "count")) == ("a", 9)
    assert read_field(record, "count") == 1


@pytest.mark.parametrize("record", POSITIONAL, ids=repr)
def test_replacing_a_position_leaves_the_record_alone(record: Any) -> None:
    changed = replace_field(record, 1, 9)
    assert type(changed) is type(record)
    assert (changed[0], changed[1], record[1]) == ("a", 9, 1)


def test_replacing_keeps_names_and_kind_of_a_row() -> None:
    row = Row(name="a", count=1)
    row.set_row_kind(RowKind.DELETE)
    changed = replace_field(row, 1, 9)
    assert (changed.count, changed.get_row_kind()) == (9, RowKind.DELETE)


@pytest.mark.parametrize("selector", [5.0, None, True, -1, "", [], (), {"a": 1}, ["name", None]], ids=repr)
def test_what_cannot_select_a_key_is_refused(selector: Any) -> None:
    with pytest.raises(GraphError, match="key_by"):
        make_key_selector(selector)


def test_a_class_in_place_of_an_instance_is_refused() -> None:
    with pytest.raises(GraphError, match=r"instance, FirstLetter\(\)"):
        make_key_selector(FirstLetter)


def test_key_with_value() -> None:
    assert KeyAndValue(make_key_selector(0))(("a", 1)) == Row(f0="a", f1=("a", 1))
