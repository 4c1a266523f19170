"""Objects of one shape become a column and come back as they were; others are told to be opaque."""

from __future__ import annotations

import math
from datetime import UTC, date, datetime, timedelta, timezone
from typing import Any

import pyarrow as pa
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from penstock.state_processor.shapes import NOTHING, Shape, merged, shape_of_all

SIMPLE: list[st.SearchStrategy[Any]] = [
    st.booleans(),
    st.integers(-(2**63), 2**63 - 1),
    st.floats(allow_nan=False),
    st.text(st.characters(exclude_categories=["Cs"])),
    st.binary(),
    st.dates(),
    st.datetimes().map(lambda moment: moment.replace(fold=0)),
    st.datetimes(timezones=st.just(UTC)),
]
KEYS = [SIMPLE[0], SIMPLE[1], SIMPLE[3], SIMPLE[4], SIMPLE[5]]


def nested(depth: int) -> st.SearchStrategy[st.SearchStrategy[Any]]:
    """Strategies for objects of one shape."""
    simple = st.sampled_from(SIMPLE)
    if not depth:
        return simple
    part = nested(depth - 1)
    return st.one_of(
        simple,
        part.map(lambda each: each | st.none()),
        part.map(st.lists),
        st.lists(part, min_size=1, max_size=3).map(lambda parts: st.tuples(*parts)),
        st.tuples(st.sampled_from(KEYS), part).map(lambda pair: st.dictionaries(*pair, max_size=3)),
    )


def there_and_back(values: list[Any]) -> list[Any]:
    shape = shape_of_all(values)
    given = pa.array(values, shape.arrow_type()).to_pylist()
    convert = shape.from_arrow()
    return given if convert is None else list(map(convert, given))


@settings(max_examples=25, deadline=None)
@given(st.data())
def test_objects_of_one_shape_come_back_as_they_were(data: st.DataObject) -> None:
    values = data.draw(st.lists(data.draw(nested(2)), max_size=6))
    back = there_and_back(values)
    assert back == values
    assert typed(back) == typed(values)


def typed(value: Any) -> Any:
    """Types however deep: 1, 1.0 and True are equal."""
    if isinstance(value, list | tuple):
        return type(value), [typed(each) for each in value]
    if isinstance(value, dict):
        return dict, [(typed(key), typed(each)) for key, each in value.items()]
    return type(value)


@settings(max_examples=25, deadline=None)
@given(st.data())
def test_what_pieces_have_in_common_is_what_the_whole_has(data: st.DataObject) -> None:
    values = data.draw(st.lists(st.one_of([data.draw(nested(1)) for _ in range(2)]), max_size=8))
    cut = data.draw(st.integers(0, len(values)))
    assert merged([shape_of_all(values[:cut]), shape_of_all(values[cut:])]) == shape_of_all(values)


@pytest.mark.parametrize(
    "values",
    [
        [1, "a"],
        [True, 2],
        [2**63],
        [2**60, 0.5],
        ["\ud800"],
        [(1,), (1, 2)],
        [()],
        [{None: 1}],
        [{1: "a"}, {"b": "a"}],
        [{0.5: 1}],
        [[1, "a"]],
        [datetime(2020, 1, 1, tzinfo=timezone(timedelta(hours=1)))],
        [datetime(2020, 1, 1), datetime(2020, 1, 1, tzinfo=UTC)],
        [date(2020, 1, 1), datetime(2020, 1, 1)],
        [object()],
        [Shape("int")],
    ],
)
def test_what_a_column_could_not_give_back_is_opaque(values: list[Any]) -> None:
    assert shape_of_all(values).is_opaque


def test_whole_numbers_among_floats_are_floats() -> None:
    back = there_and_back([0, 1.5, None, math.inf])
    assert back == [0.0, 1.5, None, math.inf]
    assert type(back[0]) is float
    assert merged([shape_of_all([0]), shape_of_all([1.5])]).kind == "float"


def test_of_nothing_nothing_is_known() -> None:
    assert merged([]) == shape_of_all([]) == NOTHING
    assert shape_of_all([[]]).arrow_type() == pa.list_(pa.string())
